//! What follows the log in this program: readers over HTTP, the archive, the board of signals, and the
//! snapshots of the state.

use std::{
    collections::{BTreeMap, VecDeque},
    io, mem,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
};

use base::{
    disk::{Folder, is_low},
    supervisor::{self, Lifetime},
};
use fanout::{ChannelId, Micros};
use history::{
    archive::{Inbox, PriceTrail},
    reader::Reader,
    signal_board::SignalBoard,
    write_progress::WriteProgress,
};
use hub::{
    Export, Unwritten,
    catch_up::ChannelImage,
    follower::LogConsumer,
    identity::StoredCount,
    pipeline::HubHandle,
    recovery::{SNAPSHOT_FORMAT, SavedState},
};
use log::{LogPosition, files::SnapshotStore, record::Record};
use metrics::counter;
use record::{Key, LiveRecords, MatchChange, signal::SignalRecord};
use tokio::sync::oneshot;
use tracing::warn;

use super::films::FilmRecorder;

/// The longest interval of snapshots while nothing changes but the time.
pub(super) const IDLE_EVERY_US: Micros = 600_000_000;

/// A snapshot because of the work since the last one is due after so many times the time that saving takes.
const WORK_PER_SAVE: Micros = 4;

/// Where the follower's exports go.
pub(super) struct FeedConsumers {
    pub reader: Reader,
    pub inbox: Inbox,
    pub signals: SignalBoard,
    pub films: FilmRecorder,
    pub snapshots: Option<SnapshotWriter>,
    pub decisions: StoredCount,
    pub hub_handle: HubHandle,
}

/// Exports what the follower's hub has changed.
pub(super) struct HistoryFeed {
    to: FeedConsumers,
    live: LiveRecords,
    /// Exports of what the hub no longer has, oldest first, until the database has them.
    unwritten: VecDeque<UnwrittenExport>,
    caught_up: Option<oneshot::Sender<()>>,
    /// Whether it writes to the database: this node led last, as of the last look. One that has given up the lead writes what
    /// it did until then, as there may be no other.
    writes: bool,
}

/// Writes snapshots on a thread of its own, since compressing one takes longer than the history may wait.
pub(super) struct SnapshotWriter {
    queue: mpsc::SyncSender<(LogPosition, SavedState)>,
    thread: thread::JoinHandle<()>,
    timing: SnapshotTiming,
    /// The time of the last one, by the records' clock.
    last: Micros,
    /// How long saving it took.
    saved_us: Micros,
    is_busy: Arc<AtomicBool>,
}

/// When snapshots are due.
#[derive(Debug, Clone, Copy)]
pub(super) struct SnapshotTiming {
    pub every_us: Micros,
    /// The interval while nothing changes but the time. A restart needs the records since, which the stream of a cluster drops.
    pub idle_us: Micros,
    /// Time that it takes to apply the records since the last one.
    pub work_us: Micros,
}

impl SnapshotTiming {
    /// `since_us`: the age of the last one, which took `saved_us`. `played_us` and `has_changed`: as
    /// [`LogConsumer::wants_snapshot`]. `is_low`: whether the disk has little space. Then they are as rare as while nothing
    /// changes; with none at all the log, which keeps what a restart needs, could not be cut.
    fn is_due(
        self,
        is_low: bool,
        since_us: Micros,
        saved_us: Micros,
        played_us: Micros,
        has_changed: bool,
    ) -> bool {
        let every_us =
            if has_changed && !is_low { self.every_us } else { self.every_us.max(self.idle_us) };
        let work_us = self.work_us.max(saved_us.saturating_mul(WORK_PER_SAVE));
        since_us >= every_us || (!is_low && played_us >= work_us)
    }
}

/// Exports that are written together.
struct UnwrittenExport {
    removed: Vec<MatchChange>,
    /// In their latest state.
    signals: BTreeMap<Key, Arc<SignalRecord>>,
    exported: Exported,
    /// By the records' clock.
    at: Micros,
}

/// Exports that are counted separately while the database does not have them. Further ones are joined with the last.
const UNWRITTEN_MAX: usize = 64;

/// Changes of removed matches that snapshots have while the database is behind, some 100 KB each. Beyond it, the
/// oldest are left out: a crash then loses them, unless the database gets them before.
const UNWRITTEN_REMOVED_MAX: usize = 4_096;

/// How long a node that follows keeps what the leader writes, in microseconds. If it takes the lead, it writes that
/// again, since the leader may have ended before it did.
const FOLLOWED_KEEP_US: Micros = 900_000_000;

impl HistoryFeed {
    /// Also returns the receiver of the signal that all records of the time before the start are applied.
    pub(super) fn new(to: FeedConsumers) -> (Self, oneshot::Receiver<()>) {
        let (caught_up, is_caught_up) = oneshot::channel();
        let (live, caught_up) = (LiveRecords::default(), Some(caught_up));
        let (unwritten, writes) = (VecDeque::new(), to.hub_handle.led_last());
        (Self { to, live, unwritten, caught_up, writes }, is_caught_up)
    }

    /// Writes what is left of the films, and ends the thread of the snapshots after the one that it is
    /// writing.
    pub(super) fn end(mut self) {
        self.to.films.sync();
        if let Some(SnapshotWriter { queue, thread, .. }) = self.to.snapshots {
            drop(queue);
            // The supervisor has reported a panic.
            thread.join().ok();
        }
    }

    fn note_unwritten(
        &mut self,
        removed: Vec<MatchChange>,
        signals: Vec<Arc<SignalRecord>>,
        at: Micros,
    ) {
        let exported = self.exported();
        // A node that follows keeps them by time.
        let is_full = self.unwritten.len() >= UNWRITTEN_MAX
            || self.unwritten.back().is_some_and(|last| {
                !self.writes && at - last.at < FOLLOWED_KEEP_US / UNWRITTEN_MAX as Micros
            });
        match self.unwritten.back_mut() {
            Some(last) if is_full => last.exported = exported,
            _ => {
                let (removed, signals) = (Vec::new(), BTreeMap::new());
                self.unwritten.push_back(UnwrittenExport { removed, signals, exported, at });
            }
        }
        let Some(last) = self.unwritten.back_mut() else { return };
        last.removed.extend(removed);
        last.signals.extend(signals.into_iter().map(|record| (record.id, record)));
        let noted: usize = self.unwritten.iter().map(|it| it.removed.len()).sum();
        let mut excess = noted.saturating_sub(UNWRITTEN_REMOVED_MAX);
        if excess > 0 {
            counter!("matchwire_log_unwritten_dropped_total").increment(excess as u64);
        }
        for export in &mut self.unwritten {
            let dropped = excess.min(export.removed.len());
            export.removed.drain(..dropped);
            excess -= dropped;
        }
    }

    /// Forgets the exports that the database has by now. `at`: by the records' clock.
    fn forget_written(&mut self, at: Micros) {
        let writes = self.writes;
        let is_written = |oldest: &mut UnwrittenExport| {
            if writes { oldest.exported.is_written() } else { at - oldest.at > FOLLOWED_KEEP_US }
        };
        while self.unwritten.pop_front_if(is_written).is_some() {}
    }

    /// Writes what the leader before may not have written. The matches of the hub follow.
    fn begin_to_write(&mut self, at: Micros) {
        self.writes = true;
        let kept = mem::take(&mut self.unwritten);
        let (mut removed, mut signals) = (Vec::new(), BTreeMap::new());
        for export in kept {
            removed.extend(export.removed);
            signals.extend(export.signals);
        }
        self.export(Export {
            removed,
            signals: signals.into_values().collect(),
            matches: Vec::new(),
            at,
        });
    }

    fn exported(&self) -> Exported {
        let exported = [self.to.inbox.progress(), self.to.signals.progress().clone()];
        Exported(exported.map(|progress| {
            let queued = progress.queued();
            (progress, queued)
        }))
    }
}

/// What was exported so far: the numbers of additions that the database must have.
struct Exported([(WriteProgress, u64); 2]);

impl Exported {
    /// Whether the database has all of it.
    fn is_written(&self) -> bool {
        self.0.iter().all(|(progress, queued)| progress.is_written(*queued))
    }
}

impl LogConsumer for HistoryFeed {
    fn record(&mut self, record: &Record) {
        self.to.films.record(record);
    }

    fn take_lacking(&mut self) -> Vec<ChannelId> {
        self.to.films.take_lacking()
    }

    fn image(&mut self, record: &Record, channel: &ChannelId, image: &ChannelImage) {
        self.to.films.image(record, channel, image);
    }

    fn export(&mut self, Export { removed, mut matches, signals, at }: Export) {
        let mut changes = removed.clone();
        changes.append(&mut matches);
        let mut trail = PriceTrail::default();
        if self.writes {
            trail.add(&changes);
        }
        let changed = self.live.apply(changes);
        if self.writes {
            self.to.signals.put(&signals);
            self.to.inbox.put(&changed, trail, at);
        } else {
            self.to.signals.restore(&signals);
        }
        self.to.reader.update(&changed.records, &changed.gone);
        self.forget_written(at);
        if !removed.is_empty() || !signals.is_empty() {
            self.note_unwritten(removed, signals, at);
        }
    }

    fn wants_everything(&mut self, at: Micros) -> bool {
        // Looked at once: it may change at any time, and a node that begins to write exports everything.
        let led_last = self.to.hub_handle.led_last();
        let begins = led_last && !self.writes;
        if begins {
            self.begin_to_write(at);
        }
        self.writes = led_last;
        begins
    }

    fn unwritten(&mut self) -> Unwritten {
        // Read first: what is written meanwhile is written again.
        let decisions_stored = self.to.decisions.get();
        if self.writes {
            self.forget_written(Micros::MIN);
        }
        let removed = self.unwritten.iter().flat_map(|it| it.removed.iter().cloned()).collect();
        let signals = self.unwritten.iter().flat_map(|it| &it.signals);
        let signals = signals.map(|(id, record)| (*id, Arc::clone(record))).collect();
        Unwritten { removed, signals, decisions_stored }
    }

    fn snapshot(&mut self, position: LogPosition, state: SavedState, saved_us: Micros) {
        if let Some(snapshots) = &mut self.to.snapshots {
            (snapshots.last, snapshots.saved_us) = (position.at, saved_us);
            snapshots.is_busy.store(true, Ordering::Relaxed);
            // There is room, as none is being written.
            snapshots.queue.try_send((position, state)).ok();
        }
    }

    fn wants_snapshot(&self, at: Micros, played_us: Micros, has_changed: bool) -> bool {
        let Some(writer) = &self.to.snapshots else { return false };
        let is_low = is_low(Folder::Log);
        writer.timing.is_due(is_low, at - writer.last, writer.saved_us, played_us, has_changed)
            && !writer.is_busy.load(Ordering::Relaxed)
    }

    fn caught_up(&mut self) {
        if let Some(caught_up) = self.caught_up.take() {
            // The start may have failed.
            caught_up.send(()).ok();
        }
    }
}

impl SnapshotWriter {
    /// `last`: the time of the newest snapshot that there is.
    ///
    /// # Errors
    ///
    /// If the system refuses a thread.
    pub(super) fn start(
        store: SnapshotStore,
        timing: SnapshotTiming,
        last: Micros,
    ) -> io::Result<Self> {
        let (queue, waiting) = mpsc::sync_channel::<(LogPosition, SavedState)>(1);
        let is_busy = Arc::new(AtomicBool::new(false));
        let busy = Arc::clone(&is_busy);
        let thread = supervisor::thread("snapshots", Lifetime::UntilStop, move || {
            supervisor::yield_to_others();
            while let Ok((position, state)) = waiting.recv() {
                write_snapshot(&store, position, &state);
                busy.store(false, Ordering::Relaxed);
            }
        })?;
        Ok(Self { queue, thread, timing, last, saved_us: 0, is_busy })
    }
}

/// Writes a snapshot. A failure is logged: the one before is still there.
pub(super) fn write_snapshot(store: &SnapshotStore, position: LogPosition, state: &[u8]) {
    if let Err(error) = store.write(position, SNAPSHOT_FORMAT, state) {
        warn!(error = &error as &dyn std::error::Error, "cannot write a snapshot of the state");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_hub_writes_few_snapshots() {
        const SECOND: Micros = 1_000_000;
        let timing =
            SnapshotTiming { every_us: 10 * SECOND, idle_us: 600 * SECOND, work_us: SECOND };
        for (since_s, played_us, has_changed, expected) in [
            (9, 0, true, false),
            (10, 0, true, true),
            (10, 0, false, false),
            (599, SECOND - 1, false, false),
            (600, 0, false, true),
            // A restart must not have to apply more, whatever it is.
            (1, SECOND, false, true),
        ] {
            let due = timing.is_due(false, since_s * SECOND, 0, played_us, has_changed);
            assert_eq!(due, expected, "{since_s} s, {played_us} us, {has_changed}");
            let is_paused = !timing.is_due(true, since_s * SECOND, 0, played_us, has_changed);
            assert_eq!(is_paused, since_s < 600, "with little space, after {since_s} s");
        }
        let slow = timing.is_due(false, SECOND, SECOND, 3 * SECOND, true);
        assert!(!slow, "a snapshot that takes a second is written for four seconds of work");
        let rare = SnapshotTiming { every_us: 3_600 * SECOND, ..timing };
        assert!(!rare.is_due(false, 600 * SECOND, 0, 0, false));
        // The stream of the cluster keeps two minutes.
        let short = SnapshotTiming { idle_us: 80 * SECOND, ..timing };
        assert!(short.is_due(false, 80 * SECOND, 0, 0, false));
    }
}

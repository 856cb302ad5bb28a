//! The follower: applies the inputs of the log to a hub of its own, for everything that the writer must not
//! wait for.
//!
//! Its hub has no tails and no readers. It makes the exports for the history and the snapshots of the state,
//! and passes each record on, such as to the films. Records for which its queue has no room are read from the
//! log. If it is behind by more than [`LAG_BYTES_MAX`], the committer waits for it, and with it the feeds.

use std::{
    collections::HashMap,
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError, SyncSender},
    },
    thread,
    time::Duration,
};

use fanout::{ChannelId, Micros};
use log::{Log, LogPosition, ReadError, RecordNumber, RecordSource, record::Record};
use metrics::{counter, gauge};
use record::Withdrawals;
use tracing::{error, warn};

use crate::{
    catch_up::ChannelImage,
    clock::{monotonic, now},
    commit::LoggedTurn,
    hub::{Export, Hub, HubInput, Unwritten, feeds::SourceNumber, sequence::TailWindow},
    recovery::{self, SavedState},
    supervisor::fault,
    turn::{self, InputsError},
};

/// The least time between two exports, by the clock of the records, so that the same log gives the same
/// exports.
const EXPORT_EVERY_US: Micros = 100_000;

/// The most time between two exports by the clock of a source, which is faster than that of the records in a quick replay.
const EXPORT_WITHIN_US: Micros = 1_000_000;

/// The same for what this process played before its threads ran. The history of a price has one entry for each: few
/// enough to be written in a moment.
const EXPORT_PLAYED_EVERY_US: Micros = 300_000_000;

/// The least time between two comparisons of the sources, by the clock of the records.
const COMPARE_EVERY_US: Micros = 5_000_000;

/// How often it looks whether it should end.
const WAIT: Duration = Duration::from_millis(250);

/// The pause after it has emptied its queue. Without it, each turn of the writer would wake it, which costs a busy hub
/// more than what it then does.
const PAUSE: Duration = Duration::from_millis(10);

/// Bytes of records that the follower may be behind. They take a start some seconds, if the process is killed.
pub const LAG_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The pause before a log that cannot be read is read again.
const RETRY_AFTER: Duration = Duration::from_millis(250);

/// Bytes of records that the follower has not applied yet. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct FollowerLag {
    shared: Arc<SharedLag>,
}

/// Without a lock on the way of each record.
#[derive(Debug, Default)]
struct SharedLag {
    bytes: AtomicU64,
    has_ended: AtomicBool,
    /// Held only to wait.
    waiting: Mutex<()>,
    has_room: Condvar,
}

/// Ends the wait for a follower that has ended, also if it panicked.
struct LagGuard(FollowerLag);

impl FollowerLag {
    pub(crate) fn add(&self, record: &Record) {
        self.shared.bytes.fetch_add(record.raw_bytes(), Ordering::Relaxed);
    }

    fn subtract(&self, record: &Record) {
        let before = self.shared.bytes.fetch_sub(record.raw_bytes(), Ordering::Relaxed);
        if before > LAG_BYTES_MAX && !self.is_too_far_behind() {
            self.shared.has_room.notify_all();
        }
    }

    fn is_too_far_behind(&self) -> bool {
        self.shared.bytes.load(Ordering::Relaxed) > LAG_BYTES_MAX
            && !self.shared.has_ended.load(Ordering::Relaxed)
    }

    /// Waits while the follower is too far behind.
    pub(crate) fn wait_for_room(&self) {
        if !self.is_too_far_behind() {
            return;
        }
        counter!("matchwire_log_follower_waits_total").increment(1);
        while self.is_too_far_behind() {
            let waiting = self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            // The time-out is for a notification between the look and the wait.
            drop(self.shared.has_room.wait_timeout(waiting, WAIT));
        }
    }
}

impl Drop for LagGuard {
    fn drop(&mut self) {
        self.0.shared.has_ended.store(true, Ordering::Relaxed);
        self.0.shared.has_room.notify_all();
    }
}

/// What a follower passes on.
pub trait LogConsumer: Send {
    /// Each record, in order. At a start, records may come again that were seen before it.
    fn record(&mut self, record: &Record);

    /// The matches whose channels it must be given before it can follow their changes, since this was last
    /// called. They are named by the channel of the match.
    fn take_lacking(&mut self) -> Vec<ChannelId> {
        Vec::new()
    }

    /// The image of a channel of a match that it lacks, as it is after this record.
    fn image(&mut self, _record: &Record, _channel: &ChannelId, _image: &ChannelImage) {}

    /// Whether the next export must have all matches, whether they have changed or not. `at`: by the records' clock.
    fn wants_everything(&mut self, _at: Micros) -> bool {
        false
    }

    /// What has changed in matches.
    fn export(&mut self, export: Export);

    /// The state at a position, if a snapshot is due. `saved_us`: the time that it took to save it.
    fn snapshot(&mut self, position: LogPosition, state: SavedState, saved_us: Micros);

    /// Whether a snapshot is due at this time of the log. `played_us`: the time that it takes to apply the
    /// records since the last one. `has_changed`: whether they have published anything.
    fn wants_snapshot(&self, at: Micros, played_us: Micros, has_changed: bool) -> bool;

    /// What was passed on and is not in the database yet.
    fn unwritten(&mut self) -> Unwritten;

    /// It has seen all records that there were when it began.
    fn caught_up(&mut self) {}
}

/// Why a follower cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum FollowerError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Inputs(#[from] InputsError),
}

/// What a follower leaves at its end.
#[derive(Debug)]
pub struct FollowerEnd<C> {
    pub consumer: C,
    /// The number of the last record.
    pub applied: RecordNumber,
    /// The state after it; `None` if it is not what was published.
    pub state: Option<SavedState>,
}

/// What the committer sends to the follower.
#[derive(Debug)]
pub enum FollowerInput {
    Turn(Arc<LoggedTurn>),
    /// Replies with the image of a channel as it is after the record `end`. If it cannot, it drops the reply.
    Image {
        channel: ChannelId,
        end: RecordNumber,
        reply: SyncSender<Option<ChannelImage>>,
    },
}

/// Follows the log from a snapshot on.
pub struct Follower<C> {
    hub: Hub,
    /// The number of the last record that it has applied.
    applied: RecordNumber,
    /// Whether it makes exports.
    exports: bool,
    /// When the last record that it has applied was made.
    at: Micros,
    /// By the records' clock.
    exported_at: Micros,
    /// The first moment of each source since the last export, by its clock.
    unexported: HashMap<SourceNumber, Micros>,
    /// By the records' clock.
    compared_at: Micros,
    /// The time that it took to apply the records since the last snapshot.
    played_us: Micros,
    /// Whether a record since the last snapshot has published anything.
    has_changed: bool,
    source: Arc<dyn RecordSource>,
    consumer: C,
    /// Its hub numbers updates as the writer's did. If not, its state must not be restored from.
    is_sound: bool,
    /// Counts what was committed since the start.
    lag: FollowerLag,
    withdrawals: Withdrawals,
    /// The least time between two exports, by the records' clock.
    export_every_us: Micros,
}

impl<C> std::fmt::Debug for Follower<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follower").field("applied", &self.applied).finish_non_exhaustive()
    }
}

impl<C: LogConsumer> Follower<C> {
    /// `hub`: the state after the record at this position.
    /// `withdrawals`: those that its exports settle.
    pub fn new(
        mut hub: Hub,
        position: LogPosition,
        log: &dyn Log,
        consumer: C,
        withdrawals: Withdrawals,
    ) -> Self {
        // The updates of its channels are in the log. Frames of the older sockets are not only there.
        let window = hub.settings().window;
        hub.set_tail_window(TailWindow { bytes: 0, ..window });
        let source = log.source();
        let LogPosition { number: applied, at, .. } = position;
        let (exported_at, compared_at) = (Micros::MIN, Micros::MIN);
        let lag = FollowerLag::default();
        let (exports, is_sound, played_us) = (false, true, 0);
        Self {
            hub,
            applied,
            at,
            exports,
            exported_at,
            unexported: HashMap::new(),
            compared_at,
            played_us,
            has_changed: false,
            source,
            consumer,
            is_sound,
            lag,
            withdrawals,
            export_every_us: EXPORT_EVERY_US,
        }
    }

    /// How far it is behind.
    pub(crate) fn lag(&self) -> FollowerLag {
        self.lag.clone()
    }

    /// Follows until the committer has gone and all is seen. `seen`: the last record of the processes before
    /// this one; `end`: the last record at the start.
    ///
    /// # Errors
    ///
    /// If a record cannot be read or understood.
    pub fn run(
        mut self,
        seen: RecordNumber,
        end: RecordNumber,
        queue: &Receiver<FollowerInput>,
    ) -> Result<FollowerEnd<C>, FollowerError> {
        let _guard = LagGuard(self.lag.clone());
        // The history has seen these records before, so it gets only what came of them.
        self.exports = false;
        self.read_up_to(seen, end)?;
        self.exports = true;
        self.hub.export_everything();
        self.export(self.at);
        // What this process played before its threads ran: hours in a moment.
        self.export_every_us = EXPORT_PLAYED_EVERY_US;
        self.read_up_to(end, end)?;
        self.export(self.at);
        self.export_every_us = EXPORT_EVERY_US;
        self.consumer.caught_up();
        loop {
            match queue.recv_timeout(WAIT) {
                Ok(first) => {
                    let is_turn = matches!(first, FollowerInput::Turn(_));
                    self.follow(first, end)?;
                    while let Ok(input) = queue.try_recv() {
                        self.follow(input, end)?;
                    }
                    // A reader waits for the next image.
                    if is_turn {
                        #[expect(clippy::disallowed_methods, reason = "a thread of its own")]
                        thread::sleep(PAUSE);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            fault::point();
        }
        self.read_up_to(RecordNumber::MAX, end)?;
        self.export(self.at);
        let Self { mut hub, applied, mut consumer, is_sound, .. } = self;
        let state = is_sound.then(|| recovery::save_followed(&mut hub, &consumer.unwritten()));
        Ok(FollowerEnd { consumer, applied, state })
    }

    /// Applies a turn, after the records before it for which the queue had no room, or replies with an image. `start`: the
    /// last record of the time before this process.
    fn follow(&mut self, input: FollowerInput, start: RecordNumber) -> Result<(), FollowerError> {
        let turn = match input {
            FollowerInput::Turn(turn) => turn,
            FollowerInput::Image { channel, end, reply } => {
                self.read_up_to(end, start)?;
                if self.is_sound && self.applied == end {
                    // The committer may not wait any longer.
                    reply.try_send(self.hub.image_of(channel.as_str())).ok();
                }
                return Ok(());
            }
        };
        let LoggedTurn { record, inputs, position } = &*turn;
        if record.number <= self.applied {
            return Ok(());
        }
        // The queue had no room for those between.
        self.read_up_to(record.number - 1, start)?;
        if record.number > self.applied {
            self.apply(record, inputs, start);
        }
        if let Some(position) = position
            && self.is_sound
            && self.consumer.wants_snapshot(record.at, self.played_us, self.has_changed)
        {
            let began = monotonic();
            let state = recovery::save_followed(&mut self.hub, &self.consumer.unwritten());
            self.consumer.snapshot(*position, state, monotonic() - began);
            (self.played_us, self.has_changed) = (0, false);
        }
        gauge!("matchwire_log_follower_lag_seconds").set((now() - record.at).max(0) as f64 / 1e6);
        Ok(())
    }

    /// `start`: the last record of the time before this process.
    fn read_up_to(&mut self, end: RecordNumber, start: RecordNumber) -> Result<(), FollowerError> {
        if self.applied >= end {
            return Ok(());
        }
        let mut reader = self.source.read_after(self.applied);
        let mut is_reported = false;
        while self.applied < end {
            match reader.next() {
                Ok(Some(record)) => {
                    let inputs = turn::inputs(&record)?;
                    self.apply(&record, &inputs, start);
                }
                Ok(None) => break,
                // Such as a process without free file descriptors. The record is still there.
                Err(ReadError::Storage(error)) => {
                    if !is_reported {
                        is_reported = true;
                        warn!(
                            error = &error as &dyn std::error::Error,
                            "cannot read the log; retrying"
                        );
                    }
                    #[expect(clippy::disallowed_methods, reason = "a thread of its own")]
                    thread::sleep(RETRY_AFTER);
                    reader = self.source.read_after(self.applied);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn apply(&mut self, record: &Record, inputs: &[HubInput], start: RecordNumber) {
        let began = monotonic();
        let mut changes = Vec::new();
        for input in inputs {
            if self.exports && self.is_export_due_within(input) {
                self.export(record.at);
            }
            self.hub.take(input, &mut changes);
        }
        self.played_us += monotonic() - began;
        self.has_changed |= !record.outputs.is_empty();
        if self.is_sound
            && record.number > start
            && !turn::is_numbered_as(&changes, &record.outputs)
        {
            self.is_sound = false;
            counter!("matchwire_log_differences_total").increment(1);
            error!(
                record = record.number,
                "the history numbers updates differently than the log; no more snapshots are written, and the next \
                 start begins new epochs"
            );
        }
        (self.applied, self.at) = (record.number, record.at);
        self.consumer.record(record);
        for name in self.consumer.take_lacking() {
            for (channel, image) in self.hub.images_of_match(name.as_str()) {
                self.consumer.image(record, &channel, &image);
            }
        }
        if record.number > start {
            self.lag.subtract(record);
        }
        if self.exports && record.at.saturating_sub(self.exported_at) >= self.export_every_us {
            self.export(record.at);
        }
    }

    /// Whether a source has gone on by [`EXPORT_WITHIN_US`] with this input since the last export, or by the pause between two
    /// exports if that is longer.
    fn is_export_due_within(&mut self, input: &HubInput) -> bool {
        let HubInput::Batch { source, batch, .. } = input else { return false };
        let Some(at) = batch.at else { return false };
        let first = *self.unexported.entry(*source).or_insert(at);
        at.saturating_sub(first) >= EXPORT_WITHIN_US.max(self.export_every_us)
    }

    fn export(&mut self, at: Micros) {
        self.exported_at = at;
        self.unexported.clear();
        if at.saturating_sub(self.compared_at) >= COMPARE_EVERY_US {
            self.compared_at = at;
            self.compare_sources();
        }
        if self.consumer.wants_everything(at) {
            self.hub.export_everything();
        }
        if let Some(export) = self.hub.export(at) {
            self.consumer.export(export);
        }
        self.withdrawals.settle(self.applied);
    }

    /// Shows in the metrics how far the sources agree.
    fn compare_sources(&self) {
        let agreements = self.hub.agreements();
        for (number, source) in self.hub.sources_by_presence() {
            let agreement = agreements[number.0];
            gauge!("matchwire_source_compared_matches", "source" => source.name.to_string())
                .set(agreement.compared);
            gauge!("matchwire_source_differing_matches", "source" => source.name.to_string())
                .set(agreement.differing);
        }
    }
}

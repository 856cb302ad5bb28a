//! What follows the log in this program: readers over HTTP, the archive, the board of signals, and the
//! snapshots of the state.

use std::{io, sync::mpsc, thread};

use base::supervisor::{self, Lifetime};
use fanout::{ChannelId, Micros, encode::payload};
use history::{
    archive::Inbox, reader::Reader, signal_board::SignalBoard, write_progress::WriteProgress,
};
use hub::{
    Export,
    catch_up::ChannelImage,
    follower::LogConsumer,
    recovery::{SNAPSHOT_FORMAT, SavedState},
};
use log::{
    LogPosition,
    files::SnapshotStore,
    film::{FilmError, FilmWriter},
    record::Record,
};
use record::LiveRecords;
use tokio::sync::oneshot;
use tracing::warn;

/// How long a snapshot waits for the database, by the clock of the records. Until it is written, a start plays the
/// records since the one before.
const WRITTEN_WITHIN_US: Micros = 120_000_000;

/// The follower's consumers.
pub(super) struct HistoryFeed {
    live: LiveRecords,
    reader: Reader,
    inbox: Inbox,
    signals: SignalBoard,
    films: Option<FilmWriter>,
    films_failed: bool,
    snapshots: Option<SnapshotWriter>,
    /// The snapshot that waits until the database has what was exported before it.
    waiting: Option<WaitingSnapshot>,
    caught_up: Option<oneshot::Sender<()>>,
}

/// Writes snapshots on a thread of its own, since compressing one takes longer than the history may wait.
pub(super) struct SnapshotWriter {
    queue: mpsc::SyncSender<(LogPosition, SavedState)>,
    thread: thread::JoinHandle<()>,
    every_us: Micros,
    last: Micros,
}

/// A start from a snapshot exports nothing from before it, so what was exported must be written first.
struct WaitingSnapshot {
    position: LogPosition,
    state: SavedState,
    exported: Exported,
}

impl HistoryFeed {
    /// Also returns the receiver of the news that all records of the time before the start are applied.
    pub(super) fn new(
        reader: Reader,
        inbox: Inbox,
        signals: SignalBoard,
        films: Option<FilmWriter>,
        snapshots: Option<SnapshotWriter>,
    ) -> (Self, oneshot::Receiver<()>) {
        let (caught_up, is_caught_up) = oneshot::channel();
        let (live, caught_up) = (LiveRecords::default(), Some(caught_up));
        let (films_failed, waiting) = (false, None);
        let own = Self {
            live,
            reader,
            inbox,
            signals,
            films,
            films_failed,
            snapshots,
            waiting,
            caught_up,
        };
        (own, is_caught_up)
    }

    /// Writes what is left of the films, and ends the thread of the snapshots after the one that it is
    /// writing. Returns what the database must have before the state may be a snapshot.
    pub(super) fn end(mut self) -> Exported {
        let exported = self.exported();
        if let Some(films) = &mut self.films {
            let synced = films.sync();
            self.note_films(synced);
        }
        if let Some(SnapshotWriter { queue, thread, .. }) = self.snapshots {
            drop(queue);
            // The supervisor has reported a panic.
            thread.join().ok();
        }
        exported
    }

    fn exported(&self) -> Exported {
        let exported = [self.inbox.progress(), self.signals.progress().clone()];
        Exported(exported.map(|progress| {
            let queued = progress.queued();
            (progress, queued)
        }))
    }
}

/// What was exported so far: the numbers of additions that the database must have.
pub(super) struct Exported([(WriteProgress, u64); 2]);

impl Exported {
    /// Whether the database has all of it.
    pub(super) fn is_written(&self) -> bool {
        self.0.iter().all(|(progress, queued)| progress.is_written(*queued))
    }
}

impl HistoryFeed {
    /// A failure of films is reported once until none has failed. The writer tries them again.
    fn note_films(&mut self, done: Result<(), FilmError>) {
        match done {
            Ok(()) => self.films_failed = false,
            Err(error) if !self.films_failed => {
                self.films_failed = true;
                warn!(error = &error as &dyn std::error::Error, "cannot write films of matches");
            }
            Err(_) => {}
        }
    }

    /// Writes the waiting snapshot if the database has what was exported before it.
    fn write_waiting(&mut self, now: Micros) {
        let is_due = |waiting: &mut WaitingSnapshot| {
            let is_written = waiting.exported.is_written();
            let is_late = now - waiting.position.at > WRITTEN_WITHIN_US;
            if is_late && !is_written {
                warn!("the archive is behind; a crash now may lose recent changes of it");
            }
            is_written || is_late
        };
        if let (Some(WaitingSnapshot { position, state, .. }), Some(snapshots)) =
            (self.waiting.take_if(is_due), &self.snapshots)
        {
            // While one is being written, the next one is left out.
            snapshots.queue.try_send((position, state)).ok();
        }
    }
}

impl LogConsumer for HistoryFeed {
    fn record(&mut self, record: &Record) {
        if let Some(films) = &mut self.films {
            let recorded = films.record(record);
            self.note_films(recorded);
        }
        self.write_waiting(record.at);
    }

    fn take_lacking(&mut self) -> Vec<ChannelId> {
        self.films.as_mut().map(FilmWriter::take_lacking).unwrap_or_default()
    }

    fn image(&mut self, record: &Record, channel: &ChannelId, image: &ChannelImage) {
        if let Some(films) = &mut self.films {
            let place = (record.number, record.at);
            films.image(place, channel, (image.epoch, image.seq), payload(&image.frame));
        }
    }

    fn export(&mut self, Export { matches, signals, at }: Export) {
        self.signals.put(&signals);
        let changed = self.live.apply(matches);
        self.inbox.put(&changed.evicted, &[], at);
        self.inbox.put(&changed.records, &changed.gone, at);
        self.reader.update(&changed.records, &changed.gone);
    }

    fn snapshot(&mut self, position: LogPosition, state: SavedState) {
        let exported = self.exported();
        if let Some(snapshots) = &mut self.snapshots {
            snapshots.last = position.at;
            self.waiting = Some(WaitingSnapshot { position, state, exported });
        }
    }

    fn wants_snapshot(&self, at: Micros) -> bool {
        let is_due = |it: &SnapshotWriter| at - it.last >= it.every_us;
        self.waiting.is_none() && self.snapshots.as_ref().is_some_and(is_due)
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
    pub(super) fn start(store: SnapshotStore, every_us: Micros, last: Micros) -> io::Result<Self> {
        let (queue, waiting) = mpsc::sync_channel::<(LogPosition, SavedState)>(1);
        let thread = supervisor::thread("snapshots", Lifetime::UntilStop, move || {
            supervisor::yield_to_others();
            while let Ok((position, state)) = waiting.recv() {
                write_snapshot(&store, position, &state);
            }
        })?;
        Ok(Self { queue, thread, every_us, last })
    }
}

/// Writes a snapshot. A failure is logged: the one before is still there.
pub(super) fn write_snapshot(store: &SnapshotStore, position: LogPosition, state: &[u8]) {
    if let Err(error) = store.write(position, SNAPSHOT_FORMAT, state) {
        warn!(error = &error as &dyn std::error::Error, "cannot write a snapshot of the state");
    }
}

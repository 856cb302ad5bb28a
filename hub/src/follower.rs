//! The follower: applies the inputs of the log to a hub of its own, for all that the writer must not wait
//! for.
//!
//! Its hub has no tails and no readers. It makes the exports for the history, the snapshots of the state,
//! and hands each record to whoever else follows, such as the films. It may be as late as it likes: what
//! its queue had no room for, it reads from the log.

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::Duration,
};

use fanout::{ChannelId, Micros};
use log::{Log, LogPosition, ReadError, RecordNumber, RecordSource, record::Record};
use metrics::gauge;

use crate::{
    catch_up::ChannelImage,
    clock::now,
    commit::Committed,
    hub::{Export, Hub, HubInput, sequence::TailWindow},
    recovery::{self, SavedState},
    supervisor::fault,
    turn::{self, InputsError},
};

/// The least time between two exports, by the clock of the records, so that the same log gives the same
/// exports.
const EXPORT_EVERY_US: Micros = 100_000;

/// How often it looks whether it should end.
const WAIT: Duration = Duration::from_millis(250);

/// What a follower does with what it sees.
pub trait Follow: Send {
    /// Each record, in order. At a start, records may come again that were seen before it.
    fn record(&mut self, record: &Record);

    /// The matches whose channels it must be given before it can follow their changes, since this was last
    /// called. They are named by the channel of the match.
    fn take_lacking(&mut self) -> Vec<ChannelId> {
        Vec::new()
    }

    /// The image of a channel of a match that it lacks, as it is after this record.
    fn image(&mut self, _record: &Record, _channel: &ChannelId, _image: &ChannelImage) {}

    /// What has changed in matches.
    fn export(&mut self, export: Export);

    /// The state at a position, if a snapshot is due.
    fn snapshot(&mut self, position: LogPosition, state: SavedState);

    /// Whether a snapshot is due at this time of the log.
    fn wants_snapshot(&self, at: Micros) -> bool;

    /// It has seen all records that there were when it began.
    fn caught_up(&mut self) {}
}

/// Why a follower cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Inputs(#[from] InputsError),
}

/// What a follower leaves at its end.
#[derive(Debug)]
pub struct Followed<F> {
    pub follow: F,
    /// The number of the last record.
    pub applied: RecordNumber,
    /// The state after it.
    pub state: SavedState,
}

/// Follows the log from a snapshot on.
pub struct Follower<F> {
    hub: Hub,
    /// The number of the last record that it has applied.
    applied: RecordNumber,
    /// Whether it makes exports.
    exports: bool,
    /// By the records' clock.
    exported_at: Micros,
    source: Arc<dyn RecordSource>,
    follow: F,
}

impl<F> std::fmt::Debug for Follower<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follower").field("applied", &self.applied).finish_non_exhaustive()
    }
}

impl<F: Follow> Follower<F> {
    /// `hub`: the state after the record `applied`.
    pub fn new(mut hub: Hub, applied: RecordNumber, log: &dyn Log, follow: F) -> Self {
        // The updates of its channels are in the log. Frames of the older sockets are not only there.
        let window = hub.settings().window;
        hub.set_tail_window(TailWindow { bytes: 0, ..window });
        let source = log.source();
        Self { hub, applied, exports: false, exported_at: Micros::MIN, source, follow }
    }

    /// Follows until the committer has gone and all is seen. `end`: the last record at the start.
    ///
    /// # Errors
    ///
    /// If a record cannot be read or understood.
    pub fn run(
        mut self,
        end: RecordNumber,
        queue: &Receiver<Arc<Committed>>,
    ) -> Result<Followed<F>, FollowError> {
        // The history has seen these records before, so it gets only what came of them.
        self.exports = false;
        self.read_up_to(end)?;
        self.exports = true;
        self.hub.export_everything();
        self.export(now());
        self.follow.caught_up();
        loop {
            match queue.recv_timeout(WAIT) {
                Ok(committed) => self.committed(&committed)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            fault::point();
        }
        self.read_up_to(RecordNumber::MAX)?;
        self.export(now());
        let Self { mut hub, applied, follow, .. } = self;
        Ok(Followed { follow, applied, state: recovery::save(&mut hub) })
    }

    fn committed(&mut self, committed: &Committed) -> Result<(), FollowError> {
        let Committed { record, inputs, position } = committed;
        if record.number <= self.applied {
            return Ok(());
        }
        // The queue had no room for those between.
        self.read_up_to(record.number - 1)?;
        if record.number > self.applied {
            self.apply(record, inputs);
        }
        if let Some(position) = position
            && self.follow.wants_snapshot(record.at)
        {
            let state = recovery::save(&mut self.hub);
            self.follow.snapshot(*position, state);
        }
        #[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
        gauge!("matchwire_log_follower_lag_seconds").set((now() - record.at).max(0) as f64 / 1e6);
        Ok(())
    }

    fn read_up_to(&mut self, end: RecordNumber) -> Result<(), FollowError> {
        if self.applied >= end {
            return Ok(());
        }
        let mut reader = self.source.read_after(self.applied);
        while self.applied < end {
            let Some(record) = reader.next()? else { break };
            let inputs = turn::inputs(&record)?;
            self.apply(&record, &inputs);
        }
        Ok(())
    }

    fn apply(&mut self, record: &Record, inputs: &[HubInput]) {
        let mut changes = Vec::new();
        for input in inputs {
            self.hub.take(input, &mut changes);
            changes.clear();
        }
        self.applied = record.number;
        self.follow.record(record);
        for name in self.follow.take_lacking() {
            for (channel, image) in self.hub.images_of_match(name.as_str()) {
                self.follow.image(record, &channel, &image);
            }
        }
        if self.exports && record.at.saturating_sub(self.exported_at) >= EXPORT_EVERY_US {
            self.export(record.at);
        }
    }

    fn export(&mut self, at: Micros) {
        self.exported_at = at;
        if let Some(export) = self.hub.export(at) {
            self.follow.export(export);
        }
    }
}

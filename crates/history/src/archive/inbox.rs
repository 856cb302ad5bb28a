//! Records to be written next: only the latest of each match, so that the queue is bounded by the
//! number of matches even if the database is slow.

use std::{
    collections::{HashMap, HashSet},
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use base::Micros;
use tokio::sync::watch;

use super::{Archive, ArchiveWorker, PriceTrail};
use crate::{config::ArchiveConfig, reader::Reader, write_progress::WriteProgress};
use record::{ChangedRecords, Key, MatchRecord};

/// The worker waits for another interval for each of so many matches that are pending, and for so many at most.
const MATCHES_PER_INTERVAL: usize = 100;
const INTERVALS_MAX: usize = 20;

/// The sending side of the write queue. When it is dropped, the [`ArchiveWorker`] writes the rest
/// and ends.
#[derive(Debug, Clone)]
pub struct Inbox {
    archive: Archive,
    queue: WriteQueue,
    /// Closed when the last sender is dropped.
    _open: watch::Sender<()>,
}

/// The queue shared by the sender and the worker.
#[derive(Debug, Clone, Default)]
pub(super) struct WriteQueue {
    pending: Arc<Mutex<PendingWrites>>,
    pub(super) progress: WriteProgress,
}

/// Pending writes.
#[derive(Debug, Default)]
pub(super) struct PendingWrites {
    pub(super) records: HashMap<Key, Arc<MatchRecord>>,
    /// Matches that the hub has removed.
    pub(super) gone: HashSet<Key>,
    /// The prices of these records that came and went.
    pub(super) trail: PriceTrail,
    /// When the oldest of them was queued.
    pub(super) since: Option<Micros>,
}

impl Inbox {
    #[must_use]
    pub fn new(archive: Archive, reader: Reader, config: &ArchiveConfig) -> (Self, ArchiveWorker) {
        let (sender, open) = watch::channel(());
        let queue = WriteQueue::default();
        let worker =
            ArchiveWorker::new(archive.clone(), reader, queue.clone(), open, config.clone());
        (Self { archive, queue, _open: sender }, worker)
    }

    /// Queues records, replacing pending ones of the same matches, and the ids of matches that the
    /// hub has removed. A match that it holds again is not removed. `trail`: the prices of these changes.
    pub fn put(&self, changed: &ChangedRecords, trail: PriceTrail, now: Micros) {
        let ChangedRecords { records, evicted, gone } = changed;
        if records.is_empty() && evicted.is_empty() && gone.is_empty() {
            return;
        }
        self.archive.announce(evicted);
        self.archive.announce(records);
        let mut pending = self.queue.lock();
        pending.gone.extend(gone);
        for record in records {
            pending.gone.remove(&record.summary.id);
        }
        for record in evicted.iter().chain(records) {
            pending.records.insert(record.summary.id, Arc::clone(record));
        }
        pending.trail.append(trail);
        pending.since.get_or_insert(now);
        self.queue.progress.add();
    }

    /// How much of what was put is in the archive.
    #[must_use]
    pub fn progress(&self) -> WriteProgress {
        self.queue.progress.clone()
    }
}

impl WriteQueue {
    pub(super) fn take(&self) -> PendingWrites {
        mem::take(&mut *self.lock())
    }

    /// After how many intervals it is written. Many matches wait for longer: what changes of them meanwhile is written once,
    /// and those that share pages are written together. Without it, prices that came and went would be left out soon.
    pub(super) fn intervals(&self) -> usize {
        let pending = self.lock();
        if pending.trail.is_filling() {
            return 0;
        }
        (1 + pending.records.len() / MATCHES_PER_INTERVAL).min(INTERVALS_MAX)
    }

    /// Requeues writes that failed, except where newer ones are pending.
    pub(super) fn put_back(&self, taken: PendingWrites) {
        let mut pending = self.lock();
        for id in taken.gone {
            if !pending.records.contains_key(&id) {
                pending.gone.insert(id);
            }
        }
        for (id, record) in taken.records {
            pending.records.entry(id).or_insert(record);
        }
        let later = mem::replace(&mut pending.trail, taken.trail);
        pending.trail.append(later);
        pending.since = taken.since.or(pending.since);
    }

    fn lock(&self) -> MutexGuard<'_, PendingWrites> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::testing::{MATCH, football, record};

    #[test]
    fn many_matches_wait_for_more_intervals() {
        let queue = WriteQueue::default();
        let record = Arc::new(record(MATCH, football()));
        for (matches, expected) in [(0, 1), (99, 1), (100, 2), (1_000, 11), (5_000, 20)] {
            queue.lock().records = (0..matches).map(|id| (id, Arc::clone(&record))).collect();
            assert_eq!(queue.intervals(), expected, "{matches} matches");
        }
    }
}

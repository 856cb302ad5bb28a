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
            pending.gone.remove(&record.brief.id);
        }
        for record in evicted.iter().chain(records) {
            pending.records.insert(record.brief.id, Arc::clone(record));
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

    /// Whether prices that came and went will be left out soon.
    pub(super) fn is_filling(&self) -> bool {
        self.lock().trail.is_filling()
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

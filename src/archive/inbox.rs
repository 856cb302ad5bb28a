//! What is to be kept next: of each match the latest, so that it never grows beyond their number,
//! whatever the database does.

use std::{
    collections::{HashMap, HashSet},
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use fanout::Micros;
use tokio::sync::watch;

use super::{Archive, ArchiveWorker};
use crate::{
    config::ArchiveConfig,
    reader::Reader,
    record::{Key, MatchRecord},
};

/// The end at which matches are handed in. When it is dropped, the [`ArchiveWorker`] writes what is left and
/// ends.
#[derive(Debug, Clone)]
pub struct Inbox {
    archive: Archive,
    queue: WriteQueue,
    /// Closed when the last end at which matches are handed in is gone.
    _open: watch::Sender<()>,
}

/// What both ends hold.
#[derive(Debug, Clone, Default)]
pub(super) struct WriteQueue {
    pending: Arc<Mutex<PendingWrites>>,
}

/// What waits to be written.
#[derive(Debug, Default)]
pub(super) struct PendingWrites {
    pub(super) records: HashMap<Key, Arc<MatchRecord>>,
    /// The hub has forgotten these.
    pub(super) gone: HashSet<Key>,
    /// Since when the first of them waits.
    pub(super) since: Option<Micros>,
}

impl Inbox {
    #[must_use]
    pub fn new(archive: Archive, reader: Reader, config: &ArchiveConfig) -> (Self, ArchiveWorker) {
        let (sender, open) = watch::channel(());
        let queue = WriteQueue::default();
        let keeper =
            ArchiveWorker::new(archive.clone(), reader, queue.clone(), open, config.clone());
        (Self { archive, queue, _open: sender }, keeper)
    }

    /// Hands these in, in place of what waits of the same matches, and tells which the hub has
    /// forgotten. One that it knows again is not forgotten.
    pub fn put(&self, records: &[Arc<MatchRecord>], gone: &[Key], now: Micros) {
        if records.is_empty() && gone.is_empty() {
            return;
        }
        self.archive.announce(records);
        let mut pending = self.queue.lock();
        pending.gone.extend(gone);
        for record in records {
            pending.gone.remove(&record.brief.id);
            pending.records.insert(record.brief.id, Arc::clone(record));
        }
        pending.since.get_or_insert(now);
    }
}

impl WriteQueue {
    pub(super) fn take(&self) -> PendingWrites {
        mem::take(&mut *self.lock())
    }

    /// What could not be written waits for the next time, unless something newer has come.
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
        pending.since = taken.since.or(pending.since);
    }

    fn lock(&self) -> MutexGuard<'_, PendingWrites> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! What is to be kept next: of each match the latest, so that it never grows beyond their number,
//! whatever the database does.

use std::{
    collections::{HashMap, HashSet},
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use fanout::Micros;
use tokio::sync::watch;

use super::{Archive, Keeper};
use crate::{
    config::ArchiveConfig,
    reader::Reader,
    record::{Key, MatchRecord},
};

/// The end at which matches are handed in. When it is dropped, the [`Keeper`] writes what is left and
/// ends.
#[derive(Debug, Clone)]
pub struct Inbox {
    archive: Archive,
    tray: Tray,
    /// Closed when the last end at which matches are handed in is gone.
    _open: watch::Sender<()>,
}

/// What both ends hold.
#[derive(Debug, Clone, Default)]
pub(super) struct Tray {
    waiting: Arc<Mutex<Waiting>>,
}

/// What waits to be written.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    pub(super) records: HashMap<Key, Arc<MatchRecord>>,
    /// The hub has forgotten these.
    pub(super) gone: HashSet<Key>,
    /// Since when the first of them waits.
    pub(super) since: Option<Micros>,
}

impl Inbox {
    #[must_use]
    pub fn new(archive: Archive, reader: Reader, config: &ArchiveConfig) -> (Self, Keeper) {
        let (sender, open) = watch::channel(());
        let tray = Tray::default();
        let keeper = Keeper::new(archive.clone(), reader, tray.clone(), open, config.clone());
        (Self { archive, tray, _open: sender }, keeper)
    }

    /// Hands these in, in place of what waits of the same matches, and tells which the hub has
    /// forgotten. One that it knows again is not forgotten.
    pub fn put(&self, records: &[Arc<MatchRecord>], gone: &[Key], now: Micros) {
        if records.is_empty() && gone.is_empty() {
            return;
        }
        self.archive.announce(records);
        let mut waiting = self.tray.lock();
        waiting.gone.extend(gone);
        for record in records {
            waiting.gone.remove(&record.brief.id);
            waiting.records.insert(record.brief.id, Arc::clone(record));
        }
        waiting.since.get_or_insert(now);
    }
}

impl Tray {
    pub(super) fn take(&self) -> Waiting {
        mem::take(&mut *self.lock())
    }

    /// What could not be written waits for the next time, unless something newer has come.
    pub(super) fn put_back(&self, taken: Waiting) {
        let mut waiting = self.lock();
        for id in taken.gone {
            if !waiting.records.contains_key(&id) {
                waiting.gone.insert(id);
            }
        }
        for (id, record) in taken.records {
            waiting.records.entry(id).or_insert(record);
        }
        waiting.since = taken.since.or(waiting.since);
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

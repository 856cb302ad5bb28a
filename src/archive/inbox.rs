//! What is to be kept next: of each match the latest, so that it never grows beyond their number,
//! whatever the database does.

use std::{
    collections::HashMap,
    error::Error,
    mem,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::sync::watch;
use tracing::warn;

use super::Archive;
use crate::{
    clock::now,
    record::{Key, MatchRecord},
};

/// How often what has come in is written.
const WRITE_EVERY: Duration = Duration::from_secs(1);

/// The end at which matches are handed in. When it is dropped, the [`Keeper`] writes what is left and
/// ends.
#[derive(Debug, Clone)]
pub struct Inbox {
    waiting: Arc<Mutex<HashMap<Key, Arc<MatchRecord>>>>,
    /// Closed when the last end at which matches are handed in is gone.
    _open: watch::Sender<()>,
}

/// Writes what is handed in.
#[derive(Debug)]
pub struct Keeper {
    archive: Archive,
    waiting: Arc<Mutex<HashMap<Key, Arc<MatchRecord>>>>,
    open: watch::Receiver<()>,
}

impl Inbox {
    #[must_use]
    pub fn new(archive: Archive) -> (Self, Keeper) {
        let (sender, open) = watch::channel(());
        let waiting = Arc::<Mutex<HashMap<_, _>>>::default();
        (Self { waiting: Arc::clone(&waiting), _open: sender }, Keeper { archive, waiting, open })
    }

    /// Hands these in, in place of what waits of the same matches.
    pub fn put(&self, records: &[Arc<MatchRecord>]) {
        if records.is_empty() {
            return;
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.extend(records.iter().map(|record| (record.brief.id, Arc::clone(record))));
    }
}

impl Keeper {
    /// Writes from time to time, until nothing more can come.
    pub async fn run(mut self) {
        loop {
            let closed = tokio::time::timeout(WRITE_EVERY, self.open.changed()).await;
            self.write().await;
            if matches!(closed, Ok(Err(_))) {
                return;
            }
        }
    }

    /// What cannot be written waits for the next time, unless something newer has come.
    async fn write(&self) {
        let taken = mem::take(&mut *self.lock());
        let records: Vec<_> = taken.into_values().collect();
        if records.is_empty() {
            return;
        }
        if let Err(error) = self.archive.put(&records, now()).await {
            warn!(error = &error as &dyn Error, "matches were not kept, and will be tried again");
            let mut waiting = self.lock();
            for record in records {
                waiting.entry(record.brief.id).or_insert(record);
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Key, Arc<MatchRecord>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! Public ids: every id that a client sees fits a signed 32-bit integer, and stays the same.
//!
//! Sources identify entities by digests of 52 bits ([`Id::derive`]). This module permanently
//! assigns each digest a **number** from 1 to 2^31 - 1, and [`PublicIds::number_batch`] replaces
//! digests by numbers before facts reach the hub. That is the only boundary: identity, hub,
//! channels, archive and interfaces only know numbers.
//!
//! - A digest takes the first of its own sequence of choices that is free ([`Numbers`]), so nearly every
//!   number is the same on each machine and after the database was lost, and a demo of the same seed always
//!   has the same ones. Numbers are unique over all kinds: no team has the number of a league.
//! - The table `public_ids` stores the number of each digest. A task writes it in groups
//!   ([`PublicIds::keep`]), so that no source waits for the database. Until then the number is in a
//!   **journal** next to the database; it is appended before the number is used. So a `kill -9` between the
//!   two loses nothing: at the start, the journal is read and then written to the database.
//! - Other programs on the same database, such as an import next to the hub, make the same choices. If two
//!   of them assign one number to different digests before either has written it, the second write detects
//!   it ([`PublicIds::flush`]): an import stops, and succeeds when it is run again; a hub logs it, and uses
//!   another number from its next start on.
//! - What follows from ids (a season, a runner in a race) is a digest of their numbers, and gets a number in
//!   the same way. Rows of the archive (prices, appearances) and signals are too many to be held in memory:
//!   the archive and the hub number them by the same choices; see `archive::store` and `hub::signals`.

mod journal;
mod numbers;
mod store;

use std::{
    io,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
    time::Duration,
};

use facts::event::{Batch, Id};
use metrics::{counter, gauge};
use tokio::sync::{Notify, watch};
use tracing::error;

use self::journal::Journal;
pub use self::{
    journal::path_beside,
    numbers::{NUMBERS_MAX, Numbers, choices, first_choice},
};
use database::Database;

/// The interval of writes of new numbers. The journal covers a crash in between.
const WRITE_EVERY: Duration = Duration::from_millis(100);
/// On SQLite, where each write changes pages all over the table: less than `archive.write_ms`, so that a copy of the database
/// has the ids of its archive.
const WRITE_EVERY_SQLITE: Duration = Duration::from_millis(800);
/// Between a failure of the database and the next try.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// A handle on the public ids; clones share it. The default one stores them only in memory.
#[derive(Debug, Clone, Default)]
pub struct PublicIds {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    numbers: RwLock<Numbers>,
    /// Maximum number of ids; digests beyond it get none.
    ids_max: usize,
    persistence: Option<Persistence>,
}

/// The persistence of numbers.
#[derive(Debug)]
struct Persistence {
    database: Database,
    pending: Mutex<PendingIds>,
    wake: Notify,
    /// Held while writing.
    writing: tokio::sync::Mutex<()>,
}

/// Numbers that are not in the database yet.
#[derive(Debug, Default)]
struct PendingIds {
    unwritten: Vec<(Id, u32)>,
    journal: Option<Journal>,
}

/// An error of public ids.
#[derive(Debug, thiserror::Error)]
pub enum IdsError {
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    #[error("cannot use the journal of public ids")]
    Journal(#[from] io::Error),
    #[error("another program assigned {count} of the same public ids: run the command again")]
    Contested { count: usize },
}

impl Default for Inner {
    fn default() -> Self {
        Self { numbers: RwLock::default(), ids_max: usize::MAX, persistence: None }
    }
}

impl PublicIds {
    /// Loads the assigned numbers. `ids_max`: beyond it, new digests get no number.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn open(database: &Database, ids_max: usize) -> Result<Self, IdsError> {
        let mut numbers = Numbers::default();
        for (digest, number) in store::load(database).await? {
            numbers.insert(digest, number);
        }
        let persistence = Persistence {
            database: database.clone(),
            pending: Mutex::default(),
            wake: Notify::new(),
            writing: tokio::sync::Mutex::default(),
        };
        let inner = Inner { numbers: numbers.into(), ids_max, persistence: Some(persistence) };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Like [`Self::open`], with a journal in this file, from which it first restores numbers that
    /// were not written when the previous process was killed.
    ///
    /// # Errors
    ///
    /// If the database fails, or the file cannot be used.
    pub async fn open_with_journal(
        database: &Database,
        ids_max: usize,
        journal: &Path,
    ) -> Result<Self, IdsError> {
        let ids = Self::open(database, ids_max).await?;
        let (journal, left) = Journal::open(journal)?;
        if let Some(persistence) = &ids.inner.persistence {
            let mut numbers = ids.inner.write();
            let mut pending = persistence.pending();
            pending.unwritten = left;
            pending.unwritten.retain(|(digest, number)| numbers.insert(*digest, *number));
            pending.journal = Some(journal);
        }
        ids.flush_all().await?;
        Ok(ids)
    }

    /// The permanent number of this digest. `None` if the limit is reached.
    #[must_use]
    pub fn number(&self, digest: Id) -> Option<Id> {
        if let Some(number) = self.get(digest) {
            return Some(number);
        }
        let mut numbers = self.inner.write();
        if numbers.len() >= self.inner.ids_max {
            counter!("matchwire_ids_refused_total").increment(1);
            return None;
        }
        let (number, is_new) = numbers.take(digest)?;
        if is_new && let Some(persistence) = &self.inner.persistence {
            persistence.note(digest, number);
        }
        Some(Id(number.into()))
    }

    /// The number of this digest, if it has one.
    #[must_use]
    pub fn get(&self, digest: Id) -> Option<Id> {
        let numbers = self.inner.numbers.read().unwrap_or_else(PoisonError::into_inner);
        numbers.get(digest).map(|number| Id(number.into()))
    }

    /// Replaces all digests of a batch by numbers. Events with a digest without number are dropped.
    pub fn number_batch(&self, batch: &mut Batch) {
        batch.events.retain_mut(|event| {
            let mut is_whole = true;
            event.each_id(&mut |id| match self.number(*id) {
                Some(number) => *id = number,
                None => is_whole = false,
            });
            is_whole
        });
    }

    /// Writes new numbers.
    ///
    /// # Errors
    ///
    /// If the database fails, in which case the numbers stay pending, or if another program
    /// assigned one of the numbers to another digest.
    pub async fn flush(&self) -> Result<(), IdsError> {
        match self.flush_all().await? {
            0 => Ok(()),
            count => Err(IdsError::Contested { count }),
        }
    }

    /// Like [`Self::flush`]; returns how many numbers another program had assigned to other digests.
    async fn flush_all(&self) -> Result<usize, IdsError> {
        let Some(persistence) = &self.inner.persistence else { return Ok(0) };
        let _turn = persistence.writing.lock().await;
        let unwritten = std::mem::take(&mut persistence.pending().unwritten);
        if unwritten.is_empty() {
            return Ok(0);
        }
        match store::write(&persistence.database, &unwritten).await {
            Ok(contested) => {
                persistence.pending().written()?;
                for digest in &contested {
                    error!(
                        digest = digest.0,
                        "another program assigned the same public id; resolved at the next start"
                    );
                }
                counter!("matchwire_ids_contested_total").increment(contested.len() as u64);
                Ok(contested.len())
            }
            Err(error) => {
                let mut pending = persistence.pending();
                let later = std::mem::replace(&mut pending.unwritten, unwritten);
                pending.unwritten.extend(later);
                Err(error.into())
            }
        }
    }

    /// Writes new numbers periodically until `stopped`, and then once more.
    pub async fn keep(self, mut stopped: watch::Receiver<bool>) {
        let Some(persistence) = &self.inner.persistence else { return };
        let is_sqlite = persistence.database.is_sqlite();
        let every = if is_sqlite { WRITE_EVERY_SQLITE } else { WRITE_EVERY };
        let mut is_last = false;
        while !is_last {
            let written_soon = async {
                persistence.wake.notified().await;
                tokio::time::sleep(every).await;
            };
            tokio::select! {
                () = written_soon => {}
                _ = stopped.wait_for(|stop| *stop) => is_last = true,
            }
            gauge!("matchwire_ids").set(self.len());
            if let Err(error) = self.flush_all().await {
                base::log_limited!(warn, error, "cannot write public ids; will retry");
                persistence.wake.notify_one();
                if !is_last {
                    tokio::time::sleep(RETRY_AFTER).await;
                }
            }
        }
    }

    fn len(&self) -> f64 {
        self.inner.numbers.read().unwrap_or_else(PoisonError::into_inner).len() as f64
    }
}

impl Inner {
    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Numbers> {
        self.numbers.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Persistence {
    fn pending(&self) -> MutexGuard<'_, PendingIds> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, digest: Id, number: u32) {
        let mut pending = self.pending();
        pending.unwritten.push((digest, number));
        if let Some(journal) = &mut pending.journal
            && let Err(error) = journal.append(digest, number)
        {
            // The disk may be full: the task writes the number to the database as soon as it can.
            counter!("matchwire_ids_journal_failures_total").increment(1);
            base::log_limited!(warn, %error, "cannot write to the journal of public ids");
        }
        self.wake.notify_one();
    }
}

impl PendingIds {
    /// The taken numbers are in the database. Later ones still need the journal.
    fn written(&mut self) -> io::Result<()> {
        match &mut self.journal {
            Some(journal) if self.unwritten.is_empty() => journal.clear(),
            Some(_) | None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;

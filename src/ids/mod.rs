//! Public ids: every id that a client sees fits a signed 32-bit integer, and stays the same.
//!
//! Sources name what they tell by digests of 52 bits ([`Id::derive`]). Here each digest gets a **number**
//! from 1 to 2^31 - 1, once and for ever, and [`PublicIds::number_batch`] puts the numbers in place of the
//! digests before the hub sees a fact. That is the one boundary: identity, hub, channels, archive and
//! interfaces know numbers alone.
//!
//! - A digest takes the first of its own sequence of choices that is free ([`Numbers`]), so nearly every
//!   number is the same on each machine and after the database was lost, and a demo of the same seed always
//!   has the same ones. Numbers are unique over all kinds: no team has the number of a league.
//! - Which digest has which number is kept in the table `public_ids`, written in groups by a task
//!   ([`PublicIds::keep`]) so that no source waits for the database. Until then it stands in a **journal**
//!   beside the database, an append to which is done before the number is handed out. So a `kill -9` between
//!   the two loses nothing; what is in the journal at the start is taken in, and then written.
//! - Other programs on the same database, such as an import beside the hub, make the same choices. Should two
//!   of them, within the moment before they have written it, give one number to different digests, the
//!   second finds out when it writes ([`PublicIds::flush`]): an import stops, and does it right when it is
//!   run again; a hub says so in its log, and uses another number from its next start on.
//! - What follows from ids (a season, a runner in a race) is a digest of their numbers, and gets a number in
//!   the same way. Rows of the archive (prices, appearances) and signals are too many to be held in memory:
//!   the archive and the hub number them by the same choices; see `archive::store` and `hub::signals`.

mod journal;
mod numbers;
mod store;

use std::{
    error::Error,
    io,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
    time::Duration,
};

use ingest::event::{Batch, Id};
use metrics::{counter, gauge};
use tokio::sync::{Notify, watch};
use tracing::{error, warn};

use self::journal::Journal;
pub use self::{
    journal::path_beside,
    numbers::{NUMBERS_MAX, Numbers, choices, first_choice},
};
use crate::database::Database;

/// Between two looks for new numbers to write: whoever is killed has the journal.
const WRITE_EVERY: Duration = Duration::from_millis(100);
/// Between a failure of the database and the next try.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// A handle on the public ids; clones share it. The default one keeps them in memory alone.
#[derive(Debug, Clone, Default)]
pub struct PublicIds {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    numbers: RwLock<Numbers>,
    /// Digests beyond so many get no number.
    ids_max: usize,
    persistence: Option<Persistence>,
}

/// Where numbers are kept.
#[derive(Debug)]
struct Persistence {
    database: Database,
    pending: Mutex<PendingIds>,
    wake: Notify,
    /// Held by whoever writes.
    writing: tokio::sync::Mutex<()>,
}

/// What is not in the database yet.
#[derive(Debug, Default)]
struct PendingIds {
    unwritten: Vec<(Id, u32)>,
    journal: Option<Journal>,
}

/// What goes wrong with public ids.
#[derive(Debug, thiserror::Error)]
pub enum IdsError {
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    #[error("cannot use the journal of public ids")]
    Journal(#[from] io::Error),
    #[error("there are as many public ids as may be: hub.ids_max")]
    TooMany,
    #[error("another program gave {count} public ids to something else meanwhile: run it again")]
    Contested { count: usize },
}

impl Default for Inner {
    fn default() -> Self {
        Self { numbers: RwLock::default(), ids_max: usize::MAX, persistence: None }
    }
}

impl PublicIds {
    /// Reads what was given out, and goes on from there. `ids_max`: beyond so many, what is new gets no
    /// number.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn open(database: &Database, ids_max: usize) -> Result<Self, IdsError> {
        let mut numbers = Numbers::default();
        for (own, number) in store::load(database).await? {
            numbers.insert(own, number);
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

    /// The same with a journal in this file, from which it first takes in what was not written when the
    /// program before was killed.
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
            pending.unwritten.retain(|(own, number)| numbers.insert(*own, *number));
            pending.journal = Some(journal);
        }
        ids.flush_all().await?;
        Ok(ids)
    }

    /// The number of this digest: its own for ever. `None` when there are as many as may be.
    #[must_use]
    pub fn number(&self, own: Id) -> Option<Id> {
        if let Some(number) = self.known(own) {
            return Some(number);
        }
        let mut numbers = self.inner.write();
        if numbers.len() >= self.inner.ids_max {
            counter!("matchwire_ids_refused_total").increment(1);
            return None;
        }
        let (number, is_new) = numbers.take(own)?;
        if is_new && let Some(persistence) = &self.inner.persistence {
            persistence.note(own, number);
        }
        Some(Id(number.into()))
    }

    /// The number of this digest, if it has one.
    #[must_use]
    pub fn known(&self, own: Id) -> Option<Id> {
        let numbers = self.inner.numbers.read().unwrap_or_else(PoisonError::into_inner);
        numbers.get(own).map(|number| Id(number.into()))
    }

    /// Puts numbers in place of all digests of a batch. Events of which one gets no number are left out.
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

    /// Writes what is new.
    ///
    /// # Errors
    ///
    /// If the database fails: then it is still to be written. Or if another program gave a number to
    /// something else.
    pub async fn flush(&self) -> Result<(), IdsError> {
        match self.flush_all().await? {
            0 => Ok(()),
            count => Err(IdsError::Contested { count }),
        }
    }

    /// The same; tells how many numbers another program had given to something else.
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
                for own in &contested {
                    error!(
                        digest = own.0,
                        "a public id is another program's, too, until the next start"
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

    /// Writes what is new, again and again, until `stopped`, and then once more.
    pub async fn keep(self, mut stopped: watch::Receiver<bool>) {
        let Some(persistence) = &self.inner.persistence else { return };
        let mut is_last = false;
        while !is_last {
            let written_soon = async {
                persistence.wake.notified().await;
                tokio::time::sleep(WRITE_EVERY).await;
            };
            tokio::select! {
                () = written_soon => {}
                _ = stopped.wait_for(|stop| *stop) => is_last = true,
            }
            gauge!("matchwire_ids").set(self.len());
            if let Err(error) = self.flush_all().await {
                warn!(
                    error = &error as &dyn Error,
                    "public ids were not written, and will be tried again"
                );
                persistence.wake.notify_one();
                if !is_last {
                    tokio::time::sleep(RETRY_AFTER).await;
                }
            }
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a gauge is a float; there are below 2^31")]
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

    fn note(&self, own: Id, number: u32) {
        let mut pending = self.pending();
        pending.unwritten.push((own, number));
        if let Some(journal) = &mut pending.journal
            && let Err(error) = journal.append(own, number)
        {
            // A disk that is full: the task writes the number to the database as soon as it can.
            counter!("matchwire_ids_journal_failures_total").increment(1);
            warn!(%error, "cannot write to the journal of public ids");
        }
        self.wake.notify_one();
    }
}

impl PendingIds {
    /// All that was taken out is in the database. What has come meanwhile still needs the journal.
    fn written(&mut self) -> io::Result<()> {
        match &mut self.journal {
            Some(journal) if self.unwritten.is_empty() => journal.clear(),
            Some(_) | None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;

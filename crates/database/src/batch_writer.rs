//! Bulk writes that do not block other writers.
//!
//! SQLite has one writer at a time and no queue: a waiting writer polls with pauses of up to a
//! tenth of a second, and fails after `busy_timeout`. A long transaction blocks all others, and
//! short transactions in close succession nearly so. So bulk writes use a [`BatchWriter`], which
//! pauses long enough for every waiting writer to poll.

use std::time::Duration;

use sqlx::{Any, AnyConnection, Executor, Transaction};
use tokio::{
    runtime::Handle,
    time::{Instant, sleep},
};

use super::{Database, STATEMENT_MAX, sqlite, within};

/// How long SQLite is held, in one transaction or several, before others get a turn.
const HELD_MAX: Duration = Duration::from_millis(200);
/// Slightly more than the longest polling pause of SQLite's busy handler.
const YIELD_TIME: Duration = Duration::from_millis(110);

/// How long a bulk writer has held the database since others had a turn, and for how much longer than others it may.
#[derive(Debug, Default)]
pub struct WriteBudget {
    held: Duration,
    more: Duration,
}

impl WriteBudget {
    /// For much that is written while a hub starts: the longer a transaction of SQLite is, the fewer pages it writes again, and
    /// others wait for up to a second, well below `busy_timeout`.
    #[must_use]
    pub const fn for_starts() -> Self {
        Self { held: Duration::ZERO, more: Duration::from_millis(800) }
    }
}

/// Writes in as many transactions as necessary. If it is dropped before [`Self::finish`], the last
/// transaction is rolled back and earlier ones are not, so the writes must be idempotent. Begins and
/// commits have a time limit, after which a transaction may be committed all the same; statements
/// have the one that the caller sets.
#[derive(Debug)]
pub struct BatchWriter<'a> {
    database: &'a Database,
    budget: &'a mut WriteBudget,
    open: Option<(Transaction<'static, Any>, Instant)>,
}

impl Database {
    /// Begins a bulk write.
    #[must_use]
    pub fn batch_writer<'a>(&'a self, budget: &'a mut WriteBudget) -> BatchWriter<'a> {
        BatchWriter { database: self, budget, open: None }
    }

    /// Gives waiting writers a turn. Returns at once if writers do not block each other.
    pub async fn yield_to_writers(&self) {
        if self.is_sqlite() {
            sleep(YIELD_TIME).await;
        }
    }
}

/// The next user of the connection does not have its cache.
impl Drop for BatchWriter<'_> {
    fn drop(&mut self) {
        let Some((mut transaction, _)) = self.open.take().filter(|_| self.is_sqlite()) else {
            return;
        };
        // Without a runtime nobody uses it again. If it fails, the connection does too.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move { transaction.execute(sqlite::CACHE).await.map(drop).ok() });
        }
    }
}

impl BatchWriter<'_> {
    /// Whether the database is SQLite, whose statements can differ.
    #[must_use]
    pub fn is_sqlite(&self) -> bool {
        self.database.is_sqlite()
    }

    /// The connection for the next statement, which need not be in one transaction with earlier
    /// ones.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn next(&mut self) -> sqlx::Result<&mut AnyConnection> {
        if self.is_sqlite() && self.held() >= HELD_MAX + self.budget.more {
            self.commit().await?;
            self.budget.held = Duration::ZERO;
            self.database.yield_to_writers().await;
        }
        self.same().await
    }

    /// The connection for the next statement, in one transaction with the previous one if there is
    /// one.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn same(&mut self) -> sqlx::Result<&mut AnyConnection> {
        let open = match self.open.take() {
            Some(open) => open,
            None => {
                let mut begun = within(STATEMENT_MAX, self.database.begin()).await?;
                if self.is_sqlite() {
                    begun.execute(sqlite::LARGE_CACHE).await?;
                }
                (begun, Instant::now())
            }
        };
        Ok(&mut *self.open.insert(open).0)
    }

    /// Commits the open transaction.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn finish(mut self) -> sqlx::Result<()> {
        self.commit().await
    }

    fn held(&self) -> Duration {
        let open = self.open.as_ref().map(|(_, since)| since.elapsed());
        self.budget.held + open.unwrap_or_default()
    }

    async fn commit(&mut self) -> sqlx::Result<()> {
        let Some((mut transaction, since)) = self.open.take() else { return Ok(()) };
        if self.is_sqlite() {
            transaction.execute(sqlite::CACHE).await?;
        }
        within(STATEMENT_MAX, transaction.commit()).await?;
        self.budget.held += since.elapsed();
        Ok(())
    }
}

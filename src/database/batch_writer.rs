//! How much is written without keeping others from writing.
//!
//! SQLite has one writer at a time and no queue for the next: whoever waits looks again and again, with
//! pauses of up to a tenth of a second, and gives up after `busy_timeout`. A long transaction keeps all
//! others out while it lasts, and one short transaction right behind another nearly so. So what may be much
//! is written in [`BatchWriter`], with pauses in which everybody who waits has looked.

use std::time::Duration;

use sqlx::{Any, AnyConnection, Transaction};
use tokio::time::{Instant, sleep};

use super::Database;

/// So long SQLite is held, in one transaction or in several, before others are let in.
const HELD_MAX: Duration = Duration::from_millis(200);
/// A little more than the longest pause between two looks of SQLite's busy handler.
const YIELD_TIME: Duration = Duration::from_millis(110);

/// For how long somebody who writes much has held the database since others were let in.
#[derive(Debug, Default)]
pub struct WriteBudget {
    held: Duration,
}

/// What is written in as many transactions as it takes. Dropped before [`Self::finish`], the last of them
/// is undone and those before it are not: what is written so must be right to be written again.
#[derive(Debug)]
pub struct BatchWriter<'a> {
    database: &'a Database,
    budget: &'a mut WriteBudget,
    open: Option<(Transaction<'static, Any>, Instant)>,
}

impl Database {
    /// Begins to write much.
    #[must_use]
    pub fn batch_writer<'a>(&'a self, budget: &'a mut WriteBudget) -> BatchWriter<'a> {
        BatchWriter { database: self, budget, open: None }
    }

    /// Lets in all who wait to write. Nothing to wait for where writers do not wait for each other.
    pub async fn yield_to_writers(&self) {
        if self.is_sqlite() {
            sleep(YIELD_TIME).await;
        }
    }
}

impl BatchWriter<'_> {
    /// What the next statement is run on: it need not be in one transaction with those before it.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn next(&mut self) -> Result<&mut AnyConnection, sqlx::Error> {
        if self.database.is_sqlite() && self.held() >= HELD_MAX {
            self.commit().await?;
            self.budget.held = Duration::ZERO;
            self.database.yield_to_writers().await;
        }
        self.same().await
    }

    /// What the next statement is run on, in one transaction with the one before it, if there is one.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn same(&mut self) -> Result<&mut AnyConnection, sqlx::Error> {
        let open = match self.open.take() {
            Some(open) => open,
            None => (self.database.begin().await?, Instant::now()),
        };
        Ok(&mut *self.open.insert(open).0)
    }

    /// Commits what is open.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn finish(mut self) -> Result<(), sqlx::Error> {
        self.commit().await
    }

    fn held(&self) -> Duration {
        let open = self.open.as_ref().map(|(_, since)| since.elapsed());
        self.budget.held + open.unwrap_or_default()
    }

    async fn commit(&mut self) -> Result<(), sqlx::Error> {
        let Some((transaction, since)) = self.open.take() else { return Ok(()) };
        transaction.commit().await?;
        self.budget.held += since.elapsed();
        Ok(())
    }
}

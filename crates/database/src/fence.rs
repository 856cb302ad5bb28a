//! A fence: of the nodes of a cluster, only the one that leads writes certain tables.
//!
//! A leader has a term, which is greater than those of all before. Before its first write it stores its term, and each
//! transaction of a fenced handle checks that it is still the stored one. So a node that was suspended, and does not
//! know yet that another one leads, cannot replace what the new leader has written.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sqlx::{Any, Transaction};

use super::{Database, SharedPool};

/// The term of this node. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Fence {
    /// `None` before the node leads for the first time.
    term: Arc<Mutex<Option<Term>>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    /// The log in which the term is.
    log: Arc<str>,
    number: u64,
    /// It replaces what the database has, even a greater term: the log has lost those.
    is_new_history: bool,
    is_stored: bool,
}

/// Another node has written with a term of its own.
#[derive(Debug, thiserror::Error)]
#[error("another node has led since: the database has term {stored}, and this node {term}")]
pub struct Deposed {
    term: u64,
    stored: u64,
}

/// Whether a write was refused because another node leads.
#[must_use]
pub fn is_deposed(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Encode(source) if source.is::<Deposed>())
}

/// The term of a log that was stored last; 0 if none was.
pub(super) async fn stored_term(pool: &SharedPool, log: &str) -> sqlx::Result<u64> {
    let statement = "SELECT term FROM cluster_terms WHERE log = $1";
    let stored: Option<i64> = sqlx::query_scalar(statement).bind(log).fetch_optional(pool).await?;
    Ok(stored.unwrap_or(0).cast_unsigned())
}

impl Fence {
    /// The node leads in this term. `is_new_history`: the log may have lost greater terms.
    pub fn lead(&self, log: &str, number: u64, is_new_history: bool) {
        let term = Term { log: log.into(), number, is_new_history, is_stored: false };
        *self.lock() = Some(term);
    }

    pub(super) fn term(&self) -> Option<u64> {
        self.lock().as_ref().map(|term| term.number)
    }

    /// Stores the term if it is new.
    pub(super) async fn raise(&self, database: &Database) -> sqlx::Result<()> {
        let Some(term) = self.lock().clone().filter(|term| !term.is_stored) else { return Ok(()) };
        // Waits for transactions of the leader before, which hold the row.
        sqlx::query(
            "INSERT INTO cluster_terms (log, term) VALUES ($1, $2) ON CONFLICT (log) \
             DO UPDATE SET term = excluded.term WHERE cluster_terms.term < excluded.term OR $3",
        )
        .bind(&*term.log)
        .bind(term.number.cast_signed())
        .bind(term.is_new_history)
        .execute(database.pool())
        .await?;
        if let Some(current) = self.lock().as_mut().filter(|current| **current == term) {
            current.is_stored = true;
        }
        Ok(())
    }

    /// Locks the term until the transaction ends.
    pub(super) async fn check(
        &self,
        tx: &mut Transaction<'static, Any>,
        is_sqlite: bool,
    ) -> sqlx::Result<()> {
        let Some(Term { log, number: term, .. }) = self.lock().clone() else { return Ok(()) };
        // SQLite has one writer at a time.
        let statement = if is_sqlite {
            "SELECT term FROM cluster_terms WHERE log = $1"
        } else {
            "SELECT term FROM cluster_terms WHERE log = $1 FOR SHARE"
        };
        let stored: Option<i64> =
            sqlx::query_scalar(statement).bind(&*log).fetch_optional(&mut **tx).await?;
        let stored = stored.unwrap_or(0).cast_unsigned();
        if stored != term {
            return Err(sqlx::Error::Encode(Box::new(Deposed { term, stored })));
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Term>> {
        self.term.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

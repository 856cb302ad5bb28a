//! The Founder badge: granted once, to all accounts that exist at a moment, and never again.

use super::{Accounts, Micros, Result};

/// The row that records the grant.
const META: &str = "founders_granted_us";

/// The result of granting the badge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FounderGrantOutcome {
    /// This many accounts have it, and no other account ever will.
    Now { accounts: u64 },
    /// It was granted before, as of this moment; nothing has changed.
    Before { at: Micros },
    /// That moment is in the future; nothing has changed.
    TooEarly,
}

impl Accounts {
    /// Grants the badge to every account that existed at a moment. This happens once in the life of
    /// a database; a second call is refused at any time.
    ///
    /// # Errors
    ///
    /// If the store fails; nothing has changed then.
    pub async fn grant_founders(&self, at: Micros, now: Micros) -> Result<FounderGrantOutcome> {
        if at > now {
            return Ok(FounderGrantOutcome::TooEarly);
        }
        let mut tx = self.database().begin().await?;
        // Of two concurrent calls, the second waits here for the first to commit, and inserts
        // nothing.
        let first = sqlx::query(
            "INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
        )
        .bind(META)
        .bind(at.to_string())
        .execute(&mut *tx)
        .await?;
        if first.rows_affected() == 0 {
            tx.rollback().await?;
            let at = self.meta(META).await?.and_then(|at| at.parse().ok()).unwrap_or_default();
            return Ok(FounderGrantOutcome::Before { at });
        }
        let granted = sqlx::query(
            "UPDATE accounts SET founder_us = $1 WHERE created_us <= $1 AND deleted_us IS NULL",
        )
        .bind(at)
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(FounderGrantOutcome::Now { accounts: granted.rows_affected() })
    }
}

//! Mails as they are stored: all the SQL about them.
//!
//! A row waits until it is sent or has failed. Whoever sends it claims it first, which puts it off: if
//! he never comes back, it is due again. So each mail is sent at least once, and by one at a time, also
//! where several programs share the database.

use sqlx::{AnyConnection, FromRow, Row, any::AnyRow};

use super::MailKind;
use crate::{accounts::Micros, database::Database};

/// Rows that are deleted at once: a long transaction keeps others waiting.
const SWEPT_MAX: i64 = 1_000;
/// Characters that are kept of what went wrong.
const ERROR_MAX: usize = 300;

/// Puts a mail into the outbox, as a part of the caller's transaction: it is sent if and only if that
/// is committed. `link` is the row of `links` whose link it brings, for the kinds that have one.
///
/// # Errors
///
/// If the store fails.
pub async fn enqueue(
    tx: &mut AnyConnection,
    address: &str,
    kind: MailKind,
    link: Option<i64>,
    now: Micros,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO mails (address, kind, link_id, created_us, next_us)
         VALUES ($1, $2, $3, $4, $4)",
    )
    .bind(address)
    .bind(kind.as_str())
    .bind(link)
    .bind(now)
    .execute(tx)
    .await?;
    Ok(())
}

/// Removes every mail to this address, sent or not: for an account that is deleted. What is to tell
/// of the deletion is put in afterwards.
///
/// # Errors
///
/// If the store fails.
pub async fn forget(tx: &mut AnyConnection, address: &str) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM mails WHERE address = $1").bind(address).execute(tx).await?;
    Ok(())
}

/// The mails of a database.
#[derive(Debug, Clone)]
pub(super) struct Outbox {
    database: Database,
}

/// A mail that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) id: i64,
    pub(super) address: String,
    /// The name of a [`MailKind`].
    pub(super) kind: String,
    pub(super) link: Option<i64>,
    pub(super) created: Micros,
    /// How often it was tried.
    pub(super) attempts: u32,
    /// Since when it is due.
    pub(super) next: Micros,
    /// Until when its link can be followed.
    pub(super) expires: Option<Micros>,
    /// Whether its link has been followed.
    pub(super) used: bool,
}

impl Outbox {
    pub(super) fn new(database: Database) -> Self {
        Self { database }
    }

    /// What is due, the longest first.
    pub(super) async fn due(&self, now: Micros, max: u32) -> Result<Vec<Waiting>, sqlx::Error> {
        sqlx::query_as(
            "SELECT mails.id, mails.address, mails.kind, mails.link_id, mails.created_us,
                    mails.attempts, mails.next_us, links.expires_us, links.used_us
             FROM mails LEFT JOIN links ON links.id = mails.link_id
             WHERE mails.sent_us IS NULL AND mails.failed_us IS NULL AND mails.next_us <= $1
             ORDER BY mails.next_us, mails.id LIMIT $2",
        )
        .bind(now)
        .bind(i64::from(max))
        .fetch_all(self.database.pool())
        .await
    }

    /// Begins an attempt, which counts. False if somebody else has begun one.
    pub(super) async fn claim(&self, mail: &Waiting, until: Micros) -> Result<bool, sqlx::Error> {
        let done = sqlx::query(
            "UPDATE mails SET attempts = attempts + 1, next_us = $1
             WHERE id = $2 AND next_us = $3 AND sent_us IS NULL AND failed_us IS NULL",
        )
        .bind(until)
        .bind(mail.id)
        .bind(mail.next)
        .execute(self.database.pool())
        .await?;
        Ok(done.rows_affected() == 1)
    }

    pub(super) async fn sent(&self, id: i64, now: Micros) -> Result<(), sqlx::Error> {
        sqlx::query("UPDATE mails SET sent_us = $1, error = NULL WHERE id = $2")
            .bind(now)
            .bind(id)
            .execute(self.database.pool())
            .await?;
        Ok(())
    }

    pub(super) async fn put_off(
        &self,
        id: i64,
        until: Micros,
        error: &str,
    ) -> Result<(), sqlx::Error> {
        sqlx::query("UPDATE mails SET next_us = $1, error = $2 WHERE id = $3")
            .bind(until)
            .bind(shortened(error))
            .bind(id)
            .execute(self.database.pool())
            .await?;
        Ok(())
    }

    /// Gives it up. False if that was done before.
    pub(super) async fn fail(
        &self,
        id: i64,
        now: Micros,
        error: &str,
    ) -> Result<bool, sqlx::Error> {
        let done = sqlx::query(
            "UPDATE mails SET failed_us = $1, error = $2
             WHERE id = $3 AND failed_us IS NULL AND sent_us IS NULL",
        )
        .bind(now)
        .bind(shortened(error))
        .bind(id)
        .execute(self.database.pool())
        .await?;
        Ok(done.rows_affected() == 1)
    }

    /// How many are neither sent nor given up.
    pub(super) async fn waiting(&self) -> Result<i64, sqlx::Error> {
        sqlx::query_scalar("SELECT count(*) FROM mails WHERE sent_us IS NULL AND failed_us IS NULL")
            .fetch_one(self.database.pool())
            .await
    }

    /// Deletes what was put in before then, whatever became of it, and says how much that was.
    pub(super) async fn sweep(&self, before: Micros) -> Result<u64, sqlx::Error> {
        let mut swept = 0;
        loop {
            let done = sqlx::query(
                "DELETE FROM mails WHERE id IN
                 (SELECT id FROM mails WHERE created_us < $1 ORDER BY id LIMIT $2)",
            )
            .bind(before)
            .bind(SWEPT_MAX)
            .execute(self.database.pool())
            .await?;
            swept += done.rows_affected();
            if done.rows_affected() < SWEPT_MAX.unsigned_abs() {
                return Ok(swept);
            }
        }
    }
}

impl<'r> FromRow<'r, AnyRow> for Waiting {
    fn from_row(row: &'r AnyRow) -> Result<Self, sqlx::Error> {
        let attempts: i64 = row.try_get("attempts")?;
        Ok(Self {
            id: row.try_get("id")?,
            address: row.try_get("address")?,
            kind: row.try_get("kind")?,
            link: row.try_get("link_id")?,
            created: row.try_get("created_us")?,
            attempts: u32::try_from(attempts).unwrap_or(u32::MAX),
            next: row.try_get("next_us")?,
            expires: row.try_get("expires_us")?,
            used: row.try_get::<Option<i64>, _>("used_us")?.is_some(),
        })
    }
}

/// A server may say much.
fn shortened(error: &str) -> String {
    error.chars().filter(|c| !c.is_control()).take(ERROR_MAX).collect()
}

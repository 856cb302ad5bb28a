//! The stored mails: all SQL about them.
//!
//! A row waits until it is sent or has failed. A worker claims a row before it sends it, which moves
//! its due time: if the worker dies, the row becomes due again. So each mail is sent at least once, and
//! by one worker at a time, even where several processes share the database.

use sqlx::{AnyConnection, FromRow, Row, any::AnyRow};

use super::MailKind;
use crate::{accounts::Micros, payments::Receipt};
use database::Database;

/// Rows deleted in one statement: a long transaction blocks others.
const SWEPT_MAX: i64 = 1_000;
/// Characters of an error that are stored.
const ERROR_MAX: usize = 300;

/// Adds a mail to the outbox as part of the caller's transaction: it is sent if and only if that
/// commits. `link` is the id of its row in `links`, for the kinds that have a link.
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
) -> sqlx::Result<()> {
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

/// The same for an account, if it has an address.
///
/// # Errors
///
/// If the store fails.
pub async fn enqueue_for_account(
    tx: &mut AnyConnection,
    account: i64,
    kind: MailKind,
    now: Micros,
) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO mails (address, kind, created_us, next_us)
         SELECT email, $2, $3, $3 FROM accounts WHERE id = $1 AND email IS NOT NULL AND deleted_us IS NULL",
    )
    .bind(account)
    .bind(kind.as_str())
    .bind(now)
    .execute(tx)
    .await?;
    Ok(())
}

/// The same for a mail with a receipt.
///
/// # Errors
///
/// If the store fails.
pub async fn enqueue_receipt(
    tx: &mut AnyConnection,
    address: &str,
    kind: MailKind,
    receipt: &Receipt,
    now: Micros,
) -> sqlx::Result<()> {
    let content =
        serde_json::to_string(receipt).map_err(|error| sqlx::Error::Encode(error.into()))?;
    sqlx::query(
        "INSERT INTO mails (address, kind, content, created_us, next_us)
         VALUES ($1, $2, $3, $4, $4)",
    )
    .bind(address)
    .bind(kind.as_str())
    .bind(content)
    .bind(now)
    .execute(tx)
    .await?;
    Ok(())
}

/// Deletes every mail to this address, sent or not, because its account is deleted. The notice of the
/// deletion must be enqueued afterwards.
///
/// # Errors
///
/// If the store fails.
pub async fn delete_for_address(tx: &mut AnyConnection, address: &str) -> sqlx::Result<()> {
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
pub(super) struct QueuedEmail {
    pub(super) id: i64,
    pub(super) address: String,
    /// The name of a [`MailKind`].
    pub(super) kind: String,
    pub(super) link: Option<i64>,
    /// The receipt as JSON, for the kinds that have one.
    pub(super) content: Option<String>,
    pub(super) created: Micros,
    /// The number of attempts so far.
    pub(super) attempts: u32,
    /// When it becomes due.
    pub(super) next: Micros,
    /// When its link expires.
    pub(super) expires: Option<Micros>,
    /// Whether its link has been used.
    pub(super) used: bool,
}

impl Outbox {
    pub(super) fn new(database: Database) -> Self {
        Self { database }
    }

    /// The mails that are due, the oldest first.
    pub(super) async fn due(&self, now: Micros, max: u32) -> sqlx::Result<Vec<QueuedEmail>> {
        sqlx::query_as(
            "SELECT mails.id, mails.address, mails.kind, mails.link_id, mails.content, mails.created_us,
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

    /// Begins an attempt and counts it. False if another worker has begun one.
    pub(super) async fn claim(&self, mail: &QueuedEmail, until: Micros) -> sqlx::Result<bool> {
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

    pub(super) async fn sent(&self, id: i64, now: Micros) -> sqlx::Result<()> {
        sqlx::query("UPDATE mails SET sent_us = $1, error = NULL WHERE id = $2")
            .bind(now)
            .bind(id)
            .execute(self.database.pool())
            .await?;
        Ok(())
    }

    pub(super) async fn reschedule(&self, id: i64, until: Micros, error: &str) -> sqlx::Result<()> {
        sqlx::query("UPDATE mails SET next_us = $1, error = $2 WHERE id = $3")
            .bind(until)
            .bind(shortened(error))
            .bind(id)
            .execute(self.database.pool())
            .await?;
        Ok(())
    }

    /// Marks a mail as failed. False if it was already sent or failed.
    pub(super) async fn fail(&self, id: i64, now: Micros, error: &str) -> sqlx::Result<bool> {
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

    /// The number of mails neither sent nor failed.
    pub(super) async fn waiting(&self) -> sqlx::Result<i64> {
        sqlx::query_scalar("SELECT count(*) FROM mails WHERE sent_us IS NULL AND failed_us IS NULL")
            .fetch_one(self.database.pool())
            .await
    }

    /// Deletes mails enqueued before this moment, sent or not, and returns their number.
    pub(super) async fn sweep(&self, before: Micros) -> sqlx::Result<u64> {
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

impl<'r> FromRow<'r, AnyRow> for QueuedEmail {
    fn from_row(row: &'r AnyRow) -> sqlx::Result<Self> {
        let attempts: i64 = row.try_get("attempts")?;
        Ok(Self {
            id: row.try_get("id")?,
            address: row.try_get("address")?,
            kind: row.try_get("kind")?,
            link: row.try_get("link_id")?,
            content: row.try_get("content")?,
            created: row.try_get("created_us")?,
            attempts: u32::try_from(attempts).unwrap_or(u32::MAX),
            next: row.try_get("next_us")?,
            expires: row.try_get("expires_us")?,
            used: row.try_get::<Option<i64>, _>("used_us")?.is_some(),
        })
    }
}

/// A server's reply can be long.
fn shortened(error: &str) -> String {
    error.chars().filter(|c| !c.is_control()).take(ERROR_MAX).collect()
}

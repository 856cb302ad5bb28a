//! The stored sessions.

use sqlx::{AnyConnection, FromRow, Row, any::AnyRow};

use super::AccountStore;
use crate::accounts::{AccountId, AdminId, Micros, secret::Hash, session::SessionOwner};

/// A stored session.
#[derive(Debug)]
pub(crate) struct StoredSession {
    pub(crate) who: SessionOwner,
    pub(crate) created: Micros,
    pub(crate) seen: Micros,
    pub(crate) expires: Micros,
}

impl FromRow<'_, AnyRow> for StoredSession {
    fn from_row(row: &AnyRow) -> sqlx::Result<Self> {
        let account: Option<i64> = row.try_get("account_id")?;
        let who = match account {
            Some(account) => SessionOwner::Customer(AccountId(account)),
            None => SessionOwner::Admin(AdminId(row.try_get("admin_id")?)),
        };
        Ok(Self {
            who,
            created: row.try_get("created_us")?,
            seen: row.try_get("seen_us")?,
            expires: row.try_get("expires_us")?,
        })
    }
}

impl AccountStore {
    /// The session with this digest, unless its account is blocked or deleted.
    pub(crate) async fn session(&self, hash: &Hash) -> sqlx::Result<Option<StoredSession>> {
        sqlx::query_as(
            "SELECT sessions.* FROM sessions \
             LEFT JOIN accounts ON accounts.id = sessions.account_id \
             WHERE sessions.hash = $1 \
             AND accounts.blocked_us IS NULL AND accounts.deleted_us IS NULL",
        )
        .bind(&hash[..])
        .fetch_optional(self.database.pool())
        .await
    }

    /// Records a visit. A later one that was recorded meanwhile stays.
    pub(crate) async fn touch_session(&self, hash: &Hash, now: Micros) -> sqlx::Result<()> {
        sqlx::query("UPDATE sessions SET seen_us = $2 WHERE hash = $1 AND seen_us < $2")
            .bind(&hash[..])
            .bind(now)
            .execute(self.database.pool())
            .await?;
        Ok(())
    }

    pub(crate) async fn remove_session(&self, hash: &Hash) -> sqlx::Result<()> {
        sqlx::query("DELETE FROM sessions WHERE hash = $1")
            .bind(&hash[..])
            .execute(self.database.pool())
            .await?;
        Ok(())
    }
}

pub(crate) async fn insert_session(
    tx: &mut AnyConnection,
    hash: &Hash,
    who: SessionOwner,
    expires: Micros,
    now: Micros,
) -> sqlx::Result<()> {
    let (account, admin) = match who {
        SessionOwner::Customer(account) => (Some(account.0), None),
        SessionOwner::Admin(admin) => (None, Some(admin.0)),
    };
    sqlx::query(
        "INSERT INTO sessions (hash, account_id, admin_id, created_us, seen_us, expires_us) \
         VALUES ($1, $2, $3, $4, $4, $5)",
    )
    .bind(&hash[..])
    .bind(account)
    .bind(admin)
    .bind(now)
    .bind(expires)
    .execute(tx)
    .await?;
    Ok(())
}

pub(crate) async fn remove_sessions(
    tx: &mut AnyConnection,
    account: AccountId,
) -> sqlx::Result<()> {
    sqlx::query("DELETE FROM sessions WHERE account_id = $1").bind(account.0).execute(tx).await?;
    Ok(())
}

/// Removes the oldest sessions of an account beyond a maximum.
pub(crate) async fn keep_newest_sessions(
    tx: &mut AnyConnection,
    account: AccountId,
    sessions_max: u32,
) -> sqlx::Result<()> {
    sqlx::query(
        "DELETE FROM sessions WHERE account_id = $1 AND hash NOT IN \
         (SELECT hash FROM sessions WHERE account_id = $1 ORDER BY created_us DESC, hash LIMIT $2)",
    )
    .bind(account.0)
    .bind(i64::from(sessions_max))
    .execute(tx)
    .await?;
    Ok(())
}

/// Removes sessions that have ended by now, or had no visit since `idle_since`.
pub(crate) async fn remove_ended_sessions(
    tx: &mut AnyConnection,
    idle_since: Micros,
    now: Micros,
) -> sqlx::Result<u64> {
    let done = sqlx::query("DELETE FROM sessions WHERE expires_us <= $1 OR seen_us <= $2")
        .bind(now)
        .bind(idle_since)
        .execute(tx)
        .await?;
    Ok(done.rows_affected())
}

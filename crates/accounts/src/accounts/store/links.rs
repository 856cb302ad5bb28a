//! The stored links.

use sqlx::{AnyConnection, FromRow, Row, any::AnyRow};

use super::AccountStore;
use crate::accounts::{AccountId, Micros, link::LinkKind};

/// A stored link. The link itself is derived from it and a secret.
#[derive(Debug)]
pub(crate) struct StoredLink {
    pub(crate) id: i64,
    pub(crate) account: AccountId,
    pub(crate) kind: String,
    /// The new address.
    pub(crate) email: Option<String>,
    pub(crate) expires: Micros,
    pub(crate) used: Option<Micros>,
}

/// What following a link does. A password takes effect only in the browser that typed it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Effect<'a> {
    pub(crate) password: Option<&'a str>,
    pub(crate) email: Option<&'a str>,
    pub(crate) visitor: Option<&'a [u8]>,
}

impl FromRow<'_, AnyRow> for StoredLink {
    fn from_row(row: &AnyRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            account: AccountId(row.try_get("account_id")?),
            kind: row.try_get("kind")?,
            email: row.try_get("email")?,
            expires: row.try_get("expires_us")?,
            used: row.try_get("used_us")?,
        })
    }
}

impl AccountStore {
    pub(crate) async fn link(&self, id: i64) -> sqlx::Result<Option<StoredLink>> {
        sqlx::query_as("SELECT * FROM links WHERE id = $1")
            .bind(id)
            .fetch_optional(self.database.pool())
            .await
    }
}

/// Creates a link with an expiry, and returns its id.
pub(crate) async fn insert_link(
    tx: &mut AnyConnection,
    (account, kind): (AccountId, LinkKind),
    effect: Effect<'_>,
    expires: Micros,
    now: Micros,
) -> sqlx::Result<i64> {
    sqlx::query_scalar(
        "INSERT INTO links (account_id, kind, password, email, visitor, created_us, expires_us) \
         VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id",
    )
    .bind(account.0)
    .bind(kind.as_str())
    .bind(effect.password)
    .bind(effect.email)
    .bind(effect.visitor)
    .bind(now)
    .bind(expires)
    .fetch_one(tx)
    .await
}

/// The hash of the password with which this browser last registered the account's address, unless
/// the address was confirmed since.
pub(crate) async fn registered_password(
    tx: &mut AnyConnection,
    account: AccountId,
    visitor: &[u8],
) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar(
        "SELECT password FROM links WHERE account_id = $1 AND kind = $2 AND visitor = $3 \
         AND used_us IS NULL AND password IS NOT NULL ORDER BY id DESC LIMIT 1",
    )
    .bind(account.0)
    .bind(LinkKind::Verify.as_str())
    .bind(visitor)
    .fetch_optional(tx)
    .await
}

/// Uses a link; decides between two concurrent uses. False if it was used before.
pub(crate) async fn use_link(tx: &mut AnyConnection, id: i64, now: Micros) -> sqlx::Result<bool> {
    let done = sqlx::query("UPDATE links SET used_us = $2 WHERE id = $1 AND used_us IS NULL")
        .bind(id)
        .bind(now)
        .execute(tx)
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Invalidates all valid links of an account.
pub(crate) async fn void_links(
    tx: &mut AnyConnection,
    account: AccountId,
    now: Micros,
) -> sqlx::Result<()> {
    sqlx::query("UPDATE links SET used_us = $2 WHERE account_id = $1 AND used_us IS NULL")
        .bind(account.0)
        .bind(now)
        .execute(tx)
        .await?;
    Ok(())
}

/// Removes the links of an account, and with them the mails that would deliver them.
pub(crate) async fn remove_links(tx: &mut AnyConnection, account: AccountId) -> sqlx::Result<()> {
    sqlx::query("DELETE FROM links WHERE account_id = $1").bind(account.0).execute(tx).await?;
    Ok(())
}

/// Removes links that expired before `before`.
pub(crate) async fn remove_old_links(tx: &mut AnyConnection, before: Micros) -> sqlx::Result<u64> {
    let done =
        sqlx::query("DELETE FROM links WHERE expires_us < $1").bind(before).execute(tx).await?;
    Ok(done.rows_affected())
}

//! SQL of named keys, and of what distinguishes main keys from them.

use sqlx::AnyConnection;

use super::{AccountStore, StoredKey, gather_keys};
use crate::accounts::{AccountId, KeyId, Micros};

impl AccountStore {
    /// The named keys of an account that are not revoked, the newest first.
    pub(crate) async fn named_keys(&self, account: AccountId) -> sqlx::Result<Vec<StoredKey>> {
        let rows = sqlx::query_as(
            "SELECT * FROM key_addons \
             WHERE account_id = $1 AND name IS NOT NULL AND revoked_us IS NULL \
             ORDER BY key_id DESC",
        )
        .bind(account.0)
        .fetch_all(self.database.pool())
        .await?;
        Ok(gather_keys(rows))
    }
}

/// How many named keys of an account are not revoked.
pub(crate) async fn count_named_keys(
    tx: &mut AnyConnection,
    account: AccountId,
) -> sqlx::Result<i64> {
    sqlx::query_scalar(
        "SELECT count(*) FROM keys \
         WHERE account_id = $1 AND name IS NOT NULL AND revoked_us IS NULL",
    )
    .bind(account.0)
    .fetch_one(tx)
    .await
}

/// Revokes the named keys of an account that have ended, and returns their number.
pub(crate) async fn revoke_ended_named_keys(
    tx: &mut AnyConnection,
    account: AccountId,
    now: Micros,
) -> sqlx::Result<i64> {
    let done = sqlx::query(
        "UPDATE keys SET revoked_us = $2 \
         WHERE account_id = $1 AND name IS NOT NULL AND revoked_us IS NULL AND ends_us <= $2",
    )
    .bind(account.0)
    .bind(now)
    .execute(tx)
    .await?;
    Ok(done.rows_affected().cast_signed())
}

/// How many named keys an account has got since a moment, whatever became of them.
pub(crate) async fn count_new_named_keys(
    tx: &mut AnyConnection,
    account: AccountId,
    since: Micros,
) -> sqlx::Result<i64> {
    sqlx::query_scalar(
        "SELECT count(*) FROM keys \
         WHERE account_id = $1 AND name IS NOT NULL AND created_us > $2",
    )
    .bind(account.0)
    .bind(since)
    .fetch_one(tx)
    .await
}

/// Revokes a named key; `None` if the account has no such key, or it is revoked.
pub(crate) async fn revoke_named_key(
    tx: &mut AnyConnection,
    account: AccountId,
    prefix: &str,
    now: Micros,
) -> sqlx::Result<Option<KeyId>> {
    let key: Option<i64> = sqlx::query_scalar(
        "UPDATE keys SET revoked_us = $3 \
         WHERE account_id = $1 AND prefix = $2 AND name IS NOT NULL AND revoked_us IS NULL \
         RETURNING id",
    )
    .bind(account.0)
    .bind(prefix)
    .bind(now)
    .fetch_optional(tx)
    .await?;
    Ok(key.map(KeyId))
}

/// Revokes all keys of an account but the named ones, and its grants; returns those that were valid until now.
pub(crate) async fn revoke_main_keys(
    tx: &mut AnyConnection,
    account: AccountId,
    now: Micros,
) -> sqlx::Result<Vec<KeyId>> {
    let keys: Vec<i64> = sqlx::query_scalar(
        "UPDATE keys SET revoked_us = $2 \
         WHERE account_id = $1 AND name IS NULL AND revoked_us IS NULL RETURNING id",
    )
    .bind(account.0)
    .bind(now)
    .fetch_all(tx)
    .await?;
    Ok(keys.into_iter().map(KeyId).collect())
}

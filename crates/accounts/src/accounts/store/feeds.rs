//! The stored feed keys.

use sqlx::{FromRow, Row, any::AnyRow};

use super::AccountStore;
use crate::accounts::Micros;

/// A stored feed key.
#[derive(Debug)]
pub(crate) struct StoredFeedKey {
    pub(crate) id: i64,
    pub(crate) source: String,
    pub(crate) prefix: String,
    pub(crate) hash: Vec<u8>,
    pub(crate) all_matches: bool,
    pub(crate) deadline_ms: Option<i64>,
    pub(crate) created: Micros,
    pub(crate) revoked: Option<Micros>,
}

impl FromRow<'_, AnyRow> for StoredFeedKey {
    fn from_row(row: &AnyRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            source: row.try_get("source")?,
            prefix: row.try_get("prefix")?,
            hash: row.try_get("hash")?,
            all_matches: row.try_get::<i64, _>("all_matches")? != 0,
            deadline_ms: row.try_get("deadline_ms")?,
            created: row.try_get("created_us")?,
            revoked: row.try_get("revoked_us")?,
        })
    }
}

impl AccountStore {
    /// False if another key has the prefix.
    pub(crate) async fn insert_feed_key(
        &self,
        source: &str,
        (prefix, hash): (&str, &[u8]),
        (all_matches, deadline_ms): (bool, Option<i64>),
        now: Micros,
    ) -> sqlx::Result<bool> {
        let done = sqlx::query(
            "INSERT INTO feed_keys (source, prefix, hash, all_matches, deadline_ms, created_us) \
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (prefix) DO NOTHING",
        )
        .bind(source)
        .bind(prefix)
        .bind(hash)
        .bind(i64::from(all_matches))
        .bind(deadline_ms)
        .bind(now)
        .execute(self.database.pool())
        .await?;
        Ok(done.rows_affected() == 1)
    }

    pub(crate) async fn feed_key_by_prefix(
        &self,
        prefix: &str,
    ) -> sqlx::Result<Option<StoredFeedKey>> {
        sqlx::query_as("SELECT * FROM feed_keys WHERE prefix = $1")
            .bind(prefix)
            .fetch_optional(self.database.pool())
            .await
    }

    /// Whether the key with this id exists and is not revoked.
    pub(crate) async fn is_feed_key_valid(&self, id: i64) -> sqlx::Result<bool> {
        let found: Option<i64> =
            sqlx::query_scalar("SELECT id FROM feed_keys WHERE id = $1 AND revoked_us IS NULL")
                .bind(id)
                .fetch_optional(self.database.pool())
                .await?;
        Ok(found.is_some())
    }

    pub(crate) async fn all_feed_keys(&self) -> sqlx::Result<Vec<StoredFeedKey>> {
        sqlx::query_as("SELECT * FROM feed_keys ORDER BY id").fetch_all(self.database.pool()).await
    }

    /// Revokes the keys of a source, or the one with this prefix; returns how many were valid until
    /// now.
    pub(crate) async fn revoke_feed_keys(
        &self,
        source: &str,
        prefix: Option<&str>,
        now: Micros,
    ) -> sqlx::Result<u64> {
        let done = sqlx::query(
            "UPDATE feed_keys SET revoked_us = $1 \
             WHERE source = $2 AND ($3 IS NULL OR prefix = $3) AND revoked_us IS NULL",
        )
        .bind(now)
        .bind(source)
        .bind(prefix)
        .execute(self.database.pool())
        .await?;
        Ok(done.rows_affected())
    }
}

//! The stored tickets for sockets, of which the nodes of a cluster accept each other's.

use sqlx::{AnyConnection, Row};

use super::AccountStore;
use crate::accounts::{KeyId, Micros, secret::Hash};

impl AccountStore {
    /// False if the key has `max` tickets that have not ended.
    pub(crate) async fn insert_ticket(
        &self,
        hash: &Hash,
        key: KeyId,
        until: Micros,
        (now, max): (Micros, u32),
    ) -> sqlx::Result<bool> {
        let ended = sqlx::query("DELETE FROM socket_tickets WHERE key_id = $1 AND until_us <= $2");
        ended.bind(key.0).bind(now).execute(self.database().pool()).await?;
        let inserted = sqlx::query(
            "INSERT INTO socket_tickets (hash, key_id, until_us) SELECT $1, $2, $3 \
             WHERE (SELECT count(*) FROM socket_tickets WHERE key_id = $2) < $4",
        )
        .bind(&hash[..])
        .bind(key.0)
        .bind(until)
        .bind(i64::from(max))
        .execute(self.database().pool())
        .await?;
        Ok(inserted.rows_affected() == 1)
    }

    /// Removes a ticket; returns its key and when it ends. Of concurrent calls one gets it.
    pub(crate) async fn take_ticket(&self, hash: &Hash) -> sqlx::Result<Option<(KeyId, Micros)>> {
        let taken =
            sqlx::query("DELETE FROM socket_tickets WHERE hash = $1 RETURNING key_id, until_us")
                .bind(&hash[..])
                .fetch_optional(self.database().pool())
                .await?;
        taken.map(|row| Ok((KeyId(row.try_get(0)?), row.try_get(1)?))).transpose()
    }
}

/// Deletes the tickets that ended before this moment.
pub(crate) async fn remove_ended_tickets(
    tx: &mut AnyConnection,
    before: Micros,
) -> sqlx::Result<u64> {
    let done = sqlx::query("DELETE FROM socket_tickets WHERE until_us < $1").bind(before);
    Ok(done.execute(tx).await?.rows_affected())
}

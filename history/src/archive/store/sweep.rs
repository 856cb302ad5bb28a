//! Closing and deleting rows.

use base::Micros;
use sqlx::{AssertSqlSafe, Row, any::AnyRow};

use super::{
    ArchiveStore, next_change,
    statement::{IDS_MAX, id_array, ids_in, whole},
    unsigned,
};
use database::{DELETION_MAX, STATEMENT_MAX, within};
use record::Key;

/// Ticks deleted in one transaction, which other writers have to wait for.
const TICKS_AT_ONCE: i64 = 10_000;
/// The same for signals.
const SIGNALS_AT_ONCE: i64 = 5_000;

impl ArchiveStore {
    /// Closes all prices of these matches; returns the number of the write.
    pub(in crate::archive) async fn close_odds(
        &self,
        matches: &[Key],
        now: Micros,
    ) -> Result<i64, sqlx::Error> {
        let mut transaction = within(STATEMENT_MAX, self.database.begin()).await?;
        let change = next_change(&mut transaction).await?;
        for chunk in matches.chunks(IDS_MAX) {
            let close = format!(
                "UPDATE archive_odds SET is_open = 0, updated_us = $1
                 WHERE is_open = 1 AND match_id IN {}",
                ids_in(self.database.is_sqlite(), "$2")
            );
            let close = sqlx::query(AssertSqlSafe(close)).bind(now).bind(id_array(chunk));
            within(STATEMENT_MAX, close.execute(&mut *transaction)).await?;
        }
        within(STATEMENT_MAX, transaction.commit()).await?;
        Ok(change)
    }

    /// Deletes up to this number of matches that started before this time, or without a known start
    /// were last reported before it; returns them and the number of the write.
    pub(in crate::archive) async fn drop_before(
        &self,
        before: Micros,
        at_once: usize,
    ) -> Result<(Vec<Key>, i64), sqlx::Error> {
        let mut transaction = within(STATEMENT_MAX, self.database.begin()).await?;
        let change = next_change(&mut transaction).await?;
        let old = sqlx::query(
            "SELECT id FROM archive_matches WHERE coalesce(start_us, seen_us) < $1
             ORDER BY id LIMIT $2",
        );
        let old = old.bind(before).bind(whole(at_once));
        let old = old.try_map(|row: AnyRow| Ok(unsigned(row.try_get("id")?)));
        let old: Vec<Key> = within(STATEMENT_MAX, old.fetch_all(&mut *transaction)).await?;
        for chunk in old.chunks(IDS_MAX) {
            let ids = ids_in(self.database.is_sqlite(), "$1");
            let all = [
                format!(
                    "DELETE FROM archive_ticks WHERE odds IN
                         (SELECT id FROM archive_odds WHERE match_id IN {ids})"
                ),
                format!("DELETE FROM archive_odds WHERE match_id IN {ids}"),
                format!("DELETE FROM archive_appearances WHERE match_id IN {ids}"),
                format!("DELETE FROM archive_matches WHERE id IN {ids}"),
            ];
            for delete in all {
                let delete = sqlx::query(AssertSqlSafe(delete)).bind(id_array(chunk));
                within(DELETION_MAX, delete.execute(&mut *transaction)).await?;
            }
        }
        within(STATEMENT_MAX, transaction.commit()).await?;
        Ok((old, change))
    }

    /// Returns the number of deleted ticks.
    pub(in crate::archive) async fn drop_ticks_before(
        &self,
        before: Micros,
    ) -> Result<u64, sqlx::Error> {
        let delete = sqlx::query(
            "DELETE FROM archive_ticks WHERE (odds, at_us) IN
                 (SELECT odds, at_us FROM archive_ticks WHERE received_us < $1 LIMIT $2)",
        );
        let delete = delete.bind(before).bind(TICKS_AT_ONCE);
        let deleted = within(DELETION_MAX, delete.execute(self.database.pool())).await?;
        Ok(deleted.rows_affected())
    }

    /// Returns the number of deleted signals.
    pub(in crate::archive) async fn drop_signals_before(
        &self,
        before: Micros,
    ) -> Result<u64, sqlx::Error> {
        let delete = sqlx::query(
            "DELETE FROM archive_signals WHERE id IN
                 (SELECT id FROM archive_signals WHERE began_us < $1 LIMIT $2)",
        );
        let delete = delete.bind(before).bind(SIGNALS_AT_ONCE);
        let deleted = within(DELETION_MAX, delete.execute(self.database.pool())).await?;
        Ok(deleted.rows_affected())
    }
}

//! Closing and deleting rows.

use base::Micros;
use sqlx::{AssertSqlSafe, Row, any::AnyRow};

use super::{
    ArchiveStore, next_change, odds,
    statement::{IDS_MAX, id_array, ids_in, whole},
    unsigned,
};
use crate::archive::retention::{BLOCKS_AT_ONCE, SIGNALS_AT_ONCE};
use database::{DELETION_MAX, STATEMENT_MAX, WriteBudget, within};
use record::Key;

impl ArchiveStore {
    /// Closes all prices of these matches, in as many transactions as necessary; returns the number of the write.
    pub(in crate::archive) async fn close_odds(
        &self,
        matches: &[Key],
        now: Micros,
    ) -> sqlx::Result<i64> {
        let mut pace = WriteBudget::default();
        let mut steps = self.database.batch_writer(&mut pace);
        let change = next_change(steps.next().await?).await?;
        odds::close(&mut steps, matches, now).await?;
        steps.finish().await?;
        Ok(change)
    }

    /// Deletes up to this number of matches that started before this time, or without a known start
    /// were last reported before it; returns them and the number of the write.
    pub(in crate::archive) async fn drop_before(
        &self,
        before: Micros,
        at_once: usize,
    ) -> sqlx::Result<(Vec<Key>, i64)> {
        let mut transaction = within(STATEMENT_MAX, self.database.begin()).await?;
        let change = next_change(&mut transaction).await?;
        let old = sqlx::query(
            "SELECT id FROM archive_matches WHERE coalesce(start_us, seen_us) < $1
             ORDER BY id LIMIT $2",
        );
        let old = old.bind(before).bind(whole(at_once));
        let old = old.try_map(|row: AnyRow| Ok(unsigned(row.try_get("id")?)));
        let old: Vec<Key> = within(STATEMENT_MAX, old.fetch_all(&mut *transaction)).await?;
        odds::remove(&mut transaction, self.database.is_sqlite(), &old).await?;
        for chunk in old.chunks(IDS_MAX) {
            let ids = ids_in(self.database.is_sqlite(), "$1");
            let all = [
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

    /// Deletes blocks of which each tick was received before this time; returns how many.
    pub(in crate::archive) async fn drop_ticks_before(&self, before: Micros) -> sqlx::Result<u64> {
        let delete = sqlx::query(
            "DELETE FROM archive_trails WHERE (match_id, number) IN
                 (SELECT match_id, number FROM archive_trails
                  WHERE from_us < $1 AND until_us < $1 LIMIT $2)",
        );
        let delete = delete.bind(before).bind(BLOCKS_AT_ONCE);
        let deleted = within(DELETION_MAX, delete.execute(self.database.pool())).await?;
        Ok(deleted.rows_affected())
    }

    /// Returns the number of deleted signals.
    pub(in crate::archive) async fn drop_signals_before(
        &self,
        before: Micros,
    ) -> sqlx::Result<u64> {
        let delete = sqlx::query(
            "DELETE FROM archive_signals WHERE id IN
                 (SELECT id FROM archive_signals WHERE began_us < $1 LIMIT $2)",
        );
        let delete = delete.bind(before).bind(SIGNALS_AT_ONCE);
        let deleted = within(DELETION_MAX, delete.execute(self.database.pool())).await?;
        Ok(deleted.rows_affected())
    }
}

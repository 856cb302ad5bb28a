//! Signs of life of a cluster's leader in the database, for nodes that do not hear it otherwise.

use std::time::Duration;

use super::Database;

/// Microseconds since the epoch, by the clock of PostgreSQL, which all nodes share.
const NOW_US: &str = "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)";

/// The signs of the leaders of a log, as one node makes and reads them. Only in PostgreSQL.
#[derive(Debug, Clone)]
pub struct LeaderSigns {
    database: Database,
    log: String,
    node: String,
}

impl LeaderSigns {
    #[must_use]
    pub fn new(database: &Database, log: String, node: String) -> Self {
        Self { database: database.clone(), log, node }
    }

    /// This node leads the log, and is alive now.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn note(&self) -> sqlx::Result<()> {
        let statement = format!(
            "INSERT INTO cluster_signs (log, node, at_us) VALUES ($1, $2, {NOW_US}) \
             ON CONFLICT (log) DO UPDATE SET node = excluded.node, at_us = excluded.at_us"
        );
        let note = sqlx::query(sqlx::AssertSqlSafe(statement)).bind(&self.log).bind(&self.node);
        note.execute(self.database.pool()).await.map(|_| ())
    }

    /// Whether another node led the log within this time.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn has_other_leader(&self, within: Duration) -> sqlx::Result<bool> {
        let statement = format!(
            "SELECT count(*) FROM cluster_signs \
             WHERE log = $1 AND node <> $2 AND at_us > {NOW_US} - $3"
        );
        let within_us = i64::try_from(within.as_micros()).unwrap_or(i64::MAX);
        let recent: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(statement))
            .bind(&self.log)
            .bind(&self.node)
            .bind(within_us)
            .fetch_one(self.database.pool())
            .await?;
        Ok(recent > 0)
    }
}

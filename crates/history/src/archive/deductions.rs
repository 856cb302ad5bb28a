//! Deductions of points that operators entered.

use base::Micros;
use sqlx::{Row, any::AnyRow};

use super::Archive;
use crate::config::Deduction;

/// More are not added, as each table reads them all.
pub const DEDUCTIONS_MAX: i64 = 1000;

/// A deduction that an operator entered, with its number and its competition, named as in the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDeduction {
    pub id: i64,
    pub competition: String,
    pub deduction: Deduction,
}

impl Archive {
    /// All of them, the latest first.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn deductions(&self) -> sqlx::Result<Vec<StoredDeduction>> {
        let stored = sqlx::query("SELECT * FROM deductions ORDER BY id DESC");
        let stored = stored.try_map(|row: AnyRow| {
            let points: i64 = row.try_get("points")?;
            Ok(StoredDeduction {
                id: row.try_get("id")?,
                competition: row.try_get("competition")?,
                deduction: Deduction {
                    season: row.try_get("season")?,
                    team: row.try_get("team")?,
                    points: u32::try_from(points).unwrap_or_default(),
                    date: row.try_get("date")?,
                    reason: row.try_get("reason")?,
                },
            })
        });
        stored.fetch_all(self.inner.store.pool()).await
    }

    /// Adds one; `false` if there are [`DEDUCTIONS_MAX`].
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn add_deduction(
        &self,
        competition: &str,
        deduction: &Deduction,
        now: Micros,
    ) -> sqlx::Result<bool> {
        let count = sqlx::query_scalar::<_, i64>("SELECT COUNT(*) FROM deductions");
        if count.fetch_one(self.inner.store.pool()).await? >= DEDUCTIONS_MAX {
            return Ok(false);
        }
        let Deduction { season, team, points, date, reason } = deduction;
        let add = sqlx::query(
            "INSERT INTO deductions (competition, season, team, points, date, reason, entered_us) \
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
        );
        let add = add.bind(competition).bind(season).bind(team).bind(i64::from(*points));
        let add = add.bind(date.as_deref()).bind(reason.as_deref()).bind(now);
        add.execute(self.inner.store.pool()).await.map(|_| true)
    }

    /// Removes one, if it is there.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn remove_deduction(&self, id: i64) -> sqlx::Result<()> {
        let remove = sqlx::query("DELETE FROM deductions WHERE id = $1").bind(id);
        remove.execute(self.inner.store.pool()).await.map(drop)
    }
}

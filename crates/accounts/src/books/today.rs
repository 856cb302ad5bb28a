//! Today's mails and money in the store, for the operator's page.

use super::{LedgerFilter, LedgerStore, sums::CurrencyTotal};
use crate::{Micros, usage::Day};
use database::Database;

/// Mails and orders of the current day in UTC, unless noted otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DailyFigures {
    /// Mails waiting to be sent, of any day.
    pub mails_waiting: u64,
    /// Mails that failed today.
    pub mails_failed: u64,
    pub orders_made: u64,
    pub orders_paid: u64,
    /// Payments less refunds, by currency.
    pub earned: Vec<CurrencyTotal>,
}

impl DailyFigures {
    /// Reads the figures.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn read(database: &Database, now: Micros) -> sqlx::Result<Self> {
        let since = Day::at(now).start();
        let (waiting, failed): (i64, i64) = sqlx::query_as(
            "SELECT (SELECT count(*) FROM mails WHERE sent_us IS NULL AND failed_us IS NULL), \
             (SELECT count(*) FROM mails WHERE failed_us >= $1)",
        )
        .bind(since)
        .fetch_one(database.pool())
        .await?;
        let (made, paid): (i64, i64) = sqlx::query_as(
            "SELECT (SELECT count(*) FROM orders WHERE created_us >= $1), \
             (SELECT count(*) FROM orders WHERE paid_us >= $1)",
        )
        .bind(since)
        .fetch_one(database.pool())
        .await?;
        let sums =
            LedgerStore::new(database).sums(&LedgerFilter { since, ..LedgerFilter::all() }).await?;
        Ok(Self {
            mails_waiting: waiting.unsigned_abs(),
            mails_failed: failed.unsigned_abs(),
            orders_made: made.unsigned_abs(),
            orders_paid: paid.unsigned_abs(),
            earned: sums.totals(),
        })
    }

    /// The revenue, as text.
    pub fn earned(&self) -> String {
        let each = |total: &CurrencyTotal| format!("{} {}", total.amount, total.currency);
        let all = self.earned.iter().map(each).collect::<Vec<_>>();
        if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
    }
}

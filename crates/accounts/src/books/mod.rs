//! Queries of all orders and the whole ledger, for the operator.
//!
//! Read-only. Amounts are added up here, in exact decimals, from groups of equal amounts, because
//! neither database adds up text and neither is trusted with fractions.

mod input;
mod sums;
mod today;

use rust_decimal::Decimal;
use sqlx::{Row, any::AnyRow};

pub use self::{
    input::{amount, note},
    sums::{CurrencyTotal, LedgerSum, Sums},
    today::DailyFigures,
};
use crate::{AccountId, LedgerEntry, LedgerKind, Micros, payments::Order};
use database::Database;

/// Ledger entries read at once.
const PAGE: i64 = 1000;

/// A filter by account and time, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerFilter {
    pub account: Option<AccountId>,
    pub since: Micros,
    pub until: Micros,
}

impl LedgerFilter {
    pub fn all() -> Self {
        Self { account: None, since: Micros::MIN, until: Micros::MAX }
    }

    /// No account has the number 0.
    fn account(&self) -> i64 {
        self.account.map_or(0, |it| it.0)
    }
}

/// Reads orders and the ledger of a database.
#[derive(Debug)]
pub struct LedgerStore<'a> {
    database: &'a Database,
}

impl<'a> LedgerStore<'a> {
    pub fn new(database: &'a Database) -> Self {
        Self { database }
    }

    /// The entries with a number above this one, the oldest first, a thousand at most.
    pub async fn entries(
        &self,
        filter: &LedgerFilter,
        after: i64,
    ) -> sqlx::Result<Vec<LedgerEntry>> {
        sqlx::query_as(
            "SELECT * FROM ledger WHERE id > $1 AND ($2 = 0 OR account_id = $2) \
             AND at_us BETWEEN $3 AND $4 ORDER BY id LIMIT $5",
        )
        .bind(after)
        .bind(filter.account())
        .bind(filter.since)
        .bind(filter.until)
        .bind(PAGE)
        .fetch_all(self.database.pool())
        .await
    }

    /// The entries of an order, the oldest first.
    pub async fn entries_of_order(&self, order: &str) -> sqlx::Result<Vec<LedgerEntry>> {
        sqlx::query_as("SELECT * FROM ledger WHERE order_id = $1 ORDER BY id LIMIT $2")
            .bind(order)
            .bind(PAGE)
            .fetch_all(self.database.pool())
            .await
    }

    /// Sums of the entries, by add-on, kind and currency.
    pub async fn sums(&self, filter: &LedgerFilter) -> sqlx::Result<Sums> {
        let rows = sqlx::query(
            "SELECT addon, kind, currency, amount, count(*) AS entries, \
             CAST(sum(days) AS BIGINT) AS days FROM ledger \
             WHERE ($1 = 0 OR account_id = $1) AND at_us BETWEEN $2 AND $3 \
             GROUP BY addon, kind, currency, amount",
        )
        .bind(filter.account())
        .bind(filter.since)
        .bind(filter.until)
        .fetch_all(self.database.pool())
        .await?;
        let mut sums = Sums::default();
        for row in rows {
            sums.add(group(&row)?);
        }
        Ok(sums)
    }

    /// Orders, the newest first.
    pub async fn orders(&self, filter: &LedgerFilter, limit: u32) -> sqlx::Result<Vec<Order>> {
        sqlx::query_as(
            "SELECT * FROM orders WHERE ($1 = 0 OR account_id = $1) \
             AND created_us BETWEEN $2 AND $3 ORDER BY created_us DESC, id LIMIT $4",
        )
        .bind(filter.account())
        .bind(filter.since)
        .bind(filter.until)
        .bind(i64::from(limit))
        .fetch_all(self.database.pool())
        .await
    }

    /// The order with this id, of any account.
    pub async fn order(&self, id: &str) -> sqlx::Result<Option<Order>> {
        sqlx::query_as("SELECT * FROM orders WHERE id = $1")
            .bind(id)
            .fetch_optional(self.database.pool())
            .await
    }
}

/// A group of entries of equal amounts.
fn group(row: &AnyRow) -> sqlx::Result<LedgerSum> {
    let addon: String = row.try_get("addon")?;
    let kind: String = row.try_get("kind")?;
    let amount: String = row.try_get("amount")?;
    let each: Decimal = amount.parse().map_err(|it| sqlx::Error::Decode(Box::new(it)))?;
    let entries: i64 = row.try_get("entries")?;
    Ok(LedgerSum {
        addon: addon.parse().map_err(|it| sqlx::Error::Decode(Box::new(it)))?,
        kind: LedgerKind::from_word(&kind)
            .ok_or_else(|| sqlx::Error::Decode("an unknown kind of entry".into()))?,
        currency: row.try_get("currency")?,
        entries,
        days: row.try_get("days")?,
        amount: each * Decimal::from(entries),
    })
}

//! The stored usage: all SQL about it.

use sqlx::{AnyConnection, AssertSqlSafe, Row, any::AnyRow};

use super::{Counts, Day, UsageDay, tally::Slot};
use crate::{accounts::AccountId, products::Product};
use database::{DELETION_MAX, Database, STATEMENT_MAX, within};

/// Rows written by one statement.
const ROWS_A_STATEMENT: usize = 64;

/// The number of a writer's last flush; 0 before its first. Locks it until the transaction ends, so
/// that any earlier transaction of the same writer has ended.
pub(super) async fn last_flush(tx: &mut AnyConnection, writer: i64) -> sqlx::Result<i64> {
    sqlx::query_scalar(
        "INSERT INTO usage_flushes (writer, flush, day) VALUES ($1, 0, 0) \
         ON CONFLICT (writer) DO UPDATE SET flush = usage_flushes.flush RETURNING flush",
    )
    .bind(writer)
    .fetch_one(tx)
    .await
}

pub(super) async fn set_last_flush(
    tx: &mut AnyConnection,
    writer: i64,
    flush: i64,
    day: Day,
) -> sqlx::Result<()> {
    sqlx::query("UPDATE usage_flushes SET flush = $2, day = $3 WHERE writer = $1")
        .bind(writer)
        .bind(flush)
        .bind(day.0)
        .execute(tx)
        .await
        .map(|_| ())
}

/// Adds counts to the stored ones, and returns the resulting totals of calls. Deleted accounts are
/// skipped.
pub(super) async fn add(
    tx: &mut AnyConnection,
    rows: &[(Slot, Counts)],
) -> sqlx::Result<Vec<(Slot, u64)>> {
    let mut all_calls = Vec::with_capacity(rows.len());
    for rows in rows.chunks(ROWS_A_STATEMENT) {
        let statement = adding(rows.len());
        let mut statement = sqlx::query(AssertSqlSafe(statement));
        for (slot, counts) in rows {
            statement = statement
                .bind(slot.account.number())
                .bind(slot.product.as_str())
                .bind(slot.day.0)
                .bind(stored(counts.calls))
                .bind(stored(counts.mcp_calls))
                .bind(stored(counts.socket_ms))
                .bind(stored(counts.messages));
        }
        let written = statement.try_map(|row| all_calls_of(&row)).fetch_all(&mut *tx);
        all_calls.extend(within(STATEMENT_MAX, written).await?.into_iter().flatten());
    }
    Ok(all_calls)
}

/// The statement that adds this many rows. Only numbers of placeholders are interpolated.
fn adding(rows: usize) -> String {
    let row = |row: usize| {
        let column = |n: usize| format!("CAST(${} AS BIGINT)", 7 * row + n);
        let counts = (3..=7).map(column).collect::<Vec<_>>().join(", ");
        format!("({}, ${}, {counts})", column(1), 7 * row + 2)
    };
    let values = (0..rows).map(row).collect::<Vec<_>>().join(", ");
    format!(
        "WITH fresh (account_id, product, day, calls, mcp_calls, socket_ms, messages) AS \
         (VALUES {values}) \
         INSERT INTO usage (account_id, product, day, calls, mcp_calls, socket_ms, messages) \
         SELECT * FROM fresh WHERE account_id IN (SELECT id FROM accounts) \
         ORDER BY account_id, product, day \
         ON CONFLICT (account_id, product, day) DO UPDATE SET \
         calls = usage.calls + excluded.calls, \
         mcp_calls = usage.mcp_calls + excluded.mcp_calls, \
         socket_ms = usage.socket_ms + excluded.socket_ms, \
         messages = usage.messages + excluded.messages \
         RETURNING account_id, product, day, calls + mcp_calls"
    )
}

fn all_calls_of(row: &AnyRow) -> sqlx::Result<Option<(Slot, u64)>> {
    let Some(product) = Product::named(row.try_get(1)?) else { return Ok(None) };
    let (account, day) = (AccountId::numbered(row.try_get(0)?), Day(row.try_get(2)?));
    Ok(Some((Slot { account, product, day }, count(row, 3)?)))
}

/// Stored calls of both kinds.
pub(super) async fn all_calls(database: &Database, slot: Slot) -> sqlx::Result<u64> {
    let calls: Option<i64> = sqlx::query_scalar(
        "SELECT calls + mcp_calls FROM usage \
         WHERE account_id = $1 AND product = $2 AND day = $3",
    )
    .bind(slot.account.number())
    .bind(slot.product.as_str())
    .bind(slot.day.0)
    .fetch_optional(database.pool())
    .await?;
    Ok(calls.and_then(|calls| u64::try_from(calls).ok()).unwrap_or(0))
}

/// The usage of an account, by day.
pub(super) async fn days_of(
    database: &Database,
    account: AccountId,
    from: Day,
    to: Day,
) -> sqlx::Result<Vec<UsageDay>> {
    let rows = sqlx::query(
        "SELECT product, day, calls, mcp_calls, socket_ms, messages FROM usage \
         WHERE account_id = $1 AND day BETWEEN $2 AND $3",
    )
    .bind(account.number())
    .bind(from.0)
    .bind(to.0)
    .fetch_all(database.pool())
    .await?;
    rows.iter().filter_map(|row| usage_day(row).transpose()).collect()
}

/// Deletes usage before a day, writers that have not written since, and leases of quotas.
pub(super) async fn sweep(tx: &mut AnyConnection, before: Day) -> sqlx::Result<u64> {
    let leases = sqlx::query("DELETE FROM quota_leases WHERE day < $1").bind(before.0);
    within(DELETION_MAX, leases.execute(&mut *tx)).await?;
    let swept = sqlx::query("DELETE FROM usage WHERE day < $1").bind(before.0);
    let swept = within(DELETION_MAX, swept.execute(&mut *tx)).await?.rows_affected();
    let writers = sqlx::query("DELETE FROM usage_flushes WHERE day < $1").bind(before.0);
    within(DELETION_MAX, writers.execute(tx)).await?;
    Ok(swept)
}

/// `None` for a product unknown to this version.
fn usage_day(row: &AnyRow) -> sqlx::Result<Option<UsageDay>> {
    let Some(product) = Product::named(row.try_get(0)?) else { return Ok(None) };
    let counts = Counts {
        calls: count(row, 2)?,
        mcp_calls: count(row, 3)?,
        socket_ms: count(row, 4)?,
        messages: count(row, 5)?,
    };
    Ok(Some(UsageDay { day: Day(row.try_get(1)?), product, counts }))
}

fn count(row: &AnyRow, column: usize) -> sqlx::Result<u64> {
    Ok(u64::try_from(row.try_get::<i64, _>(column)?).unwrap_or(0))
}

fn stored(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

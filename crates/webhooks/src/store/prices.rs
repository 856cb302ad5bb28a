//! SQL of conditions on prices: where they are met.

use base::Micros;
use database::Database;
use sqlx::AnyConnection;

use crate::PriceCondition;

/// Where conditions are met: the webhook, the condition as text, and the channel.
pub(crate) async fn met_conditions(
    database: &Database,
) -> sqlx::Result<Vec<(i64, String, String)>> {
    sqlx::query_as("SELECT webhook_id, condition, channel FROM webhook_prices")
        .fetch_all(database.pool())
        .await
}

/// Stores whether a condition is met. Rows have its text: conditions have other places after a change of the webhook, of
/// which the program that writes the row may not know yet.
pub(crate) async fn set_met(
    tx: &mut AnyConnection,
    (webhook, condition, channel): (i64, &PriceCondition, &str),
    is_met: bool,
    now: Micros,
) -> sqlx::Result<()> {
    let query = match is_met {
        true => sqlx::query(
            "INSERT INTO webhook_prices (webhook_id, condition, channel, since_us) VALUES ($1, $2, $3, $4)
             ON CONFLICT (webhook_id, condition, channel) DO NOTHING",
        )
        .bind(webhook)
        .bind(condition.to_string())
        .bind(channel)
        .bind(now),
        false => sqlx::query(
            "DELETE FROM webhook_prices WHERE webhook_id = $1 AND condition = $2 AND channel = $3",
        )
        .bind(webhook)
        .bind(condition.to_string())
        .bind(channel),
    };
    query.execute(tx).await.map(|_| ())
}

/// Forgets where conditions of a webhook are met: of all, or of those that it does not have any more.
pub(super) async fn forget_met(
    tx: &mut AnyConnection,
    webhook: i64,
    all: bool,
    kept: &[PriceCondition],
) -> sqlx::Result<()> {
    let rows: Vec<String> =
        sqlx::query_scalar("SELECT DISTINCT condition FROM webhook_prices WHERE webhook_id = $1")
            .bind(webhook)
            .fetch_all(&mut *tx)
            .await?;
    let is_kept = |row: &String| !all && kept.iter().any(|condition| condition.to_string() == *row);
    for condition in rows.into_iter().filter(|row| !is_kept(row)) {
        sqlx::query("DELETE FROM webhook_prices WHERE webhook_id = $1 AND condition = $2")
            .bind(webhook)
            .bind(condition)
            .execute(&mut *tx)
            .await?;
    }
    Ok(())
}

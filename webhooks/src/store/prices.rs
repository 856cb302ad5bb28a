//! SQL of conditions on prices: where they are met.

use base::Micros;
use database::Database;
use fanout::ChannelId;
use sqlx::AnyConnection;

use crate::{MetConditions, PriceCrossing, price::ConditionId};

pub(crate) async fn met_conditions(database: &Database) -> Result<MetConditions, sqlx::Error> {
    let rows: Vec<(i64, i64, String)> =
        sqlx::query_as("SELECT webhook_id, place, channel FROM webhook_prices")
            .fetch_all(database.pool())
            .await?;
    let mut met = MetConditions::default();
    for (webhook, place, channel) in rows {
        met.insert(ChannelId::new(channel), ConditionId { webhook, place });
    }
    Ok(met)
}

/// Stores whether a condition is met.
pub(crate) async fn set_met(
    tx: &mut AnyConnection,
    crossing: &PriceCrossing,
    now: Micros,
) -> Result<(), sqlx::Error> {
    let PriceCrossing { condition: ConditionId { webhook, place }, channel, event } = crossing;
    let query = match event {
        Some(_) => sqlx::query(
            "INSERT INTO webhook_prices (webhook_id, place, channel, since_us) VALUES ($1, $2, $3, $4)
             ON CONFLICT (webhook_id, place, channel) DO NOTHING",
        )
        .bind(webhook)
        .bind(place)
        .bind(channel.as_str())
        .bind(now),
        None => sqlx::query(
            "DELETE FROM webhook_prices WHERE webhook_id = $1 AND place = $2 AND channel = $3",
        )
        .bind(webhook)
        .bind(place)
        .bind(channel.as_str()),
    };
    query.execute(tx).await.map(|_| ())
}

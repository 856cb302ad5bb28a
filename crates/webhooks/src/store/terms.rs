//! What a customer wants of a webhook, and whether it is enabled, as rows.

use base::Micros;
use sqlx::{AnyConnection, FromRow, Row, any::AnyRow};

use super::prices::forget_met;
use crate::{EventKind, PriceCondition, Webhook, WebhookTerms};

/// Writes the terms that differ from those that are known. Others stay as they are stored: a newer program may have written
/// kinds of events that this one does not know.
pub(super) async fn set_terms(
    tx: &mut AnyConnection,
    existing: &Webhook,
    terms: &WebhookTerms,
) -> sqlx::Result<()> {
    let old = &existing.terms;
    let (has_other_channels, has_other_prices) =
        (terms.channels != old.channels, terms.prices != old.prices);
    if has_other_channels || has_other_prices {
        // Prices were not followed in other channels.
        forget_met(tx, existing.id, has_other_channels, &terms.prices).await?;
    }
    sqlx::query(
        "UPDATE customer_webhooks SET url = COALESCE($1, url), events = COALESCE($2, events),
         channels = COALESCE($3, channels), prices = COALESCE($4, prices), version = version + 1 WHERE id = $5",
    )
    .bind((terms.url != old.url).then(|| terms.url.clone()))
    .bind((terms.events != old.events).then(|| events_text(terms)))
    .bind(has_other_channels.then(|| terms.channels.join(" ")))
    .bind(has_other_prices.then(|| prices_text(terms)))
    .bind(existing.id)
    .execute(tx)
    .await?;
    Ok(())
}

/// False if it was enabled.
pub(super) async fn enable(
    tx: &mut AnyConnection,
    webhook: i64,
    now: Micros,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "UPDATE customer_webhooks SET active_us = $1, disabled_us = NULL, disabled_why = NULL, failures = 0, failing_us = NULL,
         version = version + 1 WHERE id = $2 AND disabled_us IS NOT NULL",
    )
    .bind(now)
    .bind(webhook)
    .execute(&mut *tx)
    .await?;
    let is_enabled = done.rows_affected() == 1;
    if is_enabled {
        // Prices were not followed while it was disabled.
        forget_met(tx, webhook, true, &[]).await?;
    }
    Ok(is_enabled)
}

/// False if it was disabled.
pub(super) async fn disable(
    tx: &mut AnyConnection,
    webhook: i64,
    why: &str,
    now: Micros,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "UPDATE customer_webhooks SET disabled_us = $1, disabled_why = $2, version = version + 1 WHERE id = $3 AND disabled_us IS NULL",
    )
    .bind(now)
    .bind(why)
    .bind(webhook)
    .execute(tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

pub(super) fn events_text(terms: &WebhookTerms) -> String {
    terms.events.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(" ")
}

/// A condition in each line.
pub(super) fn prices_text(terms: &WebhookTerms) -> String {
    terms.prices.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

impl FromRow<'_, AnyRow> for Webhook {
    fn from_row(row: &AnyRow) -> sqlx::Result<Self> {
        let text = |name: &str| row.try_get::<String, _>(name);
        let (events, channels, prices) = (text("events")?, text("channels")?, text("prices")?);
        let terms = WebhookTerms {
            url: row.try_get("url")?,
            // A kind or a condition that this program does not know: a newer one wrote it.
            events: events.split(' ').filter_map(|name| name.parse::<EventKind>().ok()).collect(),
            channels: channels.split_whitespace().map(str::to_owned).collect(),
            prices: prices.lines().filter_map(|line| PriceCondition::parse(line).ok()).collect(),
        };
        let disabled: Option<Micros> = row.try_get("disabled_us")?;
        let why: Option<String> = row.try_get("disabled_why")?;
        Ok(Self {
            id: row.try_get("id")?,
            account: row.try_get("account_id")?,
            terms,
            created: row.try_get("created_us")?,
            active: row.try_get("active_us")?,
            generation: row.try_get("generation")?,
            rotated: row.try_get("rotated_us")?,
            failures: u32::try_from(row.try_get::<i64, _>("failures")?).unwrap_or(u32::MAX),
            failing_since: row.try_get("failing_us")?,
            dropped: row.try_get::<i64, _>("dropped")?.unsigned_abs(),
            disabled: disabled.map(|at| (at, why.unwrap_or_default())),
        })
    }
}

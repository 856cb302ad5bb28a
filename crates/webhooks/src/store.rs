//! All SQL about webhooks and their deliveries.
//!
//! A delivery waits until it is done: delivered, failed or dropped. It is claimed before it is sent, which moves its due time:
//! if the process dies, it becomes due again.

use std::collections::{BTreeSet, HashMap};

use base::Micros;
use database::Database;
use sqlx::AnyConnection;

pub use self::delivery::Delivery;
use self::terms::{disable, enable, events_text, prices_text, set_terms};
pub(crate) use self::{
    delivery::{NewDelivery, Outcome},
    prices::{met_conditions, set_met},
};
use crate::{OnDisabled, Position, Webhook, WebhookTerms};

mod delivery;
mod prices;
mod terms;

/// Rows deleted in one statement: a long transaction blocks others.
const SWEPT_MAX: i64 = 1_000;
/// Tests of one webhook that wait: they need no add-on.
const TESTS_WAITING_MAX: i64 = 10;
/// Characters of an error that are stored.
const ERROR_MAX: usize = 300;

const WEBHOOK: &str = "SELECT id, account_id, url, events, channels, prices, generation, rotated_us, created_us, active_us, failures, failing_us, \
                       dropped, disabled_us, disabled_why FROM customer_webhooks";
const DELIVERY: &str = "SELECT id, message_id, kind, channel, eid, body, created_us, attempts, next_us, status, error, \
                        done_us, outcome FROM webhook_deliveries";

/// The webhooks of a database.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    database: Database,
}

/// What waits for a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) webhook: i64,
    pub(crate) count: i64,
    pub(crate) due: Option<Micros>,
}

/// Changes with every change of the webhooks that get events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp([i64; 3]);

impl Store {
    pub(crate) fn new(database: Database) -> Self {
        Self { database }
    }

    pub(crate) async fn webhooks_of(&self, account: i64) -> sqlx::Result<Vec<Webhook>> {
        let statement = format!("{WEBHOOK} WHERE account_id = $1 ORDER BY id");
        sqlx::query_as(sqlx::AssertSqlSafe(statement))
            .bind(account)
            .fetch_all(self.database.pool())
            .await
    }

    pub(crate) async fn webhook(&self, id: i64) -> sqlx::Result<Option<Webhook>> {
        let statement = format!("{WEBHOOK} WHERE id = $1");
        sqlx::query_as(sqlx::AssertSqlSafe(statement))
            .bind(id)
            .fetch_optional(self.database.pool())
            .await
    }

    /// All webhooks that get events.
    pub(crate) async fn enabled(&self) -> sqlx::Result<Vec<Webhook>> {
        let statement = format!("{WEBHOOK} WHERE disabled_us IS NULL ORDER BY id");
        sqlx::query_as(sqlx::AssertSqlSafe(statement)).fetch_all(self.database.pool()).await
    }

    pub(crate) async fn stamp(&self) -> sqlx::Result<Stamp> {
        let row: (i64, i64, i64) = sqlx::query_as(
            "SELECT count(*), COALESCE(max(id), 0), CAST(COALESCE(sum(version), 0) AS BIGINT) FROM customer_webhooks",
        )
        .fetch_one(self.database.pool())
        .await?;
        Ok(Stamp(row.into()))
    }

    /// `None` if the account has its maximum.
    pub(crate) async fn create(
        &self,
        account: i64,
        terms: &WebhookTerms,
        max: u32,
        now: Micros,
    ) -> sqlx::Result<Option<i64>> {
        let mut tx = self.database.begin().await?;
        // Two requests of one account count one after the other. The update changes nothing.
        sqlx::query("UPDATE accounts SET id = id WHERE id = $1")
            .bind(account)
            .execute(&mut *tx)
            .await?;
        let count: i64 =
            sqlx::query_scalar("SELECT count(*) FROM customer_webhooks WHERE account_id = $1")
                .bind(account)
                .fetch_one(&mut *tx)
                .await?;
        if count >= i64::from(max) {
            return Ok(None);
        }
        let id = sqlx::query_scalar(
            "INSERT INTO customer_webhooks (account_id, url, events, channels, created_us, active_us, prices)
             VALUES ($1, $2, $3, $4, $5, $5, $6) RETURNING id",
        )
        .bind(account)
        .bind(&terms.url)
        .bind(events_text(terms))
        .bind(terms.channels.join(" "))
        .bind(now)
        .bind(prices_text(terms))
        .fetch_one(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(Some(id))
    }

    /// Gives a webhook these terms, if there are any, and enables or disables it. Returns whether that changes anything.
    pub(crate) async fn change(
        &self,
        existing: &Webhook,
        terms: Option<&WebhookTerms>,
        enabled: Option<bool>,
        now: Micros,
    ) -> sqlx::Result<bool> {
        if terms.is_none() && enabled.is_none() {
            return Ok(false);
        }
        let mut tx = self.database.begin().await?;
        if let Some(terms) = terms {
            set_terms(&mut tx, existing, terms).await?;
        }
        let is_switched = match enabled {
            Some(true) => enable(&mut tx, existing.id, now).await?,
            Some(false) => disable(&mut tx, existing.id, "its owner disabled it", now).await?,
            None => false,
        };
        sqlx::query("UPDATE customer_webhooks SET paused_us = 0 WHERE id = $1 AND paused_us > 0")
            .bind(existing.id)
            .execute(&mut *tx)
            .await?;
        tx.commit().await?;
        Ok(terms.is_some() || is_switched)
    }

    pub(crate) async fn delete(&self, id: i64) -> sqlx::Result<()> {
        sqlx::query("DELETE FROM customer_webhooks WHERE id = $1")
            .bind(id)
            .execute(self.database.pool())
            .await?;
        Ok(())
    }

    pub(crate) async fn rotate(&self, id: i64, now: Micros) -> sqlx::Result<()> {
        sqlx::query(
            "UPDATE customer_webhooks SET generation = generation + 1, rotated_us = $1 WHERE id = $2",
        )
        .bind(now)
        .bind(id)
        .execute(self.database.pool())
        .await?;
        Ok(())
    }

    /// False if too many tests of the webhook wait.
    pub(crate) async fn add_test(
        &self,
        delivery: &NewDelivery,
        waiting_max: u32,
    ) -> sqlx::Result<bool> {
        let mut tx = self.database.begin().await?;
        let tests: i64 = sqlx::query_scalar(
            "SELECT COUNT(*) FROM webhook_deliveries WHERE webhook_id = $1 AND kind = 'test' AND done_us IS NULL",
        )
        .bind(delivery.webhook)
        .fetch_one(&mut *tx)
        .await?;
        if tests >= TESTS_WAITING_MAX {
            return Ok(false);
        }
        insert(&mut tx, delivery).await?;
        drop_oldest(&mut tx, delivery.webhook, waiting_max, delivery.created).await?;
        tx.commit().await?;
        Ok(true)
    }

    pub(crate) async fn deliveries(
        &self,
        webhook: i64,
        before: Option<i64>,
        limit: u32,
    ) -> sqlx::Result<Vec<Delivery>> {
        let statement =
            format!("{DELIVERY} WHERE webhook_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3");
        sqlx::query_as(sqlx::AssertSqlSafe(statement))
            .bind(webhook)
            .bind(before.unwrap_or(i64::MAX))
            .bind(i64::from(limit))
            .fetch_all(self.database.pool())
            .await
    }

    /// Makes a delivery due again. False if there is none.
    pub(crate) async fn resend(
        &self,
        webhook: i64,
        message_id: &str,
        now: Micros,
    ) -> sqlx::Result<bool> {
        let mut tx = self.database.begin().await?;
        let done = sqlx::query(
            "UPDATE webhook_deliveries SET done_us = NULL, outcome = NULL, attempts = 0, next_us = $1
             WHERE message_id = $2 AND webhook_id = $3",
        )
        .bind(now)
        .bind(message_id)
        .bind(webhook)
        .execute(&mut *tx)
        .await?;
        sqlx::query("UPDATE customer_webhooks SET paused_us = 0 WHERE id = $1")
            .bind(webhook)
            .execute(&mut *tx)
            .await?;
        tx.commit().await?;
        Ok(done.rows_affected() == 1)
    }

    /// Webhooks with deliveries that are due: those after this one first, then from the beginning.
    pub(crate) async fn webhooks_due(
        &self,
        now: Micros,
        after: i64,
        max: i64,
    ) -> sqlx::Result<Vec<(i64, i64)>> {
        sqlx::query_as(
            "SELECT id, account_id FROM customer_webhooks WHERE disabled_us IS NULL AND paused_us <= $1 AND EXISTS
             (SELECT 1 FROM webhook_deliveries WHERE webhook_id = customer_webhooks.id AND done_us IS NULL AND next_us <= $1)
             ORDER BY CASE WHEN id > $2 THEN 0 ELSE 1 END, id LIMIT $3",
        )
        .bind(now)
        .bind(after)
        .bind(max)
        .fetch_all(self.database.pool())
        .await
    }

    /// The delivery of a webhook that has been due for the longest time.
    pub(crate) async fn next_due(
        &self,
        webhook: i64,
        now: Micros,
    ) -> sqlx::Result<Option<Delivery>> {
        let statement = format!(
            "{DELIVERY} WHERE webhook_id = $1 AND done_us IS NULL AND next_us <= $2 ORDER BY next_us, id LIMIT 1"
        );
        sqlx::query_as(sqlx::AssertSqlSafe(statement))
            .bind(webhook)
            .bind(now)
            .fetch_optional(self.database.pool())
            .await
    }

    /// Begins an attempt and counts it. False if the delivery has changed since it was read.
    pub(crate) async fn claim(&self, delivery: &Delivery, until: Micros) -> sqlx::Result<bool> {
        let done = sqlx::query(
            "UPDATE webhook_deliveries SET attempts = attempts + 1, next_us = $1
             WHERE id = $2 AND next_us = $3 AND done_us IS NULL",
        )
        .bind(until)
        .bind(delivery.id)
        .bind(delivery.next)
        .execute(self.database.pool())
        .await?;
        Ok(done.rows_affected() == 1)
    }

    /// Ends a delivery.
    pub(crate) async fn finish(
        &self,
        delivery: i64,
        outcome: Outcome,
        status: Option<u16>,
        error: Option<&str>,
        now: Micros,
    ) -> sqlx::Result<()> {
        sqlx::query(
            "UPDATE webhook_deliveries SET done_us = $1, outcome = $2, status = $3, error = $4 WHERE id = $5",
        )
        .bind(now)
        .bind(outcome.as_str())
        .bind(status.map(i64::from))
        .bind(error.map(shortened))
        .bind(delivery)
        .execute(self.database.pool())
        .await?;
        Ok(())
    }

    pub(crate) async fn reschedule(
        &self,
        delivery: i64,
        until: Micros,
        status: Option<u16>,
        error: &str,
    ) -> sqlx::Result<()> {
        sqlx::query(
            "UPDATE webhook_deliveries SET next_us = $1, status = $2, error = $3 WHERE id = $4 AND done_us IS NULL",
        )
        .bind(until)
        .bind(status.map(i64::from))
        .bind(shortened(error))
        .bind(delivery)
        .execute(self.database.pool())
        .await?;
        Ok(())
    }

    /// Forgets the failures of a webhook.
    pub(crate) async fn note_success(&self, webhook: i64) -> sqlx::Result<()> {
        sqlx::query(
            "UPDATE customer_webhooks SET failures = 0, failing_us = NULL, paused_us = 0 WHERE id = $1 AND failures > 0",
        )
        .bind(webhook)
        .execute(self.database.pool())
        .await?;
        Ok(())
    }

    /// Counts a failure. No attempt is made `until` then.
    pub(crate) async fn note_failure(
        &self,
        webhook: i64,
        until: Micros,
        now: Micros,
    ) -> sqlx::Result<()> {
        sqlx::query(
            "UPDATE customer_webhooks SET failures = failures + 1, failing_us = COALESCE(failing_us, $1), paused_us = $2 WHERE id = $3",
        )
        .bind(now)
        .bind(until)
        .bind(webhook)
        .execute(self.database.pool())
        .await?;
        Ok(())
    }

    /// Disables a webhook that failed, and does what follows from that in the same transaction. False if it was disabled.
    pub(crate) async fn disable(
        &self,
        webhook: &Webhook,
        why: &str,
        on_disabled: &OnDisabled,
        now: Micros,
    ) -> sqlx::Result<bool> {
        let mut tx = self.database.begin().await?;
        let is_disabled = disable(&mut tx, webhook.id, why, now).await?;
        if is_disabled {
            on_disabled(&mut tx, webhook.account, now).await?;
        }
        tx.commit().await?;
        Ok(is_disabled)
    }

    /// The webhooks with deliveries that wait: how many, and since when the first of them is due, unless the webhook pauses.
    pub(crate) async fn waiting(&self, now: Micros) -> sqlx::Result<Vec<Waiting>> {
        let rows: Vec<(i64, i64, Option<Micros>)> = sqlx::query_as(
            "SELECT webhook_id, count(*), min(CASE WHEN customer_webhooks.paused_us <= $1 AND next_us <= $1 THEN next_us END)
             FROM webhook_deliveries JOIN customer_webhooks ON customer_webhooks.id = webhook_id
             WHERE done_us IS NULL AND disabled_us IS NULL GROUP BY webhook_id",
        )
        .bind(now)
        .fetch_all(self.database.pool())
        .await?;
        let waiting = rows.into_iter().map(|(webhook, count, due)| Waiting { webhook, count, due });
        Ok(waiting.collect())
    }

    /// Deletes deliveries that were made before this moment, done or not, and of each webhook the finished ones beyond a
    /// maximum. Looks between two statements whether it is to stop.
    pub(crate) async fn sweep(
        &self,
        before: Micros,
        log_max: u32,
        is_stopped: impl Fn() -> bool + Send + Sync,
    ) -> sqlx::Result<()> {
        while !is_stopped() {
            let done = sqlx::query(
                "DELETE FROM webhook_deliveries WHERE id IN
                 (SELECT id FROM webhook_deliveries WHERE created_us < $1 ORDER BY id LIMIT $2)",
            )
            .bind(before)
            .bind(SWEPT_MAX)
            .execute(self.database.pool())
            .await?;
            if done.rows_affected() < SWEPT_MAX.unsigned_abs() {
                break;
            }
            self.database.yield_to_writers().await;
        }
        let full: Vec<(i64, i64)> = sqlx::query_as(
            "SELECT webhook_id, count(*) FROM webhook_deliveries WHERE done_us IS NOT NULL GROUP BY webhook_id HAVING count(*) > $1",
        )
        .bind(i64::from(log_max))
        .fetch_all(self.database.pool())
        .await?;
        for (webhook, count) in full {
            let mut surplus = count - i64::from(log_max);
            while surplus > 0 && !is_stopped() {
                let batch = surplus.min(SWEPT_MAX);
                sqlx::query(
                    "DELETE FROM webhook_deliveries WHERE id IN
                     (SELECT id FROM webhook_deliveries WHERE webhook_id = $1 AND done_us IS NOT NULL ORDER BY id LIMIT $2)",
                )
                .bind(webhook)
                .bind(batch)
                .execute(self.database.pool())
                .await?;
                surplus -= batch;
                self.database.yield_to_writers().await;
            }
        }
        Ok(())
    }
}

/// Those of these webhooks that there are, with their conditions on prices as text, one in each line. Until the transaction
/// ends, none of them can be deleted: SQLite has one writer at a time.
pub(crate) async fn conditions(
    tx: &mut AnyConnection,
    webhooks: &BTreeSet<i64>,
    is_sqlite: bool,
) -> sqlx::Result<HashMap<i64, String>> {
    if webhooks.is_empty() {
        return Ok(HashMap::new());
    }
    let ids = webhooks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let lock = if is_sqlite { "" } else { " FOR KEY SHARE" };
    let statement =
        format!("SELECT id, prices FROM customer_webhooks WHERE id IN ({ids}) ORDER BY id{lock}");
    let rows: Vec<(i64, String)> =
        sqlx::query_as(sqlx::AssertSqlSafe(statement)).fetch_all(tx).await?;
    Ok(rows.into_iter().collect())
}

/// Stores a delivery. False if the webhook has one of the same event.
pub(crate) async fn insert(tx: &mut AnyConnection, delivery: &NewDelivery) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "INSERT INTO webhook_deliveries (webhook_id, message_id, kind, channel, eid, body, created_us, next_us)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $7) ON CONFLICT (webhook_id, message_id) DO NOTHING",
    )
    .bind(delivery.webhook)
    .bind(&delivery.message_id)
    .bind(delivery.kind)
    .bind(&delivery.channel)
    .bind(&delivery.eid)
    .bind(&delivery.body)
    .bind(delivery.created)
    .execute(tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Drops the oldest deliveries that wait beyond a maximum, and returns their number.
pub(crate) async fn drop_oldest(
    tx: &mut AnyConnection,
    webhook: i64,
    max: u32,
    now: Micros,
) -> sqlx::Result<u64> {
    let done = sqlx::query(
        "UPDATE webhook_deliveries SET done_us = $1, outcome = $2, error = $3 WHERE webhook_id = $4 AND done_us IS NULL
         AND id <= (SELECT id FROM webhook_deliveries WHERE webhook_id = $4 AND done_us IS NULL
                    ORDER BY id DESC LIMIT 1 OFFSET $5)",
    )
    .bind(now)
    .bind(Outcome::Dropped.as_str())
    .bind("too many deliveries were waiting")
    .bind(webhook)
    .bind(i64::from(max))
    .execute(&mut *tx)
    .await?;
    let dropped = done.rows_affected();
    if dropped > 0 {
        sqlx::query("UPDATE customer_webhooks SET dropped = dropped + $1 WHERE id = $2")
            .bind(i64::try_from(dropped).unwrap_or(i64::MAX))
            .bind(webhook)
            .execute(tx)
            .await?;
    }
    Ok(dropped)
}

pub(crate) async fn position(database: &Database) -> sqlx::Result<Option<Position>> {
    let row: Option<(i64, i64)> =
        sqlx::query_as("SELECT record, at_us FROM webhook_position WHERE id = 1")
            .fetch_optional(database.pool())
            .await?;
    Ok(row.map(|(record, at)| Position { record: record.cast_unsigned(), at }))
}

/// Stores the position; `None` deletes it.
pub(crate) async fn set_position(
    tx: &mut AnyConnection,
    position: Option<Position>,
) -> sqlx::Result<()> {
    let query = match position {
        Some(Position { record, at }) => sqlx::query(
            "INSERT INTO webhook_position (id, record, at_us) VALUES (1, $1, $2)
             ON CONFLICT (id) DO UPDATE SET record = excluded.record, at_us = excluded.at_us",
        )
        .bind(record.cast_signed())
        .bind(at),
        None => sqlx::query("DELETE FROM webhook_position WHERE id = 1"),
    };
    query.execute(tx).await.map(|_| ())
}

fn shortened(error: &str) -> String {
    error.chars().filter(|c| !c.is_control()).take(ERROR_MAX).collect()
}

#[cfg(test)]
pub(crate) mod tests;

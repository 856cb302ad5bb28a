//! The stored orders: all SQL about orders and webhooks.
//!
//! A writer locks the account's row before it changes an order. So what it reads in the same
//! transaction is current, and two reports of the same payment are processed one after the other.

use rust_decimal::Decimal;
use sqlx::{Any, AnyConnection, FromRow, Row, Transaction, any::AnyRow};

use super::{
    Order, PaymentMethod,
    order::{Mismatch, ProviderStatus},
    receipt::{Receipt, ReceiptTerms},
};
use crate::{
    accounts::{
        AccountId, Addon, Micros,
        ledger::{self, LedgerKind, NewLedgerEntry, decimal},
    },
    mail::{self, MailKind},
    products::{Country, Price},
};
use database::Database;

/// Maximum orders in a list.
const SHOWN_MAX: i64 = 200;

#[derive(Debug, Clone)]
pub(super) struct PaymentStore {
    database: Database,
    receipts: ReceiptTerms,
}

/// How a provider identifies an order: by our id, its checkout or its payment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct OrderRef {
    pub(super) order: Option<String>,
    pub(super) checkout: Option<String>,
    pub(super) payment: Option<String>,
}

/// What determines whether an account can buy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Buyer {
    pub(super) founder: bool,
    /// The country that the customer named.
    pub(super) country: Option<Country>,
    /// Its orders that are neither paid nor closed.
    pub(super) open: usize,
}

/// Identifies a webhook event, for the record.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventKey<'a> {
    pub(super) method: PaymentMethod,
    pub(super) id: &'a str,
    pub(super) kind: &'a str,
}

/// The result of applying a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ApplyOutcome {
    /// Days were granted, or taken back if negative.
    Days(i64),
    /// It was known already, or changes no days.
    Nothing,
    /// It does not fit the order.
    Mismatch(Mismatch),
    /// This event was applied before.
    Repeated,
}

impl ApplyOutcome {
    /// As it is stored and counted.
    pub(super) fn as_str(&self) -> &'static str {
        match self {
            Self::Days(0..) => "granted",
            Self::Days(_) => "taken back",
            Self::Nothing => "nothing new",
            Self::Mismatch(mismatch) => mismatch.as_str(),
            Self::Repeated => "repeated",
        }
    }
}

impl PaymentStore {
    pub(super) fn new(database: Database, receipts: ReceiptTerms) -> Self {
        Self { database, receipts }
    }

    /// The receipt of an order; `None` if it is not paid.
    pub(super) fn receipt(&self, order: &Order) -> Option<Receipt> {
        Receipt::for_order(order, &self.receipts)
    }

    pub(super) async fn begin(&self) -> sqlx::Result<Transaction<'static, Any>> {
        self.database.begin().await
    }

    pub(super) async fn order(&self, id: &str) -> sqlx::Result<Option<Order>> {
        let (_slot, mut connection) = self.database.pool().acquire().await?;
        order(&mut connection, id).await
    }

    /// The order that a provider refers to. Our own id takes precedence over the provider's ids.
    pub(super) async fn find(
        &self,
        method: PaymentMethod,
        name: &OrderRef,
    ) -> sqlx::Result<Option<Order>> {
        sqlx::query_as(
            "SELECT * FROM orders WHERE rail = $1 AND (id = $2 OR checkout_ref = $3 OR payment_ref = $4) \
             ORDER BY CASE WHEN id = $2 THEN 0 WHEN checkout_ref = $3 THEN 1 ELSE 2 END LIMIT 1",
        )
        .bind(method.as_str())
        .bind(name.order.clone())
        .bind(name.checkout.clone())
        .bind(name.payment.clone())
        .fetch_optional(self.database.pool())
        .await
    }

    /// Whether there is an order of this method whose payment is not known.
    pub(super) async fn has_open_order(&self, method: PaymentMethod) -> sqlx::Result<bool> {
        let open: Option<String> = sqlx::query_scalar(
            "SELECT id FROM orders WHERE rail = $1 AND paid_us IS NULL AND closed_us IS NULL LIMIT 1",
        )
        .bind(method.as_str())
        .fetch_optional(self.database.pool())
        .await?;
        Ok(open.is_some())
    }

    /// The orders of an account, the newest first.
    pub(super) async fn orders_of(&self, account: AccountId) -> sqlx::Result<Vec<Order>> {
        sqlx::query_as(
            "SELECT * FROM orders WHERE account_id = $1 ORDER BY created_us DESC, id LIMIT $2",
        )
        .bind(account.0)
        .bind(SHOWN_MAX)
        .fetch_all(self.database.pool())
        .await
    }

    /// The open orders that are next to be checked. An order is checked `after` it was created, and
    /// again after half its age at the last check and a little.
    pub(super) async fn due_for_check(
        &self,
        after: Micros,
        most: u32,
        now: Micros,
    ) -> sqlx::Result<Vec<Order>> {
        sqlx::query_as(
            "SELECT * FROM orders WHERE paid_us IS NULL AND closed_us IS NULL \
             AND $1 - COALESCE(asked_us, created_us) >= \
             $2 + (COALESCE(asked_us, created_us) - created_us) / 2 \
             ORDER BY COALESCE(asked_us, created_us), id LIMIT $3",
        )
        .bind(now)
        .bind(after)
        .bind(i64::from(most))
        .fetch_all(self.database.pool())
        .await
    }

    pub(super) async fn mark_checked(&self, order: &str, now: Micros) -> sqlx::Result<()> {
        sqlx::query("UPDATE orders SET asked_us = $2 WHERE id = $1")
            .bind(order)
            .bind(now)
            .execute(self.database.pool())
            .await?;
        Ok(())
    }

    pub(super) async fn checkout_opened(
        &self,
        order: &str,
        checkout: &str,
        url: &str,
    ) -> sqlx::Result<()> {
        sqlx::query(
            "UPDATE orders SET checkout_ref = COALESCE(checkout_ref, $2), checkout_url = $3 \
             WHERE id = $1",
        )
        .bind(order)
        .bind(checkout)
        .bind(url)
        .execute(self.database.pool())
        .await?;
        Ok(())
    }

    /// Whether this event was recorded before.
    pub(super) async fn is_recorded(&self, event: EventKey<'_>) -> sqlx::Result<bool> {
        let (_slot, mut connection) = self.database.pool().acquire().await?;
        is_recorded(&mut connection, event).await
    }

    /// Records an event that concerns no known order.
    pub(super) async fn record(
        &self,
        event: EventKey<'_>,
        outcome: &str,
        now: Micros,
    ) -> sqlx::Result<()> {
        let (_slot, mut connection) = self.database.pool().acquire().await?;
        record(&mut connection, event, None, outcome, now).await
    }

    /// Applies a report about an order: the facts, the days that follow from them, the ledger and
    /// the event, all or nothing.
    pub(super) async fn apply(
        &self,
        snapshot: &Order,
        status: &ProviderStatus,
        event: Option<EventKey<'_>>,
        now: Micros,
    ) -> sqlx::Result<(Order, ApplyOutcome)> {
        let mut tx = self.begin().await?;
        ledger::lock(&mut tx, snapshot.account).await?;
        let mut order = order(&mut tx, &snapshot.id).await?.ok_or(sqlx::Error::RowNotFound)?;
        if let Some(event) = event
            && is_recorded(&mut tx, event).await?
        {
            return Ok((order, ApplyOutcome::Repeated));
        }
        let applied = match order.learn(status, now) {
            Ok(()) => settle(&mut tx, &mut order, &self.receipts, now).await?,
            Err(mismatch) => ApplyOutcome::Mismatch(mismatch),
        };
        if let Some(event) = event {
            record(&mut tx, event, Some(&order.id), applied.as_str(), now).await?;
        }
        tx.commit().await?;
        Ok((order, applied))
    }
}

/// Writes the facts, adjusts the days to match them, and mails the receipt.
async fn settle(
    tx: &mut AnyConnection,
    order: &mut Order,
    receipts: &ReceiptTerms,
    now: Micros,
) -> sqlx::Result<ApplyOutcome> {
    let days = order.days_due() - order.days_granted;
    let amount = order.amount_due() - ledger::paid_for(tx, &order.id).await?;
    order.days_granted += days;
    write_facts(tx, order).await?;
    if days == 0 && amount.is_zero() {
        return Ok(ApplyOutcome::Nothing);
    }
    let back = days < 0 || amount.is_sign_negative();
    let entry = NewLedgerEntry {
        account: order.account,
        addon: order.addon,
        order: Some(&order.id),
        kind: if back { LedgerKind::Refund } else { LedgerKind::Purchase },
        days,
        amount,
        currency: &order.price.currency,
        note: order.method.as_str(),
    };
    ledger::enter(tx, &entry, now).await?;
    if !amount.is_zero() {
        mail_receipt(tx, order, receipts, back, now).await?;
    }
    Ok(if days == 0 { ApplyOutcome::Nothing } else { ApplyOutcome::Days(days) })
}

/// Mails the receipt to the account, if it has an address. `back`: money went back.
async fn mail_receipt(
    tx: &mut AnyConnection,
    order: &Order,
    receipts: &ReceiptTerms,
    back: bool,
    now: Micros,
) -> sqlx::Result<()> {
    let address: Option<Option<String>> =
        sqlx::query_scalar("SELECT email FROM accounts WHERE id = $1 AND deleted_us IS NULL")
            .bind(order.account.0)
            .fetch_optional(&mut *tx)
            .await?;
    let receipt = Receipt::for_order(order, receipts);
    if let (Some(address), Some(receipt)) = (address.flatten(), receipt) {
        let kind = if back { MailKind::Refund } else { MailKind::Receipt };
        mail::enqueue_receipt(tx, &address, kind, &receipt, now).await?;
    }
    Ok(())
}

async fn write_facts(tx: &mut AnyConnection, order: &Order) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE orders SET payment_ref = $2, paid_us = $3, refunded = $4, closed_us = $5, \
         days_granted = $6 WHERE id = $1",
    )
    .bind(&order.id)
    .bind(order.payment.clone())
    .bind(order.paid)
    .bind(order.refunded.to_string())
    .bind(order.closed)
    .bind(order.days_granted)
    .execute(tx)
    .await?;
    Ok(())
}

async fn order(tx: &mut AnyConnection, id: &str) -> sqlx::Result<Option<Order>> {
    sqlx::query_as("SELECT * FROM orders WHERE id = $1").bind(id).fetch_optional(tx).await
}

/// The account, if it can buy; locks its row.
pub(super) async fn buyer(
    tx: &mut AnyConnection,
    account: AccountId,
) -> sqlx::Result<Option<Buyer>> {
    if !ledger::lock(tx, account).await? {
        return Ok(None);
    }
    let found: Option<(i64, Option<String>, i64)> = sqlx::query_as(
        "SELECT CAST(CASE WHEN founder_us IS NULL THEN 0 ELSE 1 END AS BIGINT), country, \
         (SELECT count(*) FROM orders \
          WHERE account_id = accounts.id AND paid_us IS NULL AND closed_us IS NULL) \
         FROM accounts WHERE id = $1 \
         AND active_us IS NOT NULL AND blocked_us IS NULL AND deleted_us IS NULL",
    )
    .bind(account.0)
    .fetch_optional(tx)
    .await?;
    Ok(found.map(|(founder, country, open)| Buyer {
        founder: founder == 1,
        country: country.and_then(|code| code.parse().ok()),
        open: usize::try_from(open).unwrap_or(usize::MAX),
    }))
}

pub(super) async fn insert(tx: &mut AnyConnection, order: &Order) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO orders \
         (id, account_id, rail, addon, months, days, amount, currency, founder, created_us, country, \
          tax_percent) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
    )
    .bind(&order.id)
    .bind(order.account.0)
    .bind(order.method.as_str())
    .bind(order.addon.as_str())
    .bind(i64::from(order.months))
    .bind(i64::from(order.days))
    .bind(order.price.amount.to_string())
    .bind(&order.price.currency)
    .bind(i64::from(order.founder))
    .bind(order.created)
    .bind(order.country.map(|country| country.to_string()))
    .bind(order.tax_percent.map(|percent| percent.to_string()))
    .execute(tx)
    .await?;
    Ok(())
}

async fn is_recorded(tx: &mut AnyConnection, event: EventKey<'_>) -> sqlx::Result<bool> {
    let found: Option<String> =
        sqlx::query_scalar("SELECT event_id FROM webhooks WHERE rail = $1 AND event_id = $2")
            .bind(event.method.as_str())
            .bind(event.id)
            .fetch_optional(tx)
            .await?;
    Ok(found.is_some())
}

async fn record(
    tx: &mut AnyConnection,
    event: EventKey<'_>,
    order: Option<&str>,
    outcome: &str,
    now: Micros,
) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO webhooks (rail, event_id, kind, order_id, outcome, received_us) \
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (rail, event_id) DO NOTHING",
    )
    .bind(event.method.as_str())
    .bind(event.id)
    .bind(event.kind)
    .bind(order.map(str::to_owned))
    .bind(outcome)
    .bind(now)
    .execute(tx)
    .await?;
    Ok(())
}

impl FromRow<'_, AnyRow> for Order {
    fn from_row(row: &AnyRow) -> sqlx::Result<Self> {
        let text = |name| row.try_get::<String, _>(name);
        let count = |name| {
            let count: i64 = row.try_get(name)?;
            u32::try_from(count).map_err(|error| sqlx::Error::Decode(error.into()))
        };
        let (country, tax_percent): (Option<String>, Option<String>) =
            (row.try_get("country")?, row.try_get("tax_percent")?);
        let amount: Decimal = decimal(&text("amount")?)?;
        let addon: Addon =
            text("addon")?.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
        let method: PaymentMethod =
            text("rail")?.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
        Ok(Self {
            id: text("id")?,
            account: AccountId(row.try_get("account_id")?),
            method,
            addon,
            months: count("months")?,
            days: count("days")?,
            price: Price { amount, currency: text("currency")? },
            founder: row.try_get::<i64, _>("founder")? == 1,
            country: country.and_then(|code| code.parse().ok()),
            tax_percent: tax_percent.map(|percent| decimal(&percent)).transpose()?,
            created: row.try_get("created_us")?,
            checkout: row.try_get("checkout_ref")?,
            payment: row.try_get("payment_ref")?,
            checkout_url: row.try_get("checkout_url")?,
            paid: row.try_get("paid_us")?,
            refunded: decimal(&text("refunded")?)?,
            closed: row.try_get("closed_us")?,
            days_granted: row.try_get("days_granted")?,
        })
    }
}

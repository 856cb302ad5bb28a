//! The ledger: every day that was ever granted or taken back, and why.
//!
//! [`enter`] is the only place where the end of an add-on moves, so the ledger tells all of it. Rows are
//! only ever added. Whoever enters has the row of the account locked; see `Database::begin`.

use std::fmt;

use rust_decimal::Decimal;
use sqlx::{AnyConnection, FromRow, Row, any::AnyRow};

use super::{AccountId, Accounts, AccountsError, Addon, DAY_US, Micros};

/// The most rows that are shown at once. A customer who buys each month fills them in eighty years.
const SHOWN_MAX: i64 = 1000;

/// Why days were granted or taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LedgerKind {
    /// They were paid for.
    Purchase,
    /// The payment, or a part of it, was given back.
    Refund,
    /// The operator granted them.
    Grant,
}

impl LedgerKind {
    const ALL: [Self; 3] = [Self::Purchase, Self::Refund, Self::Grant];

    /// The name in the database and on pages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Purchase => "purchase",
            Self::Refund => "refund",
            Self::Grant => "gift",
        }
    }

    /// The kind of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

impl fmt::Display for LedgerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One row of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerEntry {
    /// Rows of a later number were written later.
    pub number: i64,
    pub account: AccountId,
    pub addon: Addon,
    /// The order that it comes of; `None` for gifts.
    pub order: Option<String>,
    pub kind: LedgerKind,
    /// Below zero where they were taken back.
    pub days: i64,
    /// What was paid, or below zero what was given back; nothing for gifts.
    pub amount: Decimal,
    /// ISO 4217, upper case; empty for gifts.
    pub currency: String,
    /// The end of the add-on then.
    pub expires: Micros,
    pub note: String,
    pub at: Micros,
}

/// A row that is to be written.
#[derive(Debug)]
pub(crate) struct NewLedgerEntry<'a> {
    pub(crate) account: AccountId,
    pub(crate) addon: Addon,
    pub(crate) order: Option<&'a str>,
    pub(crate) kind: LedgerKind,
    pub(crate) days: i64,
    pub(crate) amount: Decimal,
    pub(crate) currency: &'a str,
    pub(crate) note: &'a str,
}

impl<'a> NewLedgerEntry<'a> {
    /// Days for nothing.
    pub(crate) fn grant(account: AccountId, addon: Addon, days: u32, note: &'a str) -> Self {
        Self {
            account,
            addon,
            order: None,
            kind: LedgerKind::Grant,
            days: days.into(),
            amount: Decimal::ZERO,
            currency: "",
            note,
        }
    }
}

impl Accounts {
    /// Grants days for nothing: they are added to what is left of the add-on, or to now.
    ///
    /// # Errors
    ///
    /// If there is no such account, if more than [`Self::DAYS_MAX`] days are granted, or if the store
    /// fails.
    pub async fn grant_addon(
        &self,
        account: AccountId,
        addon: Addon,
        days: u32,
        note: &str,
        now: Micros,
    ) -> Result<(), AccountsError> {
        let days = super::checked(days)?;
        let mut tx = self.database().begin().await?;
        if !lock(&mut tx, account).await? {
            return Err(AccountsError::UnknownAccount);
        }
        enter(&mut tx, &NewLedgerEntry::grant(account, addon, days, note), now).await?;
        tx.commit().await?;
        self.broadcast_own_changes().await;
        Ok(())
    }

    /// What was granted to an account and taken back, the latest first, as many as a page shows.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn ledger(&self, account: AccountId) -> Result<Vec<LedgerEntry>, AccountsError> {
        let rows =
            sqlx::query_as("SELECT * FROM ledger WHERE account_id = $1 ORDER BY id DESC LIMIT $2")
                .bind(account.0)
                .bind(SHOWN_MAX)
                .fetch_all(self.database().pool())
                .await?;
        Ok(rows)
    }
}

/// Keeps all others from deciding about this account until the transaction ends; false if there is no
/// such account.
pub(crate) async fn lock(tx: &mut AnyConnection, account: AccountId) -> Result<bool, sqlx::Error> {
    // It changes nothing; both databases lock what is written.
    let done = sqlx::query("UPDATE accounts SET id = id WHERE id = $1").bind(account.0);
    Ok(done.execute(tx).await?.rows_affected() == 1)
}

/// Moves the end of an add-on and writes down why. Days are added to the end, or to now when that has
/// passed; days taken back are taken from the end.
pub(crate) async fn enter(
    tx: &mut AnyConnection,
    entry: &NewLedgerEntry<'_>,
    now: Micros,
) -> Result<(), sqlx::Error> {
    let expires: Micros = sqlx::query_scalar(
        "INSERT INTO addons (account_id, addon, expires_us) VALUES ($1, $2, $3 + $4) \
         ON CONFLICT (account_id, addon) DO UPDATE SET expires_us = \
         CASE WHEN addons.expires_us > $3 OR $4 <= 0 THEN addons.expires_us ELSE $3 END + $4 \
         RETURNING expires_us",
    )
    .bind(entry.account.0)
    .bind(entry.addon.as_str())
    .bind(now)
    .bind(entry.days.saturating_mul(DAY_US))
    .fetch_one(&mut *tx)
    .await?;
    sqlx::query(
        "INSERT INTO ledger \
         (account_id, addon, order_id, kind, days, amount, currency, expires_us, note, at_us) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
    )
    .bind(entry.account.0)
    .bind(entry.addon.as_str())
    .bind(entry.order.map(str::to_owned))
    .bind(entry.kind.as_str())
    .bind(entry.days)
    .bind(entry.amount.to_string())
    .bind(entry.currency)
    .bind(expires)
    .bind(entry.note)
    .bind(now)
    .execute(tx)
    .await?;
    Ok(())
}

/// What was paid for an order less what was given back, as far as the ledger tells.
pub(crate) async fn paid_for(tx: &mut AnyConnection, order: &str) -> Result<Decimal, sqlx::Error> {
    // Added up here, because amounts are exact decimals and neither text nor floats add up.
    let amounts: Vec<String> = sqlx::query_scalar("SELECT amount FROM ledger WHERE order_id = $1")
        .bind(order)
        .fetch_all(tx)
        .await?;
    amounts.iter().map(|amount| decimal(amount)).sum()
}

/// An amount as it is stored.
pub(crate) fn decimal(text: &str) -> Result<Decimal, sqlx::Error> {
    text.parse().map_err(|error: rust_decimal::Error| sqlx::Error::Decode(error.into()))
}

impl FromRow<'_, AnyRow> for LedgerEntry {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        let addon: String = row.try_get("addon")?;
        let kind: String = row.try_get("kind")?;
        let kind = LedgerKind::named(&kind);
        Ok(Self {
            number: row.try_get("id")?,
            account: AccountId(row.try_get("account_id")?),
            addon: addon.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))?,
            order: row.try_get("order_id")?,
            kind: kind.ok_or_else(|| sqlx::Error::Decode("an unknown kind of row".into()))?,
            days: row.try_get("days")?,
            amount: decimal(&row.try_get::<String, _>("amount")?)?,
            currency: row.try_get("currency")?,
            expires: row.try_get("expires_us")?,
            note: row.try_get("note")?,
            at: row.try_get("at_us")?,
        })
    }
}

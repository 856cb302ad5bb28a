//! The ledger: every day that was ever granted or taken back, with the reason.
//!
//! [`enter`] is the only place where the expiry of an add-on changes, so the ledger is complete.
//! Rows are only ever added. The writer must hold the lock of the account's row; see
//! `Database::begin`.

use std::fmt;

use rust_decimal::Decimal;
use sqlx::{AnyConnection, FromRow, Row, any::AnyRow};

use super::{AccountId, Accounts, AccountsError, Addon, DAY_US, Micros, Result};

/// Maximum rows in a list. A customer who buys monthly reaches it after eighty years.
const SHOWN_MAX: i64 = 1000;

base::words! {
    /// Why days were granted or taken back, with its name in the database and on pages.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum LedgerKind {
        /// They were paid for.
        Purchase = "purchase",
        /// The payment was refunded, at least partly.
        Refund = "refund",
        /// The operator granted them.
        Grant = "gift",
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
    /// Increases with every row.
    pub number: i64,
    pub account: AccountId,
    pub addon: Addon,
    /// The order it belongs to; `None` for grants.
    pub order: Option<String>,
    pub kind: LedgerKind,
    /// Negative if they were taken back.
    pub days: i64,
    /// The amount paid, or negative if refunded; zero for grants.
    pub amount: Decimal,
    /// ISO 4217, upper case; empty for grants.
    pub currency: String,
    /// The expiry of the add-on after this entry.
    pub expires: Micros,
    pub note: String,
    pub at: Micros,
}

/// A row to insert.
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
    /// A grant of days without payment.
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
    /// Grants days without payment: they are added to the add-on's expiry, or to now if it has
    /// passed.
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
    ) -> Result<()> {
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

    /// The ledger entries of an account, the newest first, as many as a page shows.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn ledger(&self, account: AccountId) -> Result<Vec<LedgerEntry>> {
        let rows =
            sqlx::query_as("SELECT * FROM ledger WHERE account_id = $1 ORDER BY id DESC LIMIT $2")
                .bind(account.0)
                .bind(SHOWN_MAX)
                .fetch_all(self.database().pool())
                .await?;
        Ok(rows)
    }
}

/// Locks the account until the transaction ends; false if there is no such account.
pub(crate) async fn lock(tx: &mut AnyConnection, account: AccountId) -> sqlx::Result<bool> {
    // The update changes nothing; both databases lock updated rows.
    let done = sqlx::query("UPDATE accounts SET id = id WHERE id = $1").bind(account.0);
    Ok(done.execute(tx).await?.rows_affected() == 1)
}

/// Changes the expiry of an add-on and records the reason. Days are added to the expiry, or to now
/// if it has passed; days taken back are subtracted from it.
pub(crate) async fn enter(
    tx: &mut AnyConnection,
    entry: &NewLedgerEntry<'_>,
    now: Micros,
) -> sqlx::Result<()> {
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

/// The amount paid for an order less refunds, by the ledger.
pub(crate) async fn paid_for(tx: &mut AnyConnection, order: &str) -> sqlx::Result<Decimal> {
    // Added up here because amounts are exact decimals: SQL would add them as text or floats.
    let amounts: Vec<String> = sqlx::query_scalar("SELECT amount FROM ledger WHERE order_id = $1")
        .bind(order)
        .fetch_all(tx)
        .await?;
    amounts.iter().map(|amount| decimal(amount)).sum()
}

/// Parses a stored amount.
pub(crate) fn decimal(text: &str) -> sqlx::Result<Decimal> {
    text.parse().map_err(|error: rust_decimal::Error| sqlx::Error::Decode(error.into()))
}

impl FromRow<'_, AnyRow> for LedgerEntry {
    fn from_row(row: &AnyRow) -> sqlx::Result<Self> {
        let addon: String = row.try_get("addon")?;
        let kind: String = row.try_get("kind")?;
        let kind = LedgerKind::from_word(&kind);
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

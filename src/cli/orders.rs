//! `matchwire order`, `refund` and `ledger`: orders, and every day that was granted for them.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use rust_decimal::Decimal;

use super::{
    OutputArgs,
    accounts::{end_of, start_of},
};
use accounts::Micros;
use database::DatabaseName;

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum OrderCommand {
    /// List orders, the newest first.
    ///
    /// Prints a header line, then one line per order, separated by tabs: its id, the account's id,
    /// the payment method (card or paypal), add-on, months, amount, currency, its state, when it
    /// was created, when it was paid, and the refunded amount.
    List(OrderListArgs),
    /// Show an order with all its details and ledger entries.
    Show(OrderShowArgs),
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct OrderListArgs {
    #[command(flatten)]
    pub filter: LedgerFilterArgs,
    /// Maximum number of orders.
    #[arg(long, default_value = "1000", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub limit: u32,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct OrderShowArgs {
    /// The database.
    #[arg(long, value_name = "FILE|URL")]
    pub db: DatabaseName,
    /// The order's id.
    #[arg(value_name = "ORDER")]
    pub order: String,
}

/// Print the ledger, the oldest entry first, and its totals.
///
/// Prints a header line, then one line per entry, separated by tabs: its number, time, the
/// account's id, add-on, kind (purchase, refund or gift), days, amount, currency, the end of the
/// add-on at that time, the order and the note. If there are entries, a second header line follows,
/// then a line `sum` for each add-on, kind and currency: add-on, kind, entries, days, amount,
/// currency. A line `total` for each currency ends it, in the same columns.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct LedgerArgs {
    #[command(flatten)]
    pub filter: LedgerFilterArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// A selection by account and time.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct LedgerFilterArgs {
    /// The database.
    #[arg(long, value_name = "FILE|URL")]
    pub db: DatabaseName,
    /// Only those of this account, by its address or its id.
    #[arg(long, value_name = "ADDRESS_OR_ID")]
    pub account: Option<String>,
    /// Only from this day or time on, UTC.
    #[arg(long, value_name = "DATE|MOMENT", value_parser = start_of)]
    pub since: Option<Micros>,
    /// Only up to the end of this day, or this time, UTC.
    #[arg(long, value_name = "DATE|MOMENT", value_parser = end_of)]
    pub until: Option<Micros>,
}

/// Refund an order at its provider, in full or in part, and take back its days.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct RefundArgs {
    /// The database.
    #[arg(long, value_name = "FILE|URL")]
    pub db: DatabaseName,
    /// The config file with the provider's keys.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The order's id.
    #[arg(value_name = "ORDER")]
    pub order: String,
    /// The amount, in the order's currency [default: all that is not refunded yet].
    #[arg(long, value_name = "AMOUNT", value_parser = accounts::books::amount)]
    pub amount: Option<Decimal>,
}

#[cfg(test)]
mod tests {
    use accounts::books::amount;

    #[test]
    fn amount_is_plain_and_above_zero() {
        for text in ["2.50", "5", "0.01"] {
            assert_eq!(amount(text).map(|it| it.to_string()).as_deref(), Ok(text));
        }
        for text in ["0", "-1", "+1", "1e3", "1.234", "$5", "", "1,50"] {
            assert!(amount(text).is_err(), "{text}");
        }
    }
}

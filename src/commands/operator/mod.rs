//! Operator commands about customers and money, with or without a running hub.
//!
//! Each opens the given database, does one thing, and prints lines of tab-separated fields, for
//! people and scripts; lists have column heads, and are available as JSON lines too. A running hub
//! on the same database notices within a moment. Secrets are never shown: of a key only its public
//! part, of a password nothing.
//!
//! In reading order: [`OperatorError`], `account`, `addon`, `founders`, `admin`, then `books`, `sums`,
//! `order`, `ledger` and `refund`.

mod account;
mod addon;
mod admin;
mod founders;
mod ledger;
mod order;
mod refund;

use std::io::{self, BufRead, Write};

use crate::{
    cli::{operator::OperatorCommand, orders::LedgerFilterArgs},
    config::{AccountsConfig, Config},
    table::time,
};
use accounts::{
    AccountSummary, Accounts, AccountsError, Addons, Micros, WeakPassword,
    books::{LedgerFilter, LedgerStore},
    payments::{PaymentError, SetupError},
    usage::UsageError,
};
use database::DatabaseName;

type Done = Result<(), OperatorError>;

#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    #[error(transparent)]
    Accounts(#[from] AccountsError),
    #[error(transparent)]
    Payments(#[from] PaymentError),
    #[error("the configured payment providers cannot be used")]
    SetUp(#[from] SetupError),
    #[error(transparent)]
    Usage(#[from] UsageError),
    #[error("the database failed")]
    Store(#[from] sqlx::Error),
    #[error("no account `{named}`")]
    UnknownAccount { named: String },
    #[error("no order `{id}`")]
    UnknownOrder { id: String },
    #[error("no operator `{name}`")]
    UnknownAdmin { name: String },
    #[error("the operator `{name}` already exists")]
    AdminExists { name: String },
    #[error("the account is deleted")]
    Deleted,
    #[error("the badge was already granted as of {at}: it can be granted only once")]
    GrantedBefore { at: String },
    #[error("{at} is in the future")]
    TooEarly { at: String },
    #[error("no password: it is read from the standard input, one line")]
    NoPassword,
    #[error("the password was rejected: {0}")]
    WeakPassword(#[from] WeakPassword),
    #[error("cannot write the output or read the input")]
    Io(#[from] io::Error),
}

/// Runs a command, and prints its output. A password is read from `input`.
///
/// # Errors
///
/// If the command fails, or the output cannot be written.
pub async fn run(
    command: OperatorCommand,
    config: &Config,
    now: Micros,
    input: &mut impl BufRead,
    out: &mut impl Write,
) -> Done {
    let accounts = &config.accounts;
    match command {
        OperatorCommand::Account(command) => account::run(command, accounts, now, out).await,
        OperatorCommand::Addon(command) => addon::run(command, accounts, now, out).await,
        OperatorCommand::Order(command) => order::run(command, accounts, out).await,
        OperatorCommand::Ledger(args) => ledger::run(args, accounts, out).await,
        OperatorCommand::Refund(args) => refund::run(args, config, now, out).await,
        OperatorCommand::Founders(command) => founders::run(command, accounts, now, out).await,
        OperatorCommand::Admin(command) => admin::run(command, accounts, now, input, out).await,
    }
}

/// Opens an existing database, runs `work` on it, and closes it.
async fn with_accounts(
    db: &DatabaseName,
    config: &AccountsConfig,
    work: impl AsyncFnOnce(&Accounts) -> Done,
) -> Done {
    let accounts = Accounts::open_existing(db, config).await?;
    let done = work(&accounts).await;
    accounts.close().await;
    done
}

/// The account that the argument identifies.
async fn named(accounts: &Accounts, text: &str) -> Result<AccountSummary, OperatorError> {
    let found = accounts.find_account_by_id_or_email(text).await?;
    found.ok_or_else(|| OperatorError::UnknownAccount { named: text.to_owned() })
}

/// The rows that the arguments select.
async fn filter(
    accounts: &Accounts,
    args: &LedgerFilterArgs,
) -> Result<LedgerFilter, OperatorError> {
    let account = match &args.account {
        Some(text) => Some(named(accounts, text).await?.account),
        None => None,
    };
    Ok(LedgerFilter {
        account,
        since: args.since.unwrap_or(Micros::MIN),
        until: args.until.unwrap_or(Micros::MAX),
    })
}

/// `websocket until 2026-09-02T16:26:40Z`, all add-ons in one text; empty if there are none.
pub(crate) fn addons(addons: &Addons) -> String {
    let until = |(addon, expiry)| format!("{addon} until {}", time(expiry));
    addons.iter().map(until).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;

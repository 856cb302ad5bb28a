//! `matchwire account`: who the customers are, and what an operator does about one.

use std::io::Write;

use super::{Books, OperatorError, Which, line, named, time, time_or_none};
use crate::{
    accounts::{
        AccountId, AccountSearch, AccountState, AccountSummary, Accounts, Addons, KeySummary,
        Micros,
    },
    cli::accounts::{AccountArgs, AccountCommand, AccountListArgs},
    config::{AccountsConfig, UsageConfig},
    usage::{Meter, UsageDay},
};

/// Does what the command says, and writes its answer.
///
/// # Errors
///
/// If the database cannot be used, if there is no such account, or if nobody reads the answer.
pub(super) async fn run(
    command: AccountCommand,
    config: &AccountsConfig,
    now: Micros,
    out: &mut impl Write,
) -> Result<(), OperatorError> {
    let (AccountCommand::List(AccountListArgs { db, .. })
    | AccountCommand::Show(AccountArgs { db, .. })
    | AccountCommand::Block(AccountArgs { db, .. })
    | AccountCommand::Unblock(AccountArgs { db, .. })
    | AccountCommand::Delete(AccountArgs { db, .. })) = &command;
    let accounts = Accounts::open_existing(db, config).await?;
    let done = match &command {
        AccountCommand::List(args) => list(&accounts, args, out).await,
        AccountCommand::Show(args) => show(&accounts, args, now, out).await,
        AccountCommand::Block(args) => block(&accounts, args, true, now, out).await,
        AccountCommand::Unblock(args) => block(&accounts, args, false, now, out).await,
        AccountCommand::Delete(args) => delete(&accounts, args, now, out).await,
    };
    accounts.close().await;
    done
}

async fn list(
    accounts: &Accounts,
    args: &AccountListArgs,
    out: &mut impl Write,
) -> Result<(), OperatorError> {
    let text = args.search.as_deref().unwrap_or_default();
    let before = args.before.map(AccountId);
    let found = accounts.search(AccountSearch { text, before, limit: args.limit }).await?;
    for account in found {
        let AccountSummary { account: id, email, created, founder, addons, .. } = &account;
        let (id, email) = (id.to_string(), email.as_deref().unwrap_or("-"));
        let (state, addons) = (account.state().as_str(), shown(addons));
        line(out, &[&id, email, state, &time(*created), &time_or_none(*founder), &addons])?;
    }
    Ok(())
}

async fn show(
    accounts: &Accounts,
    args: &AccountArgs,
    now: Micros,
    out: &mut impl Write,
) -> Result<(), OperatorError> {
    let account = named(accounts, &args.account).await?;
    line(out, &["id", &account.account.to_string()])?;
    line(out, &["address", account.email.as_deref().unwrap_or("-")])?;
    line(out, &["state", account.state().as_str()])?;
    line(out, &["created", &time(account.created)])?;
    line(out, &["confirmed", &time_or_none(account.active)])?;
    line(out, &["blocked", &time_or_none(account.blocked)])?;
    line(out, &["deleted", &time_or_none(account.deleted)])?;
    line(out, &["founder", &time_or_none(account.founder)])?;
    for KeySummary { prefix, created, revoked, .. } in accounts.keys_of(account.account).await? {
        line(out, &["key", &prefix, &time(created), &time_or_none(revoked)])?;
    }
    for (addon, expires) in account.addons.iter() {
        let state = if expires > now { "runs" } else { "has run out" };
        line(out, &["addon", addon.as_str(), &time(expires), state])?;
    }
    show_sums(accounts, &account, out).await?;
    show_usage(accounts, &account, now, out).await
}

async fn show_sums(
    accounts: &Accounts,
    account: &AccountSummary,
    out: &mut impl Write,
) -> Result<(), OperatorError> {
    let which = Which { account: Some(account.account), ..Which::all() };
    for sum in Books::of(accounts.database()).sums(&which).await?.iter() {
        let (days, amount) = (sum.days.to_string(), sum.amount.to_string());
        let (addon, kind) = (sum.addon.as_str(), sum.kind.as_str());
        line(out, &["ledger", addon, kind, &days, &amount, sum.currency()])?;
    }
    Ok(())
}

/// What a running hub has counted in its last few seconds is not in the store yet.
async fn show_usage(
    accounts: &Accounts,
    account: &AccountSummary,
    now: Micros,
    out: &mut impl Write,
) -> Result<(), OperatorError> {
    let meter = Meter::new(accounts.database().clone(), &UsageConfig::default(), 0);
    let days = meter.last_30_days(account.account, now).await?;
    for (product, counts) in UsageDay::by_product(&days) {
        let numbers = [counts.calls, counts.mcp_calls, counts.socket_ms / 60_000, counts.messages];
        let [calls, mcp, minutes, messages] = numbers.map(|it| it.to_string());
        line(out, &["usage", product.as_str(), &calls, &mcp, &minutes, &messages])?;
    }
    Ok(())
}

async fn block(
    accounts: &Accounts,
    args: &AccountArgs,
    blocked: bool,
    now: Micros,
    out: &mut impl Write,
) -> Result<(), OperatorError> {
    let account = named(accounts, &args.account).await?;
    if account.state() == AccountState::Deleted {
        return Err(OperatorError::Deleted);
    }
    let changed = accounts.block(account.account, blocked, now).await?;
    let answer = match (blocked, changed) {
        (true, true) => "blocked",
        (true, false) => "had been blocked before",
        (false, true) => "unblocked",
        (false, false) => "had not been blocked",
    };
    Ok(line(out, &[answer])?)
}

async fn delete(
    accounts: &Accounts,
    args: &AccountArgs,
    now: Micros,
    out: &mut impl Write,
) -> Result<(), OperatorError> {
    let account = named(accounts, &args.account).await?;
    let deleted = accounts.delete_account_for_operator(account.account, now).await?;
    Ok(line(out, &[if deleted { "deleted" } else { "had been deleted before" }])?)
}

/// `websocket until 2026-09-02T16:26:40Z`, one after the other.
fn shown(addons: &Addons) -> String {
    let until = |(addon, expiry)| format!("{addon} until {}", time(expiry));
    let addons = addons.iter().map(until).collect::<Vec<_>>();
    if addons.is_empty() { "-".to_owned() } else { addons.join(", ") }
}

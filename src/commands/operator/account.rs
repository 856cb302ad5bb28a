//! `matchwire account`: lists, shows and changes customers' accounts.

use std::io::Write;

use super::{Done, LedgerFilter, LedgerStore, OperatorError, addons, named, with_accounts};
use crate::{
    cli::accounts::{AccountArgs, AccountCommand, AccountListArgs},
    config::{AccountsConfig, UsageConfig},
    table::{Table, line, time},
};
use accounts::{
    AccountId, AccountSearch, AccountState, AccountSummary, Accounts, KeySummary, Micros,
    usage::{Meter, UsageDay},
};

/// Runs the command, and prints its output.
///
/// # Errors
///
/// If the database cannot be used, if there is no such account, or if the output cannot be written.
pub(super) async fn run(
    command: AccountCommand,
    config: &AccountsConfig,
    now: Micros,
    out: &mut impl Write,
) -> Done {
    let (AccountCommand::List(AccountListArgs { db, .. })
    | AccountCommand::Show(AccountArgs { db, .. })
    | AccountCommand::Block(AccountArgs { db, .. })
    | AccountCommand::Unblock(AccountArgs { db, .. })
    | AccountCommand::Delete(AccountArgs { db, .. })) = &command;
    with_accounts(db, config, async |accounts| match &command {
        AccountCommand::List(args) => list(accounts, args, out).await,
        AccountCommand::Show(args) => show(accounts, args, now, out).await,
        AccountCommand::Block(args) => block(accounts, args, true, now, out).await,
        AccountCommand::Unblock(args) => block(accounts, args, false, now, out).await,
        AccountCommand::Delete(args) => delete(accounts, args, now, out).await,
    })
    .await
}

async fn list(accounts: &Accounts, args: &AccountListArgs, out: &mut impl Write) -> Done {
    let text = args.search.as_deref().unwrap_or_default();
    let before = args.before.map(AccountId);
    let found = accounts.search(AccountSearch { text, before, limit: args.limit }).await?;
    let columns = ["id", "address", "state", "created", "founder", "addons"];
    let mut table = Table::new(out, args.output.format(), columns)?;
    for account in found {
        table.row([
            Some(&account.account.to_string()),
            account.email.as_deref(),
            Some(account.state().as_str()),
            Some(&time(account.created)),
            account.founder.map(time).as_deref(),
            Some(&addons(&account.addons)),
        ])?;
    }
    Ok(())
}

async fn show(accounts: &Accounts, args: &AccountArgs, now: Micros, out: &mut impl Write) -> Done {
    let account = named(accounts, &args.account).await?;
    line(out, &["id", &account.account.to_string()])?;
    line(out, &["address", account.email.as_deref().unwrap_or_default()])?;
    line(out, &["state", account.state().as_str()])?;
    line(out, &["created", &time(account.created)])?;
    line(out, &["confirmed", &account.active.map(time).unwrap_or_default()])?;
    line(out, &["blocked", &account.blocked.map(time).unwrap_or_default()])?;
    line(out, &["deleted", &account.deleted.map(time).unwrap_or_default()])?;
    line(out, &["founder", &account.founder.map(time).unwrap_or_default()])?;
    for KeySummary { prefix, created, revoked, terms, .. } in
        accounts.keys_of(account.account).await?
    {
        let name = terms.map(|terms| format!("{} ({})", terms.name, terms.scopes));
        let (created, revoked) = (time(created), revoked.map(time).unwrap_or_default());
        line(out, &["key", &prefix, &created, &revoked, &name.unwrap_or_default()])?;
    }
    for (addon, expires) in account.addons.iter() {
        let state = if expires > now { "runs" } else { "has run out" };
        line(out, &["addon", addon.as_str(), &time(expires), state])?;
    }
    show_sums(accounts, &account, out).await?;
    show_usage(accounts, &account, now, out).await
}

async fn show_sums(accounts: &Accounts, account: &AccountSummary, out: &mut impl Write) -> Done {
    let filter = LedgerFilter { account: Some(account.account), ..LedgerFilter::all() };
    for sum in LedgerStore::new(accounts.database()).sums(&filter).await?.iter() {
        let (days, amount) = (sum.days.to_string(), sum.amount.to_string());
        let (addon, kind) = (sum.addon.as_str(), sum.kind.as_str());
        line(out, &["ledger", addon, kind, &days, &amount, sum.currency()])?;
    }
    Ok(())
}

/// The counts of the last few seconds of a running hub are not in the store yet.
async fn show_usage(
    accounts: &Accounts,
    account: &AccountSummary,
    now: Micros,
    out: &mut impl Write,
) -> Done {
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
) -> Done {
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
) -> Done {
    let account = named(accounts, &args.account).await?;
    let deleted = accounts.delete_account_for_operator(account.account, now).await?;
    Ok(line(out, &[if deleted { "deleted" } else { "had been deleted before" }])?)
}

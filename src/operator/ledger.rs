//! `matchwire ledger`: every day that was granted or taken back, and what it comes to.

use std::io::{self, Write};

use super::{Books, OperatorError, line, sums::Sums, time, which};
use crate::{
    accounts::{Accounts, LedgerEntry},
    cli::orders::LedgerArgs,
    config::AccountsConfig,
};

/// Writes the entries and what they come to.
///
/// # Errors
///
/// If the database cannot be used, if there is no such account, or if nobody reads the answer.
pub(super) async fn run(
    args: LedgerArgs,
    config: &AccountsConfig,
    out: &mut impl Write,
) -> Result<(), OperatorError> {
    let accounts = Accounts::open_existing(&args.which.db, config).await?;
    let done = print(&accounts, &args, out).await;
    accounts.close().await;
    done
}

async fn print(
    accounts: &Accounts,
    args: &LedgerArgs,
    out: &mut impl Write,
) -> Result<(), OperatorError> {
    let which = which(accounts, &args.which).await?;
    let books = Books::of(accounts.database());
    let (mut after, mut sums) = (0, Sums::default());
    loop {
        let page = books.entries(&which, after).await?;
        let Some(last) = page.last() else { break };
        after = last.number;
        // Of what is printed, so that they add up while a hub goes on writing.
        page.iter().for_each(|entry| sums.enter(entry));
        page.iter().try_for_each(|entry| write(entry, out))?;
    }
    for sum in sums.iter() {
        let (entries, days) = (sum.entries.to_string(), sum.days.to_string());
        let (addon, kind, amount) = (sum.addon.as_str(), sum.kind.as_str(), sum.amount.to_string());
        line(out, &["sum", addon, kind, &entries, &days, &amount, sum.currency()])?;
    }
    for total in sums.totals() {
        let (entries, amount) = (total.entries.to_string(), total.amount.to_string());
        line(out, &["total", &entries, &amount, &total.currency])?;
    }
    Ok(())
}

/// One entry, a line.
pub(super) fn write(entry: &LedgerEntry, out: &mut impl Write) -> io::Result<()> {
    let currency = if entry.currency.is_empty() { "-" } else { &entry.currency };
    let fields = [
        &entry.number.to_string(),
        &time(entry.at),
        &entry.account.to_string(),
        entry.addon.as_str(),
        entry.kind.as_str(),
        &entry.days.to_string(),
        &entry.amount.to_string(),
        currency,
        &time(entry.expires),
        entry.order.as_deref().unwrap_or("-"),
        &*entry.note,
    ];
    line(out, &fields)
}

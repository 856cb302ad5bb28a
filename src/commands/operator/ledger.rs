//! `matchwire ledger`: lists all days granted or taken back, and their sums.

use std::io::{self, Write};

use accounts::{
    Accounts, LedgerEntry,
    books::{LedgerStore, Sums},
};

use super::{Done, filter, with_accounts};
use crate::{
    cli::orders::LedgerArgs,
    config::AccountsConfig,
    table::{Format, Table, time},
};

/// The columns of an entry, in the order of [`cells`].
const COLUMNS: [&str; 11] = [
    "number", "time", "account", "addon", "kind", "days", "amount", "currency", "expires", "order",
    "note",
];

/// Prints the entries and their sums.
///
/// # Errors
///
/// If the database cannot be used, if there is no such account, or if the output cannot be written.
pub(super) async fn run(args: LedgerArgs, config: &AccountsConfig, out: &mut impl Write) -> Done {
    let db = &args.filter.db;
    with_accounts(db, config, async |accounts| print(accounts, &args, out).await).await
}

async fn print(accounts: &Accounts, args: &LedgerArgs, out: &mut impl Write) -> Done {
    let filter = filter(accounts, &args.filter).await?;
    let books = LedgerStore::new(accounts.database());
    let format = args.output.format();
    let mut entries = Table::new(out, format, COLUMNS)?;
    let (mut after, mut sums) = (0, Sums::default());
    loop {
        let page = books.entries(&filter, after).await?;
        let Some(last) = page.last() else { break };
        after = last.number;
        for entry in &page {
            // Sums of what is printed, so that they match while a hub goes on writing.
            sums.enter(entry);
            entries.row(cells(entry).each_ref().map(|cell| Some(cell.as_str())))?;
        }
    }
    Ok(print_sums(&sums, format, out)?)
}

/// The sums, in a table of their own. Without entries there is none.
fn print_sums(sums: &Sums, format: Format, out: &mut impl Write) -> io::Result<()> {
    if sums.is_empty() {
        return Ok(());
    }
    let columns = ["row", "addon", "kind", "entries", "days", "amount", "currency"];
    let mut table = Table::new(out, format, columns)?;
    for sum in sums.iter() {
        table.row([
            Some("sum"),
            Some(sum.addon.as_str()),
            Some(sum.kind.as_str()),
            Some(&sum.entries.to_string()),
            Some(&sum.days.to_string()),
            Some(&sum.amount.to_string()),
            Some(&sum.currency),
        ])?;
    }
    for total in sums.totals() {
        table.row([
            Some("total"),
            None,
            None,
            Some(&total.entries.to_string()),
            // Days of different add-ons cannot be added up.
            None,
            Some(&total.amount.to_string()),
            Some(&total.currency),
        ])?;
    }
    Ok(())
}

/// An entry, with a cell for each of [`COLUMNS`]. A cell is empty if the value is absent.
pub(super) fn cells(entry: &LedgerEntry) -> [String; 11] {
    [
        entry.number.to_string(),
        time(entry.at),
        entry.account.to_string(),
        entry.addon.as_str().to_owned(),
        entry.kind.as_str().to_owned(),
        entry.days.to_string(),
        entry.amount.to_string(),
        entry.currency.clone(),
        time(entry.expires),
        entry.order.clone().unwrap_or_default(),
        entry.note.clone(),
    ]
}

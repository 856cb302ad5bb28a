//! `matchwire order`: lists and shows orders.

use std::io::Write;

use super::{Done, LedgerStore, OperatorError, filter, ledger, with_accounts};
use crate::{
    cli::orders::{OrderCommand, OrderListArgs, OrderShowArgs},
    config::AccountsConfig,
    table::{Table, line, time},
};
use accounts::Accounts;

/// Runs the command, and prints its output.
///
/// # Errors
///
/// If the database cannot be used, if there is no such order or account, or if the output
/// cannot be written.
pub(super) async fn run(
    command: OrderCommand,
    config: &AccountsConfig,
    out: &mut impl Write,
) -> Done {
    let db = match &command {
        OrderCommand::List(OrderListArgs { filter, .. }) => &filter.db,
        OrderCommand::Show(OrderShowArgs { db, .. }) => db,
    };
    with_accounts(db, config, async |accounts| match &command {
        OrderCommand::List(args) => list(accounts, args, out).await,
        OrderCommand::Show(args) => show(accounts, &args.order, out).await,
    })
    .await
}

async fn list(accounts: &Accounts, args: &OrderListArgs, out: &mut impl Write) -> Done {
    let filter = filter(accounts, &args.filter).await?;
    let orders = LedgerStore::new(accounts.database()).orders(&filter, args.limit).await?;
    let columns = [
        "id", "account", "rail", "addon", "months", "amount", "currency", "state", "created",
        "paid", "refunded",
    ];
    let mut table = Table::new(out, args.output.format(), columns)?;
    for order in orders {
        table.row([
            Some(&order.id),
            Some(&order.account.to_string()),
            Some(order.method.as_str()),
            Some(order.addon.as_str()),
            Some(&order.months.to_string()),
            Some(&order.price.amount.to_string()),
            Some(&order.price.currency),
            Some(order.state().as_str()),
            Some(&time(order.created)),
            order.paid.map(time).as_deref(),
            Some(&order.refunded.to_string()),
        ])?;
    }
    Ok(())
}

async fn show(accounts: &Accounts, id: &str, out: &mut impl Write) -> Done {
    let books = LedgerStore::new(accounts.database());
    let found = books.order(id).await?;
    let order = found.ok_or_else(|| OperatorError::UnknownOrder { id: id.to_owned() })?;
    line(out, &["id", &order.id])?;
    line(out, &["account", &order.account.to_string()])?;
    line(out, &["rail", order.method.as_str()])?;
    line(out, &["addon", order.addon.as_str()])?;
    line(out, &["months", &order.months.to_string()])?;
    line(out, &["days", &order.days.to_string()])?;
    line(out, &["amount", &order.price.amount.to_string(), &order.price.currency])?;
    line(out, &["founder", if order.founder { "yes" } else { "no" }])?;
    line(out, &["state", order.state().as_str()])?;
    line(out, &["created", &time(order.created)])?;
    line(out, &["paid", &order.paid.map(time).unwrap_or_default()])?;
    line(out, &["closed", &order.closed.map(time).unwrap_or_default()])?;
    line(out, &["refunded", &order.refunded.to_string(), &order.price.currency])?;
    line(out, &["checkout", order.checkout.as_deref().unwrap_or_default()])?;
    line(out, &["payment", order.payment.as_deref().unwrap_or_default()])?;
    line(out, &["days granted", &order.days_granted.to_string()])?;
    for entry in books.entries_of_order(&order.id).await? {
        line(out, &ledger::cells(&entry).each_ref().map(String::as_str))?;
    }
    Ok(())
}

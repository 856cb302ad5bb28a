//! `matchwire order`: what was bought.

use std::io::Write;

use super::{Books, OperatorError, ledger, line, time, time_or_none, which};
use crate::{
    accounts::Accounts,
    cli::orders::{OrderCommand, OrderListArgs, OrderShowArgs},
    config::AccountsConfig,
    payments::Order,
};

/// Does what the command says, and writes its answer.
///
/// # Errors
///
/// If the database cannot be used, if there is no such order or account, or if nobody reads the
/// answer.
pub(super) async fn run(
    command: OrderCommand,
    config: &AccountsConfig,
    out: &mut impl Write,
) -> Result<(), OperatorError> {
    let db = match &command {
        OrderCommand::List(OrderListArgs { which, .. }) => &which.db,
        OrderCommand::Show(OrderShowArgs { db, .. }) => db,
    };
    let accounts = Accounts::open_existing(db, config).await?;
    let done = match &command {
        OrderCommand::List(args) => list(&accounts, args, out).await,
        OrderCommand::Show(args) => show(&accounts, &args.order, out).await,
    };
    accounts.close().await;
    done
}

async fn list(
    accounts: &Accounts,
    args: &OrderListArgs,
    out: &mut impl Write,
) -> Result<(), OperatorError> {
    let which = which(accounts, &args.which).await?;
    for order in Books::of(accounts.database()).orders(&which, args.limit).await? {
        let Order { id, account, rail, addon, months, price, .. } = &order;
        let fields = [
            id,
            &account.to_string(),
            rail.as_str(),
            addon.as_str(),
            &months.to_string(),
            &price.amount.to_string(),
            &price.currency,
            order.state().as_str(),
            &time(order.created),
            &time_or_none(order.paid),
            &order.refunded.to_string(),
        ];
        line(out, &fields)?;
    }
    Ok(())
}

async fn show(accounts: &Accounts, id: &str, out: &mut impl Write) -> Result<(), OperatorError> {
    let books = Books::of(accounts.database());
    let found = books.order(id).await?;
    let order = found.ok_or_else(|| OperatorError::UnknownOrder { id: id.to_owned() })?;
    line(out, &["id", &order.id])?;
    line(out, &["account", &order.account.to_string()])?;
    line(out, &["rail", order.rail.as_str()])?;
    line(out, &["addon", order.addon.as_str()])?;
    line(out, &["months", &order.months.to_string()])?;
    line(out, &["days", &order.days.to_string()])?;
    line(out, &["amount", &order.price.amount.to_string(), &order.price.currency])?;
    line(out, &["founder", if order.founder { "yes" } else { "no" }])?;
    line(out, &["state", order.state().as_str()])?;
    line(out, &["created", &time(order.created)])?;
    line(out, &["paid", &time_or_none(order.paid)])?;
    line(out, &["closed", &time_or_none(order.closed)])?;
    line(out, &["refunded", &order.refunded.to_string(), &order.price.currency])?;
    line(out, &["checkout", order.checkout.as_deref().unwrap_or("-")])?;
    line(out, &["payment", order.payment.as_deref().unwrap_or("-")])?;
    line(out, &["days granted", &order.days_granted.to_string()])?;
    for entry in books.entries_of_order(&order.id).await? {
        ledger::write(&entry, out)?;
    }
    Ok(())
}

//! `matchwire refund`: refunds an order, and takes back its days.

use std::io::Write;

use super::{Done, LedgerStore, OperatorError, with_accounts};
use crate::{cli::orders::RefundArgs, config::Config, table::line};
use accounts::{Accounts, Micros, payments::Payments, products::CurrentCatalogue};

/// Refunds through the provider, and prints the order's id, its state, its total refund, and the
/// days it still grants.
///
/// # Errors
///
/// If the database cannot be used, if there is no such order, if so much cannot be refunded, if the
/// provider fails, or if the output cannot be written.
pub(super) async fn run(
    args: RefundArgs,
    config: &Config,
    now: Micros,
    out: &mut impl Write,
) -> Done {
    let run = async |accounts: &Accounts| refund(accounts, &args, config, now, out).await;
    with_accounts(&args.db, &config.accounts, run).await
}

async fn refund(
    accounts: &Accounts,
    args: &RefundArgs,
    config: &Config,
    now: Micros,
    out: &mut impl Write,
) -> Done {
    if LedgerStore::new(accounts.database()).order(&args.order).await?.is_none() {
        return Err(OperatorError::UnknownOrder { id: args.order.clone() });
    }
    let prices =
        CurrentCatalogue::new(config.products.catalogue().expect("the settings were checked"));
    // No customer is redirected, so the return URLs do not matter.
    let payments = Payments::new(accounts, prices, "", &config.payments)?;
    let order = payments.refund(&args.order, args.amount, now).await?;
    let (refunded, days) = (order.refunded.to_string(), order.days_granted.to_string());
    let (state, currency) = (order.state().as_str(), &order.price.currency);
    Ok(line(out, &[&order.id, state, &refunded, currency, &days])?)
}

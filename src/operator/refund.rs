//! `matchwire refund`: refunds an order, and takes back its days.

use std::{io::Write, sync::Arc};

use super::{LedgerStore, OperatorError};
use crate::{
    accounts::{Accounts, Micros},
    cli::orders::RefundArgs,
    config::Config,
    payments::Payments,
    table::line,
};

/// Refunds through the provider, and prints the order's id, its state, its total refund, and the
/// days it still grants.
///
/// # Errors
///
/// If the database cannot be used, if there is no such order, if so much cannot be paid back, if the
/// provider does not do it, or if nobody reads the answer.
pub(super) async fn run(
    args: RefundArgs,
    config: &Config,
    now: Micros,
    out: &mut impl Write,
) -> Result<(), OperatorError> {
    let accounts = Accounts::open_existing(&args.db, &config.accounts).await?;
    let done = refund(&accounts, &args, config, now, out).await;
    accounts.close().await;
    done
}

async fn refund(
    accounts: &Accounts,
    args: &RefundArgs,
    config: &Config,
    now: Micros,
    out: &mut impl Write,
) -> Result<(), OperatorError> {
    if LedgerStore::of(accounts.database()).order(&args.order).await?.is_none() {
        return Err(OperatorError::UnknownOrder { id: args.order.clone() });
    }
    let catalogue = Arc::new(config.products.catalogue().expect("the settings were checked"));
    // No customer is redirected, so the return URLs do not matter.
    let payments = Payments::new(accounts, catalogue, "", &config.payments)?;
    let order = payments.refund(&args.order, args.amount, now).await?;
    let (refunded, days) = (order.refunded.to_string(), order.days_granted.to_string());
    let (state, currency) = (order.state().as_str(), &order.price.currency);
    Ok(line(out, &[&order.id, state, &refunded, currency, &days])?)
}

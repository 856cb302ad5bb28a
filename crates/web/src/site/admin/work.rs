//! `/admin/work/`: the accounts and addresses that use most processor time.

use askama::Template;
use axum::response::Response;
use base::work::{Payer, PayerUse};
use hyper::StatusCode;

use super::{accounts, operator::Operator, units::span};
use crate::site::{Moment, Shell, SiteError, html};
use ::accounts::AccountId;

/// Payers on the page.
const PAYERS_MAX: usize = 50;

#[derive(Debug, Template)]
#[template(path = "admin/work.html")]
struct WorkPage<'a> {
    shell: Shell<'a>,
    at: Moment,
    payers: Vec<PayerRow>,
    pools: Vec<PoolRow>,
}

#[derive(Debug)]
struct PayerRow {
    /// `None` for an address.
    account: Option<i64>,
    name: String,
    recent: String,
    pool: &'static str,
    debt: String,
    waiting: usize,
}

#[derive(Debug)]
struct PoolRow {
    name: &'static str,
    total: String,
    waiting: usize,
}

pub(super) async fn show(operator: Operator) -> Result<Response, SiteError> {
    let work = operator.shared.parts.admission.limits.work();
    let mut payers = Vec::new();
    for payer in work.dearest(PAYERS_MAX, work.now()) {
        payers.push(row(&operator, payer).await?);
    }
    let pools = work.totals().into_iter().zip(work.waiting());
    let pools = pools.map(|((pool, total), (_, waiting))| {
        let total = span(i64::try_from(total.as_micros()).unwrap_or(i64::MAX));
        PoolRow { name: pool.as_str(), total, waiting }
    });
    let page = WorkPage {
        shell: operator.shell("/admin/work/"),
        at: Moment::second(operator.now),
        payers,
        pools: pools.collect(),
    };
    html(StatusCode::OK, &page)
}

async fn row(operator: &Operator, payer: PayerUse) -> Result<PayerRow, SiteError> {
    let us = |time: std::time::Duration| span(i64::try_from(time.as_micros()).unwrap_or(i64::MAX));
    let (account, name) = match payer.payer {
        Payer::Hub => (None, "the hub".to_owned()),
        Payer::Address(address) => (None, address.to_string()),
        Payer::Account(number) => {
            let number = number.cast_signed();
            let found = operator.shared.parts.customers.accounts.account(AccountId(number)).await?;
            let name = found.map(|summary| accounts::name(&summary));
            (Some(number), name.unwrap_or_else(|| "deleted".to_owned()))
        }
    };
    let (recent, debt) = (us(payer.recent), us(payer.debt));
    let (pool, waiting) = (payer.pool.as_str(), payer.waiting);
    Ok(PayerRow { account, name, recent, pool, debt, waiting })
}

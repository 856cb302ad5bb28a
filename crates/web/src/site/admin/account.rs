//! `/admin/accounts/ID/`: one account and the operator's actions on it.

use askama::Template;
use axum::{
    extract::{Path, Query},
    response::Response,
};
use hyper::StatusCode;
use rust_decimal::Decimal;
use serde::Deserialize;
use tracing::{info, warn};

use super::{
    accounts::{name, tone},
    confirmation::{Confirmation, is_confirmed},
    operator::{Operator, OperatorForm},
};
use crate::{
    payments::{Order, OrderState, PaymentError},
    site::{AddonStatus, Moment, Shell, SiteError, html, see_other, title},
    usage::{Counts, UsageDay},
};
use accounts::{
    AccountId, AccountState, AccountSummary, Accounts, Addon, KeySummary, LedgerEntry, Micros,
    books::{LedgerFilter, LedgerStore, LedgerSum},
};

#[derive(Debug, Deserialize)]
pub(super) struct AccountQuery {
    #[serde(default)]
    done: String,
}

#[derive(Debug, Template)]
#[template(path = "admin/account.html")]
struct AccountPage<'a> {
    shell: Shell<'a>,
    id: AccountId,
    name: String,
    state: &'static str,
    tone: &'static str,
    founder: Option<Micros>,
    is_blocked: bool,
    is_deleted: bool,
    done: Option<&'static str>,
    problem: Option<String>,
    facts: Vec<(&'static str, Moment)>,
    keys: Vec<KeyRow>,
    addons: Vec<AddonStatus>,
    days_max: u32,
    orders: Vec<AdminOrderRow>,
    ledger: Vec<AdminLedgerRow>,
    sums: Vec<SumRow>,
    usage: Vec<UsageRow>,
}

#[derive(Debug)]
struct KeyRow {
    prefix: String,
    /// The name and the scopes of a named key.
    name: Option<String>,
    created: Moment,
    revoked: Option<Moment>,
}

#[derive(Debug)]
struct AdminOrderRow {
    id: String,
    created: Moment,
    what: String,
    rail: &'static str,
    amount: String,
    refunded: String,
    state: &'static str,
    tone: &'static str,
    /// What can still be refunded.
    left: Option<Decimal>,
}

#[derive(Debug)]
struct AdminLedgerRow {
    at: Moment,
    addon: &'static str,
    kind: &'static str,
    days: String,
    amount: String,
    expires: Moment,
    note: String,
}

#[derive(Debug)]
struct SumRow {
    addon: &'static str,
    kind: &'static str,
    days: String,
    amount: String,
}

#[derive(Debug)]
struct UsageRow {
    product: &'static str,
    numbers: [u64; 3],
}

/// `/admin/accounts/ID/`; `?done=` is what was done before.
pub(super) async fn show(
    operator: Operator,
    Path(id): Path<i64>,
    Query(query): Query<AccountQuery>,
) -> Result<Response, SiteError> {
    let done = match &*query.done {
        "gift" => Some("The days were added."),
        "block" => Some("The account is blocked."),
        "unblock" => Some("The account is unblocked."),
        "refund" => Some("The payment was refunded, and its days were removed."),
        _ => None,
    };
    page(&operator, AccountId(id), done, None).await
}

/// The form that grants days.
pub(super) async fn gift(
    Path(id): Path<i64>,
    OperatorForm { operator, fields }: OperatorForm,
) -> Result<Response, SiteError> {
    let id = AccountId(id);
    let (addon, days) = (fields.text("addon").parse::<Addon>(), fields.text("days").parse());
    let (Ok(addon), Ok(days @ 1..=Accounts::DAYS_MAX)) = (addon, days) else {
        let why = format!("Enter a number of days between 1 and {}.", Accounts::DAYS_MAX);
        return page(&operator, id, None, Some(why)).await;
    };
    let Ok(note) = accounts::books::note(fields.text("note")) else {
        let why = "Enter a reason: one line of at most 500 bytes.".to_owned();
        return page(&operator, id, None, Some(why)).await;
    };
    open(&operator, id).await?;
    operator
        .shared
        .parts
        .customers
        .accounts
        .grant_addon(id, addon, days, &note, operator.now)
        .await?;
    info!(operator = ?operator.admin, account = %id, %addon, days, "an operator granted days");
    Ok(done(id, "gift"))
}

/// The form that blocks an account, after a confirmation.
pub(super) async fn block(Path(id): Path<i64>, form: OperatorForm) -> Result<Response, SiteError> {
    let id = AccountId(id);
    if is_confirmed(&form.fields) {
        return set_blocked(id, &form.operator, true).await;
    }
    let account = open(&form.operator, id).await?;
    confirm(
        &form.operator,
        id,
        Confirmation {
            title: format!("Block {}?", name(&account)),
            text: "Its API key stops working immediately, its sockets are closed, its sessions \
                   end, and nobody can log in to it."
                .to_owned(),
            action: format!("/admin/accounts/{id}/block/"),
            fields: Vec::new(),
            button: "Block account".to_owned(),
        },
    )
}

/// The form that unblocks an account.
pub(super) async fn unblock(
    Path(id): Path<i64>,
    form: OperatorForm,
) -> Result<Response, SiteError> {
    set_blocked(AccountId(id), &form.operator, false).await
}

async fn set_blocked(
    id: AccountId,
    operator: &Operator,
    blocked: bool,
) -> Result<Response, SiteError> {
    open(operator, id).await?;
    operator.shared.parts.customers.accounts.block(id, blocked, operator.now).await?;
    info!(operator = ?operator.admin, account = %id, blocked, "an account was blocked or unblocked");
    Ok(done(id, if blocked { "block" } else { "unblock" }))
}

/// The form that refunds an order, after the operator has confirmed the amount.
pub(super) async fn refund(
    Path(order): Path<String>,
    OperatorForm { operator, fields }: OperatorForm,
) -> Result<Response, SiteError> {
    let payments = &operator.shared.parts.customers.payments;
    let order = match payments.order_of_any_account(&order).await {
        Err(PaymentError::NoOrder) => return Err(SiteError::NotFound),
        order => order?,
    };
    let Ok(amount) = accounts::books::amount(fields.text("amount")) else {
        let why = "Enter an amount such as 2.50.".to_owned();
        return page(&operator, order.account, None, Some(why)).await;
    };
    // An amount above the remainder is rejected below, without a confirmation.
    if !is_confirmed(&fields) && amount <= order.refundable() {
        let currency = &order.price.currency;
        let confirmation = Confirmation {
            title: format!("Refund {amount} {currency}?"),
            text: format!(
                "{} sends the money back to the customer, and the days it paid for are removed. \
                 This cannot be undone.",
                order.method.title()
            ),
            action: format!("/admin/orders/{}/refund/", order.id),
            fields: vec![("amount", amount.to_string())],
            button: format!("Refund {amount} {currency}"),
        };
        return confirm(&operator, order.account, confirmation);
    }
    match payments.refund(&order.id, Some(amount), operator.now).await {
        Ok(_) => {
            info!(operator = ?operator.admin, order = order.id, %amount, "an operator refunded an order");
            Ok(done(order.account, "refund"))
        }
        Err(error) => {
            warn!(error = &error as &dyn std::error::Error, order = order.id, "a refund failed");
            let why = format!("The refund could not be confirmed: {}.", describe(&error));
            page(&operator, order.account, None, Some(why)).await
        }
    }
}

/// An error with its causes, which contain no secrets.
fn describe(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

fn confirm(
    operator: &Operator,
    id: AccountId,
    question: Confirmation,
) -> Result<Response, SiteError> {
    question.ask(operator, "/admin/accounts/", format!("/admin/accounts/{id}/"))
}

fn done(id: AccountId, what: &str) -> Response {
    see_other(&format!("/admin/accounts/{id}/?done={what}"))
}

/// The account, if it exists and is not deleted.
async fn open(operator: &Operator, id: AccountId) -> Result<AccountSummary, SiteError> {
    let found = operator.shared.parts.customers.accounts.account(id).await?;
    found.filter(|it| it.deleted.is_none()).ok_or(SiteError::NotFound)
}

async fn page(
    operator: &Operator,
    id: AccountId,
    done: Option<&'static str>,
    problem: Option<String>,
) -> Result<Response, SiteError> {
    let parts = &operator.shared.parts;
    let account = parts.customers.accounts.account(id).await?.ok_or(SiteError::NotFound)?;
    let filter = LedgerFilter { account: Some(id), ..LedgerFilter::all() };
    let sums = LedgerStore::new(parts.customers.accounts.database()).sums(&filter).await?;
    let status = if problem.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let founder = account.founder.is_some();
    let standing = |addon| {
        AddonStatus::new(
            &parts.customers.prices.now(),
            addon,
            founder,
            &account.addons,
            operator.now,
        )
    };
    let page = AccountPage {
        shell: operator.shell("/admin/accounts/"),
        id,
        name: name(&account),
        state: account.state().as_str(),
        tone: tone(account.state()),
        founder: account.founder,
        is_blocked: account.blocked.is_some(),
        is_deleted: account.state() == AccountState::Deleted,
        done,
        problem,
        facts: facts(&account),
        keys: parts.customers.accounts.keys_of(id).await?.into_iter().map(KeyRow::from).collect(),
        addons: Addon::ALL.map(standing).into(),
        days_max: Accounts::DAYS_MAX,
        orders: parts
            .customers
            .payments
            .orders(id)
            .await?
            .iter()
            .map(AdminOrderRow::from)
            .collect(),
        ledger: parts
            .customers
            .payments
            .ledger(id)
            .await?
            .into_iter()
            .map(AdminLedgerRow::from)
            .collect(),
        sums: sums.iter().map(SumRow::from).collect(),
        usage: usage(&parts.customers.meter.last_30_days(id, operator.now).await?),
    };
    html(status, &page)
}

fn facts(account: &AccountSummary) -> Vec<(&'static str, Moment)> {
    let facts = [
        ("Created", Some(account.created)),
        ("Confirmed", account.active),
        ("Founder since", account.founder),
        ("Blocked", account.blocked),
        ("Deleted", account.deleted),
    ];
    facts.into_iter().filter_map(|(what, at)| Some((what, Moment::minute(at?)))).collect()
}

fn usage(days: &[UsageDay]) -> Vec<UsageRow> {
    let row = |(product, counts): (crate::products::Product, Counts)| UsageRow {
        product: product.title(),
        numbers: [counts.calls, counts.socket_ms / 60_000, counts.messages],
    };
    UsageDay::by_product(days).into_iter().map(row).collect()
}

impl From<KeySummary> for KeyRow {
    fn from(key: KeySummary) -> Self {
        let KeySummary { prefix, created, revoked, terms, .. } = key;
        let name = terms.map(|terms| format!("{} ({})", terms.name, terms.scopes));
        Self {
            prefix,
            name,
            created: Moment::minute(created),
            revoked: revoked.map(Moment::minute),
        }
    }
}

impl From<&Order> for AdminOrderRow {
    fn from(order: &Order) -> Self {
        let Order { price, addon, months, days, .. } = order;
        let founder = if order.founder { ", Founder price" } else { "" };
        let left = order.refundable();
        Self {
            id: order.id.clone(),
            created: Moment::minute(order.created),
            what: format!("{}, {months} × 30 = {days} days{founder}", title(*addon)),
            rail: order.method.title(),
            amount: format!("{} {}", price.amount, price.currency),
            refunded: if order.refunded.is_zero() {
                String::new()
            } else {
                order.refunded.to_string()
            },
            state: order.state().as_str(),
            tone: match order.state() {
                OrderState::Paid => "live",
                OrderState::Open | OrderState::PartlyRefunded => "warn",
                OrderState::Closed | OrderState::Refunded => "",
            },
            left: (left > Decimal::ZERO).then_some(left),
        }
    }
}

impl From<LedgerEntry> for AdminLedgerRow {
    fn from(entry: LedgerEntry) -> Self {
        Self {
            at: Moment::minute(entry.at),
            addon: title(entry.addon),
            kind: entry.kind.as_str(),
            days: format!("{:+}", entry.days),
            amount: money(entry.amount, &entry.currency),
            expires: Moment::minute(entry.expires),
            note: entry.note,
        }
    }
}

impl From<&LedgerSum> for SumRow {
    fn from(sum: &LedgerSum) -> Self {
        let currency = if sum.amount.is_zero() { "" } else { sum.currency() };
        Self {
            addon: title(sum.addon),
            kind: sum.kind.as_str(),
            days: format!("{:+}", sum.days),
            amount: money(sum.amount, currency),
        }
    }
}

/// An amount, or nothing if none was paid.
fn money(amount: Decimal, currency: &str) -> String {
    if amount.is_zero() { String::new() } else { format!("{amount} {currency}") }
}

//! `/addons/`: what an account can buy, the prices, and its orders.

use askama::Template;
use axum::response::Response;
use hyper::StatusCode;

use super::{
    dashboard::last_day,
    error::{SiteError, see_other},
    form::SignedForm,
    moment::Moment,
    offer::{self, AddonStatus},
    page::Shell,
    visit::SignedIn,
};
use crate::{
    http::ServerParts,
    payments::{Order, OrderState, PaymentError, PaymentMethod},
    products::{Country, Price, TERMS},
};
use accounts::{Addon, LedgerEntry, LedgerKind};

#[derive(Debug, Template)]
#[template(path = "addons.html")]
struct AddonsPage<'a> {
    shell: Shell<'a>,
    founder: bool,
    blocked: bool,
    problem: Option<String>,
    /// The countries with prices of their own, and whether each is the customer's.
    countries: Vec<(String, bool)>,
    offers: Vec<AddonPrices>,
    rails: Vec<RailButton>,
    orders: Vec<OrderRow>,
    ledger: Vec<LedgerRow>,
}

/// An add-on with its prices.
#[derive(Debug)]
struct AddonPrices {
    standing: AddonStatus,
    unlocks: &'static str,
    /// The regular price, if this account pays less.
    list_price: Option<String>,
    free_until: Option<Moment>,
    terms: Vec<Term>,
}

#[derive(Debug)]
struct Term {
    months: u32,
    price: String,
}

#[derive(Debug)]
struct RailButton {
    slug: &'static str,
    words: &'static str,
}

/// An order as shown.
#[derive(Debug)]
pub(super) struct OrderRow {
    pub(super) id: String,
    pub(super) short: String,
    pub(super) created: Moment,
    pub(super) what: String,
    pub(super) rail: &'static str,
    /// To the cent, with the currency.
    pub(super) amount: String,
    pub(super) state: &'static str,
    pub(super) tone: &'static str,
}

#[derive(Debug)]
struct LedgerRow {
    at: Moment,
    addon: &'static str,
    why: String,
    days: String,
    amount: String,
    expires: Moment,
}

/// `/addons/`
pub(super) async fn show(signed_in: SignedIn) -> Result<Response, SiteError> {
    let page = page(&signed_in, None).await?;
    signed_in.visit.show(&page)
}

async fn page(signed_in: &SignedIn, problem: Option<String>) -> Result<AddonsPage<'_>, SiteError> {
    let SignedIn { visit, customer } = signed_in;
    let parts = &visit.shared.parts;
    let orders = parts.customers.payments.orders(customer.account).await?;
    let ledger = parts.customers.payments.ledger(customer.account).await?;
    Ok(AddonsPage {
        shell: visit.shell("/addons/"),
        founder: customer.founder.is_some(),
        blocked: customer.blocked.is_some(),
        problem,
        countries: parts
            .customers
            .prices
            .now()
            .countries
            .keys()
            .map(|country| (country.to_string(), customer.country == Some(*country)))
            .collect(),
        offers: Addon::ALL.map(|addon| offer(signed_in, parts, addon)).into(),
        rails: parts.customers.payments.methods().iter().map(|method| button(*method)).collect(),
        orders: orders.iter().map(OrderRow::from).collect(),
        ledger: ledger.iter().map(LedgerRow::from).collect(),
    })
}

fn offer(
    SignedIn { visit, customer }: &SignedIn,
    parts: &ServerParts,
    addon: Addon,
) -> AddonPrices {
    let (all, founder) = (parts.customers.prices.now(), customer.founder.is_some());
    let catalogue = all.for_country(customer.country);
    let price = catalogue.price(addon, founder);
    let list = catalogue.price(addon, false);
    let is_free = catalogue.is_free(addon, visit.now);
    AddonPrices {
        standing: AddonStatus::new(catalogue, addon, founder, &customer.addons, visit.now),
        unlocks: offer::unlocks(addon),
        list_price: (list != price).then(|| list.to_string()),
        free_until: catalogue.odds_free_until.filter(|_| is_free).map(last_day),
        terms: TERMS.map(|months| Term { months, price: price.times(months).to_string() }).into(),
    }
}

fn button(method: PaymentMethod) -> RailButton {
    let words = match method {
        PaymentMethod::Card => "Buy with card",
        PaymentMethod::Paypal => "Buy with PayPal",
    };
    RailButton { slug: method.as_str(), words }
}

/// The form of `/addons/`: creates an order. The next page links to the provider, because the content
/// security policy lets no form lead to another host.
pub(super) async fn buy(
    SignedForm { signed_in, fields }: SignedForm,
) -> Result<Response, SiteError> {
    let SignedIn { visit, customer } = &signed_in;
    let wish =
        (fields.text("addon").parse(), fields.text("months").parse(), fields.text("rail").parse());
    let (Ok(addon), Ok(months), Ok(method)) = wish else {
        return refused(&signed_in, "Choose a duration and a payment method.".to_owned()).await;
    };
    let payments = &visit.shared.parts.customers.payments;
    match payments.begin(customer.account, addon, months, method, visit.now).await {
        Ok(order) => Ok(see_other(&format!("/checkout/{}/", order.id))),
        Err(
            error @ (PaymentError::NotConfigured { .. }
            | PaymentError::Term { .. }
            | PaymentError::NoAccount
            | PaymentError::TooManyOpen { .. }),
        ) => refused(&signed_in, super::register::sentence(&error.to_string())).await,
        Err(error) => Err(error.into()),
    }
}

/// The country that the customer names: empty for one without prices of its own.
pub(super) async fn set_country(
    SignedForm { signed_in, fields }: SignedForm,
) -> Result<Response, SiteError> {
    let SignedIn { visit, customer } = &signed_in;
    let parts = &visit.shared.parts;
    let country: Option<Country> = fields.text("country").parse().ok();
    let country = country.filter(|it| parts.customers.prices.now().countries.contains_key(it));
    parts.customers.accounts.set_country(customer.account, country).await?;
    Ok(see_other("/addons/"))
}

async fn refused(signed_in: &SignedIn, problem: String) -> Result<Response, SiteError> {
    let page = page(signed_in, Some(problem)).await?;
    signed_in.visit.show_as(StatusCode::UNPROCESSABLE_ENTITY, &page)
}

impl From<&Order> for OrderRow {
    fn from(order: &Order) -> Self {
        let state = order.state();
        let tone = match state {
            OrderState::Open | OrderState::PartlyRefunded => "warn",
            OrderState::Paid => "live",
            OrderState::Closed | OrderState::Refunded => "",
        };
        let plural = if order.months == 1 { "" } else { "s" };
        Self {
            id: order.id.clone(),
            short: order.id.chars().take(8).collect(),
            created: Moment::minute(order.created),
            what: format!("{}, {} month{plural}", offer::title(order.addon), order.months),
            rail: order.method.title(),
            amount: exact(&order.price),
            state: state.as_str(),
            tone,
        }
    }
}

impl From<&LedgerEntry> for LedgerRow {
    fn from(entry: &LedgerEntry) -> Self {
        let why = match entry.kind {
            LedgerKind::Purchase => "purchase",
            LedgerKind::Refund => "refund",
            LedgerKind::Grant => "gift",
        };
        let note = if entry.note.is_empty() { String::new() } else { format!(": {}", entry.note) };
        let price = Price { amount: entry.amount, currency: entry.currency.clone() };
        Self {
            at: Moment::minute(entry.at),
            addon: offer::title(entry.addon),
            why: format!("{why}{note}"),
            days: format!("{:+}", entry.days),
            amount: if entry.amount.is_zero() { "–".to_owned() } else { exact(&price) },
            expires: Moment::day(entry.expires),
        }
    }
}

/// `9.00 USD`: the charge, to the cent.
pub(super) fn exact(price: &Price) -> String {
    format!("{:.2} {}", price.amount, price.currency)
}

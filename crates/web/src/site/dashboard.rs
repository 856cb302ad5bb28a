//! `/dashboard/`: the key, the add-ons, the usage, and Regenerate.

use askama::Template;
use axum::{
    http::HeaderMap,
    response::{IntoResponse, Response},
};
use hyper::StatusCode;

use super::{
    chart::{self, Chart, grouped},
    error::{SiteError, see_other},
    form::SignedForm,
    moment::Moment,
    offer::AddonStatus,
    page::Shell,
    visit::SignedIn,
};
use crate::{
    products::Product,
    usage::{Counts, Day, UsageDay},
};
use accounts::{Addon, ConnectedApp, Key, NewKeyKind};

#[derive(Debug, Template)]
#[template(path = "dashboard.html")]
struct DashboardPage<'a> {
    shell: Shell<'a>,
    email: &'a str,
    founder: bool,
    blocked: bool,
    /// The full key, right after it was created.
    new_key: Option<&'a str>,
    key_prefix: Option<&'a str>,
    key_created: String,
    named_keys: usize,
    addons: Vec<AddonStatus>,
    odds_free_until: Option<Moment>,
    sockets: usize,
    apps: Vec<AppRow>,
    charts: Vec<Chart>,
    /// By product and day, by product, and in total.
    usage: Vec<UsageTableRow>,
    products: Vec<UsageTableRow>,
    total: UsageTableRow,
}

/// A row of a table of usage.
#[derive(Debug)]
struct UsageTableRow {
    day: String,
    name: &'static str,
    calls: String,
    mcp_calls: String,
    minutes: String,
    messages: String,
}

impl UsageTableRow {
    fn new(day: String, name: &'static str, counts: Counts) -> Self {
        Self {
            day,
            name,
            calls: grouped(counts.calls),
            mcp_calls: grouped(counts.mcp_calls),
            minutes: grouped(counts.socket_ms / 60_000),
            messages: grouped(counts.messages),
        }
    }
}

/// A connected application.
#[derive(Debug)]
struct AppRow {
    id: u64,
    name: String,
    /// Where it publishes its document.
    host: String,
    /// Whose MCP server it uses.
    server: &'static str,
    scopes: String,
    since: Moment,
    used: Moment,
}

impl From<&ConnectedApp> for AppRow {
    fn from(app: &ConnectedApp) -> Self {
        Self {
            id: app.key.number(),
            name: app.name.clone(),
            host: app.host(),
            server: app.audience.map_or("–", Product::title),
            scopes: app.scopes.to_string(),
            since: Moment::day(app.since),
            used: Moment::minute(app.used),
        }
    }
}

/// `/dashboard/`
pub(super) async fn show(signed_in: SignedIn, headers: HeaderMap) -> Result<Response, SiteError> {
    let SignedIn { visit, customer } = &signed_in;
    let parts = &visit.shared.parts;
    let usage = parts.customers.meter.last_30_days(customer.account, visit.now).await?;
    let named_keys = parts.customers.accounts.named_keys(customer.account).await?.len();
    let apps = parts.customers.oauth.connected_apps(customer.account, visit.now).await?;
    // A prefetched page must not use up the one time that the key is shown.
    let new_key: Option<Key> = match is_fetched_early(&headers) {
        true => None,
        false => {
            parts.customers.accounts.take_new_key(customer.account, NewKeyKind::Main, visit.now)
        }
    };
    let founder = customer.founder.is_some();
    let catalogue = parts.customers.prices.now();
    let catalogue = catalogue.for_country(customer.country);
    let standing = |addon| AddonStatus::new(catalogue, addon, founder, &customer.addons, visit.now);
    let created = customer.key_created.map(|at| Moment::day(at).text);
    visit.show(&DashboardPage {
        shell: visit.shell("/dashboard/"),
        email: customer.email.as_deref().unwrap_or_default(),
        founder,
        blocked: customer.blocked.is_some(),
        new_key: new_key.as_ref().map(Key::expose),
        key_prefix: customer.key_prefix.as_deref(),
        key_created: created.unwrap_or_default(),
        named_keys,
        addons: Addon::ALL.map(standing).into(),
        odds_free_until: catalogue.odds_free_until.filter(|end| visit.now < *end).map(last_day),
        sockets: parts.admission.registry.sockets_of(customer.account),
        apps: apps.iter().map(AppRow::from).collect(),
        charts: charts(&usage, Day::at(visit.now)),
        products: by_product(&usage),
        total: UsageTableRow::new(String::new(), "All products", UsageDay::sum(&usage)),
        usage: by_day(&usage),
    })
}

/// The day of the last moment before this one.
pub(super) fn last_day(end: i64) -> Moment {
    Moment::day(end - 1)
}

pub(super) fn is_fetched_early(headers: &HeaderMap) -> bool {
    ["sec-purpose", "purpose", "x-purpose"].iter().any(|name| headers.contains_key(*name))
}

fn charts(usage: &[UsageDay], today: Day) -> Vec<Chart> {
    let on = |day: Day, count: fn(Counts) -> u64| {
        usage
            .iter()
            .filter(|it| it.day == day)
            .map(|it| count(it.counts))
            .fold(0, u64::saturating_add)
    };
    let of_calls = Chart::new("Calls", today, |day| on(day, |it| it.all_calls()));
    let of_messages = Chart::new("Messages over sockets", today, |day| on(day, |it| it.messages));
    vec![of_calls, of_messages]
}

fn by_day(usage: &[UsageDay]) -> Vec<UsageTableRow> {
    let row =
        |it: &UsageDay| UsageTableRow::new(chart::date(it.day), it.product.title(), it.counts);
    usage.iter().map(row).collect()
}

fn by_product(usage: &[UsageDay]) -> Vec<UsageTableRow> {
    let row = |(product, counts): (Product, Counts)| {
        UsageTableRow::new(String::new(), product.title(), counts)
    };
    UsageDay::by_product(usage).into_iter().map(row).collect()
}

/// A HEAD request sees no key and does not use up its display.
pub(super) async fn head(_: SignedIn) -> Response {
    StatusCode::OK.into_response()
}

/// Regenerate: the next page shows the key, so that reloading it creates no other.
pub(super) async fn regenerate(form: SignedForm) -> Result<Response, SiteError> {
    let SignedIn { visit, customer } = &form.signed_in;
    let accounts = &visit.shared.parts.customers.accounts;
    let key = accounts.regenerate_key(customer.account, visit.now).await?;
    accounts.keep_new_key(customer.account, NewKeyKind::Main, key, visit.now);
    Ok(see_other("/dashboard/"))
}

/// Disconnects an application. One that is already disconnected changes nothing.
pub(super) async fn disconnect(
    SignedForm { signed_in, fields }: SignedForm,
) -> Result<Response, SiteError> {
    let SignedIn { visit, customer } = &signed_in;
    let app = fields.text("app").parse().map_err(|_| SiteError::NotFound)?;
    visit.shared.parts.customers.oauth.disconnect(customer.account, app, visit.now).await?;
    Ok(see_other("/dashboard/#apps"))
}

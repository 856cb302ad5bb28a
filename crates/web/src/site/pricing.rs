//! `/pricing/`: all prices. A customer sees the account's own.

use askama::Template;
use axum::response::Response;

use super::{
    dashboard::last_day,
    error::SiteError,
    moment::Moment,
    offer::{AddonStatus, title, unlocks},
    page::Shell,
    visit::Visit,
};
use crate::products::{Catalogue, TERMS};
use accounts::{Addon, Addons};

#[derive(Debug, Template)]
#[template(path = "pricing.html")]
struct PricingPage<'a> {
    shell: Shell<'a>,
    /// Zero, in the currency of all prices.
    nothing: String,
    signed_in: bool,
    founder: bool,
    offers: Vec<AddonOffer>,
    terms: [u32; TERMS.len()],
    /// Where prices differ.
    countries: Vec<CountryRow>,
}

/// The monthly prices in a country, in the order of the offers.
#[derive(Debug)]
struct CountryRow {
    country: String,
    prices: Vec<String>,
}

/// An add-on on offer.
#[derive(Debug)]
pub(super) struct AddonOffer {
    pub(super) slug: &'static str,
    pub(super) title: &'static str,
    pub(super) unlocks: &'static str,
    /// The monthly price, exactly as charged.
    pub(super) price: String,
    /// The regular price, if this account pays less.
    list_price: Option<String>,
    /// The last day on which the add-on is not needed.
    pub(super) free_until: Option<Moment>,
    /// The price of each term.
    prices: Vec<String>,
    /// Its state for the customer's account.
    standing: Option<AddonStatus>,
}

/// The order in which they are offered.
const ORDER: [Addon; 3] = [Addon::Sports, Addon::Websocket, Addon::Odds];

/// `/pricing/`
pub(super) async fn show(visit: Visit) -> Result<Response, SiteError> {
    let all = visit.shared.parts.customers.prices.now();
    let customer = visit.customer();
    let catalogue = all.for_country(customer.and_then(|it| it.country));
    let founder = customer.is_some_and(|it| it.founder.is_some());
    let addons = customer.map(|it| it.addons);
    let mut nothing = catalogue.price(Addon::Sports, false);
    nothing.amount = 0.into();
    let page = PricingPage {
        shell: visit.shell("/pricing/"),
        nothing: nothing.to_string(),
        signed_in: customer.is_some(),
        founder,
        offers: ORDER
            .map(|addon| offer(catalogue, addon, founder, addons.as_ref(), visit.now))
            .into(),
        terms: TERMS,
        countries: all
            .countries
            .iter()
            .map(|(country, list)| CountryRow {
                country: country.to_string(),
                prices: ORDER.map(|addon| list.price(addon, false).to_string()).into(),
            })
            .collect(),
    };
    visit.show(&page)
}

/// The offer for a visitor without an account.
pub(super) fn offers(visit: &Visit) -> Vec<AddonOffer> {
    let catalogue = visit.shared.parts.customers.prices.now();
    ORDER.map(|addon| offer(&catalogue, addon, false, None, visit.now)).into()
}

fn offer(
    catalogue: &Catalogue,
    addon: Addon,
    founder: bool,
    addons: Option<&Addons>,
    now: accounts::Micros,
) -> AddonOffer {
    let (price, list) = (catalogue.price(addon, founder), catalogue.price(addon, false));
    let is_free = catalogue.is_free(addon, now);
    AddonOffer {
        slug: addon.as_str(),
        title: title(addon),
        unlocks: unlocks(addon),
        list_price: (list != price).then(|| list.to_string()),
        free_until: catalogue.odds_free_until.filter(|_| is_free).map(last_day),
        prices: TERMS.map(|months| price.times(months).to_string()).into(),
        price: price.to_string(),
        standing: addons.map(|addons| AddonStatus::new(catalogue, addon, founder, addons, now)),
    }
}

//! The add-ons that channels require, and what an account may follow with its own.
//!
//! Sockets must not give away what REST sells. The WebSocket add-on covers sockets with football
//! and tennis (matches, boards, the consensus of the odds) and `feeds`. Other sports require the
//! Sports add-on too; channels with prices of named bookmakers (one bookmaker's channel, `signals`)
//! require the Odds add-on unless the odds are free. The fan-out only compares bits; here each class of
//! content gets the add-on that pays for it.

use std::sync::{Arc, Mutex, PoisonError};

use fanout::{
    Classes, Micros, Permission,
    permission::{Offer, PermissionPeriod},
};
use serde_json::json;
use tokio::sync::watch;

use accounts::{
    Addon, Caller,
    access::{self, Denial, Resource},
    products::{Catalogue, CurrentCatalogue, Product},
};
use hub::channels::{BOOK_PRICES, OTHER_SPORTS, needs_of_name};

/// The add-ons that channels may require in addition to the one for sockets, and their classes.
const SOLD: [(Addon, Classes); 2] = [(Addon::Sports, OTHER_SPORTS), (Addon::Odds, BOOK_PRICES)];

/// Determines what accounts may follow, by the price list.
#[derive(Debug, Clone)]
pub struct Entitlement {
    prices: CurrentCatalogue,
    offers: Arc<Mutex<Offers>>,
}

/// What is offered under a price list. All sockets share it.
#[derive(Debug)]
struct Offers {
    catalogue: Arc<Catalogue>,
    offers: Arc<[Offer]>,
}

impl Entitlement {
    #[must_use]
    pub fn new(prices: CurrentCatalogue) -> Self {
        let offers = Offers::new(prices.now());
        Self { prices, offers: Arc::new(Mutex::new(offers)) }
    }

    /// The prices in force. They are others if this is another allocation.
    #[must_use]
    pub fn prices(&self) -> Arc<Catalogue> {
        self.prices.now()
    }

    /// Notices when other prices are in force.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<Arc<Catalogue>> {
        self.prices.changes()
    }

    fn offers(&self, catalogue: &Arc<Catalogue>) -> Arc<[Offer]> {
        let mut offers = self.offers.lock().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(&offers.catalogue, catalogue) {
            *offers = Offers::new(Arc::clone(catalogue));
        }
        Arc::clone(&offers.offers)
    }

    /// What a caller's sockets may follow, from `now` on.
    #[must_use]
    pub fn permission(&self, caller: &Caller, now: Micros) -> Permission {
        let ends = SOLD.iter().filter_map(|(addon, _)| caller.expiry(*addon));
        let catalogue = self.prices.now();
        let ends = ends.chain(catalogue.odds_free_until);
        let mut moments: Vec<Micros> = ends.filter(|end| *end > now).chain([now]).collect();
        moments.sort_unstable();
        let periods = moments.into_iter().map(|from| PermissionPeriod {
            from,
            classes: classes(&catalogue, caller, from),
            names: Addon::ALL
                .into_iter()
                .filter(|addon| caller.has(*addon, from))
                .map(Addon::as_str)
                .collect(),
        });
        let mut offers = self.offers(&catalogue);
        let decided = SOLD.map(|(addon, _)| check(&catalogue, caller, addon, now));
        if decided.iter().any(|decided| matches!(decided, Err(Denial::Scope(_)))) {
            let each = decided.iter().zip(&*offers);
            offers = each.map(|(decided, offer)| offer_to(*decided, offer)).collect();
        }
        Permission::new(periods.collect(), offers)
    }

    /// [`access::decide`] by the prices in force, without a quota.
    ///
    /// # Errors
    ///
    /// If it is refused; likewise below.
    pub fn check(&self, caller: &Caller, resource: Resource, now: Micros) -> Result<(), Denial> {
        access::decide(caller, None, resource, &self.prices.now(), now)
    }

    /// Whether sockets of the caller may stay open.
    #[must_use]
    pub fn keeps_sockets(&self, caller: &Caller, now: Micros) -> bool {
        self.check(caller, Resource::Product(Product::Websocket), now).is_ok()
    }

    /// Whether the caller may follow the channel of this name.
    pub fn check_channel(&self, caller: &Caller, name: &str, now: Micros) -> Result<(), Denial> {
        let (catalogue, needed) = (self.prices.now(), needs_of_name(name));
        let mut sold = SOLD.iter().filter(|(_, class)| needed.cover(*class));
        sold.try_for_each(|(addon, _)| check(&catalogue, caller, *addon, now))
    }
}

impl Offers {
    fn new(catalogue: Arc<Catalogue>) -> Self {
        let offers = SOLD.map(|(addon, class)| {
            let price = catalogue.price(addon, false);
            let name = match addon {
                Addon::Websocket => "WebSocket",
                Addon::Sports => "Sports",
                Addon::Odds => "Odds",
            };
            Offer {
                class,
                title: format!("the {name} add-on ({price} a month)"),
                document: Some(json!({
                    "addon": addon.as_str(),
                    "price": price.amount.to_string(),
                    "currency": price.currency,
                })),
            }
        });
        Self { offers: offers.into(), catalogue }
    }
}

/// What is said to a caller: that a key lacks a scope, no add-on changes.
fn offer_to(decided: Result<(), Denial>, offer: &Offer) -> Offer {
    match decided {
        Err(Denial::Scope(scope)) => Offer {
            title: format!("the scope {scope}, which the key does not have"),
            document: None,
            ..*offer
        },
        _ => offer.clone(),
    }
}

/// Whether the caller may follow what this add-on pays for.
fn check(prices: &Catalogue, caller: &Caller, addon: Addon, now: Micros) -> Result<(), Denial> {
    access::decide(caller, None, Resource::Content(addon), prices, now)
}

fn classes(catalogue: &Catalogue, caller: &Caller, now: Micros) -> Classes {
    let sold = SOLD.iter().filter(|(addon, _)| check(catalogue, caller, *addon, now).is_ok());
    sold.map(|(_, class)| *class).fold(Classes::NONE, Classes::and)
}

//! The add-ons that channels require, and what an account may follow with its own.
//!
//! Sockets must not give away what REST sells. The WebSocket add-on covers sockets with football
//! and tennis (matches, boards, the consensus of the odds) and `feeds`. Other sports require the
//! Sports add-on too; channels with prices of named bookmakers (one bookmaker's channel, `signals`)
//! require the Odds add-on unless the odds are free. The fan-out only compares bits; here each class of
//! content gets the add-on that pays for it.

use std::sync::{Arc, Mutex, PoisonError};

use facts::event::Sport;
use fanout::{
    Classes, Micros, Permission,
    permission::{Offer, PermissionPeriod},
};
use serde_json::json;
use tokio::sync::watch;

use accounts::{
    Addon, Caller, Scope,
    products::{Catalogue, Prices, Product},
};
use hub::channels::{BOOK_PRICES, OTHER_SPORTS};

/// The add-ons that channels may require in addition to the one for sockets, and their classes.
const SOLD: [(Addon, Classes); 2] = [(Addon::Sports, OTHER_SPORTS), (Addon::Odds, BOOK_PRICES)];

/// What a channel name requires, whether there is such a channel or not.
#[must_use]
pub fn needs_of_name(name: &str) -> Classes {
    let mut segments = name.split('/');
    let of_sport = match segments.next() {
        Some("feeds") => Classes::NONE,
        Some("signals") => BOOK_PRICES,
        sport => {
            let sport = sport.and_then(Sport::from_word);
            let is_of_addon = sport.is_none_or(|sport| sport.profile().is_of_addon);
            if is_of_addon { OTHER_SPORTS } else { Classes::NONE }
        }
    };
    match (segments.next(), segments.next(), segments.next()) {
        (Some(_), Some("odds"), Some(_)) => of_sport.and(BOOK_PRICES),
        _ => of_sport,
    }
}

/// Determines what accounts may follow, by the price list.
#[derive(Debug, Clone)]
pub struct Entitlement {
    prices: Prices,
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
    pub fn new(prices: Prices) -> Self {
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
        if SOLD.iter().any(|(addon, _)| !caller.may_use(*addon)) {
            offers = SOLD
                .iter()
                .zip(&*offers)
                .map(|(sold, offer)| offer_to(caller, sold.0, offer))
                .collect();
        }
        Permission::new(periods.collect(), offers)
    }

    /// The first add-on that the caller lacks for the channel of this name.
    #[must_use]
    pub fn lacking(&self, caller: &Caller, name: &str, now: Micros) -> Option<Addon> {
        let (classes, needed) = (classes(&self.prices.now(), caller, now), needs_of_name(name));
        let lacks = |class: &Classes| needed.cover(*class) && !classes.cover(*class);
        SOLD.iter().find(|(_, class)| lacks(class)).map(|(addon, _)| *addon)
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

/// What is said to this caller: that a key lacks a scope, no add-on changes.
fn offer_to(caller: &Caller, addon: Addon, offer: &Offer) -> Offer {
    match Scope::of_addon(addon).filter(|scope| !caller.has_scope(*scope)) {
        Some(scope) => Offer {
            title: format!("the scope {scope}, which the key does not have"),
            document: None,
            ..*offer
        },
        None => offer.clone(),
    }
}

fn classes(catalogue: &Catalogue, caller: &Caller, now: Micros) -> Classes {
    let odds_are_free = catalogue.needs(Product::Odds, now).is_none();
    let is_free = |addon| addon == Addon::Odds && odds_are_free && caller.may_use(addon);
    let has = |addon| caller.has(addon, now) || is_free(addon);
    let classes = SOLD.iter().filter(|(addon, _)| has(*addon)).map(|(_, class)| *class);
    classes.fold(Classes::NONE, Classes::and)
}

#[cfg(test)]
mod tests {
    use facts::event::Id;

    use super::*;
    use hub::channels::{Channels, Subject};

    /// A name and what it shows need the same, or REST and sockets would differ.
    #[test]
    fn name_requires_the_addons_of_its_channel() {
        let slug: Arc<str> = "acme".into();
        for sport in Sport::ALL {
            let id = Id(7);
            for subject in [
                Subject::Match(id),
                Subject::Consensus(id),
                Subject::Book(id, 0),
                Subject::Board(sport),
                Subject::Feeds,
                Subject::Signals,
            ] {
                let name = Channels::name(subject, sport, Some(&slug));
                let (by_name, by_subject) = (needs_of_name(name.as_str()), subject.classes(sport));
                assert_eq!(by_name, by_subject, "{name}");
            }
        }
        assert_eq!(needs_of_name("darts/7/odds/acme"), OTHER_SPORTS.and(BOOK_PRICES));
        assert_eq!(needs_of_name("football/7/odds"), Classes::NONE);
    }
}

//! The add-ons that channels require, and what an account may follow with its own.
//!
//! Sockets must not give away what REST sells. The WebSocket add-on covers sockets with football
//! and tennis (matches, boards, the consensus of the odds) and `feeds`. Other sports require the
//! Sports add-on too; channels with prices of named bookmakers (one bookmaker's channel, `signals`)
//! require the Odds add-on unless the odds are free. The fan-out only compares bits; their meaning
//! is defined here.

use std::sync::Arc;

use fanout::{
    Classes, Micros, Permission,
    permission::{PermissionPeriod, Product as Sold},
};
use ingest::event::Sport;
use serde_json::json;

use crate::{
    accounts::{Addon, Caller},
    channels::Subject,
    products::{Catalogue, Product},
};

const SPORTS: Classes = Classes(1);
const ODDS: Classes = Classes(2);

/// The add-ons that channels may require besides the one for sockets, and their classes.
const SOLD: [(Addon, Classes); 2] = [(Addon::Sports, SPORTS), (Addon::Odds, ODDS)];

/// Required for prices of a bookmaker.
pub(crate) const BOOK: Classes = ODDS;

/// What a channel requires. `sport` is that of its match or board.
pub(crate) fn needs(subject: Subject, sport: Sport) -> Classes {
    let of = if let Subject::Board(of_board) = subject { of_board } else { sport };
    let of_sport = match of {
        Sport::Football | Sport::Tennis => Classes::NONE,
        Sport::Cs2
        | Sport::Darts
        | Sport::Hockey
        | Sport::Basketball
        | Sport::HorseRacing
        | Sport::Cricket
        | Sport::Other => SPORTS,
    };
    match subject {
        Subject::Match(_) | Subject::Consensus(_) | Subject::Board(_) => of_sport,
        Subject::Book(..) => of_sport.and(ODDS),
        Subject::Feeds => Classes::NONE,
        Subject::Signals => ODDS,
    }
}

/// What a channel name requires, whether there is such a channel or not.
fn needs_of_name(name: &str) -> Classes {
    let mut segments = name.split('/');
    let of_sport = match segments.next() {
        Some("football" | "tennis" | "feeds") => Classes::NONE,
        Some("signals") => ODDS,
        _ => SPORTS,
    };
    match (segments.next(), segments.next(), segments.next()) {
        (Some(_), Some("odds"), Some(_)) => of_sport.and(ODDS),
        _ => of_sport,
    }
}

/// Determines what accounts may follow, by the price list.
#[derive(Debug, Clone)]
pub struct Entitlement {
    catalogue: Arc<Catalogue>,
    sold: Arc<[Sold]>,
}

impl Entitlement {
    #[must_use]
    pub fn new(catalogue: Arc<Catalogue>) -> Self {
        let sold = SOLD.map(|(addon, class)| {
            let price = catalogue.price(addon, false);
            let name = match addon {
                Addon::Websocket => "WebSocket",
                Addon::Sports => "Sports",
                Addon::Odds => "Odds",
            };
            Sold {
                class,
                title: format!("the {name} add-on ({price} a month)"),
                offer: json!({
                    "addon": addon.as_str(),
                    "price": price.amount.to_string(),
                    "currency": price.currency,
                }),
            }
        });
        Self { catalogue, sold: sold.into() }
    }

    /// What a caller's sockets may follow, from `now` on.
    #[must_use]
    pub fn permission(&self, caller: &Caller, now: Micros) -> Permission {
        let ends = SOLD.iter().filter_map(|(addon, _)| caller.expiry(*addon));
        let ends = ends.chain(self.catalogue.odds_free_until);
        let mut moments: Vec<Micros> = ends.filter(|end| *end > now).chain([now]).collect();
        moments.sort_unstable();
        let periods = moments.into_iter().map(|from| PermissionPeriod {
            from,
            classes: self.classes(caller, from),
            names: Addon::ALL
                .into_iter()
                .filter(|addon| caller.has(*addon, from))
                .map(Addon::as_str)
                .collect(),
        });
        Permission::new(periods.collect(), Arc::clone(&self.sold), BOOK)
    }

    fn classes(&self, caller: &Caller, now: Micros) -> Classes {
        let odds_are_free = self.catalogue.needs(Product::Odds, now).is_none();
        let has = |addon| caller.has(addon, now) || addon == Addon::Odds && odds_are_free;
        let classes = SOLD.iter().filter(|(addon, _)| has(*addon)).map(|(_, class)| *class);
        classes.fold(Classes::NONE, Classes::and)
    }

    /// The first add-on that the caller lacks for the channel of this name.
    #[must_use]
    pub fn lacking(&self, caller: &Caller, name: &str, now: Micros) -> Option<Addon> {
        let (classes, needed) = (self.classes(caller, now), needs_of_name(name));
        let lacks = |class: &Classes| needed.cover(*class) && !classes.cover(*class);
        SOLD.iter().find(|(_, class)| lacks(class)).map(|(addon, _)| *addon)
    }
}

#[cfg(test)]
mod tests {
    use ingest::event::Id;

    use super::*;
    use crate::channels::Channels;

    /// A name and what it shows need the same, or REST and sockets would differ.
    #[test]
    fn a_name_needs_what_its_channel_needs() {
        let slug: Arc<str> = "acme".into();
        for sport in [
            Sport::Football,
            Sport::Tennis,
            Sport::Cs2,
            Sport::Darts,
            Sport::Hockey,
            Sport::Basketball,
            Sport::HorseRacing,
            Sport::Cricket,
            Sport::Other,
        ] {
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
                let (by_name, by_subject) = (needs_of_name(name.as_str()), needs(subject, sport));
                assert_eq!(by_name, by_subject, "{name}");
            }
        }
        assert_eq!(needs_of_name("darts/7/odds/acme"), SPORTS.and(ODDS));
        assert_eq!(needs_of_name("football/7/odds"), Classes::NONE);
    }
}

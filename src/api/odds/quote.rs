//! A price as it is told: what the archive has of it, and how it stands now.

use std::{cmp::Ordering, collections::HashMap, sync::Arc};

use fanout::Micros;
use rust_decimal::{Decimal, RoundingStrategy};

use super::market::{self, Market};
use crate::{
    api::Number,
    record::{CONSENSUS, Key, MatchRecord, PriceRecord, odds_id},
};

/// One price of one bookmaker for one outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::api) struct Quote {
    pub(in crate::api) id: Key,
    pub(in crate::api) match_id: Key,
    pub(in crate::api) bookmaker: Arc<str>,
    pub(in crate::api) market: Arc<str>,
    pub(in crate::api) period: Option<Arc<str>>,
    pub(in crate::api) line: Option<Decimal>,
    pub(in crate::api) outcome: Arc<str>,
    /// The last that was on offer.
    pub(in crate::api) price: Decimal,
    /// The one before it, if it has moved.
    pub(in crate::api) previous: Option<Decimal>,
    pub(in crate::api) opening: Decimal,
    pub(in crate::api) opening_at: Micros,
    /// By the clock of its source, where that has one.
    pub(in crate::api) at: Micros,
    /// By ours.
    pub(in crate::api) received: Micros,
    /// Whether it can be taken.
    pub(in crate::api) open: bool,
    pub(in crate::api) in_play: bool,
}

/// Which way a price has gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::api) enum Movement {
    /// It pays less than before.
    Shortening,
    /// It pays more.
    Drifting,
    Stable,
}

impl Movement {
    pub(in crate::api) const ALL: [Self; 3] = [Self::Shortening, Self::Drifting, Self::Stable];

    /// As it is written in answers; nothing where it has not moved.
    #[must_use]
    pub(in crate::api) fn as_str(self) -> &'static str {
        match self {
            Self::Shortening => "SHORTENING",
            Self::Drifting => "DRIFTING",
            Self::Stable => "",
        }
    }
}

impl Quote {
    /// The price as it stands in a record. How it opened is known to the archive alone, so this is
    /// its first price as far as we know.
    fn of(record: &MatchRecord, told: &PriceRecord) -> Option<Self> {
        let price = told.price?;
        let match_id = record.brief.id;
        Some(Self {
            id: odds_id(match_id, told),
            match_id,
            bookmaker: Arc::clone(&told.bookmaker),
            market: Arc::clone(&told.market),
            period: told.period.clone(),
            line: told.line,
            outcome: Arc::clone(&told.outcome),
            price,
            previous: None,
            opening: price,
            opening_at: told.at,
            at: told.at,
            received: record.brief.updated,
            open: told.open,
            in_play: told.in_play,
        })
    }

    #[must_use]
    pub(in crate::api) fn movement(&self) -> Movement {
        match self.previous.map(|previous| self.price.cmp(&previous)) {
            Some(Ordering::Less) => Movement::Shortening,
            Some(Ordering::Greater) => Movement::Drifting,
            Some(Ordering::Equal) | None => Movement::Stable,
        }
    }

    /// 1/price, to four decimal places.
    #[must_use]
    pub(in crate::api) fn implied(&self) -> Option<Number> {
        let rounding = RoundingStrategy::MidpointAwayFromZero;
        let implied = Decimal::ONE.checked_div(self.price)?;
        Some(Number(implied.round_dp_with_strategy(4, rounding)))
    }

    #[must_use]
    pub(in crate::api) fn is_consensus(&self) -> bool {
        &*self.bookmaker == CONSENSUS
    }

    /// What it is called in the football interface, if it has a name there.
    #[must_use]
    pub(in crate::api) fn football(&self) -> Option<(Market, &'static str)> {
        let market = Market::of(&self.market, self.period.as_deref(), self.line)?;
        Some((market, market.outcome(&self.outcome)?))
    }

    /// By what prices of the same thing are put together.
    #[must_use]
    pub(in crate::api) fn same_thing(&self) -> Thing {
        Thing {
            match_id: self.match_id,
            market: Arc::clone(&self.market),
            period: self.period.clone(),
            line: self.line,
            outcome: Arc::clone(&self.outcome),
        }
    }

    #[must_use]
    pub(in crate::api) fn outcome_name(&self) -> String {
        market::outcome_name(&self.outcome, self.line)
    }
}

/// What can be bet on, whoever takes it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::api) struct Thing {
    pub(in crate::api) match_id: Key,
    pub(in crate::api) market: Arc<str>,
    pub(in crate::api) period: Option<Arc<str>>,
    pub(in crate::api) line: Option<Decimal>,
    pub(in crate::api) outcome: Arc<str>,
}

/// The kept prices of a match, brought up to what the hub knows of it now.
#[must_use]
pub(super) fn up_to_date(record: &MatchRecord, kept: Vec<Quote>) -> Vec<Quote> {
    let mut quotes: HashMap<Key, Quote> = kept.into_iter().map(|quote| (quote.id, quote)).collect();
    for told in &record.prices {
        let id = odds_id(record.brief.id, told);
        match quotes.get_mut(&id) {
            Some(quote) => {
                quote.open = told.open;
                quote.in_play = told.in_play;
                if let Some(price) = told.price.filter(|price| *price != quote.price) {
                    quote.previous = Some(quote.price);
                    quote.price = price;
                    quote.received = record.brief.updated;
                }
                quote.at = quote.at.max(told.at);
            }
            None => {
                quotes.extend(Quote::of(record, told).map(|quote| (id, quote)));
            }
        }
    }
    let mut quotes: Vec<_> = quotes.into_values().collect();
    quotes.sort_by(|a, b| {
        let order = |quote: &Quote| (quote.same_thing(), !quote.is_consensus());
        order(a).cmp(&order(b)).then_with(|| a.bookmaker.cmp(&b.bookmaker))
    });
    quotes
}

/// Those that can be taken; of a match that is over, the last that could.
pub(in crate::api) fn on_offer<'a>(
    record: &MatchRecord,
    quotes: &'a [Quote],
) -> impl Iterator<Item = &'a Quote> {
    let over = record.brief.status.is_over();
    quotes.iter().filter(move |quote| quote.open || over)
}

/// The highest price on offer of each thing and who has it, the first by name where several have.
#[must_use]
pub(super) fn best<'a>(quotes: impl Iterator<Item = &'a Quote>) -> HashMap<Thing, &'a Quote> {
    let mut best: HashMap<Thing, &Quote> = HashMap::new();
    for quote in quotes.filter(|quote| !quote.is_consensus()) {
        let known = best.entry(quote.same_thing()).or_insert(quote);
        let order = |it: &Quote| (it.price, std::cmp::Reverse(Arc::clone(&it.bookmaker)));
        if order(quote) > order(known) {
            *known = quote;
        }
    }
    best
}

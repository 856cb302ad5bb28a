//! Responses of `listMarketBook` to the same facts as the stream's.
//!
//! A response is an image of each market in it. The first image of a market is emitted as a whole:
//! `Clear`, then everything. Of a later one only the difference is emitted, with size 0 for removed
//! price levels, so a repeated response changes nothing.
//!
//! A book does not say to which event its market belongs. The caller takes that from
//! `listMarketCatalogue` and passes it as a [`Listing`]; then the match, the market and its
//! selections have the same ids as in the stream. Without a listing, each market is a match of its
//! own, of an unknown sport, under the key `market/<market id>`. Neither contains names.

#[cfg(test)]
mod tests;

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use facts::event::{
    Batch, Event, Fact, MarketChange, MarketDefinition, Micros, OddsFact, SelectionChange,
};
use rust_decimal::Decimal;

use super::{
    MARKETS_MAX, fixture,
    fixture::Match,
    market::{Closing, Market, RUNNERS_MAX},
    race::Races,
};
use crate::{
    decode::betfair::{
        PriceSize, REFUSED_MAX, RunnerChange, RunnerDefinition, StreamMarketDefinition,
        book::{self as decode, MarketBook, RunnerBook},
        quoted,
    },
    error::{DecodeError, RefusalKind, Result},
    normalize::{Interpret, Interpretation, Signal},
};

/// The fields of `listMarketCatalogue` that a market's facts need. All but the event may be missing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// `event.id`: the key of the match.
    pub event_id: String,
    /// `eventType.id`, from which the sport is known: "1" is football.
    pub event_type_id: Option<String>,
    /// `event.name` and `event.openDate`, for who plays and when.
    pub event_name: Option<String>,
    pub open_date: Option<String>,
    /// `marketStartTime`, `event.venue` and `event.countryCode`: which race it is, and where.
    pub market_start_time: Option<String>,
    pub venue: Option<String>,
    pub country_code: Option<String>,
    pub market_type: Option<String>,
    pub market_name: Option<String>,
    pub betting_type: Option<String>,
    /// Selection ids in the order of `sortPriority`.
    pub selections: Vec<u64>,
}

/// Converts responses to facts, and keeps the last image of each market.
#[derive(Debug)]
pub struct Interpreter {
    provider: Arc<str>,
    /// By market id.
    listings: HashMap<String, Listing>,
    markets: HashMap<Arc<str>, TrackedMarket>,
    /// By key, see [`Races::key`], or by the key that replaces it.
    matches: HashMap<Arc<str>, Match>,
    races: Races,
}

/// A market and its last image.
#[derive(Debug)]
struct TrackedMarket {
    market: Market,
    /// `None` before its first image and after a restart.
    last: Option<MarketImage>,
}

#[derive(Debug, Default)]
struct MarketImage {
    definition: Option<MarketDefinition>,
    volume: Option<Decimal>,
    runners: HashMap<(u64, Decimal), RunnerImage>,
}

type Rungs = BTreeMap<Decimal, Decimal>;

#[derive(Debug, Default)]
struct RunnerImage {
    last: Option<Decimal>,
    volume: Option<Decimal>,
    near: Option<Decimal>,
    far: Option<Decimal>,
    back: Rungs,
    lay: Rungs,
    traded: Rungs,
}

impl Default for Interpreter {
    fn default() -> Self {
        Self::new(HashMap::new())
    }
}

impl Interpreter {
    /// `listings` by market id; see [`Self::list`] for those that become known later.
    #[must_use]
    pub fn new(listings: HashMap<String, Listing>) -> Self {
        Self {
            provider: fixture::PROVIDER.into(),
            listings,
            markets: HashMap::new(),
            matches: HashMap::new(),
            races: Races::default(),
        }
    }

    /// Sets the event to which a market belongs. A market that was already reported keeps its event.
    pub fn list(&mut self, market_id: String, listing: Listing) {
        self.listings.insert(market_id, listing);
    }

    fn book(
        &mut self,
        book: MarketBook<'_>,
        batch: &mut Batch,
        notices: &mut Vec<DecodeError>,
    ) -> Result<()> {
        let listing = self.listings.get(&*book.id);
        let definition = definition(&book, listing);
        let is_known = self.markets.contains_key(&*book.id);
        if !is_known && self.markets.len() >= MARKETS_MAX {
            self.markets.retain(|_, it| it.market.closing() == Closing::Stays);
        }
        if !is_known && self.markets.len() >= MARKETS_MAX {
            let reason = format!("market {} is one more than {MARKETS_MAX}", quoted(&book.id));
            return Err(DecodeError::new(RefusalKind::Unknown, reason));
        }
        let key: Arc<str> = match (self.markets.get(&*book.id), listing) {
            (Some(tracked), _) => tracked.market.match_key.clone(),
            (None, Some(listing)) => {
                let event_id = listing.event_id.as_str().into();
                self.races.key(&definition, &event_id, &book.id, &self.matches)
            }
            (None, None) => format!("market/{}", book.id).into(),
        };
        let event_id = listing.map_or_else(|| key.clone(), |it| it.event_id.as_str().into());
        let of_event = self.matches.entry(key.clone()).or_insert_with(|| Match::new(key));
        batch.events.extend(of_event.define(&definition, notices));
        self.races.update(of_event, &definition, &event_id);
        let tracked = self.markets.entry(book.id.as_ref().into()).or_insert_with(|| {
            TrackedMarket { market: Market::new(&book.id, event_id, of_event, 0), last: None }
        });
        let (sport, match_id) = (tracked.market.sport, tracked.market.match_id);
        let changes = tracked.changes(&definition, book.runners, book.total_matched, notices);
        batch.events.extend(changes.into_iter().map(|change| {
            batch.price_changes += price_changes(&change);
            let (book, market) = (self.provider.clone(), tracked.market.id.clone());
            let fact = Fact::Odds(OddsFact { book, market, change });
            Event { sport, match_id, fact }
        }));
        Ok(())
    }

    /// Removes the matches without a market.
    fn tidy(&mut self) {
        if self.matches.len() > self.markets.len() {
            let markets = &self.markets;
            let live: std::collections::HashSet<_> =
                markets.values().map(|it| it.market.match_key.clone()).collect();
            self.matches.retain(|key, of_event| {
                let is_live = live.contains(key);
                if !is_live {
                    self.races.remove(of_event);
                }
                is_live
            });
        }
    }
}

impl Interpret for Interpreter {
    /// [`Signal::Fresh`] for a complete response, followed by [`Signal::Late`] if Betfair says that
    /// the data is delayed.
    fn message(&mut self, bytes: &[u8], received: Micros, out: &mut Interpretation) -> Result<()> {
        let answer = decode::decode(bytes)?;
        let mut notices = answer.refused;
        let mut batch = Batch::default();
        let delayed = answer.books.iter().any(|book| book.delayed);
        for book in answer.books {
            let refused = self.book(book, &mut batch, &mut notices).err();
            notices.extend(refused);
        }
        self.tidy();
        notices.truncate(REFUSED_MAX);
        let whole = answer.broken.is_none();
        out.notices.extend(notices.into_iter().chain(answer.broken));
        if !batch.events.is_empty() {
            out.push(received, batch);
        }
        out.signals.extend(whole.then_some(Signal::Fresh));
        out.signals.extend(delayed.then_some(Signal::Late));
        Ok(())
    }

    /// The next response is emitted as a whole image.
    fn restart(&mut self) {
        self.markets.values_mut().for_each(|tracked| tracked.last = None);
    }
}

impl TrackedMarket {
    /// What an answer says that the one before did not.
    fn changes(
        &mut self,
        definition: &StreamMarketDefinition<'_>,
        runners: Vec<RunnerBook<'_>>,
        volume: Option<Decimal>,
        notices: &mut Vec<DecodeError>,
    ) -> Vec<MarketChange> {
        let mut changes = Vec::new();
        if self.last.is_none() {
            self.market.clear();
            changes.push(MarketChange::Clear);
        }
        let last = self.last.get_or_insert_default();
        let defined = self.market.define(definition, notices);
        if last.definition.as_ref() != Some(&defined) {
            last.definition = Some(defined.clone());
            changes.push(MarketChange::Define(defined));
        }
        let delta = runners.into_iter().filter_map(|runner| last.take_delta(runner));
        let mut delta: Vec<RunnerChange> = delta.collect();
        let volume = take_if_changed(&mut last.volume, volume);
        changes.extend(self.market.prices(&mut delta, volume, notices));
        changes
    }
}

impl MarketImage {
    /// What changed on a runner, in the stream's words. One too many has no memory, and the market
    /// refuses it.
    fn take_delta(&mut self, book: RunnerBook<'_>) -> Option<RunnerChange> {
        let key = (book.key.id, book.key.hc);
        let mut stranger = RunnerImage::default();
        let room = self.runners.len() < RUNNERS_MAX || self.runners.contains_key(&key);
        let runner = if room { self.runners.entry(key).or_default() } else { &mut stranger };
        let change = RunnerChange {
            key: book.key,
            ltp: take_if_changed(&mut runner.last, book.last_price_traded),
            tv: take_if_changed(&mut runner.volume, book.total_matched),
            spn: take_if_changed(&mut runner.near, book.near_price),
            spf: take_if_changed(&mut runner.far, book.far_price),
            atb: difference(&mut runner.back, book.back),
            atl: difference(&mut runner.lay, book.lay),
            trd: difference(&mut runner.traded, book.traded),
            ..RunnerChange::default()
        };
        let ladders = [&change.atb, &change.atl, &change.trd];
        let numbers = [change.ltp, change.tv, change.spn, change.spf];
        let says_one = numbers.iter().any(Option::is_some);
        (says_one || ladders.iter().any(|ladder| !ladder.is_empty())).then_some(change)
    }
}

/// A number that is another one than before.
fn take_if_changed(last: &mut Option<Decimal>, now: Option<Decimal>) -> Option<Decimal> {
    let changed = now.filter(|now| *last != Some(*now));
    *last = now.or(*last);
    changed
}

/// The price levels that changed; removed ones have size 0, as some have in the response itself. A
/// ladder that was not requested stays as it was.
fn difference(last: &mut Rungs, now: Option<Vec<PriceSize>>) -> Vec<PriceSize> {
    let Some(now) = now else { return Vec::new() };
    let now: Rungs = now.into_iter().map(|rung| (rung.price, rung.size)).collect();
    let gone = last.keys().filter(|price| !now.contains_key(price));
    let gone = gone.map(|price| PriceSize { price: *price, size: Decimal::ZERO });
    let changed = now.iter().filter(|(price, size)| last.get(price) != Some(size));
    let changed = changed.map(|(price, size)| PriceSize { price: *price, size: *size });
    let changes = gone.chain(changed).collect();
    *last = now;
    changes
}

/// As the stream's: elements of the ladders of offers, and last traded prices.
fn price_changes(change: &MarketChange) -> u32 {
    let MarketChange::Prices { selections, .. } = change else { return 0 };
    let count =
        |it: &SelectionChange| it.back.len() + it.lay.len() + usize::from(it.last.is_some());
    u32::try_from(selections.iter().map(count).sum::<usize>()).unwrap_or(u32::MAX)
}

/// What the stream would say of the market in its definition.
fn definition<'a>(
    book: &MarketBook<'a>,
    listing: Option<&'a Listing>,
) -> StreamMarketDefinition<'a> {
    let listed = |field: fn(&Listing) -> Option<&String>| {
        listing.and_then(field).map(|text| Cow::Borrowed(text.as_str()))
    };
    let runner = |it: &RunnerBook<'a>| RunnerDefinition {
        key: it.key,
        name: None,
        status: it.status.clone(),
        sort_priority: listing.and_then(|listing| priority(listing, it.key.id)),
        adjustment_factor: it.adjustment_factor,
        removal_date: it.removal_date.clone(),
        bsp: it.actual_sp,
    };
    StreamMarketDefinition {
        event_type_id: listed(|it| it.event_type_id.as_ref()),
        event_name: listed(|it| it.event_name.as_ref()),
        open_date: listed(|it| it.open_date.as_ref()),
        market_time: listed(|it| it.market_start_time.as_ref()),
        venue: listed(|it| it.venue.as_ref()),
        country_code: listed(|it| it.country_code.as_ref()),
        market_type: listed(|it| it.market_type.as_ref()),
        name: listed(|it| it.market_name.as_ref()),
        betting_type: listed(|it| it.betting_type.as_ref()),
        status: book.status.clone(),
        in_play: book.in_play,
        number_of_winners: book.number_of_winners,
        bet_delay: book.bet_delay,
        runners: book.runners.iter().map(runner).collect(),
        ..StreamMarketDefinition::default()
    }
}

/// From 1, as Betfair counts.
fn priority(listing: &Listing, selection: u64) -> Option<u64> {
    let index = listing.selections.iter().position(|id| *id == selection)?;
    u64::try_from(index + 1).ok()
}

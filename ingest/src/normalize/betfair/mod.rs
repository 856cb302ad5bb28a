//! Betfair Exchange Stream messages to facts about odds.
//!
//! The stream contains markets; each belongs to an event, which is our match, but in racing, where an
//! event is a meeting: there each race is a match (`race.rs`). A market is known
//! from its first definition until it closes; changes of unknown markets are refused. One message
//! is always one batch: a message may change a market twice, in order.
//!
//! - **Images.** `img`, and every market of a `SUB_IMAGE`, begins with [`MarketChange::Clear`].
//!   Markets that a `SUB_IMAGE` leaves out are kept: it replaces what one subscription covers, but
//!   recorders write several connections into one file, without saying which one a message is from.
//!   A live source knows, and uses [`Live`]. The segments of a long image are a batch each. We take
//!   it that the cuts are between markets, so that each segment is whole for the markets it names.
//! - **Last prices.** Before it closes a market, Betfair sets what was traded to 0 and sends an
//!   `ltp` that means nothing, which is not reported; `market.rs` has the rule.
//! - **Names** are in historic files. A live stream has none: a live source requests the catalogue, which is interpreted like a
//!   message. A market is then defined again with its names.
//! - **Time** (`pt`) is used as received. If it falls, that is a notice, and the message is used.
//!   Heartbeats are ignored.

pub mod book;

pub(super) mod fixture;
mod kind;
mod ladder;
mod live;
mod market;
mod names;
mod position;
mod race;
mod retired_markets;
#[cfg(test)]
mod tests;
pub(super) mod time;
mod traded;

use std::{collections::HashMap, sync::Arc};

use facts::event::{
    Batch, Event, Fact, MarketChange, MarketDefinition, MarketStatus, Micros, OddsFact,
};

pub use self::live::Live;
use self::{
    fixture::Match,
    market::{Closing, Market},
    names::Names,
    race::Races,
    retired_markets::RetiredMarkets,
};
use crate::{
    decode::betfair::{
        self as decode, ChangeType, MarketMessage, REFUSED_MAX, StreamMarketChange,
        StreamMarketDefinition,
        catalogue::{self, CatalogueMarket},
        quoted,
    },
    error::{DecodeError, RefusalKind, Result},
};

/// Markets open at a time. A subscription is limited to 200 markets, or 1,000 by arrangement; ten
/// of these are as much as one source brings. A market costs about 200 bytes and 150 a runner.
const MARKETS_MAX: usize = 10_000;

/// The state of the markets of one stream, which converts its messages to facts.
#[derive(Debug)]
pub struct Normalizer {
    book: Arc<str>,
    markets: HashMap<Arc<str>, Market>,
    matches: HashMap<Arc<str>, Match>,
    races: Races,
    last_at: Option<Micros>,
    /// Markets keep their definition as it was received, so that it can be reported again with the names of the catalogue.
    keeps_definitions: bool,
    /// Counts images, so that each market knows in which it came last.
    image: u64,
    /// Markets that were removed, of which more messages may arrive.
    retired: RetiredMarkets,
    names: Names,
    /// A message was about an unknown market: an earlier message must have been missed.
    is_lost: bool,
}

/// A usable message.
#[derive(Debug, Default)]
pub struct Normalized {
    /// When Betfair published it.
    pub pt: Option<Micros>,
    pub batch: Batch,
    /// What in it was refused, though the rest is used: an unknown market, a time that falls, a
    /// price that does not fit. Never more than [`REFUSED_MAX`].
    pub notices: Vec<DecodeError>,
}

impl Default for Normalizer {
    fn default() -> Self {
        Self {
            book: fixture::PROVIDER.into(),
            markets: HashMap::new(),
            matches: HashMap::new(),
            races: Races::default(),
            last_at: None,
            keeps_definitions: false,
            image: 0,
            retired: RetiredMarkets::default(),
            names: Names::default(),
            is_lost: false,
        }
    }
}

impl Normalizer {
    /// Takes one line of the stream. `None` for a heartbeat and for what has no content.
    ///
    /// # Errors
    ///
    /// When nothing of the line can be used: it is not JSON, or not a message of the stream.
    pub fn line(&mut self, line: &[u8]) -> Result<Option<Normalized>> {
        if catalogue::is_catalogue(line) {
            let mut named = Normalized::default();
            self.catalogue(catalogue::decode(line)?, &mut named);
            return Ok(Some(named).filter(Normalized::has_content));
        }
        let message = decode::decode(line)?;
        let message = message.filter(|message| message.ct != ChangeType::Heartbeat);
        let normalized = message.map(|message| self.message(message));
        Ok(normalized.filter(Normalized::has_content))
    }

    fn message(&mut self, message: MarketMessage<'_>) -> Normalized {
        let mut out = Normalized { notices: message.refused, ..Normalized::default() };
        out.batch.price_changes = message.price_changes;
        out.batch.events.reserve(message.mc.len());
        self.time(message.pt, &mut out);
        let mut closed = Vec::new();
        for mut change in message.mc {
            change.img |= message.ct == ChangeType::SubImage;
            match self.market(&mut change, &mut out) {
                Ok(Closing::Stays) => {}
                Ok(Closing::Closed(id)) => closed.push(id),
                Err(refused) => out.notices.push(refused),
            }
        }
        // Only now: prices may follow the definition that closes the market.
        for id in closed {
            self.forget(&id);
            self.retired.insert(id);
        }
        out.notices.truncate(REFUSED_MAX);
        out
    }

    fn time(&mut self, pt_ms: Option<i64>, out: &mut Normalized) {
        out.pt = pt_ms.and_then(|ms| ms.checked_mul(1000));
        if let (Some(ms), None) = (pt_ms, out.pt) {
            let reason = format!("pt {ms} is out of range");
            out.notices.push(DecodeError::new(RefusalKind::Value, reason));
        }
        out.batch.at = out.pt;
        if let (Some(last), Some(at)) = (self.last_at, out.pt)
            && at < last
        {
            let reason = format!("pt falls by {} us to {at}", last.abs_diff(at));
            out.notices.push(DecodeError::new(RefusalKind::TimeBackwards, reason));
        }
        self.last_at = out.pt.or(self.last_at);
    }

    fn market(
        &mut self,
        change: &mut StreamMarketChange<'_>,
        out: &mut Normalized,
    ) -> Result<Closing> {
        let mut received = None;
        if let Some(definition) = &mut change.definition {
            received = self.keeps_definitions.then(|| (**definition).clone());
            self.names.apply(&change.id, definition);
            self.take_version(&change.id, definition, change.img, out)?;
            self.introduce(&change.id, definition, out)?;
        }
        let Some(market) = self.markets.get_mut(&*change.id) else {
            self.miss(change);
            return Err(unknown(&change.id));
        };
        let (sport, match_id) = (market.sport, market.match_id);
        let mut push = |id: &Arc<str>, change: MarketChange| {
            let fact = OddsFact { book: self.book.clone(), market: id.clone(), change };
            out.batch.events.push(Event { sport, match_id, fact: Fact::Odds(fact) });
        };
        if change.img {
            market.image = self.image;
            market.clear();
            push(&market.id, MarketChange::Clear);
        }
        if let Some(definition) = &change.definition {
            let defined = market.define(definition, &mut out.notices);
            market.received = received.map(StreamMarketDefinition::into_owned);
            push(&market.id, MarketChange::Define(defined));
            if let Some(prices) = market.held_prices() {
                push(&market.id, prices);
            }
        }
        if let Some(prices) = market.prices(&mut change.rc, change.tv, &mut out.notices) {
            push(&market.id, prices);
        }
        Ok(market.closing())
    }

    /// Refuses a definition that is older than the one before it, with all that comes with it. A newer one under another event
    /// has moved: the normaliser forgets the market and registers it there.
    fn take_version(
        &mut self,
        id: &str,
        definition: &StreamMarketDefinition<'_>,
        img: bool,
        out: &mut Normalized,
    ) -> Result<()> {
        let Some(market) = self.markets.get_mut(id) else { return Ok(()) };
        if let (Some(last), Some(version)) = (market.version, definition.version)
            && version < last
        {
            let reason = format!("market {} of version {version} after {last}", quoted(id));
            return Err(DecodeError::new(RefusalKind::Value, reason));
        }
        let is_newer = definition.version > market.version;
        market.version = definition.version.or(market.version);
        let has_moved =
            definition.event_id.as_deref().is_some_and(|event| *event != *market.event_id);
        if is_newer
            && has_moved
            && let Some(market) = self.remove_market(&Arc::from(id))
        {
            let fact = OddsFact {
                book: self.book.clone(),
                market: Arc::clone(&market.id),
                change: MarketChange::Clear,
            };
            let (sport, match_id) = (market.sport, market.match_id);
            out.batch.events.push(Event { sport, match_id, fact: Fact::Odds(fact) });
            self.suspend(market, &mut out.batch);
            // Without an image its prices are not complete.
            self.is_lost |= !img;
        }
        Ok(())
    }

    /// Takes names from the catalogue, and reports what they change in markets that are known.
    fn catalogue(&mut self, named: Vec<CatalogueMarket>, out: &mut Normalized) {
        for names in named {
            let id = Arc::clone(&names.market_id);
            let Some(market) = self.markets.get(&id) else { continue };
            let received = market.received.clone();
            self.names.insert(names);
            // Without it, as in a recording, the next definition has the names.
            let Some(mut definition) = received else { continue };
            self.names.apply(&id, &mut definition);
            if let Err(refused) = self.define_again(&id, &definition, out) {
                out.notices.push(refused);
            }
        }
        out.notices.truncate(REFUSED_MAX);
    }

    /// Reports the definition of a market that is known.
    fn define_again(
        &mut self,
        id: &str,
        definition: &StreamMarketDefinition<'_>,
        out: &mut Normalized,
    ) -> Result<()> {
        self.introduce(id, definition, out)?;
        let market = self.markets.get_mut(id).ok_or_else(|| unknown(id))?;
        let defined = market.define(definition, &mut out.notices);
        let change = MarketChange::Define(defined);
        let fact = OddsFact { book: self.book.clone(), market: market.id.clone(), change };
        let (sport, match_id) = (market.sport, market.match_id);
        out.batch.events.push(Event { sport, match_id, fact: Fact::Odds(fact) });
        Ok(())
    }

    /// Markets whose names are to be requested now, at most this many.
    fn unnamed(&mut self, most: usize, now: Micros) -> Vec<Arc<str>> {
        let names = &mut self.names;
        self.markets.keys().filter(|id| names.request(id, now)).take(most).cloned().collect()
    }

    /// A market is not known that this change is about. Where there is no room for more, or it came
    /// without a definition before, that is no news.
    fn miss(&mut self, change: &StreamMarketChange<'_>) {
        if change.img {
            self.retired.insert((&*change.id).into());
        }
        let is_full = self.markets.len() >= MARKETS_MAX;
        self.is_lost |= !is_full && !self.retired.contains(&change.id);
    }

    /// Registers the market and its match, and emits the match if it is new. A market
    /// stays with the match of its first definition, until it moves: see [`Self::take_version`].
    fn introduce(
        &mut self,
        id: &str,
        definition: &StreamMarketDefinition<'_>,
        out: &mut Normalized,
    ) -> Result<()> {
        let existing = self.markets.get(id);
        let existing = existing.map(|market| [&market.event_id, &market.match_key].map(Arc::clone));
        let is_new = existing.is_none();
        let [event_id, key] = existing.map_or_else(|| self.admit(id, definition), Ok)?;
        let of_event = self.matches.entry(Arc::clone(&key)).or_insert_with(|| Match::new(key));
        out.batch.events.extend(of_event.define(definition, &mut out.notices));
        self.races.update(of_event, definition, &event_id);
        if is_new {
            of_event.markets += 1;
            let mut market = Market::new(id, event_id, of_event, self.image);
            market.version = definition.version;
            self.markets.insert(market.id.clone(), market);
        }
        Ok(())
    }

    /// The event of a market that is new, and the key of its match, if there is room for it.
    fn admit(
        &mut self,
        id: &str,
        definition: &StreamMarketDefinition<'_>,
    ) -> Result<[Arc<str>; 2]> {
        if self.markets.len() >= MARKETS_MAX {
            let reason = format!("market {} is one more than {MARKETS_MAX}", quoted(id));
            return Err(DecodeError::new(RefusalKind::Unknown, reason));
        }
        let Some(event_id) = definition.event_id.as_deref() else {
            self.retired.insert(id.into());
            return Err(no_event(id));
        };
        let event_id = event_id.into();
        let key = self.races.key(definition, &event_id, id, &self.matches);
        Ok([event_id, key])
    }

    /// An image of the whole subscription follows.
    fn begin_image(&mut self) {
        self.image += 1;
    }

    /// The image is complete: emits markets that are not in it as suspended, and removes them.
    fn end_image(&mut self, out: &mut Batch) {
        let absent = self.markets.values().filter(|market| market.image != self.image);
        let mut absent: Vec<_> = absent.map(|market| market.id.clone()).collect();
        absent.sort_unstable();
        for id in &absent {
            if let Some(market) = self.forget(id) {
                self.suspend(market, out);
            }
        }
    }

    /// Reports a market that was removed as suspended, unless it is.
    fn suspend(&self, market: Market, out: &mut Batch) {
        let Some(defined) = market.defined else { return };
        if defined.status == MarketStatus::Suspended {
            return;
        }
        let suspended = MarketDefinition { status: MarketStatus::Suspended, ..defined };
        let change = MarketChange::Define(suspended);
        let fact = OddsFact { book: self.book.clone(), market: market.id, change };
        let (sport, match_id) = (market.sport, market.match_id);
        out.events.push(Event { sport, match_id, fact: Fact::Odds(fact) });
    }

    /// Removes a market. If it returns, a definition introduces it again.
    fn forget(&mut self, id: &Arc<str>) -> Option<Market> {
        let market = self.remove_market(id)?;
        self.names.remove(id);
        Some(market)
    }

    /// Removes a market whose names are kept.
    fn remove_market(&mut self, id: &Arc<str>) -> Option<Market> {
        let market = self.markets.remove(id)?;
        if let Some(of_event) = self.matches.get_mut(&market.match_key) {
            of_event.markets -= 1;
            if of_event.markets == 0 {
                self.races.remove(of_event);
                self.matches.remove(&market.match_key);
            }
        }
        Some(market)
    }
}

impl Normalized {
    fn has_content(&self) -> bool {
        !self.batch.events.is_empty() || self.batch.price_changes > 0 || !self.notices.is_empty()
    }
}

fn unknown(id: &str) -> DecodeError {
    DecodeError::new(RefusalKind::Unknown, format!("market {} was never defined", quoted(id)))
}

fn no_event(id: &str) -> DecodeError {
    let reason = format!("market {} is defined without an eventId", quoted(id));
    DecodeError::new(RefusalKind::Value, reason)
}

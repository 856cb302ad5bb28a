//! The last reported state of an event: its fixture, its score, and the markets of each bookmaker.

use std::{collections::BTreeMap, sync::Arc};

use facts::event::{Batch, Event, Fact, Fixture, Id, Micros, Sport};

use super::{
    ResponseContext, fixture,
    market::{self, EventContext, MarketOffer},
    score,
};
use crate::{
    decode::the_odds_api::{Bookmaker, OddsApiEvent},
    error::DecodeError,
    normalize::market_state::{MarketRef, MarketState},
};

#[derive(Debug)]
pub(super) struct EventState {
    id: Id,
    sport: Sport,
    pub(super) sport_key: String,
    fixture: Option<Fixture>,
    books: BTreeMap<Arc<str>, BTreeMap<Arc<str>, BookMarket>>,
    score: Vec<Fact>,
    /// The number of the last response that contained it.
    pub(super) answer: u64,
}

#[derive(Debug, Default)]
struct BookMarket {
    state: MarketState,
    /// The number of the last response that offered it.
    answer: u64,
}

impl EventState {
    pub(super) fn new(event: &OddsApiEvent) -> Self {
        Self {
            id: fixture::id(event),
            sport: fixture::sport(&event.sport_key),
            sport_key: event.sport_key.clone(),
            fixture: None,
            books: BTreeMap::new(),
            score: Vec::new(),
            answer: 0,
        }
    }

    /// The batches for what changed in a response.
    pub(super) fn event(
        &mut self,
        event: &OddsApiEvent,
        moment: ResponseContext,
        notices: &mut Vec<DecodeError>,
    ) -> Vec<Batch> {
        self.answer = moment.answer;
        let mut batches = Batches::of(self.id, self.sport);
        batches.push(moment.at, self.introduce(event));
        let in_play = event.commence.is_some_and(|start| start <= moment.now);
        let context = EventContext { event, sport: self.sport, in_play, format: moment.format };
        for bookmaker in event.bookmakers.iter().flatten() {
            self.bookmaker(bookmaker, context, moment, &mut batches, notices);
        }
        self.result(event, moment, &mut batches);
        batches.batches
    }

    /// Suspends the markets that this response did not offer.
    pub(super) fn withdraw(&mut self, moment: ResponseContext) -> Vec<Batch> {
        self.suspend(moment.at, |market| market.answer < moment.answer)
    }

    pub(super) fn withdraw_all(&mut self, moment: ResponseContext) -> Vec<Batch> {
        self.suspend(moment.at, |_| true)
    }

    /// The fixture, if it is new or has changed.
    fn introduce(&mut self, event: &OddsApiEvent) -> Vec<Fact> {
        let fixture = fixture::of(event);
        if self.fixture.as_ref() == Some(&fixture) {
            return Vec::new();
        }
        self.fixture = Some(fixture.clone());
        vec![Fact::Fixture(fixture)]
    }

    fn bookmaker(
        &mut self,
        bookmaker: &Bookmaker,
        context: EventContext<'_>,
        moment: ResponseContext,
        batches: &mut Batches,
        notices: &mut Vec<DecodeError>,
    ) {
        let book: Arc<str> = bookmaker.key.to_lowercase().into();
        for market in &bookmaker.markets {
            let at = market.last_update.or(bookmaker.last_update).or(moment.at);
            for offer in market::offers(market, context, notices) {
                self.record_offer(&book, offer, at, moment.answer, batches);
            }
        }
    }

    fn record_offer(
        &mut self,
        book: &Arc<str>,
        offer: MarketOffer,
        at: Option<Micros>,
        answer: u64,
        batches: &mut Batches,
    ) {
        let markets = self.books.entry(book.clone()).or_default();
        let market = markets.entry(offer.id.clone()).or_default();
        market.answer = answer;
        let of = MarketRef { book: book.clone(), market: offer.id };
        let mut facts = Vec::new();
        let prices = market.state.update(&of, offer.definition, offer.prices, &mut facts);
        batches.push(at, facts);
        batches.count(prices);
    }

    /// Suspends and removes the markets that are gone. If they return, they are new.
    fn suspend(&mut self, at: Option<Micros>, is_gone: impl Fn(&BookMarket) -> bool) -> Vec<Batch> {
        let mut facts = Vec::new();
        for (book, markets) in &mut self.books {
            markets.retain(|id, market| {
                let gone = is_gone(market);
                if gone {
                    let of = MarketRef { book: book.clone(), market: id.clone() };
                    market.state.suspend(&of, &mut facts);
                }
                !gone
            });
        }
        self.books.retain(|_, markets| !markets.is_empty());
        let mut batches = Batches::of(self.id, self.sport);
        batches.push(at, facts);
        batches.batches
    }

    fn result(&mut self, event: &OddsApiEvent, moment: ResponseContext, batches: &mut Batches) {
        let Some(result) = &event.result else { return };
        let facts = score::facts(event, result, self.sport);
        if facts != self.score {
            self.score.clone_from(&facts);
            batches.push(result.last_update.or(moment.at), facts);
        }
    }
}

/// The batches of one event. Consecutive facts with the same time share a batch.
struct Batches {
    id: Id,
    sport: Sport,
    batches: Vec<Batch>,
}

impl Batches {
    fn of(id: Id, sport: Sport) -> Self {
        Self { id, sport, batches: Vec::new() }
    }

    fn push(&mut self, at: Option<Micros>, facts: Vec<Fact>) {
        if facts.is_empty() {
            return;
        }
        if self.batches.last().is_none_or(|batch| batch.at != at) {
            self.batches.push(Batch { at, ..Batch::default() });
        }
        let (sport, match_id) = (self.sport, self.id);
        let events = facts.into_iter().map(|fact| Event { sport, match_id, fact });
        if let Some(batch) = self.batches.last_mut() {
            batch.events.extend(events);
        }
    }

    /// Adds to the price count of the last batch.
    fn count(&mut self, prices: u32) {
        if let Some(batch) = self.batches.last_mut() {
            batch.price_changes += prices;
        }
    }
}

//! The last reported state of an event: its fixture, its score, and the markets of each bookmaker.

use std::{collections::BTreeMap, sync::Arc};

use facts::event::{Batch, Event, Fact, Fixture, Id, Micros, Sport};

use super::{
    ResponseContext, ResponseKind, fixture,
    market::{self, EventContext, MarketOffer},
    score,
};
use crate::{
    decode::the_odds_api::{Bookmaker, OddsApiEvent},
    error::DecodeError,
    normalize::reported_market::{MarketRef, MarketState},
};

#[derive(Debug)]
pub(super) struct EventState {
    id: Id,
    sport: Sport,
    pub(super) sport_key: String,
    fixture: Option<Fixture>,
    /// The last `last_update` of each bookmaker's market, by which an older answer is known.
    updates: BTreeMap<String, BTreeMap<String, Micros>>,
    books: BTreeMap<Arc<str>, BTreeMap<Arc<str>, BookMarket>>,
    score: Vec<Fact>,
    /// The `last_update` of the score.
    scored_at: Option<Micros>,
    /// The number of the last response of each kind that contained it; 0 without one.
    answers: [u64; ResponseKind::ALL.len()],
}

#[derive(Debug)]
struct BookMarket {
    state: MarketState,
    /// Its last `last_update`.
    at: Option<Micros>,
    /// The kind and the number of the last response that offered it.
    kind: ResponseKind,
    answer: u64,
}

impl EventState {
    pub(super) fn new(event: &OddsApiEvent) -> Self {
        Self {
            id: fixture::id(event),
            sport: fixture::sport(&event.sport_key),
            sport_key: event.sport_key.clone(),
            fixture: None,
            updates: BTreeMap::new(),
            books: BTreeMap::new(),
            score: Vec::new(),
            scored_at: None,
            answers: Default::default(),
        }
    }

    /// The number of the last response that contained it; 0 if it left all kinds.
    pub(super) fn last_answer(&self) -> u64 {
        self.answers.into_iter().max().unwrap_or(0)
    }

    pub(super) fn is_listed_in(&self, kind: ResponseKind) -> bool {
        self.answers[kind as usize] > 0
    }

    /// Whether an earlier response of this kind contained it, and this one does not.
    pub(super) fn is_missing_in(&self, moment: ResponseContext) -> bool {
        (1..moment.answer).contains(&self.answers[moment.kind as usize])
    }

    /// The batches for what changed in a response.
    pub(super) fn event(
        &mut self,
        event: &OddsApiEvent,
        moment: ResponseContext,
        notices: &mut Vec<DecodeError>,
    ) -> Vec<Batch> {
        self.answers[moment.kind as usize] = moment.answer;
        let mut batches = Batches::new(self.id, self.sport);
        batches.push(moment.at, self.introduce(event));
        let in_play = event.commence.is_some_and(|start| start <= moment.now);
        let context = EventContext { event, sport: self.sport, in_play, format: moment.format };
        for bookmaker in event.bookmakers.iter().flatten() {
            self.bookmaker(bookmaker, context, moment, &mut batches, notices);
        }
        self.result(event, moment, &mut batches);
        batches.batches
    }

    /// Suspends the markets of this kind of response that this one did not offer.
    pub(super) fn withdraw(&mut self, moment: ResponseContext) -> Vec<Batch> {
        self.suspend(moment.at, |market| {
            market.kind == moment.kind && market.answer < moment.answer
        })
    }

    /// It is no longer in responses of this kind: suspends the markets that they offered last. The list of a sport has all
    /// events with odds, so that without it also a response about this event alone is out of date.
    pub(super) fn leave(&mut self, moment: ResponseContext) -> Vec<Batch> {
        self.answers[moment.kind as usize] = 0;
        let is_list_of_sport = moment.kind == ResponseKind::Sport;
        self.suspend(moment.at, |market| {
            market.kind == moment.kind || is_list_of_sport && market.kind == ResponseKind::Single
        })
    }

    /// The fixture, if it is new or has changed.
    fn introduce(&mut self, event: &OddsApiEvent) -> Vec<Fact> {
        let fixture = fixture::from_event(event);
        // An older answer, of a cache, may have the start that was moved since.
        let is_older = self.is_older(event);
        if is_older || self.fixture.as_ref() == Some(&fixture) {
            return Vec::new();
        }
        self.fixture = Some(fixture.clone());
        vec![Fact::Fixture(fixture)]
    }

    /// Whether an answer is older than those before: something in it was updated since, and nothing in it is newer. Answers may
    /// have different bookmakers, so each market is compared with itself.
    fn is_older(&mut self, event: &OddsApiEvent) -> bool {
        let (mut older, mut newer) = (false, false);
        let mut compare = |last: Micros, at: Micros| {
            older |= at < last;
            newer |= at > last;
        };
        let result = event.result.as_ref().and_then(|it| it.last_update);
        if let (Some(last), Some(at)) = (self.scored_at, result) {
            compare(last, at);
        }
        for bookmaker in event.bookmakers.iter().flatten() {
            let updates = self.updates.entry(bookmaker.key.clone()).or_default();
            for market in &bookmaker.markets {
                let Some(at) = market.last_update.or(bookmaker.last_update) else { continue };
                let last = updates.entry(market.key.clone()).or_insert(at);
                compare(*last, at);
                *last = at.max(*last);
            }
        }
        older && !newer
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
                self.record_offer(&book, offer, at, moment, batches);
            }
        }
    }

    fn record_offer(
        &mut self,
        book: &Arc<str>,
        offer: MarketOffer,
        at: Option<Micros>,
        moment: ResponseContext,
        batches: &mut Batches,
    ) {
        let ResponseContext { kind, answer, .. } = moment;
        let markets = self.books.entry(book.clone()).or_default();
        let new_market = || BookMarket { state: MarketState::default(), at, kind, answer };
        let market = markets.entry(offer.id.clone()).or_insert_with(new_market);
        if at.is_some_and(|at| Some(at) < market.at) {
            // An older statement, which a cache may still answer. It says at least that the market is offered.
            if market.kind == kind {
                market.answer = answer;
            }
            return;
        }
        (market.at, market.kind, market.answer) = (at.or(market.at), kind, answer);
        let market_ref = MarketRef { book: book.clone(), market: offer.id };
        let mut facts = Vec::new();
        let prices = market.state.update(&market_ref, offer.definition, offer.prices, &mut facts);
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
                    let market_ref = MarketRef { book: book.clone(), market: id.clone() };
                    market.state.suspend(&market_ref, &mut facts);
                }
                !gone
            });
        }
        self.books.retain(|_, markets| !markets.is_empty());
        let mut batches = Batches::new(self.id, self.sport);
        batches.push(at, facts);
        batches.batches
    }

    fn result(&mut self, event: &OddsApiEvent, moment: ResponseContext, batches: &mut Batches) {
        let Some(result) = &event.result else { return };
        if result.last_update.is_some_and(|at| Some(at) < self.scored_at) {
            return;
        }
        self.scored_at = result.last_update.or(self.scored_at);
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
    fn new(id: Id, sport: Sport) -> Self {
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

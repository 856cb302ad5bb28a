//! An event as it was last told: its fixture, its score, and the markets of each bookmaker.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Moment, fixture,
    market::{self, Offered, Setting},
    score,
};
use crate::{
    decode::the_odds_api::{self as decode, Bookmaker},
    error::DecodeError,
    event::{Batch, Event, Fact, Fixture, Id, Micros, Sport},
    normalize::told::{MarketOf, Told},
};

#[derive(Debug)]
pub(super) struct Known {
    id: Id,
    sport: Sport,
    pub(super) sport_key: String,
    fixture: Option<Fixture>,
    books: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Market>>,
    score: Vec<Fact>,
    /// The number of the answer that named it last.
    pub(super) answer: u64,
}

#[derive(Debug, Default)]
struct Market {
    told: Told,
    /// The number of the answer that offered it last.
    answer: u64,
}

impl Known {
    pub(super) fn new(event: &decode::Event) -> Self {
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

    /// What is new of it in an answer.
    pub(super) fn event(
        &mut self,
        event: &decode::Event,
        moment: Moment,
        notices: &mut Vec<DecodeError>,
    ) -> Vec<Batch> {
        self.answer = moment.answer;
        let mut batches = Batches::of(self.id, self.sport);
        batches.push(moment.at, self.introduce(event));
        let in_play = event.commence.is_some_and(|start| start <= moment.now);
        let setting = Setting { event, sport: self.sport, in_play, format: moment.format };
        for bookmaker in event.bookmakers.iter().flatten() {
            self.bookmaker(bookmaker, setting, moment, &mut batches, notices);
        }
        self.result(event, moment, &mut batches);
        batches.batches
    }

    /// Suspends the markets that this answer did not offer.
    pub(super) fn withdraw(&mut self, moment: Moment) -> Vec<Batch> {
        self.suspend(moment.at, |market| market.answer < moment.answer)
    }

    pub(super) fn withdraw_all(&mut self, moment: Moment) -> Vec<Batch> {
        self.suspend(moment.at, |_| true)
    }

    /// The fixture, when it is new or has changed.
    fn introduce(&mut self, event: &decode::Event) -> Vec<Fact> {
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
        setting: Setting<'_>,
        moment: Moment,
        batches: &mut Batches,
        notices: &mut Vec<DecodeError>,
    ) {
        let book: Arc<str> = bookmaker.key.to_lowercase().into();
        for market in &bookmaker.markets {
            let at = market.last_update.or(bookmaker.last_update).or(moment.at);
            for offered in market::offered(market, setting, notices) {
                self.offered(&book, offered, at, moment.answer, batches);
            }
        }
    }

    fn offered(
        &mut self,
        book: &Arc<str>,
        offered: Offered,
        at: Option<Micros>,
        answer: u64,
        batches: &mut Batches,
    ) {
        let markets = self.books.entry(book.clone()).or_default();
        let market = markets.entry(offered.id.clone()).or_default();
        market.answer = answer;
        let of = MarketOf { book: book.clone(), market: offered.id };
        let mut facts = Vec::new();
        let prices = market.told.tell(&of, offered.definition, offered.prices, &mut facts);
        batches.push(at, facts);
        batches.count(prices);
    }

    /// Suspends the markets that are gone, and forgets them: coming back they are new.
    fn suspend(&mut self, at: Option<Micros>, is_gone: impl Fn(&Market) -> bool) -> Vec<Batch> {
        let mut facts = Vec::new();
        for (book, markets) in &mut self.books {
            markets.retain(|id, market| {
                let gone = is_gone(market);
                if gone {
                    let of = MarketOf { book: book.clone(), market: id.clone() };
                    market.told.suspend(&of, &mut facts);
                }
                !gone
            });
        }
        self.books.retain(|_, markets| !markets.is_empty());
        let mut batches = Batches::of(self.id, self.sport);
        batches.push(at, facts);
        batches.batches
    }

    fn result(&mut self, event: &decode::Event, moment: Moment, batches: &mut Batches) {
        let Some(result) = &event.result else { return };
        let facts = score::facts(event, result, self.sport);
        if facts != self.score {
            self.score.clone_from(&facts);
            batches.push(result.last_update.or(moment.at), facts);
        }
    }
}

/// The batches of one event: facts of one moment that follow each other are one.
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

    /// Counts the prices of the facts pushed last.
    fn count(&mut self, prices: u32) {
        if let Some(batch) = self.batches.last_mut() {
            batch.price_changes += prices;
        }
    }
}

//! Answers of The Odds API to facts.
//!
//! Every answer is a whole image, so what was told is remembered for each event, bookmaker and
//! market, and only news are told. What is no longer in a later answer **of the same kind** is not
//! offered now, so its markets are suspended, not closed: the API never says that a market is
//! settled. The kinds are the odds of one event, and the lists of odds of a sport, of coming events
//! of several sports, and of scores. A list speaks for the sports that it names; an empty one for
//! the one sport that was known from such lists, and where there were several it says nothing.
//!
//! Requests that differ in what they ask for (markets, regions, bookmakers) are of one kind and would
//! speak for each other: each needs an interpreter of its own.
//!
//! A market is in play when its event has commenced at the time of the answer.

mod fixture;
mod market;
mod price;
mod score;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use self::market::Setting;
pub use self::price::PriceFormat;
use super::{
    Interpret, Played, Signal,
    told::{MarketOf, Told},
};
use crate::{
    decode::the_odds_api::{self as decode, Answer, Bookmaker},
    error::{DecodeError, RefusalKind},
    event::{Batch, Event, Fact, Fixture, Id, Micros, Sport},
};

/// Events remembered at a time: all sports of the API together have about 2,000. One with twenty
/// bookmakers and three markets costs about 30 kB.
const EVENTS_MAX: usize = 20_000;

/// After so many answers without it an event may be forgotten, if room is needed.
const FORGET_AFTER: u64 = 1_000;

/// What was told of the events of one source.
#[derive(Debug, Default)]
pub struct Interpreter {
    prices: PriceFormat,
    recorded: bool,
    events: HashMap<(Kind, String), Known>,
    /// Answers taken so far.
    answers: u64,
    clock_us: Option<Micros>,
}

/// The kind of answer in which an event was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Single,
    Sport,
    Upcoming,
    Scores,
}

/// An event of one kind of answer as it was last told.
#[derive(Debug)]
struct Known {
    id: Id,
    sport: Sport,
    sport_key: String,
    fixture: Option<Fixture>,
    books: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Told>>,
    score: Vec<Fact>,
    answer: u64,
}

/// What is the same for a whole answer.
#[derive(Debug, Clone, Copy)]
struct Moment {
    now: Micros,
    /// What an answer says of its own time, for what has none of its own.
    at: Option<Micros>,
    format: PriceFormat,
    answer: u64,
}

impl Interpreter {
    #[must_use]
    pub fn new(prices: PriceFormat) -> Self {
        Self { prices, ..Self::default() }
    }

    /// One that is given recorded answers: their own time is taken for the present, that is the
    /// wrapper's or the newest update in them, and not the moment when they are read.
    #[must_use]
    pub fn recorded(prices: PriceFormat) -> Self {
        Self { recorded: true, ..Self::new(prices) }
    }

    fn moment(&mut self, answer: &Answer, received: Micros) -> Moment {
        self.answers += 1;
        let newest = if self.recorded { newest_update(answer) } else { None };
        let now = answer.timestamp.or(newest).unwrap_or(received);
        let format = self.prices.of(answer);
        Moment { now, at: answer.timestamp, format, answer: self.answers }
    }

    fn event(
        &mut self,
        event: &decode::Event,
        kind: Kind,
        moment: Moment,
        played: &mut Played,
    ) -> Result<(), DecodeError> {
        let full = self.events.len() >= EVENTS_MAX;
        let key = (kind, event.id.clone());
        if full && !self.events.contains_key(&key) {
            let reason = format!("an event more than {EVENTS_MAX}");
            return Err(DecodeError::new(RefusalKind::Unknown, reason));
        }
        let known = self.events.entry(key).or_insert_with(|| Known::new(event));
        known.answer = moment.answer;
        let mut batches = Batches::of(known.id, known.sport);
        batches.push(moment.at, known.introduce(event));
        known.odds(event, moment, &mut batches, &mut played.notices);
        known.result(event, moment, &mut batches);
        self.play(batches, moment.now, played);
        Ok(())
    }

    /// Suspends what a list should have named and did not.
    fn vanished(&mut self, answer: &Answer, kind: Kind, moment: Moment, played: &mut Played) {
        let named: HashSet<&str> = answer.events.iter().map(|it| it.sport_key.as_str()).collect();
        let listed = self.events.iter().filter(|((of, _), _)| *of == kind);
        let known: HashSet<&str> = listed.map(|(_, it)| it.sport_key.as_str()).collect();
        let one_sport = named.is_empty() && known.len() == 1;
        let gone = |key: &(Kind, String), known: &Known| {
            let spoken_for = kind == Kind::Upcoming || named.contains(known.sport_key.as_str());
            key.0 == kind && known.answer < moment.answer && (spoken_for || one_sport)
        };
        let mut keys: Vec<_> = self
            .events
            .iter()
            .filter(|(key, it)| gone(key, it))
            .map(|(key, _)| key.clone())
            .collect();
        keys.sort_by(|one, other| one.1.cmp(&other.1));
        for key in keys {
            let Some(mut known) = self.events.remove(&key) else { continue };
            let mut batches = Batches::of(known.id, known.sport);
            known.suspend_all(moment, &mut batches);
            self.play(batches, moment.now, played);
        }
    }

    fn play(&mut self, batches: Batches, now: Micros, played: &mut Played) {
        let clock_us = self.clock_us.map_or(now, |last| last.max(now));
        self.clock_us = Some(clock_us);
        batches.batches.into_iter().for_each(|batch| played.push(clock_us, batch));
    }

    /// Makes room, if it is needed, by forgetting what has not been heard of for long.
    fn tidy(&mut self) {
        if self.events.len() >= EVENTS_MAX {
            let answers = self.answers;
            self.events.retain(|_, known| known.answer + FORGET_AFTER > answers);
        }
    }
}

impl Interpret for Interpreter {
    fn message(
        &mut self,
        bytes: &[u8],
        received: Micros,
        out: &mut Played,
    ) -> Result<(), DecodeError> {
        let mut answer = decode::decode(bytes)?;
        out.notices.append(&mut answer.notices);
        self.tidy();
        let moment = self.moment(&answer, received);
        let kind = Kind::of(&answer, &self.events);
        for event in &answer.events {
            let of_event = if event.result.is_some() { Kind::Scores } else { kind };
            if let Err(refused) = self.event(event, of_event, moment, out) {
                out.notices.push(refused);
            }
        }
        if answer.is_list && !answer.has_gaps {
            self.vanished(&answer, kind, moment, out);
        }
        out.notices.truncate(decode::NOTICES_MAX);
        out.signals.push(Signal::Fresh);
        Ok(())
    }
}

impl Kind {
    fn of(answer: &Answer, known: &HashMap<(Self, String), Known>) -> Self {
        let Some(first) = answer.events.first() else {
            // An empty list of scores and one of odds look the same; odds matter more.
            let scores_only =
                !known.is_empty() && known.keys().all(|(kind, _)| *kind == Self::Scores);
            return if scores_only { Self::Scores } else { Self::Sport };
        };
        let one_sport = answer.events.iter().all(|event| event.sport_key == first.sport_key);
        match answer.is_list {
            false => Self::Single,
            true if first.result.is_some() => Self::Scores,
            true if one_sport => Self::Sport,
            true => Self::Upcoming,
        }
    }
}

impl Known {
    fn new(event: &decode::Event) -> Self {
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

    /// The fixture, when it is new or has changed.
    fn introduce(&mut self, event: &decode::Event) -> Vec<Fact> {
        let fixture = fixture::of(event);
        if self.fixture.as_ref() == Some(&fixture) {
            return Vec::new();
        }
        self.fixture = Some(fixture.clone());
        vec![Fact::Fixture(fixture)]
    }

    fn odds(
        &mut self,
        event: &decode::Event,
        moment: Moment,
        batches: &mut Batches,
        notices: &mut Vec<DecodeError>,
    ) {
        let Some(bookmakers) = &event.bookmakers else { return };
        let in_play = event.commence.is_some_and(|start| start <= moment.now);
        let setting = Setting { event, sport: self.sport, in_play, format: moment.format };
        let mut offered = HashSet::new();
        for bookmaker in bookmakers {
            self.bookmaker(bookmaker, setting, moment, batches, &mut offered, notices);
        }
        self.suspend(|of| !offered.contains(of), moment, batches);
    }

    fn bookmaker(
        &mut self,
        bookmaker: &Bookmaker,
        setting: Setting<'_>,
        moment: Moment,
        batches: &mut Batches,
        offered: &mut HashSet<(Arc<str>, Arc<str>)>,
        notices: &mut Vec<DecodeError>,
    ) {
        let book: Arc<str> = bookmaker.key.to_lowercase().into();
        for market in &bookmaker.markets {
            let at = market.last_update.or(bookmaker.last_update).or(moment.at);
            for new in market::offered(market, setting, notices) {
                offered.insert((book.clone(), new.id.clone()));
                let markets = self.books.entry(book.clone()).or_default();
                let told = markets.entry(new.id.clone()).or_default();
                let of = MarketOf { book: book.clone(), market: new.id };
                let mut facts = Vec::new();
                let prices = told.tell(&of, new.definition, new.prices, &mut facts);
                batches.push(at, facts);
                batches.count(prices);
            }
        }
    }

    /// Suspends the markets that are gone, and forgets them: coming back they are new.
    fn suspend(
        &mut self,
        gone: impl Fn(&(Arc<str>, Arc<str>)) -> bool,
        moment: Moment,
        batches: &mut Batches,
    ) {
        for (book, markets) in &mut self.books {
            markets.retain(|market, told| {
                let of = (book.clone(), market.clone());
                let is_gone = gone(&of);
                if is_gone {
                    let mut facts = Vec::new();
                    told.suspend(&MarketOf { book: of.0, market: of.1 }, &mut facts);
                    batches.push(moment.at, facts);
                }
                !is_gone
            });
        }
        self.books.retain(|_, markets| !markets.is_empty());
    }

    fn suspend_all(&mut self, moment: Moment, batches: &mut Batches) {
        self.suspend(|_| true, moment, batches);
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

fn newest_update(answer: &Answer) -> Option<Micros> {
    let of_event = |event: &decode::Event| {
        let of_result = event.result.as_ref().and_then(|it| it.last_update);
        let bookmakers = event.bookmakers.iter().flatten();
        let of_bookmaker = |it: &Bookmaker| {
            it.markets.iter().filter_map(|market| market.last_update).chain(it.last_update).max()
        };
        bookmakers.filter_map(of_bookmaker).chain(of_result).max()
    };
    answer.events.iter().filter_map(of_event).max()
}

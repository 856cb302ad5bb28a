//! Answers of The Odds API to facts.
//!
//! Every response is a whole image, so the reported state of each event, bookmaker and market is
//! stored, and only changes are emitted. Of two statements about a market, or about a score, the one with the later
//! `last_update` holds, whatever response it is in. Markets that are missing from a later response **of the kind**
//! that offered them last are suspended, not closed, because the API never says that a market is settled. The kinds
//! are the odds of one event, and the lists of odds of a sport, of coming events of several sports,
//! and of scores. A list covers the sports that it names; an empty one covers the one sport known
//! from such lists, and if there are several, none.
//!
//! Requests for different markets, regions or bookmakers are of one kind and would cover each
//! other: each needs its own interpreter.
//!
//! A market is in play when its event has commenced at the time of the answer.

mod event_state;
mod fixture;
mod market;
mod price;
mod score;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use facts::event::{Batch, Micros};

use self::event_state::EventState;
pub use self::price::PriceFormat;
use super::{Interpret, Interpretation, Signal};
use crate::{
    decode::the_odds_api::{self as decode, Answer, Bookmaker, OddsApiEvent},
    error::{DecodeError, RefusalKind, Result},
};

/// Events remembered at a time: all sports of the API together have about 2,000. One with twenty
/// bookmakers and three markets costs about 30 kB.
const EVENTS_MAX: usize = 20_000;

/// An event may be evicted after this many responses without it, if space is needed.
const FORGET_AFTER: u64 = 1_000;

/// The reported state of the events of one source.
#[derive(Debug, Default)]
pub struct Interpreter {
    prices: PriceFormat,
    recorded: bool,
    events: HashMap<String, EventState>,
    /// Responses so far.
    answers: u64,
    clock_us: Option<Micros>,
}

/// The kind of response that contained an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum ResponseKind {
    Single,
    Sport,
    Upcoming,
    Scores,
}

/// What applies to a whole response.
#[derive(Debug, Clone, Copy)]
struct ResponseContext {
    now: Micros,
    /// The timestamp of the response, for parts without one.
    at: Option<Micros>,
    format: PriceFormat,
    kind: ResponseKind,
    /// The number of the response.
    answer: u64,
}

impl Interpreter {
    #[must_use]
    pub fn new(prices: PriceFormat) -> Self {
        Self { prices, ..Self::default() }
    }

    /// An interpreter for recorded responses: the current time is taken from the response (the
    /// wrapper's timestamp or the newest update), not from the clock.
    #[must_use]
    pub fn recorded(prices: PriceFormat) -> Self {
        Self { recorded: true, ..Self::new(prices) }
    }

    fn moment(&mut self, answer: &Answer, received: Micros) -> ResponseContext {
        self.answers += 1;
        let kind = ResponseKind::from_answer(answer, &self.events);
        let newest = || answer.events.iter().filter_map(newest_of_event).max();
        let newest = if self.recorded { newest() } else { None };
        let now = answer.timestamp.or(newest).unwrap_or(received);
        let format = self.prices.detect(answer);
        ResponseContext { now, at: answer.timestamp, format, kind, answer: self.answers }
    }

    fn event(
        &mut self,
        event: &OddsApiEvent,
        moment: ResponseContext,
        played: &mut Interpretation,
    ) -> Result<()> {
        let full = self.events.len() >= EVENTS_MAX;
        if full && !self.events.contains_key(&event.id) {
            let reason = format!("an event more than {EVENTS_MAX}");
            return Err(DecodeError::new(RefusalKind::Unknown, reason));
        }
        let state = self.events.entry(event.id.clone()).or_insert_with(|| EventState::new(event));
        let batches = state.event(event, moment, &mut played.notices);
        self.play(batches, moment.now, played);
        Ok(())
    }

    /// Suspends the markets that an event had in earlier responses and no longer has. Only after
    /// the whole response, which may contain an event twice.
    fn withdraw(&mut self, event: &str, moment: ResponseContext, played: &mut Interpretation) {
        let Some(state) = self.events.get_mut(event) else { return };
        let batches = state.withdraw(moment);
        self.play(batches, moment.now, played);
    }

    /// Suspends what a list should have named and did not.
    fn withdraw_missing(
        &mut self,
        answer: &Answer,
        moment: ResponseContext,
        played: &mut Interpretation,
    ) {
        let named: HashSet<&str> = answer.events.iter().map(|it| it.sport_key.as_str()).collect();
        let listed = self.events.values().filter(|state| state.is_listed_in(moment.kind));
        let sports: HashSet<&str> = listed.map(|state| state.sport_key.as_str()).collect();
        let one_sport = named.is_empty() && sports.len() == 1;
        let is_gone = |state: &EventState| {
            let is_covered =
                moment.kind == ResponseKind::Upcoming || named.contains(state.sport_key.as_str());
            state.is_missing_in(moment) && (is_covered || one_sport)
        };
        let gone = self.events.iter().filter(|(_, state)| is_gone(state));
        let mut ids: Vec<_> = gone.map(|(id, _)| id.clone()).collect();
        ids.sort_unstable();
        for id in ids {
            let Some(state) = self.events.get_mut(&id) else { continue };
            let batches = state.leave(moment);
            if state.last_answer() == 0 {
                self.events.remove(&id);
            }
            self.play(batches, moment.now, played);
        }
    }

    fn play(&mut self, batches: Vec<Batch>, now: Micros, played: &mut Interpretation) {
        let clock_us = self.clock_us.map_or(now, |last| last.max(now));
        self.clock_us = Some(clock_us);
        batches.into_iter().for_each(|batch| played.push(clock_us, batch));
    }

    /// Evicts old events if space is needed.
    fn tidy(&mut self) {
        if self.events.len() >= EVENTS_MAX {
            let answers = self.answers;
            self.events.retain(|_, state| state.last_answer() + FORGET_AFTER > answers);
        }
    }
}

impl Interpret for Interpreter {
    fn message(&mut self, bytes: &[u8], received: Micros, out: &mut Interpretation) -> Result<()> {
        let mut answer = decode::decode(bytes)?;
        out.notices.append(&mut answer.notices);
        self.tidy();
        let moment = self.moment(&answer, received);
        for event in &answer.events {
            let kind = if event.result.is_some() { ResponseKind::Scores } else { moment.kind };
            if let Err(refused) = self.event(event, ResponseContext { kind, ..moment }, out) {
                out.notices.push(refused);
            }
        }
        for event in answer.events.iter().filter(|event| event.bookmakers.is_some()) {
            self.withdraw(&event.id, moment, out);
        }
        if answer.is_list && !answer.has_gaps {
            self.withdraw_missing(&answer, moment, out);
        }
        out.notices.truncate(decode::NOTICES_MAX);
        out.signals.push(Signal::Fresh);
        Ok(())
    }
}

impl ResponseKind {
    const ALL: [Self; 4] = [Self::Single, Self::Sport, Self::Upcoming, Self::Scores];

    fn from_answer(answer: &Answer, events: &HashMap<String, EventState>) -> Self {
        let Some(first) = answer.events.first() else {
            // An empty list of scores and one of odds look the same; odds matter more.
            let lists_odds = |state: &EventState| {
                Self::ALL.iter().any(|kind| *kind != Self::Scores && state.is_listed_in(*kind))
            };
            let scores_only = !events.is_empty() && !events.values().any(lists_odds);
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

/// The newest `last_update` of an event.
fn newest_of_event(event: &OddsApiEvent) -> Option<Micros> {
    let of_result = event.result.as_ref().and_then(|it| it.last_update);
    let bookmakers = event.bookmakers.iter().flatten();
    let of_bookmaker = |bookmaker: &Bookmaker| {
        bookmaker
            .markets
            .iter()
            .filter_map(|market| market.last_update)
            .chain(bookmaker.last_update)
            .max()
    };
    bookmakers.filter_map(of_bookmaker).chain(of_result).max()
}

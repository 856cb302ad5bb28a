//! Betfair's in-play scores to football and tennis facts.
//!
//! The match has the id that the stream's markets give it: the event's. A response is a whole image
//! of each event in it. The reported state is stored, so a later response only produces what changed,
//! and retractions of what is missing from a timeline.
//!
//! Batches carry the provider's time where an update has one, and otherwise none.

mod football;
mod period;
mod reading;
mod status;
mod tennis;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use facts::event::{Batch, Event, Fact, Fixture, Id, Micros, Pair, Participant, Sport, Timed};

use self::{football::Football, tennis::Tennis};
use super::{
    Interpret, Interpretation, Signal,
    betfair::fixture::{self, PROVIDER},
};
use crate::{
    decode::betfair_scores::{self as decode, EventContent, ScoresEvent},
    error::{DecodeError, RefusalKind, Result},
};

/// The most events tracked; beyond it the least recently updated is evicted. One costs some kilobytes.
const EVENTS_MAX: usize = 2000;

/// The most notices of one response: enough to see what is wrong with it.
const NOTICES_MAX: usize = 16;

/// The state of the events of one source.
#[derive(Debug, Default)]
pub struct Interpreter {
    /// By event id.
    events: HashMap<String, TrackedEvent>,
    /// Events taken so far.
    taken: u64,
}

#[derive(Debug)]
struct TrackedEvent {
    tracked: Match,
    play: SportState,
    /// The number of its last update, among those of all events.
    updated: u64,
}

#[derive(Debug)]
enum SportState {
    Football(Box<Football>),
    Tennis(Box<Tennis>),
}

/// The fixture of a match, and whether it was reported.
#[derive(Debug)]
struct Match {
    id: Id,
    sport: Sport,
    fixture: Fixture,
    introduced: bool,
}

impl Interpret for Interpreter {
    fn message(&mut self, bytes: &[u8], received: Micros, out: &mut Interpretation) -> Result<()> {
        let answer = decode::decode(bytes)?;
        let mut played = Interpretation { notices: answer.refused, ..Interpretation::default() };
        for event in answer.events {
            let result = self.event(&event, received, &mut played);
            played.notices.extend(result.err());
        }
        // Events of one response are independent; the batches of each keep their order.
        in_order(&mut played.batches);
        played.batches.sort_by_key(|timed| timed.clock_us);
        played.notices.truncate(NOTICES_MAX);
        out.batches.append(&mut played.batches);
        out.notices.append(&mut played.notices);
        out.signals.push(Signal::Fresh);
        Ok(())
    }
}

impl Interpreter {
    fn event(
        &mut self,
        event: &ScoresEvent,
        received: Micros,
        out: &mut Interpretation,
    ) -> Result<()> {
        if matches!(event.content, EventContent::Nothing) {
            return Ok(());
        }
        let TrackedEvent { tracked, play, .. } = self.tracked_event(event)?;
        match (&event.content, play) {
            (EventContent::Incidents { incidents, status }, SportState::Tennis(tennis)) => {
                tennis.incidents(tracked, incidents, true, status.as_deref(), received, out);
            }
            (EventContent::Score { incident, status }, SportState::Tennis(tennis)) => {
                let incident = std::slice::from_ref(&**incident);
                tennis.incidents(tracked, incident, false, status.as_deref(), received, out);
            }
            (EventContent::Board(board), SportState::Tennis(tennis)) => {
                let mut facts: Vec<_> = tracked.names(board).into_iter().collect();
                tennis.board(board, &mut facts, &mut out.notices);
                tracked.emit(received, None, facts, out);
            }
            (EventContent::Board(board), SportState::Football(football)) => {
                football.board(tracked, board, received, out);
            }
            (
                EventContent::Incidents { .. } | EventContent::Score { .. } | EventContent::Nothing,
                SportState::Football(_),
            ) => {
                return Err(value(format!("event {} has the points of a tennis match", event.id)));
            }
            (EventContent::Nothing, SportState::Tennis(_)) => {}
        }
        Ok(())
    }

    fn tracked_event(&mut self, event: &ScoresEvent) -> Result<&mut TrackedEvent> {
        self.taken += 1;
        if !self.events.contains_key(&event.id) {
            let sport = sport(event)?;
            if self.events.len() >= EVENTS_MAX {
                self.evict_one();
            }
            self.events.insert(event.id.clone(), TrackedEvent::new(&event.id, sport));
        }
        let updated = self.taken;
        let tracked = self.events.get_mut(&event.id).expect("it is there or was just put there");
        tracked.updated = updated;
        Ok(tracked)
    }

    fn evict_one(&mut self) {
        let oldest = self.events.iter().min_by_key(|(_, it)| it.updated).map(|(id, _)| id.clone());
        oldest.map(|id| self.events.remove(&id));
    }
}

/// By its type, or, if that is missing, by its content.
fn sport(event: &ScoresEvent) -> Result<Sport> {
    let by_type = event.event_type.as_deref().map(fixture::sport);
    let sport = by_type.unwrap_or(match &event.content {
        EventContent::Board(_) | EventContent::Nothing => Sport::Football,
        EventContent::Incidents { .. } | EventContent::Score { .. } => Sport::Tennis,
    });
    match sport {
        Sport::Football | Sport::Tennis => Ok(sport),
        other => {
            let reason = format!("event {} is {}, which is not followed", event.id, other.as_str());
            Err(DecodeError::new(RefusalKind::Unknown, reason))
        }
    }
}

impl TrackedEvent {
    fn new(event_id: &str, sport: Sport) -> Self {
        let play = match sport {
            Sport::Tennis => SportState::Tennis(Box::default()),
            _ => SportState::Football(Box::default()),
        };
        Self { tracked: Match::new(event_id, sport), play, updated: 0 }
    }
}

impl Match {
    fn new(event_id: &str, sport: Sport) -> Self {
        let fixture = Fixture {
            provider: PROVIDER.into(),
            provider_key: event_id.into(),
            competition: None,
            start: None,
            date: None,
            sides: None,
            ..Fixture::default()
        };
        Self { id: Id::derive(PROVIDER, "match", event_id), sport, fixture, introduced: false }
    }

    /// Updates the start. Returns the fixture if that changed and the match was already reported.
    fn starts(&mut self, start: Option<Micros>) -> Option<Fact> {
        let changed = start.is_some() && start != self.fixture.start;
        self.fixture.start = start.or(self.fixture.start);
        self.fixture_change(changed)
    }

    /// Updates the names. Returns the fixture if they changed and the match was already reported.
    fn names(&mut self, board: &decode::Board) -> Option<Fact> {
        let [home, away] = board.teams.each_ref().map(|team| team.name.as_deref());
        let sides: Pair<Participant> = [home?, away?].map(fixture::participant);
        let changed = self.fixture.sides.as_ref() != Some(&sides);
        self.fixture.sides = Some(sides);
        self.fixture_change(changed)
    }

    fn fixture_change(&self, changed: bool) -> Option<Fact> {
        (changed && self.introduced).then(|| Fact::Fixture(self.fixture.clone()))
    }

    /// Emits facts, with the fixture before the first of them.
    fn emit(
        &mut self,
        clock_us: Micros,
        at: Option<Micros>,
        facts: Vec<Fact>,
        out: &mut Interpretation,
    ) {
        if facts.is_empty() {
            return;
        }
        let introduction = (!self.introduced).then(|| Fact::Fixture(self.fixture.clone()));
        self.introduced = true;
        let (sport, match_id) = (self.sport, self.id);
        let facts = introduction.into_iter().chain(facts);
        let events = facts.map(|fact| Event { sport, match_id, fact }).collect();
        out.push(clock_us, Batch { at, events, ..Batch::default() });
    }
}

/// Keeps the clock of each match from falling: a response may contain an event twice, with
/// different times.
fn in_order(batches: &mut [Timed]) {
    let mut latest: HashMap<Id, Micros> = HashMap::new();
    for timed in batches {
        let Some(event) = timed.batch.events.first() else { continue };
        let clock_us = latest.entry(event.match_id).or_insert(timed.clock_us);
        *clock_us = timed.clock_us.max(*clock_us);
        timed.clock_us = *clock_us;
    }
}

fn value(reason: String) -> DecodeError {
    DecodeError::new(RefusalKind::Value, reason)
}

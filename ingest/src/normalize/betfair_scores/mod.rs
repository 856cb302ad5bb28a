//! Betfair's in-play scores to football and tennis facts.
//!
//! The match has the id that the stream's markets give it: the event's. An answer is a whole image
//! of each event in it; what was told before is remembered, so a poll that goes on tells only what
//! is true now and was not before, and what is gone from a timeline is taken back.
//!
//! Batches carry the provider's own time where an update has one; what an image says without a time
//! carries none.

mod football;
mod period;
mod reading;
mod status;
mod tennis;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use self::{football::Football, tennis::Tennis};
use super::{
    Interpret, Played, Signal,
    betfair::fixture::{self, PROVIDER},
};
use crate::{
    decode::betfair_scores::{self as decode, Said},
    error::{DecodeError, RefusalKind},
    event::{Batch, Event, Fact, Fixture, Id, Micros, Pair, Participant, Sport, Timed},
};

/// Events followed at a time, the one heard of longest ago making room. One costs some kilobytes.
const EVENTS_MAX: usize = 2000;

/// Notices of one answer: enough to see what is wrong with it.
const NOTICES_MAX: usize = 16;

/// What is known of the events of one source.
#[derive(Debug, Default)]
pub struct Interpreter {
    /// By event id.
    events: HashMap<String, Followed>,
    /// Events taken so far.
    taken: u64,
}

#[derive(Debug)]
struct Followed {
    of: Match,
    play: Play,
    /// When it was heard of last, in events taken.
    heard: u64,
}

#[derive(Debug)]
enum Play {
    Football(Box<Football>),
    Tennis(Box<Tennis>),
}

/// Who plays, and whether it was told.
#[derive(Debug)]
struct Match {
    id: Id,
    sport: Sport,
    fixture: Fixture,
    told: bool,
}

impl Interpret for Interpreter {
    fn message(
        &mut self,
        bytes: &[u8],
        received: Micros,
        out: &mut Played,
    ) -> Result<(), DecodeError> {
        let answer = decode::decode(bytes)?;
        let mut played = Played { notices: answer.refused, ..Played::default() };
        for event in answer.events {
            let taken = self.event(&event, received, &mut played);
            played.notices.extend(taken.err());
        }
        // Events of one answer lie side by side, and what is told of one of them stays in its order.
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
        event: &decode::Event,
        received: Micros,
        out: &mut Played,
    ) -> Result<(), DecodeError> {
        if matches!(event.said, Said::Nothing) {
            return Ok(());
        }
        let Followed { of, play, .. } = self.followed(event)?;
        match (&event.said, play) {
            (Said::Incidents { incidents, status }, Play::Tennis(tennis)) => {
                tennis.incidents(of, incidents, true, status.as_deref(), received, out);
            }
            (Said::Score { incident, status }, Play::Tennis(tennis)) => {
                let incident = std::slice::from_ref(&**incident);
                tennis.incidents(of, incident, false, status.as_deref(), received, out);
            }
            (Said::Board(board), Play::Tennis(tennis)) => {
                let mut facts: Vec<_> = of.names(board).into_iter().collect();
                tennis.board(board, &mut facts);
                of.emit(received, None, facts, out);
            }
            (Said::Board(board), Play::Football(football)) => {
                football.board(of, board, received, out);
            }
            (Said::Incidents { .. } | Said::Score { .. } | Said::Nothing, Play::Football(_)) => {
                return Err(value(format!("event {} has the points of a tennis match", event.id)));
            }
            (Said::Nothing, Play::Tennis(_)) => {}
        }
        Ok(())
    }

    fn followed(&mut self, event: &decode::Event) -> Result<&mut Followed, DecodeError> {
        self.taken += 1;
        if !self.events.contains_key(&event.id) {
            let sport = sport(event)?;
            if self.events.len() >= EVENTS_MAX {
                self.forget_one();
            }
            self.events.insert(event.id.clone(), Followed::new(&event.id, sport));
        }
        let heard = self.taken;
        let followed = self.events.get_mut(&event.id).expect("it is there or was just put there");
        followed.heard = heard;
        Ok(followed)
    }

    fn forget_one(&mut self) {
        let oldest = self.events.iter().min_by_key(|(_, it)| it.heard).map(|(id, _)| id.clone());
        oldest.map(|id| self.events.remove(&id));
    }
}

/// By its type, or, where that is missing, by what is told of it.
fn sport(event: &decode::Event) -> Result<Sport, DecodeError> {
    let told = event.event_type.as_deref().map(fixture::sport);
    let sport = told.unwrap_or(match &event.said {
        Said::Board(_) | Said::Nothing => Sport::Football,
        Said::Incidents { .. } | Said::Score { .. } => Sport::Tennis,
    });
    match sport {
        Sport::Football | Sport::Tennis => Ok(sport),
        other => {
            let reason = format!("event {} is {}, which is not followed", event.id, other.as_str());
            Err(DecodeError::new(RefusalKind::Unknown, reason))
        }
    }
}

impl Followed {
    fn new(event_id: &str, sport: Sport) -> Self {
        let play = match sport {
            Sport::Tennis => Play::Tennis(Box::default()),
            _ => Play::Football(Box::default()),
        };
        Self { of: Match::new(event_id, sport), play, heard: 0 }
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
        };
        Self { id: Id::derive(PROVIDER, "match", event_id), sport, fixture, told: false }
    }

    /// When it starts, if that is news of a match already told.
    fn starts(&mut self, start: Option<Micros>) -> Option<Fact> {
        let news = start.is_some() && start != self.fixture.start;
        self.fixture.start = start.or(self.fixture.start);
        self.news(news)
    }

    /// Who plays, if that is news of a match already told.
    fn names(&mut self, board: &decode::Board) -> Option<Fact> {
        let [home, away] = board.teams.each_ref().map(|team| team.name.as_deref());
        let sides: Pair<Participant> = [home?, away?].map(fixture::participant);
        let news = self.fixture.sides.as_ref() != Some(&sides);
        self.fixture.sides = Some(sides);
        self.news(news)
    }

    fn news(&self, news: bool) -> Option<Fact> {
        (news && self.told).then(|| Fact::Fixture(self.fixture.clone()))
    }

    /// Tells facts, the fixture before the first of them.
    fn emit(&mut self, clock_us: Micros, at: Option<Micros>, facts: Vec<Fact>, out: &mut Played) {
        if facts.is_empty() {
            return;
        }
        let introduction = (!self.told).then(|| Fact::Fixture(self.fixture.clone()));
        self.told = true;
        let (sport, match_id) = (self.sport, self.id);
        let facts = introduction.into_iter().chain(facts);
        let events = facts.map(|fact| Event { sport, match_id, fact }).collect();
        out.push(clock_us, Batch { at, events, ..Batch::default() });
    }
}

/// Lets no clock of a match fall: one answer may tell the same event twice, with other times.
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

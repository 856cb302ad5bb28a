//! API-Football's images of fixtures to football facts.
//!
//! Every response is a full image, and nothing in it says what is new. So the [`Interpreter`] keeps
//! the reported state of each fixture and emits the difference: new incidents, corrections, and
//! retractions of incidents that are missing now. A response without events, such as the list of a
//! day's fixtures, does not affect them.

mod fixture_state;
mod image;
mod incident_history;
mod people;
mod statistics;
mod status;
#[cfg(test)]
mod tests;

use std::{collections::HashMap, sync::Arc};

use facts::event::{Micros, Sport};

use self::fixture_state::FixtureState;
use super::{Interpret, Interpretation, Signal, batch};
use crate::{
    decode::api_football::{self, ApiFootballFixture},
    error::DecodeError,
};

const PROVIDER: &str = "api-football";

/// The number of fixtures tracked. All leagues of the provider play some 2,000 on their busiest day.
/// Beyond the limit the least recently updated are evicted, and reported again with the same ids if
/// they return.
const FIXTURES_MAX: usize = 10_000;

/// The reported state of fixtures.
///
/// The provider gives incidents no id. The id consists of the class, the side and a number, in the
/// order of play or of arrival: `goal-home-1`. An event of a later image is matched to a reported
/// one if they agree in everything; else by the minute; else by the player; else if they are less
/// than three minutes apart. So an id stays when the scorer becomes known or the minute is
/// corrected, and the id of a retracted incident is not reused.
#[derive(Debug, Default)]
pub struct Interpreter {
    fixtures: HashMap<Arc<str>, FixtureState>,
    /// The number of fixture updates so far, which dates the last update of each.
    updates: u64,
    clock_us: Micros,
}

impl Interpret for Interpreter {
    fn message(
        &mut self,
        bytes: &[u8],
        received: Micros,
        out: &mut Interpretation,
    ) -> Result<(), DecodeError> {
        let answer = api_football::decode(bytes)?;
        if let (Some(broken), true) = (&answer.broken, answer.fixtures.is_empty()) {
            return Err(broken.clone());
        }
        self.clock_us = self.clock_us.max(received);
        for fixture in answer.fixtures {
            match fixture {
                Ok(fixture) => self.fixture(fixture, out),
                Err(refused) => out.notices.push(refused.error),
            }
        }
        out.notices.extend(answer.broken);
        out.signals.extend(answer.whole.then_some(Signal::Fresh));
        self.evict();
        Ok(())
    }
}

impl Interpreter {
    fn fixture(&mut self, fixture: ApiFootballFixture, out: &mut Interpretation) {
        self.updates += 1;
        let state = self
            .fixtures
            .entry(fixture.id.clone())
            .or_insert_with(|| FixtureState::new(&fixture.id));
        state.last_update = self.updates;
        let facts = state.update(fixture, &mut out.notices);
        if !facts.is_empty() {
            out.push(self.clock_us, batch(Sport::Football, state.match_id, facts));
        }
    }

    fn evict(&mut self) {
        let Some(over) = self.fixtures.len().checked_sub(FIXTURES_MAX).filter(|over| *over > 0)
        else {
            return;
        };
        let mut updates: Vec<_> = self.fixtures.values().map(|state| state.last_update).collect();
        let (_, last, _) = updates.select_nth_unstable(over - 1);
        let last = *last;
        self.fixtures.retain(|_, state| state.last_update > last);
    }
}

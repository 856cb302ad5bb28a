//! API-Football's images of fixtures, their parts and their prices to facts.
//!
//! Every response is a full image, and nothing in it says what is new. So the [`Interpreter`] keeps
//! the reported state of each fixture and emits the difference: new incidents, corrections, and
//! retractions of incidents that are missing now. A response without events, such as the list of a
//! day's fixtures, does not affect them. An answer about one part of a fixture, such as its events, is an image of that
//! part; the fixture must be known, because only it says who plays at home.

mod fixture_state;
mod image;
mod incident_history;
mod odds;
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
    decode::api_football::{self, ApiFootballFixture, Content, FixtureOdds, FixturePart},
    error::{DecodeError, RefusalKind, Result},
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
    fn message(&mut self, bytes: &[u8], received: Micros, out: &mut Interpretation) -> Result<()> {
        let answer = api_football::decode(bytes)?;
        let has_nothing = match &answer.content {
            Content::Fixtures(fixtures) => fixtures.is_empty(),
            Content::Odds { fixtures, .. } => fixtures.is_empty(),
            Content::Part(_) | Content::Unused(_) => false,
        };
        if let (Some(broken), true) = (&answer.broken, has_nothing) {
            return Err(broken.clone());
        }
        self.clock_us = self.clock_us.max(received);
        let is_used = !matches!(answer.content, Content::Unused(_));
        match answer.content {
            Content::Fixtures(fixtures) => {
                for fixture in fixtures {
                    match fixture {
                        Ok(fixture) => self.fixture(fixture, out),
                        Err(refused) => out.notices.push(refused.error),
                    }
                }
            }
            Content::Odds { fixtures, is_filtered } => {
                for fixture in fixtures {
                    match fixture {
                        Ok(odds) => self.odds(&odds, is_filtered, out),
                        Err(refused) => out.notices.push(refused.error),
                    }
                }
            }
            Content::Part(part) => self.part(*part, out)?,
            Content::Unused(reason) => out.notices.push(reason),
        }
        out.notices.extend(answer.broken);
        out.signals.extend((answer.whole && is_used).then_some(Signal::Fresh));
        self.evict();
        Ok(())
    }
}

impl Interpreter {
    fn fixture(&mut self, fixture: ApiFootballFixture, out: &mut Interpretation) {
        let state = self.state(&fixture.id);
        let facts = state.update(fixture, &mut out.notices);
        if !facts.is_empty() {
            let batch = batch(Sport::Football, state.match_id, facts);
            out.push(self.clock_us, batch);
        }
    }

    /// The state of a fixture, which is updated now.
    fn state(&mut self, id: &Arc<str>) -> &mut FixtureState {
        self.updates += 1;
        let state = self.fixtures.entry(id.clone()).or_insert_with(|| FixtureState::new(id));
        state.last_update = self.updates;
        state
    }

    fn part(&mut self, part: FixturePart, out: &mut Interpretation) -> Result<()> {
        let key = Arc::clone(&part.fixture);
        let image = self.fixtures.get(&key).and_then(|state| state.image_with(part));
        let Some(image) = image else {
            let reason =
                format!("a part of fixture {key}, of which there was no answer of fixtures");
            return Err(DecodeError::new(RefusalKind::Unknown, reason));
        };
        self.fixture(image, out);
        Ok(())
    }

    fn odds(&mut self, odds: &FixtureOdds, is_filtered: bool, out: &mut Interpretation) {
        let state = self.state(&odds.fixture);
        let (facts, prices) = state.odds(odds, is_filtered, &mut out.notices);
        if !facts.is_empty() {
            let mut batch = batch(Sport::Football, state.match_id, facts);
            (batch.at, batch.price_changes) = (odds.at, prices);
            out.push(self.clock_us, batch);
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

//! API-Football's images of fixtures to football facts.
//!
//! Every answer is a full image of what was asked, and nothing in it says what is new. So the
//! [`Interpreter`] remembers what it has told of each fixture and tells the difference: what is new,
//! what has other particulars now, and what is no longer there, which was taken back. An answer
//! without events, as a list of a day's fixtures is, says nothing of them.

mod image;
mod known;
mod people;
mod statistics;
mod status;
#[cfg(test)]
mod tests;
mod told;

use std::{collections::HashMap, sync::Arc};

use self::told::Told;
use super::{Interpret, Played, Signal, batch};
use crate::{
    decode::api_football::{self, Fixture},
    error::DecodeError,
    event::{Micros, Sport},
};

const PROVIDER: &str = "api-football";

/// Fixtures that are remembered. All leagues of the provider play some 2,000 on their busiest day;
/// beyond that those that were not seen for longest are forgotten, and told anew when they come
/// back, under the same names.
const FIXTURES_MAX: usize = 10_000;

/// What was told of the fixtures that were seen.
///
/// An incident has no id of the provider. It is named by what it is, its side and which it was of
/// them, in the order of play or of their coming: `goal-home-1`. An event of a later image is the
/// one told before if it agrees in everything; else in its minute; else in its player; else if it
/// is less than three minutes away. So a name stays when the scorer becomes known or the minute is
/// put right, and the name of what was taken back is not given again.
#[derive(Debug, Default)]
pub struct Interpreter {
    told: HashMap<Arc<str>, Told>,
    /// How many fixtures were seen, which says when each was seen last.
    seen: u64,
    clock_us: Micros,
}

impl Interpret for Interpreter {
    fn message(
        &mut self,
        bytes: &[u8],
        received: Micros,
        out: &mut Played,
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
        self.forget();
        Ok(())
    }
}

impl Interpreter {
    fn fixture(&mut self, fixture: Fixture, out: &mut Played) {
        self.seen += 1;
        let told = self.told.entry(fixture.id.clone()).or_insert_with(|| Told::new(&fixture.id));
        told.seen = self.seen;
        let facts = told.update(fixture, &mut out.notices);
        if !facts.is_empty() {
            out.push(self.clock_us, batch(Sport::Football, told.match_id, facts));
        }
    }

    fn forget(&mut self) {
        let Some(over) = self.told.len().checked_sub(FIXTURES_MAX).filter(|over| *over > 0) else {
            return;
        };
        let mut seen: Vec<_> = self.told.values().map(|told| told.seen).collect();
        let (_, last, _) = seen.select_nth_unstable(over - 1);
        let last = *last;
        self.told.retain(|_, told| told.seen > last);
    }
}

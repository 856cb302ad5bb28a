//! Each feed's own messages to our events: order, duplicates, corrections and stable ids.
//!
//! One module for each feed. All are pure and hold what they must remember between messages;
//! connections and clocks are not theirs.

pub mod betfair;
pub mod slam;
pub mod wyscout;

use crate::{
    error::DecodeError,
    event::{Batch, Event, Fact, Id, Micros, Sport, Timed},
};

/// What came of one message of a recording that holds a whole match.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Played {
    /// In order, with a clock that never falls.
    pub batches: Vec<Timed>,
    /// What was wrong with the message, although it was used.
    pub notices: Vec<DecodeError>,
}

impl Played {
    fn push(&mut self, clock_us: Micros, batch: Batch) {
        self.batches.push(Timed { clock_us, batch });
    }
}

/// A batch of facts about one match, of a feed that does not say when they were true.
fn batch(sport: Sport, match_id: Id, facts: impl IntoIterator<Item = Fact>) -> Batch {
    let events = facts.into_iter().map(|fact| Event { sport, match_id, fact }).collect();
    Batch { events, ..Batch::default() }
}

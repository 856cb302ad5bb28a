//! Each feed's own messages to our events: order, duplicates, corrections and stable ids.
//!
//! One module for each feed. All are pure and hold what they must remember between messages;
//! connections and clocks are not theirs.

#[cfg(test)]
mod agreement;
pub mod api_football;
pub mod betfair;
pub mod betfair_scores;
pub mod events;
pub(crate) mod football;
pub mod football_data_couk;
mod market_state;
pub mod matchwire;
pub mod point_strings;
pub mod slam;
pub mod sportradar_uof;
pub mod statsbomb;
pub mod statsperform;
pub mod the_odds_api;
pub mod wyscout;

use crate::{
    error::DecodeError,
    event::{Batch, Event, Fact, Id, Micros, Sport, Timed},
};

/// A feed's messages to facts: what its live source and recordings of it share.
pub trait Interpret: Send {
    /// Takes one message: a line of a stream, the body of an answer, a document. `received` is when
    /// it came, for feeds that do not say when what they tell was true.
    ///
    /// # Errors
    ///
    /// When nothing of the message can be used. What was wrong with a part of one that is used is
    /// among the notices instead.
    fn message(
        &mut self,
        bytes: &[u8],
        received: Micros,
        out: &mut Played,
    ) -> Result<(), DecodeError>;

    /// The source has subscribed anew and an image follows: what was known of its markets and
    /// matches may have changed without a word.
    fn restart(&mut self) {}
}

/// What came of one message, or of a recording that holds a whole match.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Played {
    /// In order, with a clock that never falls.
    pub batches: Vec<Timed>,
    /// What was wrong with the message, although it was used.
    pub notices: Vec<DecodeError>,
    /// What the message says of the feed itself.
    pub signals: Vec<Signal>,
}

/// What a feed says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Signal {
    /// It is there: a heartbeat.
    Alive,
    /// What it has told since it (re)started is complete now: the last segment of an image or of a
    /// resume, a whole answer, a snapshot's end.
    Fresh,
    /// It lags behind what happens, and says so.
    Late,
    /// It has lost something, and what it told before cannot be relied on until [`Signal::Fresh`].
    Recovering,
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

//! Converts each feed's messages to events: order, duplicates, corrections and stable ids.
//!
//! One module for each feed. All are pure and hold the state that they need between messages; they
//! have no connections and no clocks.

pub mod api_football;
pub mod betfair;
pub mod betfair_scores;
pub mod events;
mod football;
pub mod football_data_couk;
pub mod matchwire;
pub mod point_strings;
mod reported_market;
pub mod slam;
pub mod sportradar_uof;
pub mod statsbomb;
pub mod statsperform;
pub mod the_odds_api;
pub mod wyscout;

use std::sync::Arc;

use facts::event::{Batch, Event, Fact, Id, MarketDefinition, Micros, Sport, TennisScore, Timed};

use crate::error::{DecodeError, Result};

/// Converts a feed's messages to facts. Shared by its live source and its recordings.
pub trait Interpret: Send {
    /// Interprets one message: a line of a stream, the body of a response, a document. `received` is
    /// the time of receipt, for feeds whose messages have no timestamps.
    ///
    /// # Errors
    ///
    /// When nothing of the message can be used. If only a part is wrong, that is a notice instead.
    fn message(&mut self, bytes: &[u8], received: Micros, out: &mut Interpretation) -> Result<()>;

    /// The source has subscribed again and an image follows: its markets and matches may have
    /// changed in the meantime.
    fn restart(&mut self) {}

    /// The source goes on after a restart of the hub, which still has these markets of it.
    fn resume(&mut self, _matches: Vec<KnownMatch>) {}
}

/// Makes facts of the events of one match, which are given to it in order.
pub trait EventByEvent {
    type Event;

    /// Takes the next event.
    ///
    /// # Errors
    ///
    /// If it does not belong to the match, or is one that was already taken.
    fn event(&mut self, event: &Self::Event, out: &mut Interpretation) -> Result<()>;

    /// Ends the match, after the document was read to its end.
    fn finish(&mut self, out: &mut Interpretation);
}

/// What a hub still has of a match that a source told before a restart.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownMatch {
    /// The provider's key.
    pub key: Arc<str>,
    pub sport: Sport,
    /// Its markets that are not closed, by the provider's key, with the sides as the provider has them.
    pub markets: Vec<(Arc<str>, MarketDefinition)>,
}

/// The result of interpreting one message, or a recording that holds a whole match.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Interpretation {
    /// In order, with a clock that never falls.
    pub batches: Vec<Timed>,
    /// Problems of a message that was used nevertheless.
    pub notices: Vec<DecodeError>,
    /// What the message says about the feed itself.
    pub signals: Vec<Signal>,
}

/// A signal about the state of a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Signal {
    /// The feed is alive: a heartbeat.
    Alive,
    /// The data since the (re)start is complete: the last segment of an image or of a resume, a
    /// whole response, the end of a snapshot.
    Fresh,
    /// The feed says that it lags behind.
    Late,
    /// The feed has lost something; its earlier data cannot be relied on until [`Signal::Fresh`].
    Recovering,
}

impl Interpretation {
    /// Adds facts, without those that no match can have: they become notices.
    fn push(&mut self, clock_us: Micros, mut batch: Batch) {
        batch.events.retain(|event| {
            let checked = match &event.fact {
                Fact::Tennis(fact) => fact.score().map_or(Ok(()), TennisScore::check),
                _ => Ok(()),
            };
            let reason = |impossible| format!("no tennis match has a {impossible}");
            self.notices.extend(checked.as_ref().err().map(reason).map(DecodeError::value));
            checked.is_ok()
        });
        self.batches.push(Timed { clock_us, batch });
    }
}

/// A batch of facts about one match, from a feed without timestamps.
fn batch(sport: Sport, match_id: Id, facts: impl IntoIterator<Item = Fact>) -> Batch {
    let events = facts.into_iter().map(|fact| Event { sport, match_id, fact }).collect();
    Batch { events, ..Batch::default() }
}

#[cfg(test)]
mod tests;

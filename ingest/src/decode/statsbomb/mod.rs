//! StatsBomb open data: `<id>.events.json`, every event of one match as one JSON list.
//!
//! Format: the documents in the `doc` directory of statsbomb/open-data. Nothing is null there;
//! absent means no. An event that cannot be used costs only itself, and a document that is cut
//! gives everything before the cut. Left out are most measurements of an event (angles, techniques,
//! freeze frames) and changes of formation. The separate line-ups add the players on the bench
//! ([`squads`]), the list of matches the day and the competition ([`record()`]). Only the file name says which match it is.

mod event;
mod raw;
mod record;
mod squad;

use facts::{event::Micros, football::Period};

use super::{RefusedItem, json};
use crate::error::DecodeError;

pub use self::{
    event::{
        Card, Goalkeeping, Kind, NamedEntity, Pass, Position, SetPiece, ShotEnd, Starter,
        StatsBombEvent, StatsBombShot, Tactics,
    },
    record::{MatchRecord, record},
    squad::{ListedGoal, Squad, squads},
};

/// One match, as far as it could be decoded.
#[derive(Debug, Default)]
pub struct Document {
    /// In the order of play; those that cannot be used come first.
    pub events: Vec<Result<StatsBombEvent, RefusedItem>>,
    /// Why the document ends before its end, if it does.
    pub broken: Option<DecodeError>,
}

impl Document {
    /// Whether more events are left out than there are: their indexes count from 1 on. The greatest one is not asked, which may
    /// be wrong.
    #[must_use]
    pub fn is_fragment(&self) -> bool {
        let mut indexes: Vec<_> = self.events.iter().flatten().map(|event| event.index).collect();
        indexes.sort_unstable();
        indexes.pop();
        indexes.last().is_some_and(|last| *last > 2 * self.events.len() as u64)
    }
}

/// Reads one document. The result contains all errors found in it.
#[must_use]
pub fn decode(bytes: &[u8]) -> Document {
    let mut events = Vec::new();
    let take = |text: &str| {
        events.push(StatsBombEvent::parse(text).map_err(|error| RefusedItem::new(error, text)));
    };
    let broken = json::each(bytes, take).err();
    events.sort_by_key(|event| event.as_ref().ok().map(|event| event.index));
    if !is_in_order(&events) {
        events.sort_by_key(|event| {
            event.as_ref().ok().map(|event| (event.period, event.since_start_us, event.index))
        });
    }
    Document { events, broken }
}

/// How far time stamps fall back in the provider's own documents, where `index` is the order of play.
const JITTER_US: Micros = 10_000_000;

/// Whether the order by `index` is that of the periods and, but for [`JITTER_US`], of the time stamps. One event with a wrong
/// index would otherwise end a period for all events after it.
fn is_in_order(events: &[Result<StatsBombEvent, RefusedItem>]) -> bool {
    let mut last = (Period::FirstHalf, 0);
    events.iter().flatten().all(|event| {
        let (period, at) = (event.period, event.since_start_us);
        let follows = period > last.0 || period == last.0 && at >= last.1 - JITTER_US;
        last = last.max((period, at));
        follows
    })
}

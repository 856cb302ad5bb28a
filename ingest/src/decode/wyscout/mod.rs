//! Wyscout v2 in the form of its public dataset and of its API, with names of events or their numbers: `<id>.events.json` with every event of one match
//! (this module), and the match record that goes with it ([`record`]).
//!
//! Format: Pappalardo et al. 2019, doi 10.6084/m9.figshare.c.4415000. The document is one JSON
//! object `{events, teams, players}`. It is read leniently: an event that cannot be used costs only
//! itself, and a document that ends or breaks in the middle gives everything before that place.

pub mod record;

mod event;
mod lenient;
mod names;

use std::sync::Arc;

use serde::de::MapAccess;

use self::{names::Object, record::MatchRecord};
use super::json::{self, Fill, Value};
use crate::error::DecodeError;

pub use self::event::{Detail, Kind, Position, SetPiece, Tag, WyscoutEvent};
pub use super::RefusedItem;

/// One match, as far as it could be decoded.
#[derive(Debug, Default)]
pub struct Document {
    /// In the order of the document, those that cannot be used in their places.
    pub events: Vec<Result<WyscoutEvent, RefusedItem>>,
    /// In the order of the document, which the format does not explain.
    pub teams: Vec<NamedEntity>,
    pub players: Vec<NamedPlayer>,
    /// The record of the match, which answers of the API have.
    pub record: Option<MatchRecord>,
    /// Why the document ends before its end, if it does.
    pub broken: Option<DecodeError>,
}

/// A team or a player.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedEntity {
    pub id: u64,
    pub name: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPlayer {
    pub named: NamedEntity,
    /// `GK`, `DF`, `MD`, `FW`: where he usually plays.
    pub role: Option<Arc<str>>,
}

/// Reads one document. The result contains all errors found in it.
#[must_use]
pub fn decode(bytes: &[u8]) -> Document {
    let mut document = Document::default();
    document.broken = json::fill(bytes, &mut document).err();
    document
}

impl Document {
    /// The provider's id of the match.
    #[must_use]
    pub fn match_key(&self) -> Option<u64> {
        self.events.iter().flatten().map(|event| event.match_id).next()
    }
}

impl Fill for Document {
    fn fill<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        value: Value<'_, A>,
    ) -> Result<(), A::Error> {
        match key {
            "events" => value.each(|text| {
                self.events
                    .push(WyscoutEvent::parse(text).map_err(|error| RefusedItem::new(error, text)));
            })?,
            "teams" => self.teams = value.read::<Object<'de>>()?.teams(),
            "match" => self.record = record::parse(value.text()?).ok(),
            "players" => self.players = value.read::<Object<'de>>()?.players(),
            _ => value.skip()?,
        }
        Ok(())
    }
}

//! Wyscout v2 in the form of its public dataset: `<id>.events.json` with every event of one match
//! (this module), and the match record that goes with it ([`record`]).
//!
//! Format: Pappalardo et al. 2019, doi 10.6084/m9.figshare.c.4415000. The document is one JSON
//! object `{events, teams, players}`. It is read leniently: an event that cannot be used costs only
//! itself, and a document that ends or breaks in the middle gives everything before that place.

pub mod record;

mod event;
mod lenient;
mod names;

use std::{borrow::Cow, fmt, sync::Arc};

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use self::names::Object;
use super::json_error;
use crate::error::{DecodeError, Refusal};

pub use self::event::{Event, Kind, Position, SetPiece, Tag};

/// One match as far as the bytes tell it.
#[derive(Debug, Default)]
pub struct Document {
    /// In the order of the document, those that cannot be used in their places.
    pub events: Vec<Result<Event, Refused>>,
    /// In the order of the document, which the format does not explain.
    pub teams: Vec<Named>,
    pub players: Vec<Named>,
    /// Why the document ends before its end, if it does.
    pub broken: Option<DecodeError>,
}

/// A team or a player.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    pub id: u64,
    pub name: Arc<str>,
}

/// An event that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub error: DecodeError,
    /// Its text, cut to [`Refusal::BYTES_MAX`].
    pub bytes: Vec<u8>,
}

/// Reads one document. Whatever is wrong with it is said in the answer.
#[must_use]
pub fn decode(bytes: &[u8]) -> Document {
    let mut document = Document::default();
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let read = DocumentSeed(&mut document).deserialize(&mut json).and_then(|()| json.end());
    document.broken = read.err().map(|error| json_error(&error));
    document
}

impl Document {
    /// The provider's id of the match.
    #[must_use]
    pub fn match_key(&self) -> Option<u64> {
        self.events.iter().flatten().map(|event| event.match_id).next()
    }
}

/// Fills a document as it goes, so that what was read is kept when the rest cannot be.
struct DocumentSeed<'d>(&'d mut Document);

impl<'de> DeserializeSeed<'de> for DocumentSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for DocumentSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with events, teams and players")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            match key.as_ref() {
                "events" => map.next_value_seed(EventsSeed(&mut self.0.events))?,
                "teams" => self.0.teams = map.next_value::<Object<'de>>()?.teams(),
                "players" => self.0.players = map.next_value::<Object<'de>>()?.players(),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

struct EventsSeed<'d>(&'d mut Vec<Result<Event, Refused>>);

impl<'de> DeserializeSeed<'de> for EventsSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for EventsSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(text) = list.next_element::<&'de RawValue>()? {
            self.0.push(Event::parse(text.get()).map_err(|error| Refused::new(error, text.get())));
        }
        Ok(())
    }
}

impl Refused {
    fn new(error: DecodeError, text: &str) -> Self {
        let bytes = text.as_bytes();
        Self { error, bytes: bytes[..bytes.len().min(Refusal::BYTES_MAX)].to_vec() }
    }
}

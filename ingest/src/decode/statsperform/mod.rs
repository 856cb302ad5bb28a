//! Stats Perform (Opta) match feeds: MA3 with every event of one match, and MA1 with its summary.
//!
//! Format: Opta's tables of event types and qualifiers (those of F24), in JSON or XML. Both are `{matchInfo,
//! liveData}`; MA3 has `liveData.event`, MA1 `goal`, `card`, `substitute` and more, and one document
//! may have both. An element that cannot be used costs only itself, and a document that is cut gives
//! everything before the cut. Deleted events (type 43) are dropped here, including their content. Left
//! out are other officials than the referee and the managers, and what is measured of an event.

mod event;
mod info;
mod sheet;
mod summary;
mod time;
mod xml;

use std::sync::Arc;

use serde::de::MapAccess;

use self::{event::Element, summary::List};
use super::{
    RefusedItem,
    json::{self, Fill, Value},
};
use crate::error::{DecodeError, RefusalKind};

pub use self::{
    event::{Kind, Position, Qualifier, StatsPerformEvent, qualifier},
    info::{Details, MatchInfo, PlayedPeriod, Scores},
    sheet::{Extra, Sheet, SheetPlayer},
    summary::{Card, GoalType, Moment, MomentKind},
};

/// A team, a player, a competition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedEntity {
    pub id: Arc<str>,
    pub name: Arc<str>,
}

/// One match, as far as it could be decoded.
#[derive(Debug, Default)]
pub struct Document {
    pub info: Option<MatchInfo>,
    pub details: Details,
    pub extra: Extra,
    /// One for each team, where there are any.
    pub sheets: Vec<Sheet>,
    /// MA3, by the match clock, which is the order; those that cannot be used come first.
    pub events: Vec<Result<StatsPerformEvent, RefusedItem>>,
    /// MA1, likewise.
    pub moments: Vec<Result<Moment, RefusedItem>>,
    /// Why the document ends before its end, if it does.
    pub broken: Option<DecodeError>,
}

/// Reads one document. The result contains all errors found in it.
#[must_use]
pub fn decode(bytes: &[u8]) -> Document {
    let mut document = Document::default();
    if is_xml(bytes) {
        let (text, broken) = xml::to_json(bytes);
        document.broken = json::fill(text.as_bytes(), &mut document).err().or(broken);
    } else {
        document.broken = json::fill(bytes, &mut document).err();
    }
    document.events.sort_by_key(|event| event.as_ref().ok().map(StatsPerformEvent::moment));
    document
        .moments
        .sort_by_key(|it| it.as_ref().ok().map(|it| (it.period, it.since_start_us, it.at)));
    document
}

/// Reads a document, or a list of documents. Of a list that is cut the last one says so.
#[must_use]
pub fn decode_all(bytes: &[u8]) -> Vec<Document> {
    if !bytes.trim_ascii_start().starts_with(b"[") {
        return vec![decode(bytes)];
    }
    let mut documents = Vec::new();
    let broken = json::each(bytes, |text| documents.push(decode(text.as_bytes()))).err();
    documents.extend(broken.map(|error| Document { broken: Some(error), ..Document::default() }));
    documents
}

/// Whether a document is in the form of XML.
pub(crate) fn is_xml(bytes: &[u8]) -> bool {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start().starts_with(b"<")
}

impl Fill for Document {
    fn fill<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        value: Value<'_, A>,
    ) -> Result<(), A::Error> {
        match key {
            "matchInfo" => self.info = MatchInfo::parse(value.text()?),
            "liveData" => value.fill(&mut LiveData(self))?,
            _ => value.skip()?,
        }
        Ok(())
    }
}

struct LiveData<'d>(&'d mut Document);

impl Fill for LiveData<'_> {
    fn fill<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        value: Value<'_, A>,
    ) -> Result<(), A::Error> {
        let Document { details, extra, sheets, events, moments, .. } = &mut *self.0;
        match key {
            "matchDetails" => *details = Details::parse(value.text()?),
            "event" => {
                let mut last = None;
                value.each(|text| match StatsPerformEvent::parse(text, last) {
                    Ok(Some(Element::Event(event))) => {
                        last = last.max(Some(event.moment()));
                        events.push(Ok(event));
                    }
                    Ok(Some(Element::Sheet(sheet))) => sheets.push(sheet),
                    Ok(None) => {}
                    Err(error) => events.push(Err(RefusedItem::new(error, text))),
                })?;
            }
            "lineUp" => value.each(|text| sheets.extend(Sheet::parse(text)))?,
            "matchDetailsExtra" => *extra = Extra::parse(value.text()?),
            _ => match List::named(key) {
                Some(list) => value.each(|text| {
                    moments
                        .push(Moment::parse(list, text).map_err(|it| RefusedItem::new(it, text)));
                })?,
                None => value.skip()?,
            },
        }
        Ok(())
    }
}

fn value(reason: impl Into<String>) -> DecodeError {
    DecodeError::new(RefusalKind::Value, reason)
}

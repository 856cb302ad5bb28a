//! API-Football v3: answers of its `fixtures` endpoint.
//!
//! Format: api-football.com/documentation-v3. Every response is one envelope with a full image of
//! what was requested, and null wherever something is unknown. A fixture that cannot be used costs
//! only itself, an event only itself; an answer that is cut gives the fixtures before the cut. Left
//! out are logos, ratings, and `score.fulltime`.

mod event;
mod fixture;
mod people;

use serde::de::MapAccess;

use super::{
    RefusedItem,
    json::{self, Fill, Value},
};
use crate::error::{DecodeError, RefusalKind};

pub use self::{
    event::{ApiFootballEvent, Kind},
    fixture::{
        ApiFootballFixture, FixtureVenue, League, NamedEntity, Score, Status, TeamStatistics,
    },
    people::{PlayerStatistics, Sheet, SheetPlayer},
};

/// One response, as far as it could be read.
#[derive(Debug, Default)]
pub struct Answer {
    pub fixtures: Vec<Result<ApiFootballFixture, RefusedItem>>,
    /// Whether it is complete: read to its end, and the last page.
    pub whole: bool,
    /// Why it ends before its end, if it does.
    pub broken: Option<DecodeError>,
}

/// Reads one answer.
///
/// # Errors
///
/// When the provider answers with errors (a key that is wrong, a limit that is reached), when it is
/// an answer to something else, or when it is none.
pub fn decode(bytes: &[u8]) -> Result<Answer, DecodeError> {
    let mut envelope = Envelope::default();
    let broken = json::fill(bytes, &mut envelope).err();
    if let Some(errors) = envelope.errors {
        return Err(value(format!("the provider answers with errors: {errors}")));
    }
    if let Some(other) = envelope.endpoint.filter(|endpoint| endpoint != "fixtures") {
        let reason = format!("an answer of {other:?}, not of fixtures");
        return Err(DecodeError::new(RefusalKind::Unknown, reason));
    }
    match envelope.fixtures {
        Some(fixtures) => {
            let whole = broken.is_none() && envelope.last_page;
            Ok(Answer { fixtures, whole, broken })
        }
        None => Err(broken.unwrap_or_else(|| value("no response in the answer"))),
    }
}

struct Envelope {
    endpoint: Option<String>,
    /// As they stand, if there are any, cut to [`ERRORS_BYTES_MAX`].
    errors: Option<String>,
    fixtures: Option<Vec<Result<ApiFootballFixture, RefusedItem>>>,
    last_page: bool,
}

/// Errors are a sentence or two.
const ERRORS_BYTES_MAX: usize = 500;

impl Default for Envelope {
    fn default() -> Self {
        Self { endpoint: None, errors: None, fixtures: None, last_page: true }
    }
}

impl Fill for Envelope {
    fn fill<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        value: Value<'_, A>,
    ) -> Result<(), A::Error> {
        match key {
            "get" => self.endpoint = serde_json::from_str(value.text()?).ok(),
            "errors" => self.errors = errors(value.text()?),
            "paging" => self.last_page = last_page(value.text()?),
            "response" => {
                let fixtures = self.fixtures.get_or_insert_default();
                value.each(|text| {
                    fixtures.push(
                        ApiFootballFixture::parse(text)
                            .map_err(|error| RefusedItem::new(error, text)),
                    );
                })?;
            }
            _ => value.skip()?,
        }
        Ok(())
    }
}

/// An empty list, or an object that has some: `{"token": "..."}`.
fn errors(text: &str) -> Option<String> {
    let empty: String = text.split_whitespace().collect();
    let none = matches!(empty.as_str(), "[]" | "{}" | "null" | "\"\"");
    (!none).then(|| text.chars().take(ERRORS_BYTES_MAX).collect())
}

fn last_page(text: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Paging {
        #[serde(default, deserialize_with = "json::whole")]
        current: Option<u64>,
        #[serde(default, deserialize_with = "json::whole")]
        total: Option<u64>,
    }
    let paging: Option<Paging> = serde_json::from_str(text).ok();
    paging.is_none_or(|paging| paging.current >= paging.total)
}

fn value(reason: impl Into<String>) -> DecodeError {
    DecodeError::new(RefusalKind::Value, reason)
}

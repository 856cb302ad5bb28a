//! API-Football v3: answers about fixtures, their parts and their prices.
//!
//! Format: api-football.com/documentation-v3. Every response is one envelope with a full image of
//! what was requested, and null wherever something is unknown. A fixture that cannot be used costs
//! only itself, an event only itself; an answer that is cut gives the fixtures before the cut. Left
//! out are logos, ratings, and `score.fulltime`.

mod event;
mod fixture;
mod odds;
mod part;
mod people;
mod standings;

use std::{collections::BTreeMap, sync::Arc};

use serde::de::MapAccess;

use super::{
    RefusedItem,
    json::{self, Fill, Value},
};
use crate::error::{DecodeError, RefusalKind, Result};

pub(crate) use self::part::PARTS;
pub use self::{
    event::{ApiFootballEvent, Kind},
    fixture::{
        ApiFootballFixture, FixtureVenue, League, NamedEntity, Score, Status, TeamStatistics,
    },
    odds::{Bet, BetValue, BookmakerOdds, FixtureOdds},
    part::{FixturePart, PartContent},
    people::{PlayerStatistics, Sheet, SheetPlayer},
};

/// One response, as far as it could be read.
#[derive(Debug)]
pub struct Answer {
    pub content: Content,
    /// Whether it is complete: read to its end, and the last page.
    pub whole: bool,
    /// Why it ends before its end, if it does.
    pub broken: Option<DecodeError>,
}

/// What an answer is about.
#[derive(Debug)]
pub enum Content {
    Fixtures(Vec<Result<ApiFootballFixture, RefusedItem>>),
    Part(Box<FixturePart>),
    Odds {
        fixtures: Vec<Result<FixtureOdds, RefusedItem>>,
        /// Whether the request selected some markets or bookmakers.
        is_filtered: bool,
    },
    /// An answer of another endpoint, of which nothing is used.
    Unused(DecodeError),
}

/// The parameters of a request, as the answer repeats them.
type Parameters = BTreeMap<String, Arc<str>>;

/// Reads one answer.
///
/// # Errors
///
/// When the provider answers with errors (a key that is wrong, a limit that is reached), when it has a part of a fixture
/// that cannot be used, or when it is no answer.
pub fn decode(bytes: &[u8]) -> Result<Answer> {
    let mut envelope = Envelope::default();
    let broken = json::fill(bytes, &mut envelope).err();
    if let Some(errors) = envelope.errors {
        return Err(value(format!("the provider answers with errors: {errors}")));
    }
    let whole = broken.is_none() && envelope.last_page;
    let Some(response) = envelope.response else {
        return Err(broken.unwrap_or_else(|| value("no response in the answer")));
    };
    let content = match response {
        Response::Fixtures(fixtures) => Content::Fixtures(fixtures),
        Response::Odds(fixtures) => {
            let is_filter = |name: &String| matches!(name.as_str(), "bet" | "bookmaker");
            Content::Odds { fixtures, is_filtered: envelope.parameters.keys().any(is_filter) }
        }
        Response::Other(text) => {
            let endpoint = envelope.endpoint.unwrap_or_default();
            match FixturePart::parse(&endpoint, &envelope.parameters, &text) {
                Some(part) => Content::Part(Box::new(part?)),
                None => Content::Unused(unused(&endpoint, &text)),
            }
        }
    };
    Ok(Answer { content, whole, broken })
}

/// Says of an answer that it has no use; of tables, whose points are others than those of their results.
fn unused(endpoint: &str, response: &str) -> DecodeError {
    let mut reason = format!("an answer of {endpoint:?} has no use here");
    if endpoint == "standings" {
        for difference in standings::differences(response) {
            reason.push_str("; ");
            reason.push_str(&difference);
        }
    }
    DecodeError::new(RefusalKind::Unknown, reason)
}

struct Envelope {
    endpoint: Option<String>,
    /// As they stand, if there are any, cut to [`ERRORS_BYTES_MAX`].
    errors: Option<String>,
    parameters: Parameters,
    response: Option<Response>,
    last_page: bool,
}

enum Response {
    Fixtures(Vec<Result<ApiFootballFixture, RefusedItem>>),
    Odds(Vec<Result<FixtureOdds, RefusedItem>>),
    Other(String),
}

/// Errors are a sentence or two.
const ERRORS_BYTES_MAX: usize = 500;

impl Default for Envelope {
    fn default() -> Self {
        let parameters = Parameters::new();
        Self { endpoint: None, errors: None, parameters, response: None, last_page: true }
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
            "parameters" => self.parameters = parameters(value.text()?),
            "response" => match self.endpoint.as_deref() {
                None | Some("fixtures" | "fixtures/headtohead") => {
                    let read = |all| self.response = Some(Response::Fixtures(all));
                    each(value, ApiFootballFixture::parse, read)?;
                }
                Some("odds" | "odds/live") => {
                    let read = |all| self.response = Some(Response::Odds(all));
                    each(value, FixtureOdds::parse, read)?;
                }
                Some(_) => self.response = Some(Response::Other(value.text()?.to_owned())),
            },
            _ => value.skip()?,
        }
        Ok(())
    }
}

/// Reads a list of which each element costs only itself, as far as it goes.
fn each<'de, A: MapAccess<'de>, T>(
    list: Value<'_, A>,
    parse: impl Fn(&str) -> Result<T>,
    read: impl FnOnce(Vec<Result<T, RefusedItem>>),
) -> Result<(), A::Error> {
    let mut all = Vec::new();
    let end = list.each(|text| {
        all.push(parse(text).map_err(|error| RefusedItem::new(error, text)));
    });
    read(all);
    end
}

/// An object, or an empty list if there are none.
fn parameters(text: &str) -> Parameters {
    #[derive(serde::Deserialize)]
    struct Parameter(#[serde(deserialize_with = "json::key")] Option<Arc<str>>);
    let all: BTreeMap<String, Parameter> = serde_json::from_str(text).unwrap_or_default();
    all.into_iter().filter_map(|(name, value)| Some((name, value.0?))).collect()
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

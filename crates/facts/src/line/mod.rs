//! Lines of Matchwire's own format, `matchwire-events`: one JSON object each, a fact or several as one piece.
//!
//! A line contains facts of [`crate::event`], whose types define the format, and an envelope: when, and of
//! which match. Operators push their own data in it, and recordings of any format can be converted to it.
//! `docs/INGEST.md` explains it, and its JSON Schema, `docs/events.schema.json`, is made from these types.

mod write;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

pub use self::write::LineWriter;
use crate::event::{Fact, Sport};

/// One line of the format `matchwire-events`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Line<'a> {
    One(Box<Message<'a>>),
    Batch(Batch<'a>),
}

/// One fact about one match.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Message<'a> {
    /// When it happened, in microseconds since the Unix epoch, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// The sender's own id of this message: one that comes again is a repetition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Whose key `match` is; the source's own where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    pub sport: Sport,
    pub r#match: MatchName,
    pub fact: Cow<'a, Fact>,
}

/// Several facts that are applied as one piece.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Batch<'a> {
    /// When all of it happened, in microseconds since the Unix epoch, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// The sender's own id of this message: one that comes again is a repetition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub batch: Vec<BatchFact<'a>>,
}

/// A fact within a batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
// The name in the published schema.
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Told"))]
pub struct BatchFact<'a> {
    /// Whose key `match` is; the source's own where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    pub sport: Sport,
    pub r#match: MatchName,
    pub fact: Cow<'a, Fact>,
}

/// The provider's key of the match; a number is an id of Matchwire's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "`match` is the match's key as text, or an id of ours as a number")]
pub enum MatchName {
    Key(String),
    Id(u64),
}

//! Matchwire's own feed format: one JSON object on each line, each a fact or several as one piece.
//!
//! A line contains facts of [`crate::event`], whose types define the format, and an envelope: when,
//! and of which match. Operators push their own data in it, and recordings of any format can be
//! converted to it. `docs/INGEST.md` explains it, and its JSON Schema, `docs/events.schema.json`, is
//! made from these types. An unknown name is an error, never ignored: it is most often a mistyped
//! one.

mod line;

use crate::{
    error::DecodeError,
    event::references::{self, Reference},
};

pub use self::line::{Batch, BatchFact, Line, MatchName, Message};

/// Reads one line. The ids in its facts are places in the list of its references.
///
/// # Errors
///
/// When it is no JSON, or not what a line may be.
pub(crate) fn line(bytes: &[u8]) -> Result<(Line<'static>, Vec<Reference>), DecodeError> {
    /// Distinguishes the two kinds of lines, so that an error describes the intended kind.
    #[derive(serde::Deserialize)]
    struct LineKind {
        batch: Option<serde::de::IgnoredAny>,
    }
    let wrong = |error| super::json_error(&error);
    let kind: LineKind = serde_json::from_slice(bytes).map_err(wrong)?;
    let (line, references) = references::collect(|| match kind.batch {
        Some(_) => serde_json::from_slice(bytes).map(Line::Batch),
        None => serde_json::from_slice(bytes).map(|one| Line::One(Box::new(one))),
    });
    Ok((line.map_err(wrong)?, references))
}

/// The JSON Schema of a line, as `docs/events.schema.json` has it.
///
/// # Panics
///
/// Never: a schema is JSON.
#[must_use]
pub fn schema() -> String {
    let schema = schemars::schema_for!(Line<'_>);
    serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n"
}

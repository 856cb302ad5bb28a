//! Matchwire's own feed format: one JSON object on each line, each a fact or several as one piece.
//!
//! The types of [`facts::line`] define the format. An unknown name is an error, never ignored: it is
//! most often a mistyped one.

use facts::{
    event::references::{self, Reference},
    line::Line,
};

use crate::error::Result;

/// Reads one line. The ids in its facts are places in the list of its references.
///
/// # Errors
///
/// When it is no JSON, or not what a line may be.
pub(crate) fn line(bytes: &[u8]) -> Result<(Line<'static>, Vec<Reference>)> {
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

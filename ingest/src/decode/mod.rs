//! Bytes to each feed's own messages.
//!
//! One module for each format, named after it. All are pure and take bytes; they do not know each
//! other, and only [`events`], Matchwire's own format, reads the lines of [`facts::line`]. Whatever
//! the bytes are, they return a message or a [`DecodeError`] and never panic.

pub mod api_football;
pub mod betfair;
pub mod betfair_scores;
pub(crate) mod decimal;
pub mod events;
pub mod football_data_couk;
mod json;
pub mod point_strings;
pub mod slam;
pub mod sportradar_uof;
pub mod statsbomb;
pub mod statsperform;
pub mod the_odds_api;
pub mod wyscout;

use crate::error::{DecodeError, RefusalKind};

pub use self::json::RefusedItem;

/// Says of a JSON error whether the text, a value or the end of the input is to blame.
pub(crate) fn json_error(error: &serde_json::Error) -> DecodeError {
    use serde_json::error::Category;
    let kind = match error.classify() {
        Category::Data => RefusalKind::Value,
        Category::Eof => RefusalKind::Truncated,
        Category::Syntax | Category::Io => RefusalKind::Syntax,
    };
    DecodeError::new(kind, error.to_string())
}

fn csv_error(error: &csv::Error) -> DecodeError {
    match error.kind() {
        csv::ErrorKind::Utf8 { .. } => DecodeError::syntax("text is not UTF-8"),
        _ => DecodeError::syntax(error.to_string()),
    }
}

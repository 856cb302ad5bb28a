//! The health of the sources.

use std::collections::BTreeMap;

use schemars::JsonSchema;

use super::Header;
use crate::words::{FeedState, Timestamp};

/// The health of each source: the document of `feeds`.
#[derive(Debug, JsonSchema)]
pub struct Feeds {
    #[serde(flatten)]
    pub header: Header,
    /// The sources by name: `simulator`, a live or pushing source's own name, or the format and file of a recording.
    pub sources: BTreeMap<String, Source>,
}

/// The health of a source.
#[derive(Debug, JsonSchema)]
pub struct Source {
    /// The state of the source.
    pub state: FeedState,
    /// `simulator`, `steady`, `push`, or the format of a live source or a recording.
    pub kind: String,
    /// When its last message was received.
    pub last: Option<Timestamp>,
    /// Applied messages.
    pub messages: u64,
    /// Price changes in them: rungs of ladders and last traded prices.
    pub price_changes: u64,
    /// Messages, or parts of them, that were rejected.
    pub quarantined: u64,
    /// Whether a recording has been played to its end.
    pub ended: bool,
    /// Why it is not `live`, for people.
    pub why: Option<String>,
    /// When it entered this state.
    pub since: Option<Timestamp>,
}

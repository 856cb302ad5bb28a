//! Events of a match that is followed by its scoreboard: CS2, darts, hockey, basketball.

use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};

use super::{Pair, Side, words::words};

/// The whole scoreboard, absolute: what is absent in a later one is no longer so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Scoreboard {
    pub status: ScoreboardStatus,
    /// What decides the match: goals in hockey, points in basketball, maps in CS2, sets (or legs,
    /// where it is played in legs alone) in darts. Absent before it has begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<Pair<u32>>,
    /// The same by part, in order: periods, quarters, rounds of each map, legs of each set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub periods: Vec<Pair<u32>>,
    /// The part in progress, as the feed names it: `q3`, `map 2`, `overtime`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<MatchClock>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub winner: Option<Side>,
}

/// A match clock at the moment of the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MatchClock {
    /// Seconds shown: played, or left, as is the sport's custom.
    pub second: u32,
    pub running: bool,
}

words! {
    pub enum ScoreboardStatus {
        NotStarted = "not_started",
        Live = "live",
        Interrupted = "interrupted",
        Finished = "finished",
        Postponed = "postponed",
        Abandoned = "abandoned",
        Cancelled = "cancelled",
    }
}

impl ScoreboardStatus {
    /// Whether the match has been played, at least in part: only then it can have a score.
    #[must_use]
    pub fn has_begun(self) -> bool {
        !matches!(self, Self::NotStarted | Self::Postponed | Self::Cancelled)
    }
}

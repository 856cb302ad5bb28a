//! What a feed can tell of a match of a sport that is followed by its scoreboard: CS2, darts, hockey,
//! basketball.

use std::sync::Arc;

use super::{Pair, Side};

/// The whole scoreboard, absolute: what is absent in a later one is no longer so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scoreboard {
    pub status: ScoreboardStatus,
    /// What decides the match: goals in hockey, points in basketball, maps in CS2, sets (or legs,
    /// where it is played in legs alone) in darts. Absent before it has begun.
    pub score: Option<Pair<u32>>,
    /// The same by part, in order: periods, quarters, rounds of each map, legs of each set.
    pub periods: Vec<Pair<u32>>,
    /// The part in progress, as the feed names it: `q3`, `map 2`, `overtime`.
    pub period: Option<Arc<str>>,
    pub clock: Option<MatchClock>,
    pub winner: Option<Side>,
}

/// A match clock at the moment of the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatchClock {
    /// Seconds shown: played, or left, as is the sport's custom.
    pub second: u32,
    pub running: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScoreboardStatus {
    NotStarted,
    Live,
    Interrupted,
    Finished,
    Postponed,
    Abandoned,
    Cancelled,
}

impl ScoreboardStatus {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotStarted => "not_started",
            Self::Live => "live",
            Self::Interrupted => "interrupted",
            Self::Finished => "finished",
            Self::Postponed => "postponed",
            Self::Abandoned => "abandoned",
            Self::Cancelled => "cancelled",
        }
    }
}

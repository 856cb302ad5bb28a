//! What a feed can tell of a tennis match.

use std::sync::Arc;

use super::{Eid, Pair, Side};

#[derive(Debug, Clone, PartialEq)]
pub enum TennisFact {
    Status(TennisStatus),
    /// A point was played; `score` is what stands after it.
    Point(Point),
    /// The score without a point: at the start, or put right by the source.
    Score(TennisScore),
    /// A point is taken back; `score` is what stands now.
    Retract {
        of: Eid,
        why: Arc<str>,
        score: TennisScore,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TennisStatus {
    NotStarted,
    Live,
    Interrupted,
    Finished,
    Retired,
    Walkover,
    Cancelled,
}

impl TennisStatus {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotStarted => "not_started",
            Self::Live => "live",
            Self::Interrupted => "interrupted",
            Self::Finished => "finished",
            Self::Retired => "retired",
            Self::Walkover => "walkover",
            Self::Cancelled => "cancelled",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    pub eid: Eid,
    pub winner: Side,
    pub server: Side,
    pub how: Option<PointKind>,
    pub score: TennisScore,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PointKind {
    Ace,
    DoubleFault,
}

/// The whole score of a tennis match. See [`crate::tennis`] for the rules that move it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TennisScore {
    /// Who serves the next point; absent before the first point, when the feed does not say.
    pub server: Option<Side>,
    /// Every set begun, the current one last.
    pub sets: Vec<SetScore>,
    pub game: GameScore,
    /// Points played in the match.
    pub points: u32,
    pub winner: Option<Side>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SetScore {
    pub games: Pair<u8>,
    /// The points of its tie-break, while it is played and for ever after.
    pub tie_break: Option<Pair<u16>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GameScore {
    /// Points won in an ordinary game: 0, 1, 2, 3 are love, 15, 30, 40; `[4, 3]` is advantage
    /// (kept between 3 and 4 from deuce on).
    Points(Pair<u8>),
    /// Points won in a tie-break.
    TieBreak(Pair<u16>),
}

impl Default for GameScore {
    fn default() -> Self {
        Self::Points([0, 0])
    }
}

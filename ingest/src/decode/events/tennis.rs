//! What a line can tell of a tennis match.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Tennis {
    Status(TennisStatus),
    /// A point was played; `score` is what stands after it.
    Point {
        /// Its stable name, unique within the match.
        eid: String,
        winner: Player,
        server: Player,
        #[serde(skip_serializing_if = "Option::is_none")]
        how: Option<PointKind>,
        score: TennisScore,
    },
    /// The score without a point: at the start, or put right.
    Score(TennisScore),
    /// A point is taken back; `score` is what stands now.
    Retract {
        /// The `eid` of the point.
        of: String,
        why: String,
        score: TennisScore,
    },
}

/// The whole score. Pairs are player 1 and player 2.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TennisScore {
    /// Who serves the next point.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<Player>,
    /// Every set begun, the current one last; at most nine.
    pub sets: Vec<Set>,
    #[serde(default)]
    pub game: Game,
    /// Points played in the match. A point whose number is not ahead of the score is a repetition.
    pub points: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub winner: Option<Player>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Set {
    pub games: [u8; 2],
    /// The points of its tie-break, while it is played and for ever after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tie_break: Option<[u16; 2]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Game {
    /// Points won in an ordinary game: 0, 1, 2, 3 are love, 15, 30, 40; `[4, 3]` is advantage.
    Points([u8; 2]),
    /// Points won in a tie-break.
    TieBreak([u16; 2]),
}

impl Default for Game {
    fn default() -> Self {
        Self::Points([0, 0])
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Player {
    P1,
    P2,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TennisStatus {
    NotStarted,
    Live,
    Interrupted,
    Finished,
    Retired,
    Walkover,
    Cancelled,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PointKind {
    Ace,
    DoubleFault,
}

//! Events of a tennis match. Lines call the sides `p1` and `p2`.

use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};

use super::{Eid, Pair, Side, words::words};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Tennis"))]
pub enum TennisFact {
    Status(TennisStatus),
    /// A point was played; `score` is what stands after it.
    Point(Point),
    /// The score without a point: at the start, or put right by the source.
    Score(TennisScore),
    /// A point is taken back; `score` is what stands now.
    Retract {
        /// The `eid` of the point.
        #[serde(rename = "of")]
        eid: Eid,
        why: Arc<str>,
        score: TennisScore,
    },
}

impl TennisFact {
    /// The score that stands after it, if it states one.
    #[must_use]
    pub fn score(&self) -> Option<&TennisScore> {
        match self {
            Self::Status(_) => None,
            Self::Point(point) => Some(&point.score),
            Self::Score(score) | Self::Retract { score, .. } => Some(score),
        }
    }
}

words! {
    pub enum TennisStatus {
        NotStarted = "not_started",
        Live = "live",
        Interrupted = "interrupted",
        Finished = "finished",
        Retired = "retired",
        Walkover = "walkover",
        Cancelled = "cancelled",
    }
}

impl TennisStatus {
    /// Whether the match can have a score. A walkover has a winner, which is a part of the score.
    #[must_use]
    pub fn has_begun(self) -> bool {
        !matches!(self, Self::NotStarted | Self::Cancelled)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Its stable name, unique within the match.
    pub eid: Eid,
    #[serde(with = "player")]
    #[cfg_attr(feature = "schema", schemars(with = "Player"))]
    pub winner: Side,
    #[serde(with = "player")]
    #[cfg_attr(feature = "schema", schemars(with = "Player"))]
    pub server: Side,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub how: Option<PointKind>,
    pub score: TennisScore,
}

words! {
    pub enum PointKind {
        Ace = "ace",
        DoubleFault = "double_fault",
    }
}

/// The whole score. Pairs are player 1 and player 2.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TennisScore {
    /// Who serves the next point; absent before the first point, when the feed does not say.
    #[serde(default, with = "player::optional", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Player>"))]
    pub server: Option<Side>,
    /// Every set begun, the current one last; at most five.
    pub sets: Vec<SetScore>,
    /// Sets won, where the source states them: they hold, whatever the games of the sets say.
    #[serde(default, rename = "sets_won", skip_serializing_if = "Option::is_none")]
    pub stated_sets: Option<Pair<u8>>,
    #[serde(default)]
    pub game: GameScore,
    /// Points played in the match. A point whose number is not ahead of the score is a repetition.
    pub points: u32,
    #[serde(default, with = "player::optional", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Player>"))]
    pub winner: Option<Side>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Set"))]
pub struct SetScore {
    pub games: Pair<u8>,
    /// The points of its tie-break, while it is played and for ever after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tie_break: Option<Pair<u16>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", schemars(rename = "Game"))]
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

/// The word for a side of a tennis match in lines.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum Player {
    P1,
    P2,
}

impl From<Player> for Side {
    fn from(player: Player) -> Self {
        match player {
            Player::P1 => Self::First,
            Player::P2 => Self::Second,
        }
    }
}

impl From<Side> for Player {
    fn from(side: Side) -> Self {
        match side {
            Side::First => Self::P1,
            Side::Second => Self::P2,
        }
    }
}

mod player {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Player, Side};

    pub(super) fn serialize<S: Serializer>(side: &Side, serializer: S) -> Result<S::Ok, S::Error> {
        Player::from(*side).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Side, D::Error> {
        Player::deserialize(deserializer).map(Side::from)
    }

    pub(super) mod optional {
        use super::{Deserialize, Deserializer, Player, Serialize, Serializer, Side};

        pub(in super::super) fn serialize<S: Serializer>(
            side: &Option<Side>,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            side.map(Player::from).serialize(serializer)
        }

        pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<Option<Side>, D::Error> {
            Ok(Option::<Player>::deserialize(deserializer)?.map(Side::from))
        }
    }
}

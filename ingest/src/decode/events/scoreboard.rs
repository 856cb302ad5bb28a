//! What a line can tell of a match that is followed by its scoreboard, and of a race.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Participant, Side};

/// The whole scoreboard, absolute: what a later one leaves out is no longer so. Pairs are home and
/// away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scoreboard {
    pub status: ScoreboardStatus,
    /// What decides the match: goals, points, maps, sets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<[u32; 2]>,
    /// The same by part, in order: periods, quarters, rounds of each map, legs of each set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub periods: Vec<[u32; 2]>,
    /// The part in progress: `q3`, `map 2`, `overtime`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<MatchClock>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub winner: Option<Side>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MatchClock {
    /// Seconds shown: played, or left, as is the sport's custom.
    pub second: u32,
    pub running: bool,
}

/// The whole race, absolute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Race {
    pub status: RaceStatus,
    pub runners: Vec<Runner>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Runner {
    pub runner: Participant,
    /// The number on the cloth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jockey: Option<String>,
    pub status: RunnerStatus,
    /// Where it stands, or came in: 1 is first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<u16>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScoreboardStatus {
    NotStarted,
    Live,
    Interrupted,
    Finished,
    Postponed,
    Abandoned,
    Cancelled,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RaceStatus {
    NotStarted,
    AtThePost,
    Off,
    Finished,
    Abandoned,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunnerStatus {
    Active,
    NonRunner,
    Fell,
    PulledUp,
    Disqualified,
    Finished,
}

//! What a line can tell of a football match for analysis.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Participant, Side, Stat};
use crate::{
    event::{BodyPart, Half, ShotOutcome, ShotSituation},
    football::Period,
};

/// A shot. One with the same `eid` replaces the one before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shot {
    /// Its stable name, unique among the shots of the match.
    pub eid: String,
    pub side: Side,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub player: Option<Participant>,
    pub period: Period,
    /// The minute in progress, as in incidents.
    pub minute: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added: Option<u16>,
    pub outcome: ShotOutcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub situation: Option<ShotSituation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_part: Option<BodyPart>,
    /// The probability that a shot like this is a goal.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1))]
    pub expected_goals: Option<f64>,
    /// The same, given where the ball went.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1))]
    pub expected_on_target: Option<f64>,
    /// Where it was taken, in tenths of a percent of the pitch, seen from the side that shoots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<PitchPlace>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal_mouth: Option<GoalMouth>,
}

/// In tenths of a percent of the pitch: `x` 0 is the own goal line, `y` 0 the left touch line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PitchPlace {
    #[schemars(range(max = 1000))]
    pub x: u16,
    #[schemars(range(max = 1000))]
    pub y: u16,
}

/// Where a shot crossed the goal line, or would have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GoalMouth {
    /// In tenths of a percent of the width of the pitch, from the left of the one who shoots.
    #[schemars(range(max = 1000))]
    pub y: u16,
    /// In tenths of a percent of the height of the crossbar.
    pub z: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AveragePosition {
    pub player: Participant,
    pub place: PitchPlace,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlayerRating {
    pub player: Participant,
    /// In hundredths: 725 is 7.25 of 10.
    #[schemars(range(max = 1000))]
    pub rating: u16,
}

/// Shots, momentum, halves and the like, which the record of a match holds and its stream does not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Analysis {
    Shot(Shot),
    /// The expected goals of a side, where they are not told shot by shot.
    ExpectedGoals {
        side: Side,
        #[schemars(range(min = 0, max = 30))]
        goals: f64,
    },
    /// How the match swayed in one minute.
    Momentum {
        /// From 1.
        minute: u16,
        /// The time added to the period that ends with this minute, all of it.
        #[serde(default)]
        added: bool,
        /// From -100 to 100; positive is home.
        #[schemars(range(min = -100, max = 100))]
        value: i8,
    },
    /// Counts of one side in one half: absolute, and only those that changed.
    HalfStats {
        half: Half,
        side: Side,
        values: BTreeMap<Stat, u32>,
    },
    /// Where the players of a side have been on average so far. A later one replaces it.
    AveragePositions {
        side: Side,
        players: Vec<AveragePosition>,
    },
    /// Ratings of players of one side: only those that changed.
    Ratings {
        side: Side,
        players: Vec<PlayerRating>,
    },
}

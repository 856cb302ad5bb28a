//! Events of a football match for analysis: shots, expected goals, halves, momentum, average
//! positions, ratings.
//!
//! None of it is part of the stream's match document: it belongs to the record of the match and to
//! the answers over HTTP.

use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};

use super::{Eid, Participant, Side, Stat, counts};
use crate::football::Period;

/// Shots, momentum, halves and the like, which belong to the record of a match but not to its stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Analysis {
    Shot(Shot),
    /// The expected goals of a side, from a provider that does not report them shot by shot.
    ExpectedGoals {
        side: Side,
        #[serde(with = "total")]
        #[cfg_attr(feature = "schema", schemars(with = "f64", range(min = 0, max = 30)))]
        goals: ExpectedGoals,
    },
    /// How the match swayed in one minute.
    Momentum(Momentum),
    /// Counts of one side in one half: absolute, and only those that changed.
    HalfStats {
        half: Half,
        side: Side,
        #[serde(with = "counts")]
        #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<Stat, u32>"))]
        values: Vec<(Stat, u32)>,
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

/// Expected goals in hundred-thousandths of a goal, so that sums are exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[serde(transparent)]
pub struct ExpectedGoals(pub u32);

impl ExpectedGoals {
    const UNITS: f64 = 100_000.0;

    /// More than any side has had in a match; a larger value is an error of the feed.
    pub const GOALS_MAX: f64 = 30.0;

    /// `None` for a value that cannot be one.
    #[must_use]
    pub fn from_goals(goals: f64) -> Option<Self> {
        let fits = (0.0..=Self::GOALS_MAX).contains(&goals);
        fits.then(|| Self((goals * Self::UNITS).round() as u32))
    }

    #[must_use]
    pub fn goals(self) -> f64 {
        f64::from(self.0) / Self::UNITS
    }

    /// From the number in a line.
    fn read<E: serde::de::Error>(goals: f64, max: f64) -> Result<Self, E> {
        let read = Self::from_goals(goals).filter(|_| goals <= max);
        let wrong = || E::custom(format_args!("expected goals {goals} are not from 0 to {max}"));
        read.ok_or_else(wrong)
    }
}

/// Expected goals of a side, which lines write as a number of goals.
mod total {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::ExpectedGoals;

    pub(super) fn serialize<S: Serializer>(
        goals: &ExpectedGoals,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        goals.goals().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<ExpectedGoals, D::Error> {
        ExpectedGoals::read(f64::deserialize(deserializer)?, ExpectedGoals::GOALS_MAX)
    }
}

/// Expected goals of a shot, which lines write as a probability.
mod probability {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::ExpectedGoals;

    pub(super) fn serialize<S: Serializer>(
        goals: &Option<ExpectedGoals>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        goals.map(ExpectedGoals::goals).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<ExpectedGoals>, D::Error> {
        let goals = Option::<f64>::deserialize(deserializer)?;
        goals.map(|goals| ExpectedGoals::read(goals, 1.0)).transpose()
    }
}

/// A shot. One with the same `eid` replaces the one before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Shot {
    /// Its stable name, unique among the shots of the match.
    pub eid: Eid,
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
    #[serde(default, with = "probability", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>", range(min = 0, max = 1)))]
    pub expected_goals: Option<ExpectedGoals>,
    /// The same, given where the ball went.
    #[serde(default, with = "probability", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>", range(min = 0, max = 1)))]
    pub expected_on_target: Option<ExpectedGoals>,
    /// Where it was taken, in tenths of a percent of the pitch, seen from the side that shoots.
    #[serde(rename = "place", skip_serializing_if = "Option::is_none")]
    pub location: Option<PitchPlace>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal_mouth: Option<GoalMouth>,
}

/// In tenths of a percent of the pitch: `x` 0 is the own goal line, `y` 0 the left touch line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PitchPlace {
    #[cfg_attr(feature = "schema", schemars(range(max = 1000)))]
    pub x: u16,
    #[cfg_attr(feature = "schema", schemars(range(max = 1000)))]
    pub y: u16,
}

/// Where a shot crossed the goal line, or would have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GoalMouth {
    /// In tenths of a percent of the width of the pitch, from the left of the one who shoots.
    #[cfg_attr(feature = "schema", schemars(range(max = 1000)))]
    pub y: u16,
    /// In tenths of a percent of the height of the crossbar: 1000 is the bar.
    pub z: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ShotOutcome {
    Goal,
    Saved,
    Blocked,
    OffTarget,
    Post,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ShotSituation {
    /// Open play, after a pass of a team mate.
    Assisted,
    /// Open play, otherwise.
    #[default]
    Regular,
    FastBreak,
    /// After a free kick, but not directly.
    SetPiece,
    /// A direct free kick.
    FreeKick,
    Corner,
    ThrowIn,
    Penalty,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BodyPart {
    RightFoot,
    LeftFoot,
    Head,
    Other,
}

/// How a match swayed in one minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(from = "MinuteMomentum", into = "MinuteMomentum")]
pub struct Momentum {
    pub minute: MatchMinute,
    /// From -100 to 100; positive is home.
    pub value: i8,
}

/// How lines write a momentum.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Momentum"))]
struct MinuteMomentum {
    /// From 1.
    minute: u16,
    /// The time added to the period that ends with this minute, all of it.
    #[serde(default)]
    added: bool,
    /// From -100 to 100; positive is home.
    #[cfg_attr(feature = "schema", schemars(range(min = -100, max = 100)))]
    value: i8,
}

impl From<MinuteMomentum> for Momentum {
    fn from(MinuteMomentum { minute, added, value }: MinuteMomentum) -> Self {
        Self { minute: MatchMinute { minute, added }, value }
    }
}

impl From<Momentum> for MinuteMomentum {
    fn from(Momentum { minute: MatchMinute { minute, added }, value }: Momentum) -> Self {
        Self { minute, added, value }
    }
}

/// A minute of the match, from 1. All of the time added to a period is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(BorshSerialize, BorshDeserialize)]
pub struct MatchMinute {
    pub minute: u16,
    pub added: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Half {
    First,
    Second,
}

impl Half {
    pub const BOTH: [Self; 2] = [Self::First, Self::Second];

    /// The half that a period is, if it is one.
    #[must_use]
    pub fn from_period(period: Period) -> Option<Self> {
        match period {
            Period::FirstHalf => Some(Self::First),
            Period::SecondHalf => Some(Self::Second),
            Period::ExtraFirst | Period::ExtraSecond | Period::Shootout => None,
        }
    }

    /// 0 for the first half, 1 for the second: an index into a pair.
    #[must_use]
    pub fn index(self) -> usize {
        match self {
            Self::First => 0,
            Self::Second => 1,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AveragePosition {
    pub player: Participant,
    #[serde(rename = "place")]
    pub location: PitchPlace,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PlayerRating {
    pub player: Participant,
    /// In hundredths: 725 is 7.25 of 10.
    #[cfg_attr(feature = "schema", schemars(range(max = 1000)))]
    pub rating: u16,
}

impl PlayerRating {
    pub const RATING_MAX: u16 = 1_000;
}

#[cfg(test)]
mod tests {
    use super::ExpectedGoals;

    #[test]
    fn impossible_expected_goals_are_refused() {
        assert_eq!(ExpectedGoals::from_goals(0.088_489_294), Some(ExpectedGoals(8_849)));
        assert_eq!(ExpectedGoals::from_goals(2.73).map(ExpectedGoals::goals), Some(2.73));
        for wrong in [-0.1, 30.1, f64::NAN, f64::INFINITY] {
            assert_eq!(ExpectedGoals::from_goals(wrong), None, "of {wrong}");
        }
    }
}

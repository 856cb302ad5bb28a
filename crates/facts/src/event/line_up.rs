//! Who plays in a football match, and what each of them did.

use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};

use super::{Participant, Side, words::words};

/// The line-up of one side: who starts, and who sits on the bench.
#[derive(Debug, Clone, PartialEq, Eq, Default, BorshSerialize, BorshDeserialize)]
pub struct LineUp {
    /// `4-3-3`; absent where the feed does not say.
    pub formation: Option<Arc<str>>,
    /// Those who start first, then the bench.
    pub players: Vec<LineUpPlayer>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LineUpPlayer {
    pub player: Participant,
    /// The number on the shirt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<PlayerPosition>,
    /// The player's nationality: two letters of ISO 3166-1, or the country's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub country: Option<Arc<str>>,
    pub starter: bool,
    #[serde(default)]
    pub captain: bool,
}

/// A line-up and its side as one object, which is how lines write it.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "LineUp"))]
pub(super) struct LineUpOfSide {
    side: Side,
    /// `4-3-3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    formation: Option<Arc<str>>,
    /// Those who start first, then the bench.
    players: Vec<LineUpPlayer>,
}

pub(super) mod of_side {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{LineUp, LineUpOfSide, Side};

    pub(in super::super) fn serialize<S: Serializer>(
        side: &Side,
        line_up: &LineUp,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let LineUp { formation, players } = line_up.clone();
        LineUpOfSide { side: *side, formation, players }.serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<(Side, LineUp), D::Error> {
        let LineUpOfSide { side, formation, players } = LineUpOfSide::deserialize(deserializer)?;
        Ok((side, LineUp { formation, players }))
    }
}

words! {
    pub enum PlayerPosition {
        Goalkeeper = "goalkeeper",
        Defender = "defender",
        Midfielder = "midfielder",
        Forward = "forward",
    }
}

impl PlayerPosition {
    /// The letter that stands for it in line-ups.
    #[must_use]
    pub fn letter(self) -> &'static str {
        match self {
            Self::Goalkeeper => "G",
            Self::Defender => "D",
            Self::Midfielder => "M",
            Self::Forward => "F",
        }
    }
}

words! {
    /// A count of a player, by its name in answers of the football API.
    pub enum PlayerStat {
        MinutesPlayed = "minutes_played",
        Touches = "touches",
        Goals = "goals",
        Assists = "goal_assist",
        TotalShots = "total_shots",
        ShotsOnTarget = "shots_on_target",
        KeyPasses = "key_pass",
        TotalPasses = "total_pass",
        AccuratePasses = "accurate_pass",
        TotalCrosses = "total_cross",
        AccurateCrosses = "accurate_cross",
        Dribbles = "total_contest",
        DribblesWon = "won_contest",
        DuelsWon = "duel_won",
        DuelsLost = "duel_lost",
        AerialsWon = "aerial_won",
        AerialsLost = "aerial_lost",
        Tackles = "total_tackle",
        TacklesWon = "won_tackle",
        Clearances = "total_clearance",
        Interceptions = "interception",
        Recoveries = "ball_recovery",
        Dispossessed = "dispossessed",
        Fouls = "fouls",
        WasFouled = "was_fouled",
        Offsides = "total_offside",
        YellowCards = "yellow_card",
        RedCards = "red_card",
        Saves = "saves",
        GoalsConceded = "goals_conceded",
    }
}

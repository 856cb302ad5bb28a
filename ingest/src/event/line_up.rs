//! Who plays in a football match, and what each of them did.

use std::sync::Arc;

use super::Participant;

/// The line-up of one side: who starts, and who sits on the bench.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LineUp {
    /// `4-3-3`; absent where the feed does not say.
    pub formation: Option<Arc<str>>,
    /// Those who start first, then the bench.
    pub players: Vec<LineUpPlayer>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineUpPlayer {
    pub player: Participant,
    /// The number on the shirt.
    pub number: Option<u16>,
    pub position: Option<PlayerPosition>,
    /// The player's nationality: ISO 3166-1 alpha-2 where the feed has it, else the name.
    pub country: Option<Arc<str>>,
    pub starter: bool,
    pub captain: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PlayerPosition {
    Goalkeeper,
    Defender,
    Midfielder,
    Forward,
}

impl PlayerPosition {
    /// The letter by which line-ups tell it.
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

/// A counter of one player in one match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PlayerStat {
    MinutesPlayed,
    Touches,
    Goals,
    Assists,
    TotalShots,
    ShotsOnTarget,
    KeyPasses,
    TotalPasses,
    AccuratePasses,
    TotalCrosses,
    AccurateCrosses,
    Dribbles,
    DribblesWon,
    DuelsWon,
    DuelsLost,
    AerialsWon,
    AerialsLost,
    Tackles,
    TacklesWon,
    Clearances,
    Interceptions,
    Recoveries,
    Dispossessed,
    Fouls,
    WasFouled,
    Offsides,
    YellowCards,
    RedCards,
    Saves,
    GoalsConceded,
}

impl PlayerStat {
    /// Every counter, in the order in which they are reported.
    pub const ALL: [Self; 30] = [
        Self::MinutesPlayed,
        Self::Touches,
        Self::Goals,
        Self::Assists,
        Self::TotalShots,
        Self::ShotsOnTarget,
        Self::KeyPasses,
        Self::TotalPasses,
        Self::AccuratePasses,
        Self::TotalCrosses,
        Self::AccurateCrosses,
        Self::Dribbles,
        Self::DribblesWon,
        Self::DuelsWon,
        Self::DuelsLost,
        Self::AerialsWon,
        Self::AerialsLost,
        Self::Tackles,
        Self::TacklesWon,
        Self::Clearances,
        Self::Interceptions,
        Self::Recoveries,
        Self::Dispossessed,
        Self::Fouls,
        Self::WasFouled,
        Self::Offsides,
        Self::YellowCards,
        Self::RedCards,
        Self::Saves,
        Self::GoalsConceded,
    ];

    /// Its name in answers of the football API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MinutesPlayed => "minutes_played",
            Self::Touches => "touches",
            Self::Goals => "goals",
            Self::Assists => "goal_assist",
            Self::TotalShots => "total_shots",
            Self::ShotsOnTarget => "shots_on_target",
            Self::KeyPasses => "key_pass",
            Self::TotalPasses => "total_pass",
            Self::AccuratePasses => "accurate_pass",
            Self::TotalCrosses => "total_cross",
            Self::AccurateCrosses => "accurate_cross",
            Self::Dribbles => "total_contest",
            Self::DribblesWon => "won_contest",
            Self::DuelsWon => "duel_won",
            Self::DuelsLost => "duel_lost",
            Self::AerialsWon => "aerial_won",
            Self::AerialsLost => "aerial_lost",
            Self::Tackles => "total_tackle",
            Self::TacklesWon => "won_tackle",
            Self::Clearances => "total_clearance",
            Self::Interceptions => "interception",
            Self::Recoveries => "ball_recovery",
            Self::Dispossessed => "dispossessed",
            Self::Fouls => "fouls",
            Self::WasFouled => "was_fouled",
            Self::Offsides => "total_offside",
            Self::YellowCards => "yellow_card",
            Self::RedCards => "red_card",
            Self::Saves => "saves",
            Self::GoalsConceded => "goals_conceded",
        }
    }
}

//! The words of players, one for one, in both directions.

use crate::{
    decode::events as decode,
    event::{PlayerPosition, PlayerStat},
};

impl From<decode::PlayerPosition> for PlayerPosition {
    fn from(decoded: decode::PlayerPosition) -> Self {
        match decoded {
            decode::PlayerPosition::Goalkeeper => Self::Goalkeeper,
            decode::PlayerPosition::Defender => Self::Defender,
            decode::PlayerPosition::Midfielder => Self::Midfielder,
            decode::PlayerPosition::Forward => Self::Forward,
        }
    }
}

impl From<PlayerPosition> for decode::PlayerPosition {
    fn from(known: PlayerPosition) -> Self {
        match known {
            PlayerPosition::Goalkeeper => Self::Goalkeeper,
            PlayerPosition::Defender => Self::Defender,
            PlayerPosition::Midfielder => Self::Midfielder,
            PlayerPosition::Forward => Self::Forward,
        }
    }
}

impl From<decode::PlayerStat> for PlayerStat {
    fn from(decoded: decode::PlayerStat) -> Self {
        match decoded {
            decode::PlayerStat::MinutesPlayed => Self::MinutesPlayed,
            decode::PlayerStat::Touches => Self::Touches,
            decode::PlayerStat::Goals => Self::Goals,
            decode::PlayerStat::Assists => Self::Assists,
            decode::PlayerStat::TotalShots => Self::TotalShots,
            decode::PlayerStat::ShotsOnTarget => Self::ShotsOnTarget,
            decode::PlayerStat::KeyPasses => Self::KeyPasses,
            decode::PlayerStat::TotalPasses => Self::TotalPasses,
            decode::PlayerStat::AccuratePasses => Self::AccuratePasses,
            decode::PlayerStat::TotalCrosses => Self::TotalCrosses,
            decode::PlayerStat::AccurateCrosses => Self::AccurateCrosses,
            decode::PlayerStat::Dribbles => Self::Dribbles,
            decode::PlayerStat::DribblesWon => Self::DribblesWon,
            decode::PlayerStat::DuelsWon => Self::DuelsWon,
            decode::PlayerStat::DuelsLost => Self::DuelsLost,
            decode::PlayerStat::AerialsWon => Self::AerialsWon,
            decode::PlayerStat::AerialsLost => Self::AerialsLost,
            decode::PlayerStat::Tackles => Self::Tackles,
            decode::PlayerStat::TacklesWon => Self::TacklesWon,
            decode::PlayerStat::Clearances => Self::Clearances,
            decode::PlayerStat::Interceptions => Self::Interceptions,
            decode::PlayerStat::Recoveries => Self::Recoveries,
            decode::PlayerStat::Dispossessed => Self::Dispossessed,
            decode::PlayerStat::Fouls => Self::Fouls,
            decode::PlayerStat::WasFouled => Self::WasFouled,
            decode::PlayerStat::Offsides => Self::Offsides,
            decode::PlayerStat::YellowCards => Self::YellowCards,
            decode::PlayerStat::RedCards => Self::RedCards,
            decode::PlayerStat::Saves => Self::Saves,
            decode::PlayerStat::GoalsConceded => Self::GoalsConceded,
        }
    }
}

impl From<PlayerStat> for decode::PlayerStat {
    fn from(known: PlayerStat) -> Self {
        match known {
            PlayerStat::MinutesPlayed => Self::MinutesPlayed,
            PlayerStat::Touches => Self::Touches,
            PlayerStat::Goals => Self::Goals,
            PlayerStat::Assists => Self::Assists,
            PlayerStat::TotalShots => Self::TotalShots,
            PlayerStat::ShotsOnTarget => Self::ShotsOnTarget,
            PlayerStat::KeyPasses => Self::KeyPasses,
            PlayerStat::TotalPasses => Self::TotalPasses,
            PlayerStat::AccuratePasses => Self::AccuratePasses,
            PlayerStat::TotalCrosses => Self::TotalCrosses,
            PlayerStat::AccurateCrosses => Self::AccurateCrosses,
            PlayerStat::Dribbles => Self::Dribbles,
            PlayerStat::DribblesWon => Self::DribblesWon,
            PlayerStat::DuelsWon => Self::DuelsWon,
            PlayerStat::DuelsLost => Self::DuelsLost,
            PlayerStat::AerialsWon => Self::AerialsWon,
            PlayerStat::AerialsLost => Self::AerialsLost,
            PlayerStat::Tackles => Self::Tackles,
            PlayerStat::TacklesWon => Self::TacklesWon,
            PlayerStat::Clearances => Self::Clearances,
            PlayerStat::Interceptions => Self::Interceptions,
            PlayerStat::Recoveries => Self::Recoveries,
            PlayerStat::Dispossessed => Self::Dispossessed,
            PlayerStat::Fouls => Self::Fouls,
            PlayerStat::WasFouled => Self::WasFouled,
            PlayerStat::Offsides => Self::Offsides,
            PlayerStat::YellowCards => Self::YellowCards,
            PlayerStat::RedCards => Self::RedCards,
            PlayerStat::Saves => Self::Saves,
            PlayerStat::GoalsConceded => Self::GoalsConceded,
        }
    }
}

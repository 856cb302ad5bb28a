//! The words of the format and ours, one for one, in both directions.

use crate::{
    decode::events as decode,
    event::{
        FootballStatus, GoalKind, MarketStatus, Outcome, PointKind, RaceStatus, RunnerStatus,
        ScoreboardStatus, SelectionStatus, Side, Situation, Sport, Stat, TennisStatus, VarDecision,
    },
};

impl From<decode::Sport> for Sport {
    fn from(decoded: decode::Sport) -> Self {
        match decoded {
            decode::Sport::Football => Self::Football,
            decode::Sport::Tennis => Self::Tennis,
            decode::Sport::Csgo => Self::Cs2,
            decode::Sport::Darts => Self::Darts,
            decode::Sport::Hockey => Self::Hockey,
            decode::Sport::Basketball => Self::Basketball,
            decode::Sport::HorseRacing => Self::HorseRacing,
            decode::Sport::Cricket => Self::Cricket,
            decode::Sport::Other => Self::Other,
        }
    }
}

impl From<Sport> for decode::Sport {
    fn from(known: Sport) -> Self {
        match known {
            Sport::Football => Self::Football,
            Sport::Tennis => Self::Tennis,
            Sport::Cs2 => Self::Csgo,
            Sport::Darts => Self::Darts,
            Sport::Hockey => Self::Hockey,
            Sport::Basketball => Self::Basketball,
            Sport::HorseRacing => Self::HorseRacing,
            Sport::Cricket => Self::Cricket,
            Sport::Other => Self::Other,
        }
    }
}

impl From<decode::Side> for Side {
    fn from(decoded: decode::Side) -> Self {
        match decoded {
            decode::Side::Home => Self::First,
            decode::Side::Away => Self::Second,
        }
    }
}

impl From<Side> for decode::Side {
    fn from(known: Side) -> Self {
        match known {
            Side::First => Self::Home,
            Side::Second => Self::Away,
        }
    }
}

impl From<decode::Player> for Side {
    fn from(decoded: decode::Player) -> Self {
        match decoded {
            decode::Player::P1 => Self::First,
            decode::Player::P2 => Self::Second,
        }
    }
}

impl From<Side> for decode::Player {
    fn from(known: Side) -> Self {
        match known {
            Side::First => Self::P1,
            Side::Second => Self::P2,
        }
    }
}

impl From<decode::FootballStatus> for FootballStatus {
    fn from(decoded: decode::FootballStatus) -> Self {
        match decoded {
            decode::FootballStatus::NotStarted => Self::NotStarted,
            decode::FootballStatus::FirstHalf => Self::FirstHalf,
            decode::FootballStatus::HalfTime => Self::HalfTime,
            decode::FootballStatus::SecondHalf => Self::SecondHalf,
            decode::FootballStatus::ExtraFirst => Self::ExtraFirst,
            decode::FootballStatus::ExtraHalf => Self::ExtraHalf,
            decode::FootballStatus::ExtraSecond => Self::ExtraSecond,
            decode::FootballStatus::Penalties => Self::Penalties,
            decode::FootballStatus::Finished => Self::Finished,
            decode::FootballStatus::Postponed => Self::Postponed,
            decode::FootballStatus::Abandoned => Self::Abandoned,
            decode::FootballStatus::Cancelled => Self::Cancelled,
        }
    }
}

impl From<FootballStatus> for decode::FootballStatus {
    fn from(known: FootballStatus) -> Self {
        match known {
            FootballStatus::NotStarted => Self::NotStarted,
            FootballStatus::FirstHalf => Self::FirstHalf,
            FootballStatus::HalfTime => Self::HalfTime,
            FootballStatus::SecondHalf => Self::SecondHalf,
            FootballStatus::ExtraFirst => Self::ExtraFirst,
            FootballStatus::ExtraHalf => Self::ExtraHalf,
            FootballStatus::ExtraSecond => Self::ExtraSecond,
            FootballStatus::Penalties => Self::Penalties,
            FootballStatus::Finished => Self::Finished,
            FootballStatus::Postponed => Self::Postponed,
            FootballStatus::Abandoned => Self::Abandoned,
            FootballStatus::Cancelled => Self::Cancelled,
        }
    }
}

impl From<decode::GoalKind> for GoalKind {
    fn from(decoded: decode::GoalKind) -> Self {
        match decoded {
            decode::GoalKind::Regular => Self::Regular,
            decode::GoalKind::Penalty => Self::Penalty,
            decode::GoalKind::OwnGoal => Self::OwnGoal,
        }
    }
}

impl From<GoalKind> for decode::GoalKind {
    fn from(known: GoalKind) -> Self {
        match known {
            GoalKind::Regular => Self::Regular,
            GoalKind::Penalty => Self::Penalty,
            GoalKind::OwnGoal => Self::OwnGoal,
        }
    }
}

impl From<decode::VarDecision> for VarDecision {
    fn from(decoded: decode::VarDecision) -> Self {
        match decoded {
            decode::VarDecision::Checking => Self::Checking,
            decode::VarDecision::Confirmed => Self::Confirmed,
            decode::VarDecision::Overturned => Self::Overturned,
        }
    }
}

impl From<VarDecision> for decode::VarDecision {
    fn from(known: VarDecision) -> Self {
        match known {
            VarDecision::Checking => Self::Checking,
            VarDecision::Confirmed => Self::Confirmed,
            VarDecision::Overturned => Self::Overturned,
        }
    }
}

impl From<decode::Stat> for Stat {
    fn from(decoded: decode::Stat) -> Self {
        match decoded {
            decode::Stat::BallPossession => Self::BallPossession,
            decode::Stat::TotalShots => Self::TotalShots,
            decode::Stat::ShotsOnTarget => Self::ShotsOnTarget,
            decode::Stat::ShotsOffTarget => Self::ShotsOffTarget,
            decode::Stat::BlockedShots => Self::BlockedShots,
            decode::Stat::CornerKicks => Self::CornerKicks,
            decode::Stat::Fouls => Self::Fouls,
            decode::Stat::Offsides => Self::Offsides,
            decode::Stat::YellowCards => Self::YellowCards,
            decode::Stat::RedCards => Self::RedCards,
            decode::Stat::Saves => Self::Saves,
            decode::Stat::Passes => Self::Passes,
            decode::Stat::AccuratePasses => Self::AccuratePasses,
            decode::Stat::ThrowIns => Self::ThrowIns,
            decode::Stat::GoalKicks => Self::GoalKicks,
            decode::Stat::FreeKicks => Self::FreeKicks,
            decode::Stat::Attacks => Self::Attacks,
            decode::Stat::DangerousAttacks => Self::DangerousAttacks,
        }
    }
}

impl From<Stat> for decode::Stat {
    fn from(known: Stat) -> Self {
        match known {
            Stat::BallPossession => Self::BallPossession,
            Stat::TotalShots => Self::TotalShots,
            Stat::ShotsOnTarget => Self::ShotsOnTarget,
            Stat::ShotsOffTarget => Self::ShotsOffTarget,
            Stat::BlockedShots => Self::BlockedShots,
            Stat::CornerKicks => Self::CornerKicks,
            Stat::Fouls => Self::Fouls,
            Stat::Offsides => Self::Offsides,
            Stat::YellowCards => Self::YellowCards,
            Stat::RedCards => Self::RedCards,
            Stat::Saves => Self::Saves,
            Stat::Passes => Self::Passes,
            Stat::AccuratePasses => Self::AccuratePasses,
            Stat::ThrowIns => Self::ThrowIns,
            Stat::GoalKicks => Self::GoalKicks,
            Stat::FreeKicks => Self::FreeKicks,
            Stat::Attacks => Self::Attacks,
            Stat::DangerousAttacks => Self::DangerousAttacks,
        }
    }
}

impl From<decode::Situation> for Situation {
    fn from(decoded: decode::Situation) -> Self {
        match decoded {
            decode::Situation::Possession => Self::Possession,
            decode::Situation::Attack => Self::Attack,
            decode::Situation::Dangerous => Self::Dangerous,
            decode::Situation::Safe => Self::Safe,
            decode::Situation::Corner => Self::Corner,
            decode::Situation::FreeKick => Self::FreeKick,
            decode::Situation::ThrowIn => Self::ThrowIn,
            decode::Situation::GoalKick => Self::GoalKick,
            decode::Situation::Penalty => Self::Penalty,
            decode::Situation::ShotOnTarget => Self::ShotOnTarget,
            decode::Situation::ShotOffTarget => Self::ShotOffTarget,
            decode::Situation::Goal => Self::Goal,
            decode::Situation::Offside => Self::Offside,
            decode::Situation::Injury => Self::Injury,
            decode::Situation::Substitution => Self::Substitution,
        }
    }
}

impl From<Situation> for decode::Situation {
    fn from(known: Situation) -> Self {
        match known {
            Situation::Possession => Self::Possession,
            Situation::Attack => Self::Attack,
            Situation::Dangerous => Self::Dangerous,
            Situation::Safe => Self::Safe,
            Situation::Corner => Self::Corner,
            Situation::FreeKick => Self::FreeKick,
            Situation::ThrowIn => Self::ThrowIn,
            Situation::GoalKick => Self::GoalKick,
            Situation::Penalty => Self::Penalty,
            Situation::ShotOnTarget => Self::ShotOnTarget,
            Situation::ShotOffTarget => Self::ShotOffTarget,
            Situation::Goal => Self::Goal,
            Situation::Offside => Self::Offside,
            Situation::Injury => Self::Injury,
            Situation::Substitution => Self::Substitution,
        }
    }
}

impl From<decode::TennisStatus> for TennisStatus {
    fn from(decoded: decode::TennisStatus) -> Self {
        match decoded {
            decode::TennisStatus::NotStarted => Self::NotStarted,
            decode::TennisStatus::Live => Self::Live,
            decode::TennisStatus::Interrupted => Self::Interrupted,
            decode::TennisStatus::Finished => Self::Finished,
            decode::TennisStatus::Retired => Self::Retired,
            decode::TennisStatus::Walkover => Self::Walkover,
            decode::TennisStatus::Cancelled => Self::Cancelled,
        }
    }
}

impl From<TennisStatus> for decode::TennisStatus {
    fn from(known: TennisStatus) -> Self {
        match known {
            TennisStatus::NotStarted => Self::NotStarted,
            TennisStatus::Live => Self::Live,
            TennisStatus::Interrupted => Self::Interrupted,
            TennisStatus::Finished => Self::Finished,
            TennisStatus::Retired => Self::Retired,
            TennisStatus::Walkover => Self::Walkover,
            TennisStatus::Cancelled => Self::Cancelled,
        }
    }
}

impl From<decode::PointKind> for PointKind {
    fn from(decoded: decode::PointKind) -> Self {
        match decoded {
            decode::PointKind::Ace => Self::Ace,
            decode::PointKind::DoubleFault => Self::DoubleFault,
        }
    }
}

impl From<PointKind> for decode::PointKind {
    fn from(known: PointKind) -> Self {
        match known {
            PointKind::Ace => Self::Ace,
            PointKind::DoubleFault => Self::DoubleFault,
        }
    }
}

impl From<decode::ScoreboardStatus> for ScoreboardStatus {
    fn from(decoded: decode::ScoreboardStatus) -> Self {
        match decoded {
            decode::ScoreboardStatus::NotStarted => Self::NotStarted,
            decode::ScoreboardStatus::Live => Self::Live,
            decode::ScoreboardStatus::Interrupted => Self::Interrupted,
            decode::ScoreboardStatus::Finished => Self::Finished,
            decode::ScoreboardStatus::Postponed => Self::Postponed,
            decode::ScoreboardStatus::Abandoned => Self::Abandoned,
            decode::ScoreboardStatus::Cancelled => Self::Cancelled,
        }
    }
}

impl From<ScoreboardStatus> for decode::ScoreboardStatus {
    fn from(known: ScoreboardStatus) -> Self {
        match known {
            ScoreboardStatus::NotStarted => Self::NotStarted,
            ScoreboardStatus::Live => Self::Live,
            ScoreboardStatus::Interrupted => Self::Interrupted,
            ScoreboardStatus::Finished => Self::Finished,
            ScoreboardStatus::Postponed => Self::Postponed,
            ScoreboardStatus::Abandoned => Self::Abandoned,
            ScoreboardStatus::Cancelled => Self::Cancelled,
        }
    }
}

impl From<decode::RaceStatus> for RaceStatus {
    fn from(decoded: decode::RaceStatus) -> Self {
        match decoded {
            decode::RaceStatus::NotStarted => Self::NotStarted,
            decode::RaceStatus::AtThePost => Self::AtThePost,
            decode::RaceStatus::Off => Self::Off,
            decode::RaceStatus::Finished => Self::Finished,
            decode::RaceStatus::Abandoned => Self::Abandoned,
        }
    }
}

impl From<RaceStatus> for decode::RaceStatus {
    fn from(known: RaceStatus) -> Self {
        match known {
            RaceStatus::NotStarted => Self::NotStarted,
            RaceStatus::AtThePost => Self::AtThePost,
            RaceStatus::Off => Self::Off,
            RaceStatus::Finished => Self::Finished,
            RaceStatus::Abandoned => Self::Abandoned,
        }
    }
}

impl From<decode::RunnerStatus> for RunnerStatus {
    fn from(decoded: decode::RunnerStatus) -> Self {
        match decoded {
            decode::RunnerStatus::Active => Self::Active,
            decode::RunnerStatus::NonRunner => Self::NonRunner,
            decode::RunnerStatus::Fell => Self::Fell,
            decode::RunnerStatus::PulledUp => Self::PulledUp,
            decode::RunnerStatus::Disqualified => Self::Disqualified,
            decode::RunnerStatus::Finished => Self::Finished,
        }
    }
}

impl From<RunnerStatus> for decode::RunnerStatus {
    fn from(known: RunnerStatus) -> Self {
        match known {
            RunnerStatus::Active => Self::Active,
            RunnerStatus::NonRunner => Self::NonRunner,
            RunnerStatus::Fell => Self::Fell,
            RunnerStatus::PulledUp => Self::PulledUp,
            RunnerStatus::Disqualified => Self::Disqualified,
            RunnerStatus::Finished => Self::Finished,
        }
    }
}

impl From<decode::MarketStatus> for MarketStatus {
    fn from(decoded: decode::MarketStatus) -> Self {
        match decoded {
            decode::MarketStatus::Inactive => Self::Inactive,
            decode::MarketStatus::Open => Self::Open,
            decode::MarketStatus::Suspended => Self::Suspended,
            decode::MarketStatus::Closed => Self::Closed,
        }
    }
}

impl From<MarketStatus> for decode::MarketStatus {
    fn from(known: MarketStatus) -> Self {
        match known {
            MarketStatus::Inactive => Self::Inactive,
            MarketStatus::Open => Self::Open,
            MarketStatus::Suspended => Self::Suspended,
            MarketStatus::Closed => Self::Closed,
        }
    }
}

impl From<decode::SelectionStatus> for SelectionStatus {
    fn from(decoded: decode::SelectionStatus) -> Self {
        match decoded {
            decode::SelectionStatus::Active => Self::Active,
            decode::SelectionStatus::Winner => Self::Winner,
            decode::SelectionStatus::Loser => Self::Loser,
            decode::SelectionStatus::Removed => Self::Removed,
        }
    }
}

impl From<SelectionStatus> for decode::SelectionStatus {
    fn from(known: SelectionStatus) -> Self {
        match known {
            SelectionStatus::Active => Self::Active,
            SelectionStatus::Winner => Self::Winner,
            SelectionStatus::Loser => Self::Loser,
            SelectionStatus::Removed => Self::Removed,
        }
    }
}

impl From<decode::Outcome> for Outcome {
    fn from(decoded: decode::Outcome) -> Self {
        match decoded {
            decode::Outcome::Home => Self::Home,
            decode::Outcome::Draw => Self::Draw,
            decode::Outcome::Away => Self::Away,
            decode::Outcome::P1 => Self::Player1,
            decode::Outcome::P2 => Self::Player2,
            decode::Outcome::Over => Self::Over,
            decode::Outcome::Under => Self::Under,
            decode::Outcome::Yes => Self::Yes,
            decode::Outcome::No => Self::No,
        }
    }
}

impl From<Outcome> for decode::Outcome {
    fn from(known: Outcome) -> Self {
        match known {
            Outcome::Home => Self::Home,
            Outcome::Draw => Self::Draw,
            Outcome::Away => Self::Away,
            Outcome::Player1 => Self::P1,
            Outcome::Player2 => Self::P2,
            Outcome::Over => Self::Over,
            Outcome::Under => Self::Under,
            Outcome::Yes => Self::Yes,
            Outcome::No => Self::No,
        }
    }
}

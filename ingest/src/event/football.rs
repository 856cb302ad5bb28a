//! What a feed can tell of a football match.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Analysis, Eid, LineUp, Pair, Participant, PlayerStat, Side};

#[derive(Debug, Clone, PartialEq)]
pub enum FootballFact {
    Status(FootballStatus),
    /// The match clock at the moment of the batch. The hub decides whether its anchor must move.
    Clock {
        second: u32,
        running: bool,
    },
    Score(FootballScore),
    /// Something new that happened. One known by its `eid` is a repetition and changes nothing.
    Incident(Incident),
    /// An incident is taken back (a goal overturned); `score` is what stands now.
    Retract {
        of: Eid,
        why: Arc<str>,
        score: FootballScore,
    },
    /// A correction of an incident, for example another scorer or another minute.
    Correct(Incident),
    /// Counts of one side: absolute, and only those that changed.
    Stats {
        side: Side,
        values: Vec<(Stat, u32)>,
    },
    Ball(Ball),
    /// Who starts and who sits on the bench; a later one replaces it.
    LineUp {
        side: Side,
        line_up: LineUp,
    },
    /// Counts of one player: absolute, and only those that changed.
    PlayerStats {
        side: Side,
        player: Participant,
        values: Vec<(PlayerStat, u32)>,
    },
    /// Shots, momentum, halves and the like.
    Analysis(Analysis),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FootballStatus {
    NotStarted,
    FirstHalf,
    HalfTime,
    SecondHalf,
    ExtraFirst,
    ExtraHalf,
    ExtraSecond,
    Penalties,
    Finished,
    Postponed,
    Abandoned,
    Cancelled,
}

impl FootballStatus {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotStarted => "not_started",
            Self::FirstHalf => "first_half",
            Self::HalfTime => "half_time",
            Self::SecondHalf => "second_half",
            Self::ExtraFirst => "extra_first",
            Self::ExtraHalf => "extra_half",
            Self::ExtraSecond => "extra_second",
            Self::Penalties => "penalties",
            Self::Finished => "finished",
            Self::Postponed => "postponed",
            Self::Abandoned => "abandoned",
            Self::Cancelled => "cancelled",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FootballScore {
    /// What the scoreboard shows: all goals in play, without the shoot-out.
    pub goals: Pair<u16>,
    /// At half time.
    pub half_time: Option<Pair<u16>>,
    /// Goals of extra time alone, from its start on.
    pub extra_time: Option<Pair<u16>>,
    /// Kicks scored in the shoot-out.
    pub penalties: Option<Pair<u16>>,
}

impl FootballScore {
    /// Whether either side has more here than there: of goals, or of kicks in a shoot-out that both
    /// know of.
    #[must_use]
    pub fn is_ahead_of(&self, other: &Self) -> bool {
        let more = |own: Pair<u16>, other: Pair<u16>| own[0] > other[0] || own[1] > other[1];
        let kicks = self.penalties.zip(other.penalties);
        more(self.goals, other.goals) || kicks.is_some_and(|(own, other)| more(own, other))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incident {
    pub eid: Eid,
    pub kind: IncidentKind,
    /// The minute in progress, as scoreboards count: 17:58 is minute 18; 45 or 90 with `added`
    /// in stoppage time.
    pub minute: u16,
    pub added: Option<u16>,
    /// For a goal the side that profits of it.
    pub side: Option<Side>,
    /// The scorer, the one booked, the player who goes off.
    pub player: Option<Participant>,
    /// The one who gave the pass; for a substitution the player who comes on.
    pub assist: Option<Participant>,
    /// The score after it, for a goal and for a kick of the shoot-out.
    pub score: Option<Pair<u16>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IncidentKind {
    Goal(GoalKind),
    Yellow,
    SecondYellow,
    Red,
    Substitution,
    PenaltyMissed,
    /// A check by the video assistant has begun or ended.
    Var(VarDecision),
    Period(FootballStatus),
    /// A kick of the shoot-out, scored or not.
    Shootout {
        scored: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GoalKind {
    Regular,
    Penalty,
    OwnGoal,
}

impl GoalKind {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Regular => "regular",
            Self::Penalty => "penalty",
            Self::OwnGoal => "own_goal",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VarDecision {
    Checking,
    Confirmed,
    Overturned,
}

/// A counter of a side. Possession is in percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stat {
    BallPossession,
    TotalShots,
    ShotsOnTarget,
    ShotsOffTarget,
    BlockedShots,
    CornerKicks,
    Fouls,
    Offsides,
    YellowCards,
    RedCards,
    Saves,
    Passes,
    AccuratePasses,
    ThrowIns,
    GoalKicks,
    FreeKicks,
    Attacks,
    DangerousAttacks,
}

impl Stat {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BallPossession => "ball_possession",
            Self::TotalShots => "total_shots",
            Self::ShotsOnTarget => "shots_on_target",
            Self::ShotsOffTarget => "shots_off_target",
            Self::BlockedShots => "blocked_shots",
            Self::CornerKicks => "corner_kicks",
            Self::Fouls => "fouls",
            Self::Offsides => "offsides",
            Self::YellowCards => "yellow_cards",
            Self::RedCards => "red_cards",
            Self::Saves => "saves",
            Self::Passes => "passes",
            Self::AccuratePasses => "accurate_passes",
            Self::ThrowIns => "throw_ins",
            Self::GoalKicks => "goal_kicks",
            Self::FreeKicks => "free_kicks",
            Self::Attacks => "attacks",
            Self::DangerousAttacks => "dangerous_attacks",
        }
    }
}

/// Where the ball is, in tenths of a percent of the pitch, seen from the side that has it: `x` 0 is
/// its own goal line, 1000 the other; `y` 0 its left touch line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ball {
    pub x: u16,
    pub y: u16,
    pub side: Side,
    pub situation: Situation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Situation {
    Possession,
    Attack,
    Dangerous,
    Safe,
    Corner,
    FreeKick,
    ThrowIn,
    GoalKick,
    Penalty,
    ShotOnTarget,
    ShotOffTarget,
    Goal,
    Offside,
    Injury,
    Substitution,
}

impl Situation {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Possession => "possession",
            Self::Attack => "attack",
            Self::Dangerous => "dangerous",
            Self::Safe => "safe",
            Self::Corner => "corner",
            Self::FreeKick => "freekick",
            Self::ThrowIn => "throwin",
            Self::GoalKick => "goalkick",
            Self::Penalty => "penalty",
            Self::ShotOnTarget => "shotontarget",
            Self::ShotOffTarget => "shotofftarget",
            Self::Goal => "goal",
            Self::Offside => "offside",
            Self::Injury => "injury",
            Self::Substitution => "substitution",
        }
    }
}

//! Events of a football match.

use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};

use super::{
    Analysis, Eid, LineUp, Micros, Pair, Participant, PlayerStat, Side, counts, line_up,
    words::words,
};
use crate::football::Period;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Football"))]
pub enum FootballFact {
    Status(FootballStatus),
    /// The match clock at the moment of the line. The hub decides whether its anchor must move.
    Clock {
        second: u32,
        running: bool,
    },
    Score(FootballScore),
    /// Something new that happened. One with an `eid` that came before is a repetition and changes
    /// nothing.
    Incident(Incident),
    /// An incident is taken back (a goal overturned); `score` is what stands now.
    Retract {
        /// The `eid` of the incident.
        #[serde(rename = "of")]
        eid: Eid,
        why: Arc<str>,
        score: FootballScore,
    },
    /// A correction of an incident, for example another scorer or another minute.
    Correct(Incident),
    /// Counts of one side: absolute, and only those that changed.
    Stats {
        side: Side,
        #[serde(with = "counts")]
        #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<Stat, u32>"))]
        values: Vec<(Stat, u32)>,
    },
    Ball(Ball),
    /// Who starts for a side and who sits on the bench; a later one replaces it.
    #[serde(with = "line_up::of_side")]
    #[cfg_attr(feature = "schema", schemars(with = "line_up::LineUpOfSide"))]
    LineUp {
        side: Side,
        line_up: LineUp,
    },
    /// Counts of one player: absolute, and only those that changed.
    PlayerStats {
        side: Side,
        player: Participant,
        #[serde(with = "counts")]
        #[cfg_attr(
            feature = "schema",
            schemars(with = "std::collections::BTreeMap<PlayerStat, u32>")
        )]
        values: Vec<(PlayerStat, u32)>,
    },
    /// Shots, momentum, halves and the like.
    Analysis(Analysis),
    /// When a period began. A later one for the same period corrects it.
    PeriodStart {
        period: Period,
        /// In microseconds since the Unix epoch, UTC.
        at: Micros,
    },
}

words! {
    pub enum FootballStatus {
        NotStarted = "not_started",
        FirstHalf = "first_half",
        HalfTime = "half_time",
        SecondHalf = "second_half",
        ExtraFirst = "extra_first",
        ExtraHalf = "extra_half",
        ExtraSecond = "extra_second",
        Penalties = "penalties",
        Finished = "finished",
        Postponed = "postponed",
        Abandoned = "abandoned",
        Cancelled = "cancelled",
        /// In play, and the source does not say in which part.
        Live = "live",
        /// Play has stopped and may go on.
        Interrupted = "interrupted",
    }
}

impl FootballStatus {
    /// Whether the match has been played, at least in part: only then it can have a score.
    #[must_use]
    pub fn has_begun(self) -> bool {
        !matches!(self, Self::NotStarted | Self::Postponed | Self::Cancelled)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FootballScore {
    /// All goals in play, without the shoot-out.
    pub goals: Pair<u16>,
    /// At half time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub half_time: Option<Pair<u16>>,
    /// Goals of extra time alone, from its start on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_time: Option<Pair<u16>>,
    /// Kicks scored in the shoot-out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub penalties: Option<Pair<u16>>,
}

impl FootballScore {
    /// Whether either side has more here than there: of goals, or of kicks in a shoot-out that both
    /// know of.
    #[must_use]
    pub fn is_ahead_of(&self, other: &Self) -> bool {
        let more = |newer: Pair<u16>, other: Pair<u16>| newer[0] > other[0] || newer[1] > other[1];
        let kicks = self.penalties.zip(other.penalties);
        more(self.goals, other.goals) || kicks.is_some_and(|(newer, other)| more(newer, other))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Incident {
    /// Its stable name, unique within the match.
    pub eid: Eid,
    pub kind: IncidentKind,
    /// The minute in progress, as scoreboards count: 17:58 is minute 18; 45 or 90 with `added`
    /// in stoppage time.
    pub minute: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added: Option<u16>,
    /// For a goal the side that profits of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub side: Option<Side>,
    /// The scorer, the one booked, the player who goes off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub player: Option<Participant>,
    /// The one who gave the pass; for a substitution the player who comes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assist: Option<Participant>,
    /// The score after it, for a goal and for a kick of the shoot-out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<Pair<u16>>,
}

impl Incident {
    /// An incident without players and score, in a minute and its added one. Constructors spread
    /// it, so that a new optional field changes only those that fill it.
    #[must_use]
    pub fn new(
        eid: impl Into<Eid>,
        kind: IncidentKind,
        (minute, added): (u16, Option<u16>),
        side: Option<Side>,
    ) -> Self {
        let eid = eid.into();
        Self { eid, kind, minute, added, side, player: None, assist: None, score: None }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum IncidentKind {
    Goal(GoalKind),
    Yellow,
    SecondYellow,
    Red,
    Substitution,
    PenaltyMissed,
    /// A check by the video assistant.
    Var(VarDecision),
    Period(FootballStatus),
    /// A kick of the shoot-out.
    Shootout {
        scored: bool,
    },
}

impl IncidentKind {
    /// One of each kind.
    pub const ALL: [Self; 9] = [
        Self::Goal(GoalKind::Regular),
        Self::Yellow,
        Self::SecondYellow,
        Self::Red,
        Self::Substitution,
        Self::PenaltyMissed,
        Self::Var(VarDecision::Checking),
        Self::Period(FootballStatus::FirstHalf),
        Self::Shootout { scored: true },
    ];

    /// The word in frames and records.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Goal(_) => "goal",
            Self::Yellow => "yellow",
            Self::SecondYellow => "second_yellow",
            Self::Red => "red",
            Self::Substitution => "substitution",
            Self::PenaltyMissed => "penalty_missed",
            Self::Var(_) => "var",
            Self::Period(_) => "period",
            Self::Shootout { .. } => "shootout",
        }
    }

    /// The kind of goal, the decision, the status of the period, or whether the kick was scored.
    #[must_use]
    pub fn detail(self) -> Option<&'static str> {
        match self {
            Self::Goal(kind) => Some(kind.as_str()),
            Self::Var(decision) => Some(decision.as_str()),
            Self::Period(status) => Some(status.as_str()),
            Self::Shootout { scored: true } => Some("scored"),
            Self::Shootout { scored: false } => Some("missed"),
            Self::Yellow
            | Self::SecondYellow
            | Self::Red
            | Self::Substitution
            | Self::PenaltyMissed => None,
        }
    }
}

words! {
    pub enum GoalKind {
        Regular = "regular",
        Penalty = "penalty",
        OwnGoal = "own_goal",
    }
}

words! {
    pub enum VarDecision {
        Checking = "checking",
        Confirmed = "confirmed",
        Overturned = "overturned",
    }
}

words! {
    /// A counter of a side. Possession is in percent.
    pub enum Stat {
        BallPossession = "ball_possession",
        TotalShots = "total_shots",
        ShotsOnTarget = "shots_on_target",
        ShotsOffTarget = "shots_off_target",
        BlockedShots = "blocked_shots",
        CornerKicks = "corner_kicks",
        Fouls = "fouls",
        Offsides = "offsides",
        YellowCards = "yellow_cards",
        RedCards = "red_cards",
        Saves = "saves",
        Passes = "passes",
        AccuratePasses = "accurate_passes",
        ThrowIns = "throw_ins",
        GoalKicks = "goal_kicks",
        FreeKicks = "free_kicks",
        Attacks = "attacks",
        DangerousAttacks = "dangerous_attacks",
    }
}

/// Where the ball is, in tenths of a percent of the pitch, seen from the side that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Ball {
    /// 0 is its own goal line, 1000 the other.
    #[cfg_attr(feature = "schema", schemars(range(max = 1000)))]
    pub x: u16,
    /// 0 is its left touch line.
    #[cfg_attr(feature = "schema", schemars(range(max = 1000)))]
    pub y: u16,
    pub side: Side,
    pub situation: Situation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
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
    pub const ALL: [Self; 15] = [
        Self::Possession,
        Self::Attack,
        Self::Dangerous,
        Self::Safe,
        Self::Corner,
        Self::FreeKick,
        Self::ThrowIn,
        Self::GoalKick,
        Self::Penalty,
        Self::ShotOnTarget,
        Self::ShotOffTarget,
        Self::Goal,
        Self::Offside,
        Self::Injury,
        Self::Substitution,
    ];

    /// The word in frames and documents, which differs from the one in lines: `freekick`.
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

//! What a line can tell of a football match.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Analysis, Participant, Side};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Football {
    Status(FootballStatus),
    /// The match clock at the moment of the line.
    Clock {
        second: u32,
        running: bool,
    },
    Score(FootballScore),
    /// Something new that happened.
    Incident(Incident),
    /// An incident told anew with other particulars: another scorer, another minute.
    Correct(Incident),
    /// An incident is taken back; `score` is what stands now.
    Retract {
        /// The `eid` of the incident.
        of: String,
        why: String,
        score: FootballScore,
    },
    /// Counts of one side: absolute, and only those that changed.
    Stats {
        side: Side,
        values: BTreeMap<Stat, u32>,
    },
    Ball(Ball),
    /// Who starts for a side and who sits on the bench; a later one replaces it.
    LineUp(LineUp),
    /// Counts of one player: absolute, and only those that changed.
    PlayerStats {
        side: Side,
        player: Participant,
        values: BTreeMap<PlayerStat, u32>,
    },
    /// Shots, momentum, halves and the like.
    Analysis(Box<Analysis>),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LineUp {
    pub side: Side,
    /// `4-3-3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub formation: Option<String>,
    /// Those who start first, then the bench.
    pub players: Vec<LineUpPlayer>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    pub country: Option<String>,
    pub starter: bool,
    #[serde(default)]
    pub captain: bool,
}

/// Pairs are home and away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FootballScore {
    /// All goals in play, without the shoot-out.
    pub goals: [u16; 2],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub half_time: Option<[u16; 2]>,
    /// Goals of extra time alone, from its start on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_time: Option<[u16; 2]>,
    /// Kicks scored in the shoot-out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub penalties: Option<[u16; 2]>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Incident {
    /// Its stable name, unique within the match.
    pub eid: String,
    pub kind: IncidentKind,
    /// The minute in progress, as scoreboards count: 17:58 is minute 18; 45 or 90 with `added` in
    /// stoppage time.
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
    pub score: Option<[u16; 2]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// Where the ball is, in tenths of a percent of the pitch, seen from the side that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ball {
    /// 0 is its own goal line, 1000 the other.
    #[schemars(range(max = 1000))]
    pub x: u16,
    /// 0 is its left touch line.
    #[schemars(range(max = 1000))]
    pub y: u16,
    pub side: Side,
    pub situation: Situation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GoalKind {
    Regular,
    Penalty,
    OwnGoal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VarDecision {
    Checking,
    Confirmed,
    Overturned,
}

/// A count of a side. Possession is in percent.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlayerPosition {
    Goalkeeper,
    Defender,
    Midfielder,
    Forward,
}

/// A count of a player, by its name in answers of the football API.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum PlayerStat {
    #[serde(rename = "minutes_played")]
    MinutesPlayed,
    #[serde(rename = "touches")]
    Touches,
    #[serde(rename = "goals")]
    Goals,
    #[serde(rename = "goal_assist")]
    Assists,
    #[serde(rename = "total_shots")]
    TotalShots,
    #[serde(rename = "shots_on_target")]
    ShotsOnTarget,
    #[serde(rename = "key_pass")]
    KeyPasses,
    #[serde(rename = "total_pass")]
    TotalPasses,
    #[serde(rename = "accurate_pass")]
    AccuratePasses,
    #[serde(rename = "total_cross")]
    TotalCrosses,
    #[serde(rename = "accurate_cross")]
    AccurateCrosses,
    #[serde(rename = "total_contest")]
    Dribbles,
    #[serde(rename = "won_contest")]
    DribblesWon,
    #[serde(rename = "duel_won")]
    DuelsWon,
    #[serde(rename = "duel_lost")]
    DuelsLost,
    #[serde(rename = "aerial_won")]
    AerialsWon,
    #[serde(rename = "aerial_lost")]
    AerialsLost,
    #[serde(rename = "total_tackle")]
    Tackles,
    #[serde(rename = "won_tackle")]
    TacklesWon,
    #[serde(rename = "total_clearance")]
    Clearances,
    #[serde(rename = "interception")]
    Interceptions,
    #[serde(rename = "ball_recovery")]
    Recoveries,
    #[serde(rename = "dispossessed")]
    Dispossessed,
    #[serde(rename = "fouls")]
    Fouls,
    #[serde(rename = "was_fouled")]
    WasFouled,
    #[serde(rename = "total_offside")]
    Offsides,
    #[serde(rename = "yellow_card")]
    YellowCards,
    #[serde(rename = "red_card")]
    RedCards,
    #[serde(rename = "saves")]
    Saves,
    #[serde(rename = "goals_conceded")]
    GoalsConceded,
}

//! A football match.

use std::{borrow::Cow, collections::BTreeMap};

use facts::event::Stat;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::{Fixture, Header, Participant};
use crate::words::{
    FootballStatus, GoalType, IncidentKind, Side, Situation, Timestamp, VarDecision,
};

/// A football match: the document of `football/{id}`.
#[derive(Debug, JsonSchema)]
pub struct FootballMatch {
    #[serde(flatten)]
    pub header: Header,
    #[serde(flatten)]
    pub fixture: Fixture,
    /// Always `football`.
    #[schemars(extend("const" = "football"))]
    pub sport: String,
    /// The home side; absent if no source names it.
    pub home: Option<Participant>,
    /// The away side; absent if no source names it.
    pub away: Option<Participant>,
    /// The status; absent if the markets are in play but no source reports the play.
    pub status: Option<FootballStatus>,
    /// The match clock.
    pub clock: Option<Clock>,
    /// The score. It is absent before the match and while no source states one: that does not mean 0-0.
    pub score: Option<FootballScore>,
    /// When each period began; absent while no source has reported that of any.
    pub period_starts: Option<PeriodStarts>,
    /// The incidents by `eid`. An incident stays in the document, and can change until the match is over.
    pub incidents: BTreeMap<String, Incident>,
    /// Counts of each side.
    pub stats: Stats,
    /// Where the ball is.
    pub ball: Option<Ball>,
}

/// A match clock. While it runs it shows `s` and the seconds since `at`, by the clock of the hub (`now` of `hello`,
/// `beat`, `pong`).
#[derive(Debug, JsonSchema)]
pub struct Clock {
    /// The moment at which the clock showed `s`.
    pub at: Timestamp,
    /// Seconds on the clock at the moment `at`. In football seconds of the match; in other sports elapsed or
    /// remaining, as is usual in the sport.
    pub s: u32,
    /// Whether the clock runs.
    pub running: bool,
}

/// The score of a football match.
#[derive(Debug, JsonSchema)]
pub struct FootballScore {
    /// Goals of the home side on the scoreboard, without the shoot-out.
    pub home: u16,
    /// Goals of the away side on the scoreboard, without the shoot-out.
    pub away: u16,
    /// Goals at half time.
    pub ht: Option<HomeAway>,
    /// Goals of extra time alone.
    pub et: Option<HomeAway>,
    /// Kicks scored in the shoot-out.
    pub pens: Option<HomeAway>,
}

/// When each period of a football match began, by the clock of the source that reports it. The schedule does not count.
#[derive(Debug, JsonSchema)]
pub struct PeriodStarts {
    /// The kick-off.
    pub first_half: Option<Timestamp>,
    /// The second half.
    pub second_half: Option<Timestamp>,
    /// The first half of extra time.
    pub extra_first: Option<Timestamp>,
    /// The second half of extra time.
    pub extra_second: Option<Timestamp>,
    /// The shoot-out.
    pub shootout: Option<Timestamp>,
}

/// A count of each side.
#[derive(Debug, JsonSchema)]
pub struct HomeAway {
    /// Of the home side.
    pub home: u32,
    /// Of the away side.
    pub away: u32,
}

/// An incident of a football match.
#[derive(Debug, JsonSchema)]
pub struct Incident {
    /// Its position in the order in which incidents were first reported, from 1.
    pub n: u32,
    /// What it is.
    pub kind: IncidentKind,
    #[serde(flatten)]
    pub particulars: Particulars,
    #[serde(flatten)]
    pub details: Details,
    /// True if the incident was retracted; otherwise absent.
    #[schemars(extend("const" = true))]
    pub retracted: Option<bool>,
    /// Why it was retracted, as one word: `offside`. Absent unless it was.
    pub why: Option<String>,
}

/// The fields that every incident and its event share.
#[derive(Debug, JsonSchema)]
pub struct Particulars {
    /// Minutes: the minute in progress, so that 17:58 on the clock is 18. In stoppage time it is 45 or 90 (105,
    /// 120).
    pub minute: u16,
    /// Minutes of stoppage time beyond `minute`; absent outside of stoppage time.
    pub added: Option<u16>,
    /// The side; of a goal, also an own goal, the side that it counts for.
    pub side: Option<Side>,
    /// The scorer, the booked player, or the player who goes off.
    pub player: Option<Participant>,
    /// The player who assisted, or who comes on.
    pub assist: Option<Participant>,
    /// After a goal, the score; of a kick of the shoot-out, the score in it. Other incidents have it if their source
    /// reports it.
    pub score: Option<HomeAway>,
}

/// The fields of an incident that depend on its kind.
#[derive(Debug, JsonSchema)]
pub struct Details {
    /// Of a goal: how it was scored.
    pub r#type: Option<GoalType>,
    /// Of a VAR check: the decision.
    pub decision: Option<VarDecision>,
    /// Of a period: the status that began.
    pub status: Option<FootballStatus>,
    /// Of a kick of the shoot-out: whether it was scored.
    pub scored: Option<bool>,
}

/// Counts of both sides of a football match.
#[derive(Debug, JsonSchema)]
pub struct Stats {
    /// Counts of the home side.
    pub home: SideStats,
    /// Counts of the away side.
    pub away: SideStats,
}

/// Counts of a side by name. No source reports all of them.
#[derive(Debug)]
pub struct SideStats;

impl JsonSchema for SideStats {
    fn schema_name() -> Cow<'static, str> {
        "SideStats".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let properties = Stat::ALL.map(|stat| {
            let name = stat.as_str();
            let words = name.replace('_', " ");
            let what = match stat {
                Stat::BallPossession => {
                    "Share of the possession of the ball, in percent.".to_owned()
                }
                _ => format!("Number of {words}."),
            };
            (name.to_owned(), json!({"type": "integer", "minimum": 0, "description": what}))
        });
        json_schema!({
            "description": "Counts of a side by name. No source reports all of them.",
            "type": "object",
            "properties": Map::<String, Value>::from_iter(properties),
        })
    }
}

/// Where the ball is, seen from the side that has it.
#[derive(Debug, JsonSchema)]
pub struct Ball {
    /// Percent of the length of the pitch: 0 is the own goal line of the side, 100 the other one.
    #[schemars(range(min = 0, max = 100))]
    pub x: f64,
    /// Percent of the width of the pitch: 0 is the left touch line of the side.
    #[schemars(range(min = 0, max = 100))]
    pub y: f64,
    /// The side that has the ball.
    pub side: Side,
    /// What happens.
    pub situation: Situation,
}

//! Matchwire's own feed format: one JSON object on each line, each a fact or several as one piece.
//!
//! It says all that [`crate::event`] can, so that whoever has data of his own can push it, and a
//! recording of any format can be written down in it. `docs/INGEST.md` explains it, and its JSON
//! Schema, `docs/events.schema.json`, is made from these types. A name that is not of the format is
//! an error, never ignored: it is most often a mistyped one.

mod analysis;
mod football;
mod line;
mod number;
mod odds;
mod scoreboard;
mod tennis;

use crate::error::DecodeError;

pub use self::{
    analysis::{Analysis, AveragePosition, GoalMouth, PitchPlace, PlayerRating, Shot},
    football::{
        Ball, Football, FootballScore, FootballStatus, GoalKind, Incident, IncidentKind, LineUp,
        LineUpPlayer, PlayerPosition, PlayerStat, Situation, Stat, VarDecision,
    },
    line::{
        About, Batch, BatchFact, Competition, Fact, Fixture, Line, MatchName, Message, Participant,
        Side, Sport, Venue,
    },
    number::Number,
    odds::{
        Change, Definition, Level, MarketStatus, Odds, Outcome, Selection, SelectionPrices,
        SelectionStatus,
    },
    scoreboard::{
        MatchClock, Race, RaceStatus, Runner, RunnerStatus, Scoreboard, ScoreboardStatus,
    },
    tennis::{Game, Player, PointKind, Set, Tennis, TennisScore, TennisStatus},
};

/// Reads one line.
///
/// # Errors
///
/// When it is no JSON, or not what a line may be.
pub fn line(bytes: &[u8]) -> Result<Line, DecodeError> {
    /// What tells the two kinds of lines apart, so that an error speaks of the one that was meant.
    #[derive(serde::Deserialize)]
    struct Kind {
        batch: Option<serde::de::IgnoredAny>,
    }
    let wrong = |error| super::json_error(&error);
    let kind: Kind = serde_json::from_slice(bytes).map_err(wrong)?;
    if kind.batch.is_some() {
        return serde_json::from_slice(bytes).map(Line::Batch).map_err(wrong);
    }
    serde_json::from_slice(bytes).map(|one| Line::One(Box::new(one))).map_err(wrong)
}

/// The JSON Schema of a line, as `docs/events.schema.json` has it.
///
/// # Panics
///
/// Never: a schema is JSON.
#[must_use]
pub fn schema() -> String {
    let schema = schemars::schema_for!(Line);
    serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n"
}

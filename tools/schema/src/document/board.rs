//! The boards: one row for each match.

use std::collections::BTreeMap;

use schemars::JsonSchema;

use super::{
    Clock, Competition, FootballScore, Header, Participant, TennisGame, TennisSet,
    scoreboard::Scoreboard,
};
use crate::words::{FootballStatus, Life, PlayerNumber, RaceStatus, TennisStatus, Timestamp};

/// The football board: the document of `football`.
#[derive(Debug, JsonSchema)]
pub struct FootballBoard {
    #[serde(flatten)]
    pub header: Header,
    /// The matches by id.
    pub matches: BTreeMap<String, FootballRow>,
}

/// The tennis board: the document of `tennis`.
#[derive(Debug, JsonSchema)]
pub struct TennisBoard {
    #[serde(flatten)]
    pub header: Header,
    /// The matches by id.
    pub matches: BTreeMap<String, TennisRow>,
}

/// The board of a sport that is followed by its scoreboard.
#[derive(Debug, JsonSchema)]
pub struct ScoreboardBoard {
    #[serde(flatten)]
    pub header: Header,
    /// The matches by id.
    pub matches: BTreeMap<String, ScoreboardRow>,
}

/// The board of horse racing: the document of `horseracing`.
#[derive(Debug, JsonSchema)]
pub struct HorseRacingBoard {
    #[serde(flatten)]
    pub header: Header,
    /// The races by id.
    pub matches: BTreeMap<String, HorseRacingRow>,
}

/// The fields of every row.
#[derive(Debug, JsonSchema)]
pub struct Row {
    /// The competition; absent if no source names it.
    pub competition: Option<Competition>,
    /// The scheduled or actual start.
    pub start: Option<Timestamp>,
    /// The life cycle of the match.
    pub life: Life,
}

/// A football match on the board. The fields are those of `FootballMatch`.
#[derive(Debug, JsonSchema)]
pub struct FootballRow {
    #[serde(flatten)]
    pub row: Row,
    /// The home side; absent if no source names it.
    pub home: Option<Participant>,
    /// The away side; absent if no source names it.
    pub away: Option<Participant>,
    /// The status; absent if the markets are in play but no source reports the play.
    pub status: Option<FootballStatus>,
    /// The match clock.
    pub clock: Option<Clock>,
    /// The score; absent before the match and while no source states one.
    pub score: Option<FootballScore>,
}

/// A tennis match on the board. The fields are those of `TennisMatch`.
#[derive(Debug, JsonSchema)]
pub struct TennisRow {
    #[serde(flatten)]
    pub row: Row,
    /// The first player or pair; absent if no source names it.
    pub p1: Option<Participant>,
    /// The second player or pair; absent if no source names it.
    pub p2: Option<Participant>,
    /// The status.
    pub status: TennisStatus,
    /// Each set that has begun, by its number from `"1"`. Absent if no source reports the play.
    pub sets: Option<BTreeMap<String, TennisSet>>,
    /// The current game. Absent if no source reports the play.
    pub game: Option<TennisGame>,
    /// The side that serves the next point.
    pub server: Option<PlayerNumber>,
}

/// A match on the board of a sport that is followed by its scoreboard. The fields are those of `ScoreboardMatch`.
#[derive(Debug, JsonSchema)]
pub struct ScoreboardRow {
    #[serde(flatten)]
    pub row: Row,
    /// The home side; absent if no source names it.
    pub home: Option<Participant>,
    /// The away side; absent if no source names it.
    pub away: Option<Participant>,
    #[serde(flatten)]
    pub scoreboard: Scoreboard,
}

/// A race on the board. The fields are those of `HorseRace`.
#[derive(Debug, JsonSchema)]
pub struct HorseRacingRow {
    #[serde(flatten)]
    pub row: Row,
    /// The first side, if a source reports the race as one of two sides.
    pub home: Option<Participant>,
    /// The second side, if a source reports the race as one of two sides.
    pub away: Option<Participant>,
    /// The status.
    pub status: RaceStatus,
    /// The name of the race.
    pub name: Option<String>,
    /// The racecourse.
    pub course: Option<String>,
    /// The country of the course: two letters of ISO 3166-1, or its name.
    pub country: Option<String>,
    /// The distance as the source writes it: `1m2f`, `1200m`.
    pub distance: Option<String>,
}

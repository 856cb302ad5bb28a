//! A tennis match.

use std::collections::BTreeMap;

use schemars::JsonSchema;

use super::{Fixture, Header, Participant};
use crate::words::{PlayerNumber, TennisStatus};

/// A tennis match: the document of `tennis/{id}`.
#[derive(Debug, JsonSchema)]
pub struct TennisMatch {
    #[serde(flatten)]
    pub header: Header,
    #[serde(flatten)]
    pub fixture: Fixture,
    /// Always `tennis`.
    #[schemars(extend("const" = "tennis"))]
    pub sport: String,
    /// The first player or pair; absent if no source names it.
    pub p1: Option<Participant>,
    /// The second player or pair; absent if no source names it.
    pub p2: Option<Participant>,
    /// The status.
    pub status: TennisStatus,
    /// The side that serves the next point.
    pub server: Option<PlayerNumber>,
    /// Each set that has begun, by its number from `"1"`. Absent if no source reports the play.
    pub sets: Option<BTreeMap<String, TennisSet>>,
    /// The current game. Absent if no source reports the play.
    pub game: Option<TennisGame>,
    /// Points played in the match. Absent if no source reports the play.
    pub points: Option<u32>,
    /// The winner of the match.
    pub winner: Option<PlayerNumber>,
}

/// The score of a set.
#[derive(Debug, JsonSchema)]
pub struct TennisSet {
    /// Games of the first side.
    pub p1: u8,
    /// Games of the second side.
    pub p2: u8,
    /// Points of the tie-break, if there is one.
    pub tb: Option<PlayerPair>,
}

/// A count of each side of a tennis match.
#[derive(Debug, JsonSchema)]
pub struct PlayerPair {
    /// Of the first side.
    pub p1: u16,
    /// Of the second side.
    pub p2: u16,
}

/// The points of a game: `"0"`, `"15"`, `"30"`, `"40"`, `"A"`, or the points of a tie-break.
#[derive(Debug, JsonSchema)]
pub struct TennisGame {
    /// Of the first side.
    #[schemars(regex(pattern = "^([0-9]+|A)$"))]
    pub p1: String,
    /// Of the second side.
    #[schemars(regex(pattern = "^([0-9]+|A)$"))]
    pub p2: String,
}

//! A match that is followed by its scoreboard: CS2, darts, hockey, basketball.

use std::collections::BTreeMap;

use schemars::JsonSchema;

use super::{Clock, Fixture, Header, HomeAway, Participant};
use crate::words::{ScoreboardStatus, Side};

/// A match that is followed by its scoreboard.
#[derive(Debug, JsonSchema)]
pub struct ScoreboardMatch {
    #[serde(flatten)]
    pub header: Header,
    #[serde(flatten)]
    pub fixture: Fixture,
    /// The sport.
    pub sport: String,
    /// The home side; absent if no source names it.
    pub home: Option<Participant>,
    /// The away side; absent if no source names it.
    pub away: Option<Participant>,
    #[serde(flatten)]
    pub scoreboard: Scoreboard,
}

/// The fields of the scoreboard.
#[derive(Debug, JsonSchema)]
pub struct Scoreboard {
    /// The status.
    pub status: ScoreboardStatus,
    /// What decides the match: maps in CS2, sets in darts (or legs, if it is played in legs only), goals in
    /// hockey, points in basketball.
    pub score: Option<HomeAway>,
    /// The same by part, by its number from `"1"`: rounds of each map, legs of each set, periods, quarters.
    /// Absent if no source reports the play.
    pub periods: Option<BTreeMap<String, HomeAway>>,
    /// The part in progress, as the source names it: `map 2`, `p2`, `overtime`.
    pub period: Option<String>,
    /// The clock of the match.
    pub clock: Option<Clock>,
    /// The winner of the match.
    pub winner: Option<Side>,
}

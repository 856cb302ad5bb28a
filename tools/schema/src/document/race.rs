//! A horse race.

use std::collections::BTreeMap;

use schemars::JsonSchema;

use super::{Fixture, Header, Participant};
use crate::words::{RaceStatus, RunnerStatus};

/// A horse race: the document of `horseracing/{id}`.
#[derive(Debug, JsonSchema)]
pub struct HorseRace {
    #[serde(flatten)]
    pub header: Header,
    #[serde(flatten)]
    pub fixture: Fixture,
    /// Always `horseracing`.
    #[schemars(extend("const" = "horseracing"))]
    pub sport: String,
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
    /// The runners by id. Absent if no source reports the race.
    pub runners: Option<BTreeMap<String, Runner>>,
}

/// A runner of a race.
#[derive(Debug, JsonSchema)]
pub struct Runner {
    /// The name of the horse.
    pub name: String,
    /// The status.
    pub status: RunnerStatus,
    /// The number on the saddlecloth.
    pub number: Option<u16>,
    /// The name of the jockey.
    pub jockey: Option<String>,
    /// The place: 1 is first. In a dead heat several runners have the same.
    #[schemars(range(min = 1))]
    pub position: Option<u16>,
}

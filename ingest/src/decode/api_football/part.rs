//! An answer about one part of a fixture: its events, its statistics, its line-ups, or its players.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::{
    ApiFootballEvent, Parameters, TeamStatistics,
    fixture::{self, RawStatistics},
    people::{self, PlayerStatistics, Sheet},
    value,
};
use crate::{
    decode::json,
    error::{DecodeError, RefusalKind, Result},
};

/// A part of a fixture, which says nothing of the rest.
#[derive(Debug, Clone, PartialEq)]
pub struct FixturePart {
    pub fixture: Arc<str>,
    pub content: PartContent,
    /// What is wrong with events of it.
    pub notices: Vec<DecodeError>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum PartContent {
    /// All events so far.
    Events(Vec<ApiFootballEvent>),
    Statistics(Vec<TeamStatistics>),
    LineUps(Vec<Sheet>),
    Players(Vec<PlayerStatistics>),
}

/// The endpoints of parts, with the parameters that leave nothing out of a team's part.
pub(crate) const PARTS: [(&str, &[&str]); 4] = [
    ("fixtures/events", &["fixture"]),
    ("fixtures/lineups", &["fixture", "team"]),
    ("fixtures/players", &["fixture", "team"]),
    ("fixtures/statistics", &["fixture", "team", "type", "half"]),
];

impl FixturePart {
    /// The part that the answer of an endpoint has; `None` if the endpoint has no part of a fixture.
    pub(super) fn parse(
        endpoint: &str,
        parameters: &Parameters,
        text: &str,
    ) -> Option<Result<Self>> {
        let (endpoint, allowed) = PARTS.iter().find(|(name, _)| *name == endpoint)?;
        let filter = parameters.keys().find(|name| !allowed.contains(&name.as_str()));
        if let Some(filter) = filter {
            let reason =
                format!("an answer of {endpoint:?} with the filter {filter:?} lacks the others");
            return Some(Err(DecodeError::new(RefusalKind::Value, reason)));
        }
        let Some(fixture) = parameters.get("fixture") else {
            return Some(Err(value(format!("an answer of {endpoint:?} without its fixture"))));
        };
        if serde_json::from_str::<Vec<&RawValue>>(text).is_err() {
            return Some(Err(value(format!("the response of {endpoint:?} is no list"))));
        }
        let mut notices = Vec::new();
        let content = match *endpoint {
            "fixtures/events" => {
                PartContent::Events(fixture::events(text, &mut notices).unwrap_or_default())
            }
            "fixtures/lineups" => PartContent::LineUps(people::sheets(text)),
            "fixtures/players" => PartContent::Players(people::statistics(text)),
            _ => {
                let teams = json::known_elements::<RawStatistics>(text).into_iter();
                PartContent::Statistics(teams.filter_map(RawStatistics::read).collect())
            }
        };
        Some(Ok(Self { fixture: fixture.clone(), content, notices }))
    }
}

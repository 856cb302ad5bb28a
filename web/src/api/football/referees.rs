//! `/api/v2/referees/`: referees, and how often they show cards.

use std::{collections::HashMap, sync::Arc};

use axum::{
    Extension,
    extract::{Path, State},
    http::Uri,
    response::Response,
};
use hyper::HeaderMap;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    country,
    event::Event,
    head_to_head::ratio,
    match_stats::{MatchStats, MatchStatsCache},
    people::{self, Person, Role},
    request::{self, ListQuery},
};
use crate::{
    api::{Api, ApiError, ErrorBody, Page, Spec, UnknownParametersBody},
    archive::Entity,
    record::{Key, MatchSummary},
};

/// SERVICE section 1.9. Sums are of the matches that we know the result of; what no feed of ours tells
/// is `null`.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(super) struct Referee {
    id: Key,
    name: String,
    country: String,
    nationality_a3: Option<String>,
    birthdate: Option<String>,
    matches: usize,
    total_yellow_cards: Option<u32>,
    total_red_cards: Option<u32>,
    /// Averages are over the matches of which the count is known.
    avg_yellow_per_match: Option<f64>,
    avg_red_per_match: Option<f64>,
    avg_goals_per_match: Option<f64>,
    avg_fouls_per_match: Option<f64>,
    career_games: Option<u32>,
    career_yellow_cards: Option<u32>,
    career_red_cards: Option<u32>,
}

impl Person for Referee {
    const ROLE: Role = Role::Referee;

    fn of(
        referee: &Entity,
        judged: &[Arc<MatchSummary>],
        match_stats: &HashMap<Key, MatchStats>,
    ) -> Self {
        let match_stats = || judged.iter().filter_map(|brief| match_stats.get(&brief.id));
        let yellow = StatTotal::of(match_stats().map(|stats| stats.yellow));
        let red = StatTotal::of(match_stats().map(|stats| stats.red));
        let fouls = StatTotal::of(match_stats().map(|stats| stats.fouls));
        let goals = StatTotal::of(judged.iter().map(|brief| brief.score));
        Self {
            id: referee.id,
            name: referee.name.to_string(),
            country: country::name_or_empty(referee.country.as_deref()),
            nationality_a3: None,
            birthdate: None,
            matches: judged.len(),
            total_yellow_cards: yellow.total(),
            total_red_cards: red.total(),
            avg_yellow_per_match: yellow.average(),
            avg_red_per_match: red.average(),
            avg_goals_per_match: goals.average(),
            avg_fouls_per_match: fouls.average(),
            career_games: None,
            career_yellow_cards: None,
            career_red_cards: None,
        }
    }
}

/// The total of both sides, over the matches that have the number.
struct StatTotal {
    sum: u32,
    of: usize,
}

impl StatTotal {
    fn of(counts: impl Iterator<Item = Option<[u32; 2]>>) -> Self {
        counts.flatten().fold(Self { sum: 0, of: 0 }, |sum, [home, away]| Self {
            sum: sum.sum + home + away,
            of: sum.of + 1,
        })
    }

    fn total(&self) -> Option<u32> {
        (self.of > 0).then_some(self.sum)
    }

    fn average(&self) -> Option<f64> {
        ratio(f64::from(self.sum), self.of, 2)
    }
}

const LIST: Spec =
    request::spec(&["country_code", "league_id", "limit", "min_matches", "name", "offset"]);

/// Referees, by name.
#[utoipa::path(
    get,
    path = "/api/v2/referees/",
    tag = "football v2",
    params(
        ("name" = Option<String>, Query, description = "Part of the name"),
        ("country_code" = Option<String>, Query, description = "Country code (ISO 3166-1 alpha-2)"),
        ("league_id" = Option<u64>, Query, description = "Refereed a match in this league"),
        ("min_matches" = Option<u64>, Query, description = "Minimum number of matches with a result"),
        ("limit" = Option<usize>, Query, description = "Page size (default 50, max 200)"),
        ("offset" = Option<usize>, Query, description = "Number of rows to skip"),
    ),
    responses(
        (status = 200, body = Page<Referee>),
        (status = 400, body = UnknownParametersBody),
        (status = 401, body = ErrorBody),
    ),
)]
pub(super) async fn list(
    State(api): State<Api>,
    Extension(match_stats): Extension<MatchStatsCache>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = ListQuery::read(&api, &uri, &headers, LIST)?;
    let code = query.params.text("country_code");
    let passes_filter = |referee: &Entity| {
        query.has_part("name", &referee.name)
            && code.is_none_or(|code| country::has_code(referee.country.as_deref(), code))
    };
    people::list::<Referee>(&query, &match_stats, passes_filter).await
}

/// A referee.
#[utoipa::path(
    get,
    path = "/api/v2/referees/{id}/",
    tag = "football v2",
    params(("id" = u64, Path, description = "The referee")),
    responses(
        (status = 200, body = Referee),
        (status = 400, body = UnknownParametersBody),
        (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody),
    ),
)]
pub(super) async fn detail(
    State(api): State<Api>,
    Extension(match_stats): Extension<MatchStatsCache>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    people::detail::<Referee>(&api, &match_stats, &id, &uri, &headers).await
}

/// The matches that the referee judges and judged, the latest first.
#[utoipa::path(
    get,
    path = "/api/v2/referees/{id}/matches/",
    tag = "football v2",
    params(
        ("id" = u64, Path, description = "The referee"),
        ("limit" = Option<usize>, Query, description = "Page size (default 50, max 200)"),
        ("offset" = Option<usize>, Query, description = "Number of rows to skip"),
    ),
    responses(
        (status = 200, body = Page<Event>),
        (status = 400, body = UnknownParametersBody),
        (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody),
    ),
)]
pub(super) async fn matches(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    people::matches(&api, Role::Referee, &id, &uri, &headers)
}

//! `/api/v2/managers/` and the endpoints below one manager.

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
    line_ups::short_name,
    manager_stats::ManagerStats,
    match_stats::{MatchStats, MatchStatsCache},
    matches::Matches,
    people::{self, Person, Role},
    request::{self, ListQuery, key},
    tenure::{self, Tenure},
};
use crate::{
    api::{
        Api, ApiError, CacheControl, ErrorBody, Page, Params, Spec, UnknownParametersBody, time,
    },
    archive::{Entity, EntityKind},
    record::{Key, MatchSummary},
};

/// SERVICE section 1.9. Sums are of the matches that we know the result of; what no feed of ours tells
/// is `null`, or an empty text where that page has one.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(super) struct Manager {
    id: Key,
    name: String,
    short_name: String,
    country: String,
    tactical_profile: String,
    /// The formation of most line-ups that are known.
    preferred_formation: String,
    /// The team of the last match.
    current_team_id: Option<Key>,
    matches_total: usize,
    wins: usize,
    draws: usize,
    losses: usize,
    /// Rates are in percent, to one digit.
    win_pct: Option<f64>,
    avg_goals_scored: Option<f64>,
    avg_goals_conceded: Option<f64>,
    avg_possession: Option<f64>,
    clean_sheet_pct: Option<f64>,
    btts_pct: Option<f64>,
    over_25_pct: Option<f64>,
    /// When the last of these matches changed last.
    stats_updated_at: Option<String>,
}

impl Person for Manager {
    const ROLE: Role = Role::Manager;

    fn of(
        manager: &Entity,
        briefs: &[Arc<MatchSummary>],
        match_stats: &HashMap<Key, MatchStats>,
    ) -> Self {
        let sums = ManagerStats::of(manager.id, briefs, match_stats);
        Self {
            id: manager.id,
            name: manager.name.to_string(),
            short_name: short_name(&manager.name),
            country: country::name_or_empty(manager.country.as_deref()),
            tactical_profile: String::new(),
            preferred_formation: sums.preferred_formation,
            current_team_id: manager.parent,
            matches_total: sums.matches,
            wins: sums.wins,
            draws: sums.draws,
            losses: sums.losses,
            win_pct: sums.win_pct,
            avg_goals_scored: sums.goals_scored,
            avg_goals_conceded: sums.goals_conceded,
            avg_possession: sums.possession,
            clean_sheet_pct: sums.clean_sheet_pct,
            btts_pct: sums.both_scored_pct,
            over_25_pct: sums.over_25_pct,
            stats_updated_at: briefs.iter().map(|brief| brief.updated).max().and_then(time::zulu),
        }
    }
}

const LIST: Spec = request::spec(&[
    "league_id",
    "limit",
    "min_matches",
    "name",
    "nationality_code",
    "offset",
    "tactical_profile",
    "team_id",
    "team_style",
]);

/// Managers, by name.
#[utoipa::path(
    get,
    path = "/api/v2/managers/",
    tag = "football v2",
    params(
        ("name" = Option<String>, Query, description = "Part of the name"),
        ("team_id" = Option<u64>, Query, description = "Current team, by the manager's last match"),
        ("league_id" = Option<u64>, Query, description = "Managed a team in this league"),
        ("nationality_code" = Option<String>, Query, description = "Country code (ISO 3166-1 alpha-2)"),
        ("tactical_profile" = Option<String>, Query, description = "Not provided by any feed: always empty"),
        ("team_style" = Option<String>, Query, description = "Not provided by any feed: always empty"),
        ("min_matches" = Option<u64>, Query, description = "Minimum number of matches with a result"),
        ("limit" = Option<usize>, Query, description = "Page size (default 50, max 200)"),
        ("offset" = Option<usize>, Query, description = "Number of rows to skip"),
    ),
    responses(
        (status = 200, body = Page<Manager>),
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
    let params = &query.params;
    let team = params.id("team_id")?;
    let code = params.text("nationality_code");
    let is_told = ["tactical_profile", "team_style"].iter().all(|name| params.text(name).is_none());
    let passes_filter = |manager: &Entity| {
        is_told
            && query.has_part("name", &manager.name)
            && team.is_none_or(|team| manager.parent == Some(team))
            && code.is_none_or(|code| country::has_code(manager.country.as_deref(), code))
    };
    people::list::<Manager>(&query, &match_stats, passes_filter).await
}

/// A manager.
#[utoipa::path(
    get,
    path = "/api/v2/managers/{id}/",
    tag = "football v2",
    params(("id" = u64, Path, description = "The manager")),
    responses(
        (status = 200, body = Manager),
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
    people::detail::<Manager>(&api, &match_stats, &id, &uri, &headers).await
}

/// In the manner of the lists below a team.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = ManagerCareer)]
pub(super) struct Career {
    manager_id: Key,
    count: usize,
    /// The latest first.
    tenures: Vec<Tenure>,
}

/// The manager's times with teams.
#[utoipa::path(
    get,
    path = "/api/v2/managers/{id}/career/",
    tag = "football v2",
    params(("id" = u64, Path, description = "The manager")),
    responses(
        (status = 200, body = Career),
        (status = 400, body = UnknownParametersBody),
        (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody),
    ),
)]
pub(super) async fn career(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    Params::read(uri.query(), request::NONE)?;
    let matches = Matches::now(&api);
    let manager = matches.entity(EntityKind::Manager, key(&id)?)?;
    let briefs = matches.all(&Role::Manager.results(manager.id));
    let tenures = tenure::tenures(&matches, manager.id, &briefs);
    let body = Career { manager_id: manager.id, count: tenures.len(), tenures };
    CacheControl::REFERENCE.answer(&headers, &body)
}

/// The matches that the manager leads and led, the latest first.
#[utoipa::path(
    get,
    path = "/api/v2/managers/{id}/matches/",
    tag = "football v2",
    params(
        ("id" = u64, Path, description = "The manager"),
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
    people::matches(&api, Role::Manager, &id, &uri, &headers)
}

//! Players, teams, tournaments and predictions of CS2.

use axum::extract::Path;
use ingest::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::super::{
    lists::{self, Inactive, Named},
    matches,
    predicted::{self, Predicted},
    request::{ApiResult, DateParams, PageParams, SportsRequest},
    shape::{self, LeagueRow, PersonRow},
    sport_stats::{self, SportStats},
    team_prediction::TeamPrediction,
};
use crate::{
    api::{
        CacheControl, Page,
        error::{ErrorBody, UnknownParametersBody},
    },
    archive::{Entity, EntityKind},
    record::Key,
};

const SPORT: Sport = Sport::Cs2;

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CsgoTeam {
    id: Key,
    name: String,
    /// No feed of ours tells it.
    short_name: Option<String>,
    country: String,
    country_code: Option<String>,
    /// Our own, from the results that are kept; null where there is none.
    elo_rating: Option<i64>,
    elo_peak: Option<i64>,
    /// No feed of ours tells maps by name.
    map_stats: Option<CsgoMapStats>,
}

#[derive(Debug, Serialize, ToSchema)]
struct CsgoMapStats {
    as_of: String,
    maps: Vec<String>,
    sample_size: u32,
    map_winrate: Option<f64>,
    round_winrate: Option<f64>,
    round_winrate_t: Option<f64>,
    round_winrate_ct: Option<f64>,
}

/// Players, by name. No feed of ours tells any yet.
#[utoipa::path(get, path = "/csgo/api/v2/players/", tag = "csgo",
    params(
        Named,
        ("team" = Option<u64>, Query, description = "Filter by team."),
        PageParams,
    ),
    responses(
        (status = 200, body = Page<PersonRow>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn players(request: SportsRequest) -> ApiResult {
    lists::people(&request, SPORT, EntityKind::Player)
}

/// One player.
#[utoipa::path(get, path = "/csgo/api/v2/players/{id}/", tag = "csgo",
    params(
        ("id" = u64, Path),
    ),
    responses(
        (status = 200, body = PersonRow),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn player(Path(id): Path<String>, request: SportsRequest) -> ApiResult {
    lists::person(&request, SPORT, EntityKind::Player, &id)
}

/// Predictions: unless something else is asked for, of matches that are still to begin.
#[utoipa::path(get, path = "/csgo/api/v2/predictions/", tag = "csgo",
    params(
        Predicted,
        DateParams,
        PageParams,
    ),
    responses(
        (status = 200, body = Page<TeamPrediction>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn predictions(request: SportsRequest) -> ApiResult {
    predicted::list(&request, SPORT, TeamPrediction::of).await
}

/// The prediction of one match, by the match's id.
#[utoipa::path(get, path = "/csgo/api/v2/predictions/{id}/", tag = "csgo",
    params(
        ("id" = u64, Path),
    ),
    responses(
        (status = 200, body = TeamPrediction),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn prediction(Path(id): Path<String>, request: SportsRequest) -> ApiResult {
    matches::one(&request, SPORT, &id, CacheControl::PREDICTIONS, TeamPrediction::of).await
}

/// Teams, by name.
#[utoipa::path(get, path = "/csgo/api/v2/teams/", tag = "csgo",
    params(
        Named,
        PageParams,
    ),
    responses(
        (status = 200, body = Page<CsgoTeam>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn teams(request: SportsRequest) -> ApiResult {
    lists::sides(&request, SPORT, CsgoTeam::of).await
}

/// One team.
#[utoipa::path(get, path = "/csgo/api/v2/teams/{id}/", tag = "csgo",
    params(
        ("id" = u64, Path),
    ),
    responses(
        (status = 200, body = CsgoTeam),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn team(Path(id): Path<String>, request: SportsRequest) -> ApiResult {
    lists::side(&request, SPORT, &id, CsgoTeam::of).await
}

/// Tournaments: those of which most is played first.
#[utoipa::path(get, path = "/csgo/api/v2/tournaments/", tag = "csgo",
    params(
        Named,
        Inactive,
        PageParams,
    ),
    responses(
        (status = 200, body = Page<LeagueRow>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn tournaments(request: SportsRequest) -> ApiResult {
    lists::leagues(&request, SPORT).await
}

/// One tournament.
#[utoipa::path(get, path = "/csgo/api/v2/tournaments/{id}/", tag = "csgo",
    params(
        ("id" = u64, Path),
    ),
    responses(
        (status = 200, body = LeagueRow),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn tournament(Path(id): Path<String>, request: SportsRequest) -> ApiResult {
    lists::league(&request, SPORT, &id).await
}

impl CsgoTeam {
    fn of(team: &Entity, sport_stats: &SportStats) -> Self {
        let peak = sport_stats.table.get(team.id).map(|rated| sport_stats::whole(rated.peak));
        Self {
            id: team.id,
            name: team.name.to_string(),
            short_name: None,
            country: shape::country_name(team.country.as_ref()),
            country_code: shape::country_code(team.country.as_ref()),
            elo_rating: sport_stats.elo(team.id),
            elo_peak: peak,
            map_stats: None,
        }
    }
}

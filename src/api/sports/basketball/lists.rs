//! Leagues, teams, people, standings and predictions of basketball.

use axum::extract::Path;
use ingest::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::super::{
    form,
    lists::{self, Inactive, Named},
    matches,
    predicted::{self, Predicted},
    request::{self, ApiResult, DateParams, PageParams, SportsRequest},
    shape::{LeagueRow, NamedRow, PersonRow, TeamRow},
    standings::{self, StandingsRow},
    team_prediction::TeamPrediction,
};
use crate::{
    api::{
        Api, CacheControl, Page,
        error::{ErrorBody, UnknownParametersBody},
    },
    archive::EntityKind,
    record::Key,
};

const SPORT: Sport = Sport::Basketball;

/// One match of a player. No feed of ours tells who played.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct PlayerGame {
    event_id: Key,
    event_date: Option<String>,
    points: Option<u32>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct BasketballStandings {
    league_id: Key,
    /// By the share of matches won.
    standings: Vec<BasketballLine>,
}

#[derive(Debug, Serialize, ToSchema)]
struct BasketballLine {
    position: usize,
    team: Option<NamedRow>,
    played: u32,
    wins: u32,
    losses: u32,
    /// 0 to 1.
    win_pct: Option<f64>,
}

/// Leagues: those of which most is played first.
#[utoipa::path(get, path = "/basketball/api/v2/leagues/", tag = "basketball",
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
pub(super) async fn leagues(request: SportsRequest) -> ApiResult {
    lists::leagues(&request, SPORT).await
}

/// One league.
#[utoipa::path(get, path = "/basketball/api/v2/leagues/{id}/", tag = "basketball",
    params(
        ("id" = u64, Path),
    ),
    responses(
        (status = 200, body = LeagueRow),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn league(Path(id): Path<String>, request: SportsRequest) -> ApiResult {
    lists::league(&request, SPORT, &id).await
}

/// Coaches, by name.
#[utoipa::path(get, path = "/basketball/api/v2/managers/", tag = "basketball",
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
pub(super) async fn managers(request: SportsRequest) -> ApiResult {
    lists::people(&request, SPORT, EntityKind::Manager)
}

/// One coach.
#[utoipa::path(get, path = "/basketball/api/v2/managers/{id}/", tag = "basketball",
    params(
        ("id" = u64, Path),
    ),
    responses(
        (status = 200, body = PersonRow),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn manager(Path(id): Path<String>, request: SportsRequest) -> ApiResult {
    lists::person(&request, SPORT, EntityKind::Manager, &id)
}

/// Players, by name. No feed of ours tells any yet.
#[utoipa::path(get, path = "/basketball/api/v2/players/", tag = "basketball",
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
#[utoipa::path(get, path = "/basketball/api/v2/players/{id}/", tag = "basketball",
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

/// Matches of a player: none, since no feed of ours tells who played.
#[utoipa::path(get, path = "/basketball/api/v2/players/{id}/games/", tag = "basketball",
    params(
        ("id" = u64, Path),
        PageParams,
    ),
    responses(
        (status = 200, body = Page<PlayerGame>),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn games(Path(id): Path<String>, request: SportsRequest) -> ApiResult {
    let query = request.read(request::spec(&["limit", "offset"]))?;
    request::entity(&request.api, EntityKind::Player, SPORT, &id)?;
    query.page(CacheControl::LIST, &Vec::<PlayerGame>::new(), Clone::clone)
}

/// Predictions: unless something else is asked for, of matches that are still to begin.
#[utoipa::path(get, path = "/basketball/api/v2/predictions/", tag = "basketball",
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
#[utoipa::path(get, path = "/basketball/api/v2/predictions/{id}/", tag = "basketball",
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

/// Who stands where in a league, by the results that are kept.
#[utoipa::path(get, path = "/basketball/api/v2/standings/", tag = "basketball",
    params(
        ("league" = u64, Query, description = "The league."),
        ("season" = Option<u64>, Query, description = "A season of the league (default: the latest)."),
    ),
    responses(
        (status = 200, body = BasketballStandings),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn standings(request: SportsRequest) -> ApiResult {
    standings::table(&request, SPORT, None, |_| false, BasketballStandings::of)
}

/// The same of the league with this id.
#[utoipa::path(get, path = "/basketball/api/v2/standings/{id}/", tag = "basketball",
    params(
        ("id" = u64, Path),
        ("season" = Option<u64>, Query, description = "A season of the league (default: the latest)."),
    ),
    responses(
        (status = 200, body = BasketballStandings),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn standings_of(Path(id): Path<String>, request: SportsRequest) -> ApiResult {
    standings::table(&request, SPORT, Some(&id), |_| false, BasketballStandings::of)
}

/// Teams, the strongest first.
#[utoipa::path(get, path = "/basketball/api/v2/teams/", tag = "basketball",
    params(
        Named,
        PageParams,
    ),
    responses(
        (status = 200, body = Page<TeamRow>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn teams(request: SportsRequest) -> ApiResult {
    lists::teams(&request, SPORT).await
}

/// One team.
#[utoipa::path(get, path = "/basketball/api/v2/teams/{id}/", tag = "basketball",
    params(
        ("id" = u64, Path),
    ),
    responses(
        (status = 200, body = TeamRow),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn team(Path(id): Path<String>, request: SportsRequest) -> ApiResult {
    lists::side(&request, SPORT, &id, TeamRow::of).await
}

/// Halls, by name.
#[utoipa::path(get, path = "/basketball/api/v2/venues/", tag = "basketball",
    params(
        Named,
        PageParams,
    ),
    responses(
        (status = 200, body = Page<NamedRow>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn venues(request: SportsRequest) -> ApiResult {
    lists::named(&request, SPORT, EntityKind::Venue)
}

/// One hall.
#[utoipa::path(get, path = "/basketball/api/v2/venues/{id}/", tag = "basketball",
    params(
        ("id" = u64, Path),
    ),
    responses(
        (status = 200, body = NamedRow),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn venue(Path(id): Path<String>, request: SportsRequest) -> ApiResult {
    lists::name(&request, SPORT, EntityKind::Venue, &id)
}

impl BasketballStandings {
    fn of(api: &Api, league_id: Key, mut lines: Vec<StandingsRow>) -> Self {
        let share = |line: &StandingsRow| {
            form::ratio(f64::from(line.wins), usize::try_from(line.played).unwrap_or(usize::MAX))
        };
        let difference = |line: &StandingsRow| i64::from(line.scored) - i64::from(line.conceded);
        lines.sort_by(|a, b| {
            let by_share = share(b).unwrap_or_default().total_cmp(&share(a).unwrap_or_default());
            by_share.then(difference(b).cmp(&difference(a))).then(a.team.cmp(&b.team))
        });
        let rows = lines.iter().zip(1..).map(|(line, position)| BasketballLine {
            position,
            team: api
                .archive
                .entity(EntityKind::Team, line.team)
                .map(|it| NamedRow::of_entity(&it)),
            played: line.played,
            wins: line.wins,
            losses: line.losses,
            win_pct: share(line),
        });
        Self { league_id, standings: rows.collect() }
    }
}

//! Leagues, teams, people, standings and predictions of hockey.

use axum::extract::Path;
use ingest::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    super::{
        lists::{self, Inactive, Named},
        matches,
        predicted::{self, Predicted},
        request::{ApiResult, DateParams, PageParams, SportsRequest},
        shape::{LeagueRow, NamedRow, TeamRow},
        standings::{self, StandingsRow},
        team_prediction::TeamPrediction,
    },
    matches::had_overtime,
};
use crate::{
    api::{
        Api, CacheControl, Page,
        error::{ErrorBody, UnknownParametersBody},
    },
    archive::EntityKind,
    record::Key,
};

const SPORT: Sport = Sport::Hockey;

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct HockeyStandings {
    league_id: Key,
    /// By points, the difference of goals, and goals.
    standings: Vec<HockeyLine>,
}

#[derive(Debug, Serialize, ToSchema)]
struct HockeyLine {
    position: usize,
    team: Option<NamedRow>,
    matches_played: u32,
    /// In regular time.
    wins: u32,
    losses: u32,
    /// After overtime or a shoot-out.
    overtime_wins: u32,
    overtime_losses: u32,
    /// 3 for a win, 2 for one after overtime, 1 for a loss after overtime or a draw.
    points: u32,
    goals_scored: u32,
    goals_conceded: u32,
    /// The last five, `W`, `D`, `L`, the latest first.
    form_string: String,
}

/// Leagues: those of which most is played first.
#[utoipa::path(get, path = "/hockey/api/v2/leagues/", tag = "hockey",
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
#[utoipa::path(get, path = "/hockey/api/v2/leagues/{id}/", tag = "hockey",
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

/// Predictions: unless something else is asked for, of matches that are still to begin.
#[utoipa::path(get, path = "/hockey/api/v2/predictions/", tag = "hockey",
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
#[utoipa::path(get, path = "/hockey/api/v2/predictions/{id}/", tag = "hockey",
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
#[utoipa::path(get, path = "/hockey/api/v2/standings/", tag = "hockey",
    params(
        ("league" = u64, Query, description = "The league."),
        ("season" = Option<u64>, Query, description = "A season of the league (default: the latest)."),
    ),
    responses(
        (status = 200, body = HockeyStandings),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn standings(request: SportsRequest) -> ApiResult {
    standings::table(&request, SPORT, None, had_overtime, HockeyStandings::of)
}

/// The same of the league with this id.
#[utoipa::path(get, path = "/hockey/api/v2/standings/{id}/", tag = "hockey",
    params(
        ("id" = u64, Path),
        ("season" = Option<u64>, Query, description = "A season of the league (default: the latest)."),
    ),
    responses(
        (status = 200, body = HockeyStandings),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn standings_of(Path(id): Path<String>, request: SportsRequest) -> ApiResult {
    standings::table(&request, SPORT, Some(&id), had_overtime, HockeyStandings::of)
}

/// Teams, the strongest first.
#[utoipa::path(get, path = "/hockey/api/v2/teams/", tag = "hockey",
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
#[utoipa::path(get, path = "/hockey/api/v2/teams/{id}/", tag = "hockey",
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

impl HockeyStandings {
    fn of(api: &Api, league_id: Key, mut lines: Vec<StandingsRow>) -> Self {
        let points =
            |it: &StandingsRow| it.wins * 3 + it.overtime_wins * 2 + it.overtime_losses + it.draws;
        let difference = |line: &StandingsRow| i64::from(line.scored) - i64::from(line.conceded);
        let order = |line: &StandingsRow| (points(line), difference(line), line.scored);
        lines.sort_by(|a, b| order(b).cmp(&order(a)).then(a.team.cmp(&b.team)));
        let rows = lines.iter().zip(1..).map(|(line, position)| HockeyLine {
            position,
            team: api
                .archive
                .entity(EntityKind::Team, line.team)
                .map(|it| NamedRow::of_entity(&it)),
            matches_played: line.played,
            wins: line.wins,
            losses: line.losses,
            overtime_wins: line.overtime_wins,
            overtime_losses: line.overtime_losses,
            points: points(line),
            goals_scored: line.scored,
            goals_conceded: line.conceded,
            form_string: line.form.clone(),
        });
        Self { league_id, standings: rows.collect() }
    }
}

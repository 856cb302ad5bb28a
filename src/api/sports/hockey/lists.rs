//! Leagues, teams, people, standings and predictions of hockey.

use axum::{
    extract::{Path, State},
    http::Uri,
    response::Response,
};
use hyper::HeaderMap;
use ingest::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    super::{
        asked::{self, Asked, Days, Paging},
        digest::Shared,
        lists::{self, Inactive, Named},
        predicted::{self, Predicted},
        shape::{LeagueRow, NamedRow, TeamRow},
        standings::{self, Line},
        stick::IdName,
        team_prediction::TeamPrediction,
    },
    matches,
};
use crate::{
    api::{
        Api, ApiError, Kept, Page, Params,
        error::{ErrorBody, UnknownParametersBody},
    },
    archive::EntityKind,
    record::{Key, MatchRecord},
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
        Paging,
    ),
    responses(
        (status = 200, body = Page<LeagueRow>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn leagues(
    State(api): State<Api>,
    digests: Shared,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let asked = Asked::read(&api, &uri, &headers, lists::LEAGUES)?;
    let digest = digests.of(&api, SPORT).await?;
    lists::leagues(&asked, SPORT, &digest)
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
pub(super) async fn league(
    State(api): State<Api>,
    digests: Shared,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let asked = Asked::read(&api, &uri, &headers, asked::spec(&[]))?;
    let digest = digests.of(&api, SPORT).await?;
    Kept::REFERENCE.answer(&headers, &lists::league(&asked, SPORT, &id, &digest)?)
}

/// Predictions: unless something else is asked for, of matches that are still to begin.
#[utoipa::path(get, path = "/hockey/api/v2/predictions/", tag = "hockey",
    params(
        Predicted,
        Days,
        Paging,
    ),
    responses(
        (status = 200, body = Page<TeamPrediction>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn predictions(
    State(api): State<Api>,
    digests: Shared,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let asked = Asked::read(&api, &uri, &headers, predicted::SPEC)?;
    let digest = digests.of(&api, SPORT).await?;
    let row =
        |record: &MatchRecord| TeamPrediction::of(&api, SPORT, record, &digest, IdName::Match);
    predicted::page(&asked, SPORT, row).await
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
pub(super) async fn prediction(
    State(api): State<Api>,
    digests: Shared,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    Params::read(uri.query(), asked::spec(&[]))?;
    let record = asked::record(&api, SPORT, &id).await?;
    let digest = digests.of(&api, SPORT).await?;
    let prediction = TeamPrediction::of(&api, SPORT, &record, &digest, IdName::Match);
    Kept::PREDICTIONS.answer(&headers, &prediction)
}

/// Who stands where in a league, by the results that are kept.
#[utoipa::path(get, path = "/hockey/api/v2/standings/", tag = "hockey",
    params(
        ("league" = u64, Query, description = "The league."),
        ("season" = Option<u64>, Query, description = "A season of it; its latest unless said."),
    ),
    responses(
        (status = 200, body = HockeyStandings),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn standings(
    State(api): State<Api>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let asked = Asked::read(&api, &uri, &headers, standings::SPEC)?;
    let lines = standings::of(&asked, SPORT, None, matches::had_overtime)?;
    Kept::LIST.answer(&headers, &HockeyStandings::of(&api, lines))
}

/// The same of the league with this id.
#[utoipa::path(get, path = "/hockey/api/v2/standings/{id}/", tag = "hockey",
    params(
        ("id" = u64, Path),
        ("season" = Option<u64>, Query, description = "A season of it; its latest unless said."),
    ),
    responses(
        (status = 200, body = HockeyStandings),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn standings_of(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let asked = Asked::read(&api, &uri, &headers, standings::SPEC)?;
    let league = Some(asked::key(&id)?);
    let lines = standings::of(&asked, SPORT, league, matches::had_overtime)?;
    Kept::LIST.answer(&headers, &HockeyStandings::of(&api, lines))
}

/// Teams, the strongest first.
#[utoipa::path(get, path = "/hockey/api/v2/teams/", tag = "hockey",
    params(
        Named,
        Paging,
    ),
    responses(
        (status = 200, body = Page<TeamRow>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn teams(
    State(api): State<Api>,
    digests: Shared,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let asked = Asked::read(&api, &uri, &headers, lists::NAMED)?;
    let digest = digests.of(&api, SPORT).await?;
    lists::teams(&asked, SPORT, &digest)
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
pub(super) async fn team(
    State(api): State<Api>,
    digests: Shared,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    Params::read(uri.query(), asked::spec(&[]))?;
    let entity = asked::entity(&api, EntityKind::Team, SPORT, &id)?;
    let digest = digests.of(&api, SPORT).await?;
    Kept::REFERENCE.answer(&headers, &TeamRow::of(&entity, &digest))
}

impl HockeyStandings {
    fn of(api: &Api, (league_id, mut lines): (Key, Vec<Line>)) -> Self {
        let points = |it: &Line| it.wins * 3 + it.overtime_wins * 2 + it.overtime_losses + it.draws;
        let difference = |line: &Line| i64::from(line.scored) - i64::from(line.conceded);
        let order = |line: &Line| (points(line), difference(line), line.scored);
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

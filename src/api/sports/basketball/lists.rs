//! Leagues, teams, people, standings and predictions of basketball.

use axum::{
    extract::{Path, State},
    http::Uri,
    response::Response,
};
use hyper::HeaderMap;
use ingest::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::super::{
    asked::{self, Asked, Days, Paging},
    digest::Shared,
    form,
    lists::{self, Inactive, Named},
    predicted::{self, Predicted},
    shape::{LeagueRow, NamedRow, PersonRow, TeamRow},
    standings,
    stick::IdName,
    team_prediction::TeamPrediction,
};
use crate::{
    api::{
        Api, ApiError, Kept, Page, Params,
        error::{ErrorBody, UnknownParametersBody},
    },
    archive::EntityKind,
    record::{Key, MatchRecord},
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

/// Coaches, by name.
#[utoipa::path(get, path = "/basketball/api/v2/managers/", tag = "basketball",
    params(
        Named,
        ("team" = Option<u64>, Query, description = "Of this team."),
        Paging,
    ),
    responses(
        (status = 200, body = Page<PersonRow>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn managers(
    State(api): State<Api>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let asked = Asked::read(&api, &uri, &headers, lists::NAMED)?;
    lists::people(&asked, SPORT, EntityKind::Manager)
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
pub(super) async fn manager(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    Params::read(uri.query(), asked::spec(&[]))?;
    let entity = asked::entity(&api, EntityKind::Manager, SPORT, &id)?;
    Kept::REFERENCE.answer(&headers, &PersonRow::of(&api, &entity))
}

/// Players, by name. No feed of ours tells any yet.
#[utoipa::path(get, path = "/basketball/api/v2/players/", tag = "basketball",
    params(
        Named,
        ("team" = Option<u64>, Query, description = "Of this team."),
        Paging,
    ),
    responses(
        (status = 200, body = Page<PersonRow>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn players(
    State(api): State<Api>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let asked = Asked::read(&api, &uri, &headers, lists::NAMED)?;
    lists::people(&asked, SPORT, EntityKind::Player)
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
pub(super) async fn player(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    Params::read(uri.query(), asked::spec(&[]))?;
    let entity = asked::entity(&api, EntityKind::Player, SPORT, &id)?;
    Kept::REFERENCE.answer(&headers, &PersonRow::of(&api, &entity))
}

/// Matches of a player: none, since no feed of ours tells who played.
#[utoipa::path(get, path = "/basketball/api/v2/players/{id}/games/", tag = "basketball",
    params(
        ("id" = u64, Path),
        Paging,
    ),
    responses(
        (status = 200, body = Page<PlayerGame>),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn games(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let asked = Asked::read(&api, &uri, &headers, asked::spec(&["limit", "offset"]))?;
    asked::entity(&api, EntityKind::Player, SPORT, &id)?;
    asked.page(Kept::LIST, &Vec::<PlayerGame>::new(), Clone::clone)
}

/// Predictions: unless something else is asked for, of matches that are still to begin.
#[utoipa::path(get, path = "/basketball/api/v2/predictions/", tag = "basketball",
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
        |record: &MatchRecord| TeamPrediction::of(&api, SPORT, record, &digest, IdName::Event);
    predicted::page(&asked, SPORT, row).await
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
    let prediction = TeamPrediction::of(&api, SPORT, &record, &digest, IdName::Event);
    Kept::PREDICTIONS.answer(&headers, &prediction)
}

/// Who stands where in a league, by the results that are kept.
#[utoipa::path(get, path = "/basketball/api/v2/standings/", tag = "basketball",
    params(
        ("league" = u64, Query, description = "The league."),
        ("season" = Option<u64>, Query, description = "A season of it; its latest unless said."),
    ),
    responses(
        (status = 200, body = BasketballStandings),
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
    let standings = BasketballStandings::of(&api, standings::of(&asked, SPORT, None, |_| false)?);
    Kept::LIST.answer(&headers, &standings)
}

/// The same of the league with this id.
#[utoipa::path(get, path = "/basketball/api/v2/standings/{id}/", tag = "basketball",
    params(
        ("id" = u64, Path),
        ("season" = Option<u64>, Query, description = "A season of it; its latest unless said."),
    ),
    responses(
        (status = 200, body = BasketballStandings),
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
    let lines = standings::of(&asked, SPORT, league, |_| false)?;
    Kept::LIST.answer(&headers, &BasketballStandings::of(&api, lines))
}

/// Teams, the strongest first.
#[utoipa::path(get, path = "/basketball/api/v2/teams/", tag = "basketball",
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

/// Halls, by name.
#[utoipa::path(get, path = "/basketball/api/v2/venues/", tag = "basketball",
    params(
        Named,
        Paging,
    ),
    responses(
        (status = 200, body = Page<NamedRow>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn venues(
    State(api): State<Api>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let asked = Asked::read(&api, &uri, &headers, lists::NAMED)?;
    lists::named(&asked, SPORT, EntityKind::Venue)
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
pub(super) async fn venue(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    Params::read(uri.query(), asked::spec(&[]))?;
    let entity = asked::entity(&api, EntityKind::Venue, SPORT, &id)?;
    Kept::REFERENCE.answer(&headers, &NamedRow::of_entity(&entity))
}

impl BasketballStandings {
    fn of(api: &Api, (league_id, mut lines): (Key, Vec<standings::Line>)) -> Self {
        let share = |line: &standings::Line| {
            form::ratio(f64::from(line.wins), usize::try_from(line.played).unwrap_or(usize::MAX))
        };
        let difference = |line: &standings::Line| i64::from(line.scored) - i64::from(line.conceded);
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

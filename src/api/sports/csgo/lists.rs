//! Players, teams, tournaments and predictions of CS2.

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
    digest::{self, Digest, Shared},
    lists::{self, Inactive, Named},
    predicted::{self, Predicted},
    shape::{self, LeagueRow, PersonRow},
    stick::IdName,
    team_prediction::TeamPrediction,
};
use crate::{
    api::{
        Api, ApiError, Kept, Page, Params,
        error::{ErrorBody, UnknownParametersBody},
    },
    archive::{Entity, EntityKind},
    record::{Key, MatchRecord},
};

const SPORT: Sport = Sport::Cs2;

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CsgoTeam {
    id: Key,
    name: String,
    /// No feed of ours tells it.
    short_name: Option<String>,
    country: Option<String>,
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

/// Predictions: unless something else is asked for, of matches that are still to begin.
#[utoipa::path(get, path = "/csgo/api/v2/predictions/", tag = "csgo",
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

/// Teams, by name.
#[utoipa::path(get, path = "/csgo/api/v2/teams/", tag = "csgo",
    params(
        Named,
        Paging,
    ),
    responses(
        (status = 200, body = Page<CsgoTeam>),
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
    lists::of_kind(&asked, SPORT, EntityKind::Team, |team| CsgoTeam::of(team, &digest))
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
    Kept::REFERENCE.answer(&headers, &CsgoTeam::of(&entity, &digest))
}

/// Tournaments: those of which most is played first.
#[utoipa::path(get, path = "/csgo/api/v2/tournaments/", tag = "csgo",
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
pub(super) async fn tournaments(
    State(api): State<Api>,
    digests: Shared,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let asked = Asked::read(&api, &uri, &headers, lists::LEAGUES)?;
    let digest = digests.of(&api, SPORT).await?;
    lists::leagues(&asked, SPORT, &digest)
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
pub(super) async fn tournament(
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

impl CsgoTeam {
    fn of(team: &Entity, digest: &Digest) -> Self {
        let peak = digest.table.get(team.id).map(|rated| digest::whole(rated.peak));
        Self {
            id: team.id,
            name: team.name.to_string(),
            short_name: None,
            country: shape::text(team.country.as_ref()),
            country_code: shape::country_code(team.country.as_ref()),
            elo_rating: digest.elo(team.id),
            elo_peak: peak,
            map_stats: None,
        }
    }
}

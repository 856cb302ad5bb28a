//! Endpoints below one match: `h2h`, `incidents`, `lineups`, `metadata`, `player-stats`, `stats`.

use std::sync::Arc;

use axum::{
    extract::{Path, State},
    http::Uri,
    response::Response,
};
use hyper::HeaderMap;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    head_to_head::HeadToHead,
    incidents::Incidents,
    line_ups::LineUps,
    matches::Matches,
    player_stats::MatchPlayerStats,
    request::{self, key},
    stats::Stats,
};
use crate::{
    api::{Api, ApiError, CacheControl, ErrorBody, Params, UnknownParametersBody},
    record::{Key, MatchRecord},
};

/// Reads a request for one part of a match.
async fn record(api: &Api, id: &str, uri: &Uri) -> Result<Arc<MatchRecord>, ApiError> {
    Params::read(uri.query(), request::NONE)?;
    Matches::now(api).record(key(id)?).await
}

/// How long a response about this match may be cached.
fn cache_control(record: &MatchRecord) -> CacheControl {
    if record.brief.status.is_live() { CacheControl::LIVE } else { CacheControl::LIST }
}

/// How its sides met before it.
#[utoipa::path(
    get,
    path = "/api/v2/events/{id}/h2h/",
    tag = "football v2",
    params(("id" = u64, Path, description = "The match")),
    responses(
        (status = 200, body = HeadToHead),
        (status = 400, body = UnknownParametersBody),
        (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody),
    ),
)]
pub(super) async fn h2h(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let record = record(&api, &id, &uri).await?;
    let brief = Arc::clone(&record.brief);
    CacheControl::LIST.answer(&headers, &Matches::now(&api).head_to_head(&brief))
}

/// What happened in it, the newest first.
#[utoipa::path(
    get,
    path = "/api/v2/events/{id}/incidents/",
    tag = "football v2",
    params(("id" = u64, Path, description = "The match")),
    responses(
        (status = 200, body = Incidents),
        (status = 400, body = UnknownParametersBody),
        (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody),
    ),
)]
pub(super) async fn incidents(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let record = record(&api, &id, &uri).await?;
    cache_control(&record).answer(&headers, &Incidents::of(&record))
}

/// Who starts and who sits on the bench.
#[utoipa::path(
    get,
    path = "/api/v2/events/{id}/lineups/",
    tag = "football v2",
    params(("id" = u64, Path, description = "The match")),
    responses(
        (status = 200, body = LineUps),
        (status = 400, body = UnknownParametersBody),
        (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody),
    ),
)]
pub(super) async fn line_ups(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let record = record(&api, &id, &uri).await?;
    cache_control(&record).answer(&headers, &LineUps::of(&record))
}

/// What each player did in it.
#[utoipa::path(
    get,
    path = "/api/v2/events/{id}/player-stats/",
    tag = "football v2",
    params(("id" = u64, Path, description = "The match")),
    responses(
        (status = 200, body = MatchPlayerStats),
        (status = 400, body = UnknownParametersBody),
        (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody),
    ),
)]
pub(super) async fn player_stats(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let record = record(&api, &id, &uri).await?;
    cache_control(&record).answer(&headers, &MatchPlayerStats::of(&record))
}

/// What was counted of each side.
#[utoipa::path(
    get,
    path = "/api/v2/events/{id}/stats/",
    tag = "football v2",
    params(("id" = u64, Path, description = "The match")),
    responses(
        (status = 200, body = Stats),
        (status = 400, body = UnknownParametersBody),
        (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody),
    ),
)]
pub(super) async fn stats(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let record = record(&api, &id, &uri).await?;
    cache_control(&record).answer(&headers, &Stats::of(&record))
}

/// What no feed of ours tells is `null`, and there are no facts where nobody writes them.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Metadata {
    event_id: Key,
    jerseys: Option<Jerseys>,
    facts: Vec<String>,
    preview: Option<String>,
}

/// Colours as six hexadecimal digits.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Jerseys {
    home: Option<String>,
    away: Option<String>,
}

/// Colours and texts about it.
#[utoipa::path(
    get,
    path = "/api/v2/events/{id}/metadata/",
    tag = "football v2",
    params(("id" = u64, Path, description = "The match")),
    responses(
        (status = 200, body = Metadata),
        (status = 400, body = UnknownParametersBody),
        (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody),
    ),
)]
pub(super) async fn metadata(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let record = record(&api, &id, &uri).await?;
    let event_id = record.brief.id;
    let metadata = Metadata { event_id, jerseys: None, facts: Vec::new(), preview: None };
    CacheControl::REFERENCE.answer(&headers, &metadata)
}

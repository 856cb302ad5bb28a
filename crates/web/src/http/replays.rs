//! What can be replayed on the socket.

use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::{Query, Request, State},
    response::{IntoResponse, Response},
};
use facts::event::Sport;
use fanout::Micros;
use hyper::header::{CACHE_CONTROL, HeaderValue};
use log::film::{FilmQuery, FilmSummary};
use serde::{Deserialize, Serialize};
use utoipa::{OpenApi, ToSchema};

use super::{Shared, error::HttpError};
use crate::clock::wall;
use accounts::Caller;

/// Replays in a response, if the request does not say how many, and at most.
const LIMIT: usize = 100;
const LIMIT_MAX: usize = 1000;

#[derive(Debug, Deserialize)]
pub(crate) struct ReplayFilter {
    sport: Option<String>,
    from: Option<Micros>,
    to: Option<Micros>,
    limit: Option<usize>,
    offset: Option<usize>,
}

/// Matches that can be replayed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Replays {
    /// How many there are, in this response and in others.
    count: usize,
    /// The latest first.
    replays: Vec<ReplayRow>,
}

#[derive(Debug, Serialize, ToSchema)]
struct ReplayRow {
    /// The channel of the match.
    #[serde(rename = "match")]
    name: String,
    channels: Vec<ReplayChannelRow>,
    span: ReplaySpan,
    /// The bytes of the recording on disk, of all its channels.
    bytes: u64,
    /// Whether it may grow.
    running: bool,
}

#[derive(Debug, Serialize, ToSchema)]
struct ReplayChannelRow {
    ch: String,
    epoch: String,
    /// The first and the last recorded sequence.
    first: u64,
    last: u64,
}

/// The times of the first and the last recorded frame: microseconds since 1970.
#[derive(Debug, Serialize, ToSchema)]
struct ReplaySpan {
    first: Micros,
    last: Micros,
}

/// What the document says of them.
#[derive(OpenApi)]
#[openapi(paths(list))]
pub(crate) struct ReplaysDocument;

/// Matches that can be replayed.
///
/// `subscribe` with `replay` plays their channels on a socket. Channels that the key's add-ons do not cover are
/// left out.
#[utoipa::path(
    get, path = "/stream/v1/replays/",
    params(
        ("sport" = Option<String>, Query, description = "Only matches of this sport", example = "football"),
        ("from" = Option<i64>, Query, description = "Only recordings that end at or after this time, in microseconds since 1970"),
        ("to" = Option<i64>, Query, description = "Only recordings that begin before this time, in microseconds since 1970"),
        ("limit" = Option<u64>, Query, description = "Matches in the response, 100 by default and at most 1000"),
        ("offset" = Option<u64>, Query, description = "Matches to skip"),
    ),
    responses((status = 200, description = "The matches, the latest first", body = Replays))
)]
pub(crate) async fn list(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, HttpError> {
    let refused = |_| HttpError::BadRequest("from, to, limit and offset are integers");
    let Query(filter): Query<ReplayFilter> = Query::try_from_uri(request.uri()).map_err(refused)?;
    let ReplayFilter { sport, from, to, limit, offset } = filter;
    if sport.as_deref().is_some_and(|name| Sport::from_word(name).is_none()) {
        return Err(HttpError::BadRequest("sport must be a sport as in the names of channels"));
    }
    let query = FilmQuery { sport: sport.as_deref(), from, to };
    let films = shared.parts.hub.films.as_ref().map(|films| films.list(query)).unwrap_or_default();
    let now = wall();
    let may_follow =
        |name: &str| shared.parts.admission.entitlement.check_channel(&caller, name, now).is_ok();
    let is_listed = |film: &&Arc<FilmSummary>| {
        film.channels.iter().any(|channel| may_follow(channel.name.as_str()))
    };
    let listed: Vec<&Arc<FilmSummary>> = films.iter().filter(is_listed).collect();
    let count = listed.len();
    let limit = limit.unwrap_or(LIMIT).min(LIMIT_MAX);
    let page = listed.into_iter().skip(offset.unwrap_or(0)).take(limit);
    let replays = page.map(|film| ReplayRow::new(film, &may_follow)).collect();
    let mut response = Json(Replays { count, replays }).into_response();
    let cache = HeaderValue::from_static("private, no-cache");
    response.headers_mut().insert(CACHE_CONTROL, cache);
    Ok(response)
}

impl ReplayRow {
    /// A film as far as the caller may follow its channels.
    fn new(film: &FilmSummary, may_follow: &impl Fn(&str) -> bool) -> Self {
        let channels = film.channels.iter().filter(|channel| may_follow(channel.name.as_str()));
        let channels = channels.map(|channel| ReplayChannelRow {
            ch: channel.name.to_string(),
            epoch: channel.epoch.to_string(),
            first: channel.first,
            last: channel.last,
        });
        Self {
            name: film.name.to_string(),
            channels: channels.collect(),
            span: ReplaySpan { first: film.first, last: film.last },
            bytes: film.bytes,
            running: film.is_running(),
        }
    }
}

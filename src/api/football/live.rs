//! `/api/v2/events/live/` and `/api/v2/events/{id}/`, from memory.

use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State},
    http::Uri,
    response::Response,
};
use hyper::{
    HeaderMap,
    header::{HeaderName, HeaderValue},
};
use ingest::event::Sport;
use serde::Serialize;
use tokio::time::Instant;
use utoipa::ToSchema;

use super::{
    event::{self, Event, LiveEvent},
    matches::Matches,
    request::{self, key},
    shown::{MadeOf, Shown},
};
use crate::{
    api::{Api, ApiError, ErrorBody, Kept, Params, UnknownParametersBody, answer::Prepared},
    record::MatchRecord,
};

/// Where the channel of the match stood when the answer was made, as `EPOCH:SEQ`.
const POSITION: HeaderName = HeaderName::from_static("x-matchwire-seq");

/// SERVICE section 1.2: no envelope of pages.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Live {
    count: usize,
    events: Vec<LiveEvent>,
}

/// Matches in play, the earliest first.
#[utoipa::path(
    get,
    path = "/api/v2/events/live/",
    tag = "football v2",
    responses(
        (status = 200, body = Live, headers(("X-Cache-Status" = String, description = "HIT or MISS"))),
        (status = 400, body = UnknownParametersBody),
        (status = 401, body = ErrorBody),
    ),
)]
pub(super) async fn live(
    State(api): State<Api>,
    Extension(shown): Extension<Shown>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    Params::read(uri.query(), request::NONE)?;
    // The version first: what is read after it may be newer, and never older.
    let made_of = MadeOf::Reader(api.reader.version());
    let served = shown.live(made_of, Instant::now(), || Prepared::json(&in_play(&api)))?;
    Ok(served.answer(Kept::LIVE, &headers))
}

fn in_play(api: &Api) -> Live {
    let matches = Matches::now(api);
    let mut live: Vec<_> =
        matches.all_fresh().filter(|record| record.brief.status.is_live()).collect();
    live.sort_by_key(|record| (record.brief.start, record.brief.id));
    let briefs: Vec<_> = live.iter().map(|record| Arc::new(record.brief.clone())).collect();
    let rows = matches.rows(&briefs).into_iter().zip(&briefs);
    let events = rows.map(|(event, brief)| LiveEvent {
        event,
        league_name: event::league_name(&matches, brief),
    });
    Live { count: live.len(), events: events.collect() }
}

/// A match.
#[utoipa::path(
    get,
    path = "/api/v2/events/{id}/",
    tag = "football v2",
    params(("id" = u64, Path, description = "The match")),
    responses(
        (status = 200, body = Event, headers(
            ("X-Cache-Status" = String, description = "HIT or MISS"),
            ("X-Matchwire-Seq" = String, description = "EPOCH:SEQ of the channel of the match, while it has one"),
        )),
        (status = 400, body = UnknownParametersBody),
        (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody),
    ),
)]
pub(super) async fn detail(
    State(api): State<Api>,
    Extension(shown): Extension<Shown>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    Params::read(uri.query(), request::NONE)?;
    let id = key(&id)?;
    let (made_of, brief) = match api.reader.get(id) {
        Some(record) => {
            let brief = Arc::new(record.brief.clone());
            (MadeOf::Fresh(record), brief)
        }
        None => {
            let brief = api.archive.brief(id).ok_or(ApiError::NotFound)?;
            (MadeOf::Kept(Arc::clone(&brief)), brief)
        }
    };
    if brief.sport != Sport::Football {
        return Err(ApiError::NotFound);
    }
    let fresh = match &made_of {
        MadeOf::Fresh(record) => Some(Arc::clone(record)),
        MadeOf::Reader(_) | MadeOf::Kept(_) => None,
    };
    let position = fresh.as_deref().and_then(position);
    let make = || {
        let matches = Matches::with(&api, fresh);
        Prepared::json(&matches.row(&brief))
    };
    let served = shown.detail(id, made_of, Instant::now(), make)?;
    let kept = if brief.status.is_live() { Kept::LIVE } else { Kept::LIST };
    let mut response = served.answer(kept, &headers);
    if let Some(position) = position {
        response.headers_mut().insert(POSITION, position);
    }
    Ok(response)
}

fn position(record: &MatchRecord) -> Option<HeaderValue> {
    let position = record.position?;
    HeaderValue::try_from(format!("{}:{}", position.epoch, position.seq)).ok()
}

//! `/api/v2/events/live/` and `/api/v2/events/{id}/`, from memory.

use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, Request, State},
    response::Response,
};
use hyper::header::{HeaderName, HeaderValue};
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
    record::{Brief, MatchRecord},
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
    request: Request,
) -> Result<Response, ApiError> {
    Params::read(request.uri().query(), request::NONE)?;
    // The version first: what is read after it may be newer, and never older.
    let made_of = MadeOf::Reader(api.reader.version());
    let served = shown.live(made_of, Instant::now(), || Prepared::json(&in_play(&api)))?;
    Ok(served.answer(Kept::LIVE, request.headers()))
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
    request: Request,
) -> Result<Response, ApiError> {
    Params::read(request.uri().query(), request::NONE)?;
    let id = key(&id)?;
    let known = match api.reader.get(id) {
        Some(record) => Known::Fresh(record),
        None => Known::Kept(api.archive.brief(id).ok_or(ApiError::NotFound)?),
    };
    let brief = known.brief();
    if brief.sport != Sport::Football {
        return Err(ApiError::NotFound);
    }
    let make = || Prepared::json(&known.event(&api));
    let served = shown.detail(id, known.made_of(), Instant::now(), make)?;
    let kept = if brief.status.is_live() { Kept::LIVE } else { Kept::LIST };
    let mut response = served.answer(kept, request.headers());
    if let Some(position) = known.position() {
        response.headers_mut().insert(POSITION, position);
    }
    Ok(response)
}

/// What there is of a match.
enum Known {
    /// As the hub knows it.
    Fresh(Arc<MatchRecord>),
    /// As it was kept.
    Kept(Arc<Brief>),
}

impl Known {
    fn brief(&self) -> &Brief {
        match self {
            Self::Fresh(record) => &record.brief,
            Self::Kept(brief) => brief,
        }
    }

    fn made_of(&self) -> MadeOf {
        match self {
            Self::Fresh(record) => MadeOf::Fresh(Arc::clone(record)),
            Self::Kept(brief) => MadeOf::Kept(Arc::clone(brief)),
        }
    }

    fn event(&self, api: &Api) -> Event {
        let (fresh, brief) = match self {
            Self::Fresh(record) => (Some(Arc::clone(record)), &Arc::new(record.brief.clone())),
            Self::Kept(brief) => (None, brief),
        };
        Matches::with(api, fresh).row(brief)
    }

    fn position(&self) -> Option<HeaderValue> {
        match self {
            Self::Fresh(record) => position(record),
            Self::Kept(_) => None,
        }
    }
}

fn position(record: &MatchRecord) -> Option<HeaderValue> {
    let position = record.position?;
    HeaderValue::try_from(format!("{}:{}", position.epoch, position.seq)).ok()
}

//! `/api/v2/events/live/`.

use axum::{extract::State, http::Uri, response::Response};
use hyper::HeaderMap;
use ingest::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::{Api, ApiError, Kept, Params, Spec};

/// SERVICE section 1.2: no envelope of pages.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Live {
    count: usize,
    events: Vec<LiveEvent>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct LiveEvent {
    id: u64,
    home_score: Option<u32>,
    away_score: Option<u32>,
}

/// Matches in play.
#[utoipa::path(get, path = "/api/v2/events/live/", tag = "football v2", responses((status = 200, body = Live)))]
pub(super) async fn live(
    State(api): State<Api>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    Params::read(uri.query(), Spec { accepted: &[], aliases: &[], tolerated: &["tz", "full"] })?;
    let events: Vec<_> = api
        .reader
        .live(Sport::Football)
        .iter()
        .map(|record| LiveEvent {
            id: record.brief.id,
            home_score: record.brief.score.map(|score| score[0]),
            away_score: record.brief.score.map(|score| score[1]),
        })
        .collect();
    Kept::LIVE.answer(&headers, &Live { count: events.len(), events })
}

//! What the channels below `test/` publish, before and after they do: `/test/` and `/test/{epoch}/`. No key is needed.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    response::{IntoResponse, Response},
};
use fanout::{Epoch, Micros};
use hub::test_channels::RoundSummary;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use serde::Serialize;
use tokio::task::spawn_blocking;

use super::{Shared, error::HttpError};
use crate::clock::now;

/// A finished round does not change, and a running one is known from its beginning.
const CACHING: HeaderValue = HeaderValue::from_static("public, max-age=3600");

#[derive(Debug, Serialize)]
struct Rounds {
    /// In microseconds since 1970.
    now: Micros,
    rounds: Vec<RoundRow>,
}

#[derive(Debug, Serialize)]
struct RoundRow {
    #[serde(flatten)]
    round: RoundSummary,
    url: String,
}

/// `/test/`: the rounds whose output can be had, the running one first.
pub(super) async fn rounds(State(shared): State<Arc<Shared>>) -> Result<Response, HttpError> {
    let truth = shared.parts.test_truth.as_ref().ok_or(HttpError::NotFound)?;
    let (now, base) = (now(), &shared.parts.public_url);
    let row =
        |round: RoundSummary| RoundRow { url: format!("{base}/test/{}/", round.epoch), round };
    let rounds = truth.rounds(now).into_iter().map(row).collect();
    let mut response = Json(Rounds { now, rounds }).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// `/test/{epoch}/`: the whole output of a round, as lines of JSON.
pub(super) async fn output(
    State(shared): State<Arc<Shared>>,
    Path(epoch): Path<String>,
) -> Result<Response, HttpError> {
    let epoch = Epoch::parse(&epoch).ok_or(HttpError::NotFound)?;
    let compute = move || shared.parts.test_truth.as_ref()?.of(epoch, now());
    let lines = spawn_blocking(compute).await.map_err(|_| HttpError::Unavailable)?;
    let mut response = lines.ok_or(HttpError::NotFound)?.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    headers.insert(CACHE_CONTROL, CACHING);
    Ok(response)
}

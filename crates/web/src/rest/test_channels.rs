//! What the channels below `test/` publish, before and after they do: `/test/` and `/test/{epoch}/`. No key is needed.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, Request, State},
    response::{IntoResponse, Response},
};
use base::work::{self, Pool};
use fanout::{Epoch, Micros};
use hub::test_channels::RoundSummary;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use serde::Serialize;
use utoipa::ToSchema;

use super::CacheControl;
use crate::{
    clock::now,
    http::{Shared, SharedBody, asset::Permanent, error::HttpError},
};

/// A finished round does not change, and a running one is known from its beginning.
const CACHING: HeaderValue = HeaderValue::from_static("public, max-age=3600");

/// The rounds of the test channels whose output is available.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TestRounds {
    /// In microseconds since 1970.
    now: Micros,
    /// The running one first.
    rounds: Vec<TestRound>,
}

#[derive(Debug, Serialize, ToSchema)]
struct TestRound {
    /// The epoch of its channels.
    epoch: String,
    /// In microseconds since 1970.
    begins: Micros,
    ends: Micros,
    /// The address of its output.
    url: String,
}

/// The rounds of the test channels.
///
/// A made-up match is played for ever on `test/football`. The output of the running round and of the two before it can
/// be had.
#[utoipa::path(
    get, path = "/test/",
    responses(
        (status = 200, description = "The rounds", body = TestRounds),
        (status = 404, description = "This hub has no test channels"),
    )
)]
pub(crate) async fn rounds(State(shared): State<Arc<Shared>>) -> Result<Response, HttpError> {
    let truth = shared.parts.hub.test_truth.as_ref().ok_or(HttpError::NotFound)?;
    let (now, base) = (now(), &shared.parts.settings.public_url);
    let row = |RoundSummary { epoch, begins, ends }| {
        let url = format!("{base}/test/{epoch}/");
        TestRound { epoch: epoch.to_string(), begins, ends, url }
    };
    let rounds = truth.rounds(now).into_iter().map(row).collect();
    let mut response = Json(TestRounds { now, rounds }).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// The whole output of a round of the test channels.
///
/// One line of JSON for each change of each channel, in the order of publication, also for those that are not published yet:
/// `frame` is what a follower at `every_ms` 0 gets, and `sha256` the hash of the document after it.
#[utoipa::path(
    get, path = "/test/{epoch}/",
    params(("epoch" = String, Path, description = "The epoch of the round, as in `/test/`")),
    responses((status = 200, description = "The lines", body = String, content_type = "application/x-ndjson"))
)]
pub(crate) async fn output(
    State(shared): State<Arc<Shared>>,
    Path(epoch): Path<String>,
    request: Request,
) -> Result<Response, HttpError> {
    let epoch = Epoch::parse(&epoch).ok_or(HttpError::NotFound)?;
    let state = Arc::clone(&shared);
    let compute = move || state.parts.hub.test_truth.as_ref()?.output(epoch, now());
    let make = async {
        let lines = work::run_blocking(Pool::Blocking, compute).await;
        let lines = lines.map_err(|_| HttpError::Unavailable)?.ok_or(HttpError::NotFound)?;
        Ok::<_, HttpError>(SharedBody::new(lines))
    };
    let body = shared.test_outputs.get_or_make(&epoch.to_string(), make).await?;
    let mut response = CacheControl::REFERENCE.answer_shared(request.headers(), &body);
    response.extensions_mut().insert(Permanent);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    headers.insert(CACHE_CONTROL, CACHING);
    Ok(response)
}

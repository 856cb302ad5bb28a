//! JSON responses: images of channels, tickets, and endpoints for operators' tools.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use axum::{
    Extension, Json,
    extract::{Path, Query, Request, State},
    response::{IntoResponse, Response},
};
use fanout::{Seq, channel::Pattern, encode::payload};
use hyper::{
    HeaderMap, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderValue},
};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, timeout};

use super::{
    ServerParts, Shared,
    error::{HttpError, MissingAddon, uniform},
};
use crate::{catch_up::ChannelImage, clock::wall, etag, log_state::LogState, supervisor};
use accounts::{Caller, Scope};
use cluster::{NodeHealth, Unready};

/// How long `?at_least=` waits for a sequence that is not published yet.
const AT_LEAST_WAIT: Duration = Duration::from_secs(5);

/// How long the log must not have taken records until a request is refused rather than left waiting for it.
const PAUSED_MIN: Duration = Duration::from_secs(1);

#[derive(Debug, Serialize)]
struct Status {
    status: &'static str,
}

/// The process runs.
pub(super) async fn healthz() -> impl IntoResponse {
    Json(Status { status: "ok" })
}

/// The sockets are open, every part runs, the log takes records, a node of a cluster hears of new ones, and the hub is
/// not stopping.
pub(super) async fn readyz(State(shared): State<Arc<Shared>>) -> Response {
    let is_stopping = !shared.ready.load(Ordering::Relaxed);
    let Some(problem) = problem(&shared.parts.log_state, &shared.parts.health, is_stopping) else {
        return Json(Status { status: "ready" }).into_response();
    };
    let mut response = uniform(StatusCode::SERVICE_UNAVAILABLE, &problem);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Why the hub is not ready.
fn problem(log: &LogState, health: &NodeHealth, is_stopping: bool) -> Option<String> {
    let refusal = log.refusal().map(|why| format!("the log cannot be written: {why}"));
    let states = [
        (supervisor::has_failed(), "a part of the hub has failed"),
        (is_stopping, "the hub is stopping"),
        (health.has(Unready::Drained), "an operator has drained this node"),
        (health.has(Unready::Alone), "this node reaches neither its cluster nor the database"),
        (
            health.has(Unready::Isolated),
            "this node is cut off from its cluster, and another one leads",
        ),
        (health.has(Unready::Behind), "this node hears nothing new of its cluster"),
    ];
    let state = states.into_iter().find(|(is_so, _)| *is_so);
    state.map(|(_, detail)| detail.to_owned()).or(refusal)
}

/// Prometheus text. It counts; it names no account and no key.
pub(super) async fn metrics(State(shared): State<Arc<Shared>>) -> impl IntoResponse {
    let text = HeaderValue::from_static("text/plain; version=0.0.4");
    ([(CONTENT_TYPE, text)], all_metrics(&shared.parts))
}

#[derive(Debug, Deserialize)]
pub(super) struct AtLeast {
    at_least: Option<i64>,
}

/// The image of a channel.
///
/// The same frame that a socket sends: the whole document, its epoch and its sequence.
#[utoipa::path(
    get, path = "/stream/v1/channels/{channel}",
    params(
        ("channel" = String, Path, description = "The name of one channel; do not escape its slashes", example = "football"),
        ("at_least" = Option<u64>, Query, description = "Wait up to 5 seconds for this sequence"),
    ),
    responses((status = 200, description = "The `image` frame", body = ImageFrame))
)]
pub(super) async fn channel(
    State(shared): State<Arc<Shared>>,
    Path(channel): Path<String>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, HttpError> {
    let refused = || HttpError::BadRequest("at_least is a sequence number");
    let Query(AtLeast { at_least }) = Query::try_from_uri(request.uri()).map_err(|_| refused())?;
    let at_least = Seq::try_from(at_least.unwrap_or(0)).map_err(|_| refused())?;
    let channel = channel.trim_end_matches('/');
    if Pattern::parse(channel).is_none_or(|pattern| pattern.is_wildcard()) {
        return Err(HttpError::BadRequest("the path ends in the name of one channel"));
    }
    if let Some(addon) = shared.parts.entitlement.lacking(&caller, channel, wall()) {
        if let Some(scope) = Scope::of_addon(addon).filter(|scope| !caller.has_scope(*scope)) {
            return Err(HttpError::InsufficientScope { scope });
        }
        let price = shared.parts.prices.now().price(addon, false);
        let public_url = shared.parts.public_url.clone();
        return Err(HttpError::AddonRequired(MissingAddon { addon, price, public_url }));
    }
    let image = image(&shared, channel, at_least).await?;
    Ok(answer(request.headers(), &image))
}

pub(super) async fn image(
    shared: &Shared,
    channel: &str,
    at_least: Seq,
) -> Result<ChannelImage, HttpError> {
    let ask = async |at_least| {
        let image = shared.parts.hub_handle.image_at(channel, at_least).await;
        image.map_err(|_| HttpError::Unavailable)?.ok_or(HttpError::NotFound)
    };
    // Of a hub that has changes that are not in the log, nothing may be shown.
    let is_paused = |since: Instant| since.elapsed() > PAUSED_MIN;
    if shared.parts.log_state.refused_since().is_some_and(is_paused) {
        return Err(HttpError::TryLater);
    }
    if let Ok(answer) = timeout(AT_LEAST_WAIT, ask(at_least)).await {
        return answer;
    }
    // It was not published in time: return the current image.
    timeout(AT_LEAST_WAIT, ask(0)).await.unwrap_or(Err(HttpError::TryLater))
}

/// The shape of a frame, which is written once for all who follow the channel.
#[derive(Debug, utoipa::ToSchema)]
#[expect(dead_code, reason = "it describes what is written elsewhere")]
struct ImageFrame {
    /// `image`.
    #[schema(rename = "type")]
    kind: String,
    ch: String,
    epoch: String,
    seq: u64,
    /// When the source says it was, when the hub received it, when it was published: microseconds since 1970.
    at: ImageMoments,
    /// The document: see `docs/PROTOCOL.md` for that of each channel.
    #[schema(value_type = Object)]
    data: (),
}

#[derive(Debug, utoipa::ToSchema)]
#[expect(dead_code, reason = "it describes what is written elsewhere")]
struct ImageMoments {
    src: Option<u64>,
    #[schema(rename = "in")]
    heard: Option<u64>,
    #[schema(rename = "pub")]
    published: Option<u64>,
}

fn answer(headers: &HeaderMap, image: &ChannelImage) -> Response {
    let tag = format!("\"{}-{}\"", image.epoch, image.seq);
    let mut response = if etag::is_known(headers, &tag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let json = HeaderValue::from_static("application/json");
        ([(CONTENT_TYPE, json)], payload(&image.frame)).into_response()
    };
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    response
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
struct Ticket {
    ticket: String,
    expires_in_ms: u32,
}

/// A credential for one socket.
///
/// It stands in for the key where an address may end up in a log: it opens one socket within 30 seconds.
#[utoipa::path(
    post, path = "/api/v2/stream/ticket/",
    responses(
        (status = 200, description = "A ticket", body = Ticket),
        (status = 503, description = "Too many unused tickets"),
    )
)]
pub(super) async fn ticket(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, HttpError> {
    let ticket = shared.tickets.sell(caller).await?.ok_or(HttpError::Unavailable)?;
    let mut response = Json(Ticket { ticket, expires_in_ms: 30_000 }).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// All metrics, including current process figures, as Prometheus text.
fn all_metrics(parts: &ServerParts) -> String {
    metrics_process::Collector::default().collect();
    parts.limits.work().export();
    parts.metrics.render()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readiness_names_what_is_wrong() {
        let (log, health) = (LogState::default(), NodeHealth::default());
        assert_eq!(problem(&log, &health, false), None);
        log.set_refusal(Some("No space left on device".to_owned()));
        let full = "the log cannot be written: No space left on device";
        assert_eq!(problem(&log, &health, false).as_deref(), Some(full));
        health.set(Unready::Behind, true);
        let behind = "this node hears nothing new of its cluster";
        assert_eq!(problem(&log, &health, false).as_deref(), Some(behind));
        assert_eq!(problem(&log, &health, true).as_deref(), Some("the hub is stopping"));
    }
}

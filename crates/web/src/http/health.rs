//! Whether the hub is up and ready, and its metrics: for operators' tools.

use std::sync::{Arc, atomic::Ordering};

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use hyper::{
    StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue},
};
use serde::Serialize;

use super::{Shared, error::uniform};
use crate::{log_state::LogState, supervisor};
use cluster::{NodeHealth, Unready};

#[derive(Debug, Serialize)]
struct Status {
    status: &'static str,
}

/// The process runs.
pub(crate) async fn healthz() -> impl IntoResponse {
    Json(Status { status: "ok" })
}

/// The sockets are open, every part runs, the log takes records, a node of a cluster hears of new ones, and the hub is
/// not stopping.
pub(crate) async fn readyz(State(shared): State<Arc<Shared>>) -> Response {
    let is_stopping = !shared.ready.load(Ordering::Relaxed);
    let Some(problem) = problem(&shared.parts.hub.log_state, &shared.parts.hub.health, is_stopping)
    else {
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

/// All metrics, including current process figures, as Prometheus text. It counts; it names no account and no key.
pub(crate) async fn metrics(State(shared): State<Arc<Shared>>) -> impl IntoResponse {
    let text = HeaderValue::from_static("text/plain; version=0.0.4");
    metrics_process::Collector::default().collect();
    shared.parts.admission.limits.work().export();
    ([(CONTENT_TYPE, text)], shared.parts.metrics.render())
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

//! The HTTP side: one address for clients of both generations of the protocol, without sessions.
//!
//! Clients of 2026-07-28 send what they need with every request; those of 2025-11-25 and older begin with
//! `initialize`, which is answered without keeping anything. So any process can answer any request, and a
//! client that drops a header or is idle for a day loses nothing.

use std::sync::Arc;

use axum::{
    Json,
    response::{IntoResponse as _, Response},
};
use hyper::{HeaderMap, StatusCode, header::CONTENT_TYPE};
use rmcp::{
    ErrorData, ServerHandler,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
    },
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// How the servers are reached.
#[derive(Debug, Clone)]
pub struct MountOptions {
    /// The values of `Host` that are served, with or without a port: against pages that let their name
    /// point here (DNS rebinding).
    pub hosts: Arc<[String]>,
    /// The pages that may call, as origins with a port or `:*`. Requests without `Origin` are no pages.
    pub origins: Vec<String>,
    /// The longest request, in bytes.
    pub request_bytes_max: usize,
    /// Ends streams when the hub stops.
    pub stop: CancellationToken,
}

/// The HTTP service of a server. `handler` is cloned for each request.
pub fn service<H: ServerHandler + Clone>(
    handler: H,
    options: &MountOptions,
) -> StreamableHttpService<H, NeverSessionManager> {
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(options.hosts.iter().cloned())
        .with_allowed_origins(options.origins.clone())
        .enforce_origin_validation()
        // No session to lose, to leak, or to send every later request of a client to.
        .with_legacy_session_mode(false)
        // A stream only for what has more than one message.
        .with_json_response(true)
        .with_max_request_body_bytes(options.request_bytes_max)
        .with_cancellation_token(options.stop.clone());
    let factory = move || Ok(handler.clone());
    StreamableHttpService::new(factory, Arc::new(NeverSessionManager::default()), config)
}

/// Whether the body of a request is said to be JSON.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}

/// The response to JSON that is no message. `rmcp` answers 415, as if the type of the body were wrong.
pub(crate) fn no_message() -> Response {
    let error = ErrorData::parse_error("the body is no JSON-RPC message", None);
    let body = json!({"jsonrpc": "2.0", "id": null, "error": error});
    (StatusCode::BAD_REQUEST, Json(body)).into_response()
}

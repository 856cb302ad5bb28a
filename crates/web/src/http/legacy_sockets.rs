//! The older sockets: their paths, and how one is refused there.

use std::sync::Arc;

use accounts::access::Denial;
use axum::{Router, routing::any};
use bytes::Bytes;
use fanout::Dialect;
use hub::dialect::live::protocol::{self as live, Code};

use super::{
    Shared,
    ws::{self, Reason},
};

pub(crate) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/live/football", any(ws::socket))
        .route("/live/football/", any(ws::socket))
        .route("/ws/live", any(ws::socket))
        .route("/ws/live/", any(ws::socket))
}

/// The dialect of the socket at a path, without a trailing slash; `None` if there is none.
pub(super) fn dialect(path: &str) -> Option<Dialect> {
    match path {
        "/live/football" => Some(Dialect::Hosted(&live::FOOTBALL)),
        "/ws/live" => Some(Dialect::Hosted(&live::FOOTBALL_AND_TENNIS)),
        _ => None,
    }
}

/// The dialect that clients at a path without a socket can read, below those of the sockets.
pub(super) fn dialect_near(path: &str) -> Option<Dialect> {
    match path.split('/').nth(1) {
        Some("live") => Some(Dialect::Hosted(&live::FOOTBALL)),
        Some("ws") => Some(Dialect::Hosted(&live::FOOTBALL_AND_TENNIS)),
        _ => None,
    }
}

/// The frame that says why a socket is refused.
pub(super) fn refusal(reason: Reason, message: &str) -> Bytes {
    let code = match reason {
        Reason::Denied(Denial::NoKey) => Code::AuthRequired,
        Reason::Denied(Denial::Addon(_)) => Code::SubscriptionRequired,
        Reason::Denied(_) => Code::AuthFailed,
        Reason::TooMany => Code::Limit,
        Reason::NoSocket => Code::NotFound,
    };
    live::error(&live::Refusal::new(code, message))
}

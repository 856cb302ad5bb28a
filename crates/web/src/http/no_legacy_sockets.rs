//! In place of `legacy_sockets` in a program without the feature `legacy-sockets`: there are none.

use std::sync::Arc;

use axum::Router;
use bytes::Bytes;
use fanout::Dialect;

use super::{Shared, ws::Reason};

pub(crate) fn routes() -> Router<Arc<Shared>> {
    Router::new()
}

pub(super) fn dialect(_: &str) -> Option<Dialect> {
    None
}

pub(super) fn dialect_near(_: &str) -> Option<Dialect> {
    None
}

/// Nobody has a dialect that needs it.
pub(super) fn refusal(_: Reason, _: &str) -> Bytes {
    Bytes::new()
}

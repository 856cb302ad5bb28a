//! A request's address with another path or query.

use std::mem;

use hyper::{Uri, http::uri::PathAndQuery};

/// Replaces the path and query of a URI and keeps the rest. Valid parts are valid together; if that fails,
/// the URI is cleared.
pub(super) fn replace(uri: &mut Uri, path: &str, query: Option<&str>) {
    let text = match query {
        Some(query) => PathAndQuery::try_from(format!("{path}?{query}")),
        None => PathAndQuery::try_from(path),
    };
    let mut parts = mem::take(uri).into_parts();
    parts.path_and_query = text.ok();
    *uri = Uri::from_parts(parts).unwrap_or_default();
}

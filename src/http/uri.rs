//! A request's address with another path or query.

use std::mem;

use hyper::{Uri, http::uri::PathAndQuery};

/// Puts this path and this query in place of those of the URI; the rest of it stays. Parts that were
/// valid are valid put together again; should they not be, nothing of the address is kept.
pub(super) fn replace(uri: &mut Uri, path: &str, query: Option<&str>) {
    let text = match query {
        Some(query) => PathAndQuery::try_from(format!("{path}?{query}")),
        None => PathAndQuery::try_from(path),
    };
    let mut parts = mem::take(uri).into_parts();
    parts.path_and_query = text.ok();
    *uri = Uri::from_parts(parts).unwrap_or_default();
}

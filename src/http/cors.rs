//! Pages of other origins may ask the products with a key of their own (SERVICE section 0).
//!
//! Any origin, since a key has to be shown in any case; never with cookies. Only products answer so, and
//! what is open to everybody without a key: what stands on the hub's own pages is for those alone.

use axum::{
    extract::Request,
    response::{IntoResponse, Response},
};
use hyper::{
    HeaderMap, Method, StatusCode,
    header::{
        ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
        ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
        ALLOW, HeaderValue, VARY,
    },
};

const METHODS: &str = "GET, HEAD, POST, DELETE, OPTIONS";
/// What of it an address takes: all are read, but for the one that makes a ticket.
const READ: &str = "GET, HEAD, OPTIONS";
const MADE: &str = "POST, OPTIONS";
/// `*` does not stand for `Authorization`, so it is named.
const HEADERS: &str = "authorization, content-type, if-none-match";
/// What a script may read of an answer beside its body.
const EXPOSED: &str = "etag, link, ratelimit, ratelimit-policy, retry-after, www-authenticate, \
                       x-cache-status, x-matchwire-seq, mcp-session-id";
/// How long a browser need not ask again, in seconds: as long as it will have it.
const AGE_MAX: &str = "86400";

/// The answer to an `OPTIONS` request, which is asked before the one that has the key.
pub(super) fn preflight(request: &Request) -> Option<Response> {
    if request.method() != Method::OPTIONS {
        return None;
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    let fixed = HeaderValue::from_static;
    let requested = request.headers().get(ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    let makes = request.uri().path().trim_end_matches('/') == "/api/v2/stream/ticket";
    headers.insert(ALLOW, fixed(if makes { MADE } else { READ }));
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, fixed(METHODS));
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, requested.unwrap_or_else(|| fixed(HEADERS)));
    headers.insert(ACCESS_CONTROL_MAX_AGE, fixed(AGE_MAX));
    headers.insert(VARY, fixed("access-control-request-headers"));
    allow(headers);
    Some(response)
}

/// Lets any origin read the answer.
pub(super) fn allow(headers: &mut HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
}

/// Whether everybody may ask for what is below a path, without a key: images, the documents of the
/// interface, and what there is.
pub(super) fn is_open(path: &str) -> bool {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let parts = [parts.next(), parts.next(), parts.next()].map(Option::unwrap_or_default);
    matches!(parts, ["img", ..] | ["api", "schema" | "asyncapi", ""] | ["api", "v2", "coverage"])
}

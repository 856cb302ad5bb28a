//! Cross-origin requests: pages of any origin may call the products with a key (SERVICE section 0).
//!
//! Any origin is allowed because a key is required anyway; cookies never are. Only products and resources
//! that need no key are shared this way; the hub's own pages are not.

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

use crate::products::Product;

/// All methods that some path has.
pub(crate) const METHODS: &str = "GET, HEAD, POST, DELETE, OPTIONS";
/// Allowed methods: all endpoints are read, except those that create tickets and tokens, the MCP servers, and webhooks.
const READ: &str = "GET, HEAD, OPTIONS";
const POSTED: &str = "POST, OPTIONS";
const WEBHOOKS: &str = "GET, HEAD, POST, OPTIONS";
const WEBHOOK: &str = "GET, HEAD, POST, DELETE, OPTIONS";
/// `*` does not cover `Authorization`, so it is named.
const HEADERS: &str = "authorization, content-type, if-none-match";
/// Response headers that a script may read.
const EXPOSED: &str = "etag, link, ratelimit, ratelimit-policy, retry-after, www-authenticate, \
                       x-cache-status, x-matchwire-ignored, x-matchwire-integrity, \
                       x-matchwire-partial, x-matchwire-seq, x-matchwire-stale-since, \
                       mcp-session-id";
/// How long a browser may cache a preflight, in seconds: the maximum that browsers accept.
const AGE_MAX: &str = "86400";

/// The response to a preflight, the `OPTIONS` request before the one with the key.
pub(crate) fn preflight(request: &Request) -> Option<Response> {
    if request.method() != Method::OPTIONS {
        return None;
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    let fixed = HeaderValue::from_static;
    let requested = request.headers().get(ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    headers.insert(ALLOW, fixed(allowed(request.uri().path())));
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, fixed(METHODS));
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, requested.unwrap_or_else(|| fixed(HEADERS)));
    headers.insert(ACCESS_CONTROL_MAX_AGE, fixed(AGE_MAX));
    headers.insert(VARY, fixed("access-control-request-headers"));
    allow(headers);
    Some(response)
}

/// The methods that a path has.
fn allowed(path: &str) -> &'static str {
    let path = path.trim_end_matches('/');
    let below = |rest: &&str| rest.is_empty() || rest.starts_with('/');
    if let Some(rest) = path.strip_prefix("/api/v2/webhooks").filter(below) {
        let mut parts = rest.split('/').skip(1);
        return match (parts.next(), parts.next(), parts.next()) {
            (None, ..) => WEBHOOKS,
            (Some(_), None, _) => WEBHOOK,
            (Some(_), Some("deliveries"), None) => READ,
            _ => POSTED,
        };
    }
    let is_created = ["/api/v2/stream/ticket", "/oauth/token", "/oauth/revoke"].contains(&path);
    let is_posted = is_created || Product::from_mcp_path(path).is_some();
    if is_posted { POSTED } else { READ }
}

/// Lets any origin read the response.
pub(crate) fn allow(headers: &mut HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
}

/// Whether a path needs no key: images, what test channels publish, API documents, coverage, and what OAuth clients call.
pub(crate) fn is_open(path: &str) -> bool {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let parts = [parts.next(), parts.next(), parts.next()].map(Option::unwrap_or_default);
    matches!(
        parts,
        ["img", ..]
            | ["test", _, ""]
            | ["api", "schema" | "asyncapi", ""]
            | ["api", "schema", "documents"]
            | ["api", "v2", "coverage"]
            | [".well-known", "oauth-protected-resource", _]
            | [".well-known", "oauth-authorization-server", ""]
            | ["oauth", "token" | "revoke", ""]
    )
}

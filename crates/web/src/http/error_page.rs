//! Error pages for people: a browser that opens a page does not get JSON.

use axum::{extract::Request, response::Response};
use hyper::{
    HeaderMap, StatusCode,
    header::{ACCEPT, ALLOW, CONTENT_TYPE, RETRY_AFTER, VARY},
};

/// Renders the page for an error with this status.
pub(crate) type ErrorPage = fn(StatusCode) -> Response;

/// First path segments for programs, including scripts in browsers.
const FOR_PROGRAMS: [&str; 16] = [
    ".well-known",
    "api",
    "favicon.ico",
    "healthz",
    "img",
    "ingest",
    "live",
    "llms.txt",
    "mcp",
    "metrics",
    "readyz",
    "robots.txt",
    "static",
    "stream",
    "webhooks",
    "ws",
];

/// Whether an error is answered with a page: the path is for people, and the client prefers HTML to JSON.
pub(super) fn is_wanted(request: &Request) -> bool {
    let first = request.uri().path().split('/').find(|part| !part.is_empty()).unwrap_or_default();
    !FOR_PROGRAMS.contains(&first) && takes_html(request.headers())
}

fn takes_html(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(ACCEPT).iter().filter_map(|line| line.to_str().ok());
    let kinds: Vec<_> = lines
        .flat_map(|line| line.split(','))
        .map(|entry| entry.split(';').next().unwrap_or_default().trim())
        .collect();
    kinds.contains(&"text/html") && !kinds.contains(&"application/json")
}

/// Replaces a JSON error with a page; leaves everything else unchanged.
pub(super) fn in_place_of(response: Response, render: ErrorPage) -> Response {
    let status = response.status();
    let is_error = status.is_client_error() || status.is_server_error();
    let kind = response.headers().get(CONTENT_TYPE);
    let is_json = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    if !is_error || !is_json || status == StatusCode::UPGRADE_REQUIRED {
        return response;
    }
    let mut page = render(status);
    for name in [ALLOW, RETRY_AFTER, VARY] {
        for value in response.headers().get_all(&name) {
            page.headers_mut().append(&name, value.clone());
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn check(path: &str, accept: &str, expected: bool) {
        let request = Request::builder().uri(path).header(ACCEPT, accept).body(Body::empty());
        assert_eq!(is_wanted(&request.expect("a request")), expected, "{path} {accept}");
    }

    #[test]
    fn error_pages_are_for_browsers_on_site_paths() {
        let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        check("/nothing", browser, true);
        check("/", browser, true);
        check("/nothing", "*/*", false);
        check("/nothing", "application/json, text/html", false);
        check("/nothing", "", false);
        check("/api/v2/nothing/", browser, false);
        check("/webhooks/stripe/", browser, false);
    }
}

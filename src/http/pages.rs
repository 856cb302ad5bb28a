//! HTML answers and the files that pages need, all of them inside the program.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::{Path, Request, State},
    response::{Html, IntoResponse, Response},
};
use hyper::{
    StatusCode,
    header::{
        CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HOST, HeaderValue,
        IF_NONE_MATCH,
    },
};
use tracing::error;

use super::{Shared, error::HttpError, site::Visit};

/// Scripts, styles and sockets from this host alone.
pub(super) const POLICY: &str = "default-src 'self'; connect-src 'self' ws: wss:; base-uri 'none'; \
                      form-action 'self'; frame-ancestors 'none'";

#[derive(Debug, Template)]
#[template(path = "home.html")]
struct Home<'a> {
    title: String,
    version: &'a str,
    demo: bool,
    signed_in: bool,
    key: Option<&'a str>,
}

/// `/`: one match of each sport, live.
pub(super) async fn home(
    State(shared): State<Arc<Shared>>,
    visit: Visit,
    request: Request,
) -> Result<Response, HttpError> {
    let demo_key = shared.parts.demo_key.as_deref();
    // A page of another host whose name was made to lead here must not read the key.
    let key = demo_key.filter(|_| asks_for_loopback(&request));
    let home = Home {
        title: "Matchwire: live football, tennis and odds".to_owned(),
        version: env!("CARGO_PKG_VERSION"),
        demo: demo_key.is_some(),
        signed_in: visit.customer().is_some(),
        key,
    };
    let html = home.render().map_err(|error| {
        error!(%error, "the page could not be rendered");
        HttpError::Internal
    })?;
    let mut response = Html(html).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

fn asks_for_loopback(request: &Request) -> bool {
    let Some(host) = request.headers().get(HOST).and_then(|host| host.to_str().ok()) else {
        return false;
    };
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    ["localhost", "127.0.0.1", "[::1]"].contains(&name)
}

struct File {
    name: &'static str,
    kind: &'static str,
    text: &'static str,
}

macro_rules! files {
    ($($name:literal: $kind:literal),* $(,)?) => {
        [$(File {
            name: $name,
            kind: $kind,
            text: include_str!(concat!("../../web/", $name)),
        }),*]
    };
}

const FILES: [File; 18] = files![
    "admin.css": "text/css; charset=utf-8",
    "admin.js": "text/javascript; charset=utf-8",
    "boards.js": "text/javascript; charset=utf-8",
    "docs.css": "text/css; charset=utf-8",
    "docs.js": "text/javascript; charset=utf-8",
    "football.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "odds.js": "text/javascript; charset=utf-8",
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "palette.css": "text/css; charset=utf-8",
    "pricing.css": "text/css; charset=utf-8",
    "site.css": "text/css; charset=utf-8",
    "site.js": "text/javascript; charset=utf-8",
    "stream.js": "text/javascript; charset=utf-8",
    "tennis.js": "text/javascript; charset=utf-8",
    "view.js": "text/javascript; charset=utf-8",
    "wait.js": "text/javascript; charset=utf-8",
];

/// `/static/{file}`.
pub(super) async fn file(
    Path(name): Path<String>,
    request: Request,
) -> Result<Response, HttpError> {
    let file = FILES.iter().find(|file| file.name == name).ok_or(HttpError::NotFound)?;
    let tag = HeaderValue::from_static(concat!("\"", env!("CARGO_PKG_VERSION"), "\""));
    // Within a version under development files change, so a debug build is never taken as known.
    let known = !cfg!(debug_assertions) && request.headers().get(IF_NONE_MATCH) == Some(&tag);
    let mut response = if known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        ([(CONTENT_TYPE, HeaderValue::from_static(file.kind))], file.text).into_response()
    };
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response.headers_mut().insert(ETAG, tag);
    Ok(response)
}

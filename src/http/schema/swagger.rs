//! Swagger UI, of which the program has the files in itself (Apache-2.0, by SmartBear), on a page of ours.

use std::sync::Arc;

use axum::{
    extract::{Path, Request},
    response::{Html, IntoResponse, Response},
};
use hyper::{
    StatusCode,
    header::{ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, VARY},
};
use utoipa_swagger_ui::Config;

use crate::http::error::HttpError;

/// Scripts from here alone. The library draws icons with `data:` addresses and sets a few styles itself.
const POLICY: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const PAGE: &str = r##"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API reference · Matchwire</title>
<link rel="icon" href="/static/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/api/docs/swagger-ui.css">
<script src="/api/docs/swagger-ui-bundle.js" defer></script>
<script src="/api/docs/start.js" defer></script>
</head>
<body>
<main id="swagger-ui"></main>
<noscript><p>This page needs scripts. The document itself is at <a href="/api/schema/">/api/schema/</a>.</p></noscript>
</body>
</html>
"##;

/// The key goes into a header as clients send it: the first scheme is a header's whole value.
const START: &str = r##"SwaggerUIBundle({
  url: "/api/schema/",
  dom_id: "#swagger-ui",
  deepLinking: true,
  docExpansion: "none",
  filter: true,
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
});
"##;

/// What of Swagger UI the page needs, and its licence.
const FILES: [&str; 2] = ["swagger-ui.css", "swagger-ui-bundle.js"];

/// `/api/docs/`. Who takes JSON alone is told so, and not given HTML: SERVICE section 6.
pub(super) async fn page(request: Request) -> Result<Response, HttpError> {
    let accept = request.headers().get_all(ACCEPT).iter();
    let accept: Vec<_> = accept.filter_map(|it| it.to_str().ok()).collect();
    if !takes_html(&accept.join(",")) {
        let detail = "this is a page for people: the document is at /api/schema/";
        return Err(HttpError::Refused(StatusCode::NOT_ACCEPTABLE, detail));
    }
    let mut response = Html(PAGE).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(VARY, HeaderValue::from_static("accept"));
    Ok(response)
}

fn takes_html(accept: &str) -> bool {
    let mut kinds = accept.split(',').map(|entry| entry.split(';').next().unwrap_or(entry).trim());
    let takes =
        |kind: &str| ["text/html", "application/xhtml+xml", "text/*", "*/*"].contains(&kind);
    accept.trim().is_empty() || kinds.any(takes)
}

/// `/api/docs/{file}`.
pub(super) async fn file(Path(name): Path<String>) -> Result<Response, HttpError> {
    let kind = |kind| [(CONTENT_TYPE, HeaderValue::from_static(kind))];
    let mut response = if name == "start.js" {
        (kind("text/javascript; charset=utf-8"), START).into_response()
    } else {
        let name = FILES.into_iter().find(|own| *own == name).ok_or(HttpError::NotFound)?;
        let found = utoipa_swagger_ui::serve(name, Arc::new(Config::from("/api/schema/")));
        let file = found.map_err(|_| HttpError::Internal)?.ok_or(HttpError::NotFound)?;
        let css = name.ends_with(".css");
        let kind =
            kind(if css { "text/css; charset=utf-8" } else { "text/javascript; charset=utf-8" });
        (kind, file.bytes.into_owned()).into_response()
    };
    // They change with the version of the program alone.
    let control = HeaderValue::from_static("public, max-age=3600");
    response.headers_mut().insert(CACHE_CONTROL, control);
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_takes_json_alone_does_not_take_the_page() {
        for (accept, expected) in [
            ("", true),
            ("*/*", true),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true),
            ("application/json", false),
            ("application/json, application/problem+json;q=0.5", false),
            ("application/json, */*", true),
        ] {
            assert_eq!(takes_html(accept), expected, "{accept}");
        }
    }
}

//! Swagger UI, compiled into the program (Apache-2.0, by SmartBear).

use std::{
    io::{self, Read},
    sync::LazyLock,
};

use axum::{
    extract::{Path, Request},
    response::{Html, IntoResponse, Response},
};
use flate2::read::GzDecoder;
use hyper::{
    StatusCode,
    header::{ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderValue, VARY},
};

use crate::http::{asset::Asset, error::HttpError};

/// Scripts from this host only. The library draws icons with `data:` URLs and sets a few styles itself.
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
<noscript><p>This page needs JavaScript. The OpenAPI document is at <a href="/api/schema/">/api/schema/</a>.</p></noscript>
</body>
</html>
"##;

/// Sends the key in a header, as clients do: the first scheme is the value of a whole header.
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

const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// The files of Swagger UI that the page needs, their content types, and their content.
const FILES: [(&str, &str, &[u8]); 2] = [
    (
        "swagger-ui.css",
        "text/css; charset=utf-8",
        include_bytes!("../../../assets/swagger-ui/swagger-ui.css.gz"),
    ),
    (
        "swagger-ui-bundle.js",
        JAVASCRIPT,
        include_bytes!("../../../assets/swagger-ui/swagger-ui-bundle.js.gz"),
    ),
];

/// `/api/docs/`. A client that accepts only JSON gets an error instead of HTML: SERVICE section 6.
pub(crate) async fn page(request: Request) -> Result<Response, HttpError> {
    let accept = request.headers().get_all(ACCEPT).iter();
    let accept: Vec<_> = accept.filter_map(|it| it.to_str().ok()).collect();
    if !takes_html(&accept.join(",")) {
        let detail = "this page is HTML only: the OpenAPI document is at /api/schema/";
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

static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    let files = FILES.into_iter().filter_map(|(name, kind, compressed)| {
        Some(Asset::new(name, kind, gunzipped(compressed).ok()?))
    });
    files.chain([Asset::new("start.js", JAVASCRIPT, START.as_bytes())]).collect()
});

/// The program holds the files compressed, since few visitors need their 1.7 MB.
fn gunzipped(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut content)?;
    Ok(content)
}

/// `/api/docs/{file}`.
pub(crate) async fn file(
    Path(name): Path<String>,
    request: Request,
) -> Result<Response, HttpError> {
    let asset = ASSETS.iter().find(|asset| asset.name == name).ok_or(HttpError::NotFound)?;
    // They change only with the version of the program.
    Ok(asset.answer(&request, "public, max-age=3600"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_is_for_clients_that_accept_html() {
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

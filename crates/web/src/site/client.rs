//! The JavaScript client, `clients/js`, as one file that pages of any origin may import.

use std::sync::{Arc, LazyLock};

use axum::{
    Json,
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use data_encoding::BASE64;
use hyper::header::{CACHE_CONTROL, HeaderName, HeaderValue};
use serde::Serialize;
use sha2::{Digest, Sha384};

use crate::http::{Shared, asset::Asset, cors};

const SOURCE: &str = include_str!("../../../../clients/js/dist/matchwire.js");
const PATH: &str = "/client/v1/matchwire.js";
const INTEGRITY: HeaderName = HeaderName::from_static("x-matchwire-integrity");
/// Caches keep it, and ask before each use: an updated hub's own pages need the client that belongs to them.
const CACHING: &str = "public, no-cache";

static FILE: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("matchwire.js", "text/javascript; charset=utf-8", SOURCE.as_bytes())
});

static HASH: LazyLock<String> =
    LazyLock::new(|| format!("sha384-{}", BASE64.encode(&Sha384::digest(SOURCE))));

/// The hash of the file, as in the attribute `integrity` of HTML.
pub(super) fn integrity() -> &'static str {
    &HASH
}

/// `/client/v1/matchwire.js`.
pub(super) async fn file(request: Request) -> Response {
    let mut response = FILE.answer(&request, CACHING);
    let headers = response.headers_mut();
    if let Ok(integrity) = HeaderValue::from_str(integrity()) {
        headers.insert(INTEGRITY, integrity);
    }
    cors::allow(headers);
    response
}

#[derive(Debug, Serialize)]
struct ClientIndex<'a> {
    version: &'a str,
    url: String,
    integrity: &'a str,
}

/// `/client/v1/`: what a page needs to import the client and to check that it is the same file.
pub(super) async fn index(State(shared): State<Arc<Shared>>) -> Response {
    let url = format!("{}{PATH}", shared.parts.settings.public_url);
    let version = env!("CARGO_PKG_VERSION");
    let mut response = Json(ClientIndex { version, url, integrity: integrity() }).into_response();
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(CACHING));
    cors::allow(headers);
    response
}

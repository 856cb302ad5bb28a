//! `/api/`: the index of endpoints.

use std::collections::BTreeMap;

use axum::{extract::State, http::Uri, response::Response};
use hyper::HeaderMap;

use crate::api::{Api, ApiError, CacheControl, PageUrl, Params};

/// The endpoints of this version, by the names that clients know.
const NAMES: [&str; 14] = [
    "events",
    "fixtures",
    "leagues",
    "live",
    "managers",
    "matches",
    "odds",
    "player-stats",
    "players",
    "predictions",
    "referees",
    "seasons",
    "teams",
    "venues",
];

/// The lists of this version, by their names.
#[utoipa::path(
    get, path = "/api/", tag = "football v1",
    responses((status = 200, body = BTreeMap<String, String>))
)]
pub(super) async fn index(
    State(api): State<Api>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let params = Params::default();
    let page_url = PageUrl { api: &api, headers: &headers, path: uri.path(), params: &params };
    let base = page_url.base();
    let all: BTreeMap<_, _> =
        NAMES.into_iter().map(|name| (name, format!("{base}/api/{name}/"))).collect();
    CacheControl::REFERENCE.answer(&headers, &all)
}

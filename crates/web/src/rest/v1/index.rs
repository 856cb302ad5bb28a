//! `/api/`: the index of endpoints.

use std::collections::BTreeMap;

use super::request::NONE;
use crate::rest::{ApiRequest, ApiResult, CacheControl};

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

endpoints! {
    /// The lists of this version, by their names.
    "/api/", params(NONE), answers(BTreeMap<String, String>), |request| index(&request);
}

fn index(request: &ApiRequest) -> ApiResult {
    let base = request.page_url().base();
    let all: BTreeMap<_, _> =
        NAMES.into_iter().map(|name| (name, format!("{base}/api/{name}/"))).collect();
    request.answer(CacheControl::REFERENCE, &all)
}

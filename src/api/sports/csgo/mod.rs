//! Counter-Strike 2: SERVICE section 2.6.

mod lists;
mod matches;

use utoipa_axum::{router::OpenApiRouter, routes};

use crate::api::Api;

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(matches::list))
        .routes(routes!(matches::live))
        .routes(routes!(matches::detail))
        .routes(routes!(matches::odds))
        .routes(routes!(matches::player_stats))
        .routes(routes!(matches::stats))
        .routes(routes!(lists::players))
        .routes(routes!(lists::player))
        .routes(routes!(lists::predictions))
        .routes(routes!(lists::prediction))
        .routes(routes!(lists::teams))
        .routes(routes!(lists::team))
        .routes(routes!(lists::tournaments))
        .routes(routes!(lists::tournament))
}

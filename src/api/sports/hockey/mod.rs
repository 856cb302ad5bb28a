//! Ice hockey: SERVICE section 2.4.

mod lists;
mod matches;

use utoipa_axum::{router::OpenApiRouter, routes};

use crate::api::Api;

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(matches::list))
        .routes(routes!(matches::live))
        .routes(routes!(matches::detail))
        .routes(routes!(matches::h2h))
        .routes(routes!(matches::odds))
        .routes(routes!(lists::leagues))
        .routes(routes!(lists::league))
        .routes(routes!(lists::predictions))
        .routes(routes!(lists::prediction))
        .routes(routes!(lists::standings))
        .routes(routes!(lists::standings_of))
        .routes(routes!(lists::teams))
        .routes(routes!(lists::team))
}

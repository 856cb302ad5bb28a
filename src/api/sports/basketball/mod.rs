//! Basketball: SERVICE section 2.3.

mod events;
mod lists;

use utoipa_axum::{router::OpenApiRouter, routes};

use crate::api::Api;

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(events::list))
        .routes(routes!(events::live))
        .routes(routes!(events::detail))
        .routes(routes!(events::box_score))
        .routes(routes!(events::odds))
        .routes(routes!(events::pregame))
        .routes(routes!(events::team_stats))
        .routes(routes!(lists::leagues))
        .routes(routes!(lists::league))
        .routes(routes!(lists::managers))
        .routes(routes!(lists::manager))
        .routes(routes!(lists::players))
        .routes(routes!(lists::player))
        .routes(routes!(lists::games))
        .routes(routes!(lists::predictions))
        .routes(routes!(lists::prediction))
        .routes(routes!(lists::standings))
        .routes(routes!(lists::standings_of))
        .routes(routes!(lists::teams))
        .routes(routes!(lists::team))
        .routes(routes!(lists::venues))
        .routes(routes!(lists::venue))
}

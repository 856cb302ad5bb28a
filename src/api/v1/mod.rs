//! Football, version 1: SERVICE sections 1.1 to 1.3 and 1.6. Older names and paging over the data of version
//! 2; unknown parameters are ignored.

mod event;
mod events;
mod index;
mod league;
mod line_up;
mod odds;
mod person;
mod player_stats;
mod predictions;
mod request;
mod standings;
mod team;

use utoipa_axum::{router::OpenApiRouter, routes};

use super::Api;

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(index::index))
        .routes(routes!(events::events))
        .routes(routes!(events::event))
        .routes(routes!(events::fixtures))
        .routes(routes!(events::fixture))
        .routes(routes!(events::matches))
        .routes(routes!(events::match_))
        .routes(routes!(events::live))
        .routes(routes!(events::live_event))
        .routes(routes!(league::leagues))
        .routes(routes!(league::league))
        .routes(routes!(standings::standings))
        .routes(routes!(line_up::line_ups))
        .routes(routes!(league::seasons))
        .routes(routes!(league::season))
        .routes(routes!(team::teams))
        .routes(routes!(team::team))
        .routes(routes!(team::team_matches))
        .routes(routes!(team::venues))
        .routes(routes!(team::venue))
        .routes(routes!(person::players))
        .routes(routes!(person::player))
        .routes(routes!(person::managers))
        .routes(routes!(person::manager))
        .routes(routes!(person::referees))
        .routes(routes!(player_stats::list))
        .routes(routes!(player_stats::detail))
        .routes(routes!(odds::list))
        .routes(routes!(odds::detail))
        .routes(routes!(odds::best_odds))
        .routes(routes!(odds::bookmakers))
        .routes(routes!(odds::compared))
        .routes(routes!(predictions::list))
        .routes(routes!(predictions::detail))
}

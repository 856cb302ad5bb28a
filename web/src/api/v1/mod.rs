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

use utoipa_axum::router::OpenApiRouter;

use super::Api;

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .merge(events::routes())
        .merge(index::routes())
        .merge(league::routes())
        .merge(line_up::routes())
        .merge(odds::routes())
        .merge(person::routes())
        .merge(player_stats::routes())
        .merge(predictions::routes())
        .merge(standings::routes())
        .merge(team::routes())
}

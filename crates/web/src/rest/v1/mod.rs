//! Football, version 1: SERVICE sections 1.1 to 1.3 and 1.6. Older names and paging over the data of version
//! 2; unknown parameters are ignored. Section 9 has the keys of an event.

mod event;
mod event_detail;
mod events;
mod form;
mod index;
mod league;
mod line_up;
mod live_stats;
mod odds;
mod person;
mod player_stats;
mod predictions;
mod request;
mod standings;
mod team;

use axum::Extension;
use utoipa_axum::router::OpenApiRouter;

use super::{Api, football::live_cache::ResponseCache};

pub(super) fn routes() -> OpenApiRouter<Api> {
    let events = events::routes().layer(Extension(ResponseCache::default()));
    OpenApiRouter::new()
        .merge(events)
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

#[cfg(test)]
mod tests;

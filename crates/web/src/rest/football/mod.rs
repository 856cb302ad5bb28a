//! Football, version 2: SERVICE sections 1.1 to 1.9. Decisions that those sections leave open are in
//! docs/API.md.
//!
//! Lists and sums come from summaries and entities in memory (`snapshot`); everything below one match is read
//! from its record. Odds are in `odds`.

mod analysis;
mod calendar;
pub(super) mod country;
pub(super) mod coverage;
mod detail;
pub(super) mod event;
mod events;
mod figures;
pub(super) mod head_to_head;
mod incidents;
pub(crate) mod include;
pub(super) mod leagues;
mod leg;
mod line_ups;
mod live;
pub(super) mod live_cache;
mod manager_stats;
mod managers;
pub(super) mod match_stats;
mod people;
pub(super) mod player_stats;
pub(super) mod player_sums;
mod players;
pub(super) mod referees;
pub(super) mod request;
pub(crate) mod search;
mod seasons;
pub(super) mod snapshot;
pub(super) mod standings;
pub(super) mod stats;
pub(super) mod teams;
pub(super) mod tenure;
mod top;
mod venues;

use axum::Extension;
use utoipa_axum::router::OpenApiRouter;

use self::live_cache::ResponseCache;
pub(super) use self::{
    line_ups::short_name, manager_stats::ManagerStats, match_stats::MatchStatsCache, request::spec,
    stats::share,
};
use super::Api;

pub(super) fn routes() -> OpenApiRouter<Api> {
    let live = live::routes().layer(Extension(ResponseCache::default()));
    OpenApiRouter::new()
        .merge(calendar::routes())
        .merge(coverage::routes())
        .merge(detail::routes())
        .merge(events::routes())
        .merge(figures::routes())
        .merge(leagues::routes())
        .merge(live)
        .merge(managers::routes())
        .merge(players::routes())
        .merge(referees::routes())
        .merge(search::routes())
        .merge(standings::routes())
        .merge(teams::routes())
        .merge(top::routes())
        .merge(venues::routes())
}

#[cfg(test)]
pub(super) mod tests;

//! Football, version 2: SERVICE sections 1.1 to 1.9. Decisions that those sections leave open are in
//! docs/API.md.
//!
//! Lists and sums come from briefs and entities in memory ([`matches`]); everything below one match is read
//! from its record. Odds are in `odds`.

mod analysis;
pub(super) mod country;
mod coverage;
mod detail;
mod event;
mod events;
mod head_to_head;
mod incidents;
mod leagues;
mod leg;
mod line_ups;
mod live;
mod live_cache;
mod manager_stats;
mod managers;
mod match_stats;
mod matches;
mod people;
pub(super) mod player_stats;
mod players;
mod referees;
mod request;
mod seasons;
mod standings;
mod stats;
mod teams;
mod tenure;
mod top;
mod venues;
mod vocabulary;

use axum::Extension;
use utoipa_axum::{router::OpenApiRouter, routes};

use self::live_cache::ResponseCache;
pub(super) use self::{
    event::regulation,
    line_ups::short_name,
    manager_stats::ManagerStats,
    match_stats::MatchStatsCache,
    seasons::{season_name, season_year},
    stats::share,
};
use super::Api;

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(events::list))
        .routes(routes!(detail::h2h))
        .routes(routes!(detail::incidents))
        .routes(routes!(detail::line_ups))
        .routes(routes!(detail::metadata))
        .routes(routes!(detail::player_stats))
        .routes(routes!(detail::stats))
        .routes(routes!(leagues::list))
        .routes(routes!(leagues::detail))
        .routes(routes!(leagues::season))
        .routes(routes!(leagues::seasons))
        .routes(routes!(leagues::venues))
        .routes(routes!(leagues::season_venues))
        .routes(routes!(standings::standings))
        .routes(routes!(top::top))
        .routes(routes!(teams::list))
        .routes(routes!(teams::detail))
        .routes(routes!(teams::fixtures))
        .routes(routes!(teams::squad))
        .routes(routes!(players::list))
        .routes(routes!(players::detail))
        .routes(routes!(players::career))
        .routes(routes!(players::national_team))
        .routes(routes!(players::stats))
        .routes(routes!(venues::list))
        .routes(routes!(venues::detail))
        .routes(routes!(venues::competitions))
        .routes(routes!(coverage::coverage))
        .merge(live_routes())
        .merge(match_stats_routes())
}

/// The most requested endpoints, answered from memory.
fn live_routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(live::live))
        .routes(routes!(live::detail))
        .layer(Extension(ResponseCache::default()))
}

fn match_stats_routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(managers::list))
        .routes(routes!(managers::detail))
        .routes(routes!(managers::career))
        .routes(routes!(managers::matches))
        .routes(routes!(referees::list))
        .routes(routes!(referees::detail))
        .routes(routes!(referees::matches))
}

#[cfg(test)]
mod tests;

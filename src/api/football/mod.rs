//! Football, version 2: SERVICE sections 1.1 to 1.9. What is decided where that page is silent stands
//! in docs/API.md.
//!
//! Lists and sums are made of briefs and entities in memory ([`matches`]); what is below one match is
//! read from its record. Odds are elsewhere.

mod analysis;
pub(super) mod country;
mod coverage;
mod event;
mod events;
mod head_to_head;
mod incidents;
mod leagues;
mod led;
mod leg;
mod line_ups;
mod live;
mod managers;
mod matches;
mod part;
mod people;
pub(super) mod player_stats;
mod players;
mod referees;
mod request;
mod seasons;
mod sheets;
mod shown;
mod standings;
mod stats;
mod teams;
mod tenure;
mod top;
mod venues;
mod vocabulary;

use axum::Extension;
use utoipa_axum::{router::OpenApiRouter, routes};

use self::shown::Shown;
pub(super) use self::{
    event::regulation,
    led::Led,
    line_ups::short_name,
    seasons::{season_name, season_year},
    sheets::Sheets,
    stats::share,
};
use super::Api;

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(events::list))
        .routes(routes!(part::h2h))
        .routes(routes!(part::incidents))
        .routes(routes!(part::line_ups))
        .routes(routes!(part::metadata))
        .routes(routes!(part::player_stats))
        .routes(routes!(part::stats))
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
        .merge(sheet_routes())
}

/// What is asked most, from memory.
fn live_routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(live::live))
        .routes(routes!(live::detail))
        .layer(Extension(Shown::default()))
}

fn sheet_routes() -> OpenApiRouter<Api> {
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

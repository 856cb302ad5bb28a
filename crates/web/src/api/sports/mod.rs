//! Tennis, CS2, darts, hockey, basketball and horse racing: SERVICE section 2.
//!
//! One folder per sport, next to what they share: `sport_stats` has the statistics over all its matches, and
//! `forecast` the win probabilities.

mod basketball;
mod csgo;
mod darts;
mod forecast;
mod form;
mod hockey;
mod horseracing;
mod lists;
mod match_odds;
mod matches;
mod meetings;
mod predicted;
mod price;
mod request;
mod shape;
mod sport_stats;
mod standings;
mod team_prediction;
mod tennis;

use axum::Extension;
use utoipa_axum::router::OpenApiRouter;

pub(super) use self::price::consensus;
use super::{Api, index};

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .merge(tennis::routes())
        .merge(csgo::routes())
        .merge(darts::routes())
        .merge(hockey::routes())
        .merge(basketball::routes())
        .merge(horseracing::routes())
        .layer(Extension(request::SportsCaches::default()))
}

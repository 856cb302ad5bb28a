//! Horse racing: SERVICE section 2.7.

mod card;
mod cards;
mod races;
mod row;
mod runners;

use axum::Extension;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::api::Api;

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(races::list))
        .routes(routes!(races::live))
        .routes(routes!(races::next_to_jump))
        .routes(routes!(races::detail))
        .routes(routes!(races::meetings))
        .routes(routes!(races::meeting))
        .routes(routes!(races::tracks))
        .routes(routes!(races::track))
        .routes(routes!(runners::list))
        .routes(routes!(runners::detail))
        .routes(routes!(runners::odds))
        .routes(routes!(runners::horses))
        .routes(routes!(runners::horse))
        .routes(routes!(runners::jockeys))
        .routes(routes!(runners::jockey))
        .routes(routes!(runners::trainers))
        .layer(Extension(cards::RaceCardCache::default()))
}

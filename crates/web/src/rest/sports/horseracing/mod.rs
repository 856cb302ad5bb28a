//! Horse racing: SERVICE section 2.7.

mod card;
mod cards;
mod races;
mod row;
mod runners;

use utoipa_axum::router::OpenApiRouter;

pub(super) use self::cards::{RaceCardCache, RaceCards};
use crate::rest::Api;

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new().merge(races::routes()).merge(runners::routes())
}

//! Tennis: SERVICE section 2.1.

mod figures;
mod h2h;
mod matches;
mod odds;
mod people;
mod points;
mod predictions;
mod rankings;
mod row;
mod tournaments;

use utoipa_axum::router::OpenApiRouter;

pub(super) use self::row::circuit;
use crate::rest::Api;

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .merge(h2h::routes())
        .merge(matches::routes())
        .merge(odds::routes())
        .merge(people::routes())
        .merge(points::routes())
        .merge(predictions::routes())
        .merge(rankings::routes())
        .merge(tournaments::routes())
}

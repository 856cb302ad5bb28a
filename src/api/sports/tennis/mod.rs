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

use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) use self::row::circuit;
use crate::api::Api;

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(matches::list))
        .routes(routes!(matches::live))
        .routes(routes!(matches::detail))
        .routes(routes!(h2h::h2h))
        .routes(routes!(odds::odds))
        .routes(routes!(odds::best))
        .routes(routes!(points::point_by_point))
        .routes(routes!(people::list))
        .routes(routes!(people::detail))
        .routes(routes!(predictions::list))
        .routes(routes!(predictions::detail))
        .routes(routes!(predictions::old_list))
        .routes(routes!(rankings::list))
        .routes(routes!(rankings::detail))
        .routes(routes!(tournaments::list))
        .routes(routes!(tournaments::detail))
}

//! Predictions: the rows of version 2, with dates in the zone that was asked for.

use axum::{
    extract::{Path, State},
    http::Uri,
    response::Response,
};
use hyper::HeaderMap;

use super::request::Asked;
use crate::api::{
    Api, ApiError, Kept, Page,
    odds::id_of,
    predictions::{Wanted, one, row::Prediction},
};

/// Predictions of matches that are not over, by their start.
#[utoipa::path(
    get, path = "/api/predictions/", tag = "football v1",
    params(("upcoming" = Option<bool>, Query), ("league" = Option<u64>, Query), ("event" = Option<u64>, Query), ("tz" = Option<String>, Query), ("page" = Option<u64>, Query), ("page_size" = Option<u64>, Query, description = "100 unless told, at most 500")),
    responses((status = 200, body = Page<Prediction>), (status = 400, description = "A value that cannot be used"))
)]
pub(super) async fn list(
    State(api): State<Api>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let asked = Asked::pages(&api, &uri, &headers, &["upcoming", "league", "event"])?;
    let mut wanted = Wanted::not_over();
    wanted.filter.competition = asked.params.id("league")?;
    wanted.event = asked.params.id("event")?;
    if asked.params.flag("upcoming")? == Some(true) {
        wanted.upcoming();
    }
    let (count, mut rows) = wanted.rows(&api, asked.window());
    rows.iter_mut().for_each(|row| row.date(|at| asked.date(at)));
    Kept::PREDICTIONS.answer(&headers, &asked.page(count, rows))
}

/// A prediction; it has the id of its event.
#[utoipa::path(
    get, path = "/api/predictions/{id}/", tag = "football v1",
    params(("id" = u64, Path), ("tz" = Option<String>, Query)),
    responses((status = 200, body = Prediction), (status = 404, description = "No such event, or it is over"), (status = 503, description = "There are too few results to predict from"))
)]
pub(super) async fn detail(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let asked = Asked::pages(&api, &uri, &headers, &[])?;
    let mut row = one(&api, id_of(&id)?).await?;
    row.date(|at| asked.date(at));
    Kept::PREDICTIONS.answer(&headers, &row)
}

//! Predictions: the rows of version 2, with dates in the requested time zone.

use axum::{
    extract::{Path, State},
    http::Uri,
    response::Response,
};
use hyper::HeaderMap;

use super::request::V1Query;
use crate::api::{
    Api, ApiError, CacheControl, Page,
    odds::id_of,
    predictions::{PredictionQuery, one, row::Prediction},
};

const ACCEPTED: &[&str] = &["date_from", "date_to", "event", "league", "upcoming"];

/// Predictions of matches that are not over, by their start.
#[utoipa::path(
    get, path = "/api/predictions/", tag = "football v1",
    params(("upcoming" = Option<bool>, Query), ("league" = Option<String>, Query, pattern = "^([0-9]{1,18}(,[0-9]{1,18})*)?$", description = "One or more IDs, separated by commas"), ("event" = Option<u64>, Query), ("date_from" = Option<String>, Query, description = "Matches from this day in the time zone, or this timestamp"), ("date_to" = Option<String>, Query, description = "Up to the end of this day in the time zone, or this timestamp"), ("tz" = Option<String>, Query), ("page" = Option<u64>, Query), ("page_size" = Option<u64>, Query, description = "Page size (default 100, max 500)")),
    responses((status = 200, body = Page<Prediction>), (status = 400, description = "Invalid parameter value"))
)]
pub(super) async fn list(
    State(api): State<Api>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = V1Query::pages(&api, &uri, &headers, ACCEPTED)?;
    let mut prediction_query = PredictionQuery::not_over();
    prediction_query.filter.competitions = query.params.ids("league")?;
    prediction_query.filter.from = query.from()?;
    prediction_query.filter.before = query.before()?;
    prediction_query.event = query.params.id("event")?;
    if query.params.flag("upcoming")? == Some(true) {
        prediction_query.upcoming();
    }
    let (count, mut rows) = prediction_query.rows(&api, query.window());
    rows.iter_mut().for_each(|row| row.date(|at| query.date(at)));
    CacheControl::PREDICTIONS.answer(&headers, &query.page(count, rows))
}

/// A prediction; it has the id of its event.
#[utoipa::path(
    get, path = "/api/predictions/{id}/", tag = "football v1",
    params(("id" = u64, Path), ("tz" = Option<String>, Query)),
    responses((status = 200, body = Prediction), (status = 404, description = "No such event, or it has ended"), (status = 503, description = "Not enough results for a prediction"))
)]
pub(super) async fn detail(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = V1Query::pages(&api, &uri, &headers, &[])?;
    let mut row = one(&api, id_of(&id)?).await?;
    row.date(|at| query.date(at));
    CacheControl::PREDICTIONS.answer(&headers, &row)
}

//! Predictions: the rows of version 2, with dates in the requested time zone.

use super::request::{self, DATE_FROM, DATE_TO, LEAGUE, ONE, TZ, V1Query};
use crate::api::{
    ApiRequest, ApiResult, CacheControl, Page, Param, Spec,
    predictions::{PredictionQuery, one, row::Prediction},
};

const LIST: Spec = request::spec(&[
    Param::flag("upcoming", ""),
    LEAGUE,
    Param::id("event", ""),
    DATE_FROM,
    DATE_TO,
    TZ,
]);

endpoints! {
    /// Predictions of matches that are not over, by their start.
    "/api/predictions/", params(LIST), answers(Page<Prediction>), |request| list(&request).await;

    /// A prediction; it has the id of its event.
    "/api/predictions/{id}/", params(ONE), answers(Prediction),
        or(status = 404, description = "No such event, or it has ended"),
        or(status = 503, description = "Not enough results for a prediction"),
        |request| detail(&request).await;
}

async fn list(request: &ApiRequest) -> ApiResult {
    let query = V1Query::pages(request)?;
    let mut prediction_query = PredictionQuery::not_over();
    prediction_query.matches.competitions = query.params.ids("league")?;
    prediction_query.matches.from = query.from()?;
    prediction_query.matches.before = query.before()?;
    prediction_query.matches.ids = query.params.id("event")?.map(|event| vec![event]);
    if query.params.flag("upcoming")? == Some(true) {
        prediction_query.upcoming();
    }
    let (count, mut rows) = prediction_query.rows(request, query.window()).await?;
    rows.iter_mut().for_each(|row| row.date(|at, day_only| query.start(at, day_only)));
    query.page(CacheControl::PREDICTIONS, count, rows)
}

async fn detail(request: &ApiRequest) -> ApiResult {
    let query = V1Query::pages(request)?;
    let mut row = one(request).await?;
    row.date(|at, day_only| query.start(at, day_only));
    request.answer(CacheControl::PREDICTIONS, &row)
}

//! Predicted results of matches: `/api/v2/predictions/`, `/api/v2/events/{id}/prediction/`.
//!
//! They exist for matches that are not over, in leagues with enough results. [`crate::predict`] documents the
//! model. Matches that are over have none, because today's model knows their results.

pub(in crate::rest) mod row;

use std::{collections::HashMap, sync::Arc};

use facts::event::Sport;

use self::row::{Blend, Names, Prediction, Recommendations, confidence};
use super::{
    Api, ApiError, ApiRequest, ApiResult, CacheControl, Page, Param, Spec, football,
    kind::Id,
    match_filter::MatchParams,
    odds::{self, football_record},
    view::View,
};
use crate::{clock::now, predict::Forecast};
use history::query::{EntityKind, MatchQuery, Window};
use record::{Key, MatchRecord, MatchSummary, Status, Vocabulary};

const TOO_FEW: ApiError = ApiError::NotPredicted(
    "There are not enough results of the league or of one of the teams yet to predict from.",
);

/// What the model makes of a match, if it has one for it.
fn forecast(api: &Api, summary: &MatchSummary) -> Option<Forecast> {
    let fitted = api.predictor.fitted_model(summary.competition?)?;
    fitted.model.forecast(summary.sides?, summary.neutral == Some(true))
}

/// The same as a row, if it passes the filter. `priced`: the match with its prices, if the reader may see them.
fn row(
    api: &Api,
    summary: &MatchSummary,
    priced: Option<&MatchRecord>,
    selects: impl Fn(&Forecast) -> bool,
) -> Option<Prediction> {
    let (competition, sides) = (summary.competition?, summary.sides?);
    let fitted = api.predictor.fitted_model(competition)?;
    let forecast = fitted.model.forecast(sides, summary.neutral == Some(true))?;
    if !selects(&forecast) {
        return None;
    }
    let name = |kind, id| api.history.entity(kind, id).map(|entity| entity.name.to_string());
    let names = Names {
        league: name(EntityKind::Competition, competition),
        sides: sides.map(|side| name(EntityKind::Team, side)),
    };
    let blend = priced.and_then(|record| Blend::new(record, &forecast));
    Some(Prediction::new(summary, sides, names, &fitted, &forecast, blend))
}

/// The filters of the list of predictions.
#[derive(Debug, Default)]
pub(in crate::rest) struct PredictionQuery {
    pub(in crate::rest) matches: MatchQuery,
    /// 0 to 1.
    pub(in crate::rest) confidence_min: Option<f64>,
    pub(in crate::rest) recommended: Option<bool>,
}

impl PredictionQuery {
    /// Matches that are not over.
    pub(in crate::rest) fn not_over() -> Self {
        let matches = MatchQuery {
            statuses: Some(Status::not_over()),
            ..MatchQuery::of_sport(Sport::Football)
        };
        Self { matches, ..Self::default() }
    }

    /// Matches that have not begun and are expected to.
    pub(in crate::rest) fn upcoming(&mut self) {
        let now = now();
        self.matches.from = Some(self.matches.from.map_or(now, |from| from.max(now)));
        self.narrow(&[Status::NotStarted]);
    }

    /// Only matches with these statuses.
    pub(in crate::rest) fn narrow(&mut self, to: &[Status]) {
        if let Some(statuses) = &mut self.matches.statuses {
            statuses.retain(|status| to.contains(status));
        }
    }

    /// The number of rows, and those in the window.
    pub(in crate::rest) async fn rows(
        &self,
        request: &ApiRequest,
        window: Window,
    ) -> Result<(usize, Vec<Prediction>), ApiError> {
        let api = &request.api;
        let view = View::now(&api.history, Some(Sport::Football));
        let found = view.all(&self.matches);
        let selects = |forecast: &Forecast| {
            let recommends = || Recommendations::new(forecast).is_recommended();
            self.confidence_min.is_none_or(|least| confidence(forecast) >= least)
                && self.recommended.is_none_or(|wanted| recommends() == wanted)
        };
        let is_wanted = |it: &MatchSummary| forecast(api, it).is_some_and(|found| selects(&found));
        let wanted: Vec<_> = found.into_iter().filter(|summary| is_wanted(summary)).collect();
        let page = wanted.iter().skip(window.offset).take(window.limit);
        let page: Vec<_> = page.map(Arc::clone).collect();
        let records = match api.check_bookmakers(request.caller()?, now()).is_ok() {
            true => view.records(&self.matches, &page).await?,
            false => Vec::new(),
        };
        let priced: HashMap<Key, &MatchRecord> =
            records.iter().map(|record| (record.summary.id, &**record)).collect();
        // The model may have been fitted again.
        let rows = page
            .iter()
            .filter_map(|summary| row(api, summary, priced.get(&summary.id).copied(), selects));
        Ok((wanted.len(), rows.collect()))
    }
}

/// The prediction of a match that is not over.
pub(in crate::rest) async fn one(request: &ApiRequest) -> Result<Prediction, ApiError> {
    let api = &request.api;
    let record = football_record(api, request.id()?).await?;
    if record.summary.status.is_over() {
        return Err(ApiError::NotFound);
    }
    let sees_prices = api.check_bookmakers(request.caller()?, now()).is_ok();
    row(api, &record.summary, sees_prices.then_some(&record), |_| true).ok_or(TOO_FEW)
}

const ONE: Spec =
    odds::one(&[&[
        Param::new::<Id>("id", "The prediction's ID, which is the event's ID").in_path()
    ]]);

params! {
    struct EventParams for MatchParams {
        status: Text = "Status of the event",
        league_id: Ids = "One or more leagues",
        season_id: Ids = "One or more seasons",
        team_id: Ids = "One or more teams, home or away",
        date_from: Begin = "A day or a timestamp",
        date_to: End = "A day (inclusive) or a timestamp",
    }
    struct PredictionParams {
        min_confidence: Share = "0 to 1",
        recommended: Flag = "Whether a bet on the result is recommended",
        upcoming: Flag = "Only matches that have not started",
    }
}

const LIST: Spec = football::spec(&[EventParams::PARAMS, PredictionParams::PARAMS]).paged();

endpoints! {
    /// The prediction for a match.
    "/api/v2/events/{id}/prediction/", params(odds::OF_EVENT), answers(Prediction),
        or(status = 400, description = "Unknown parameter"),
        or(status = 404, description = "No such event, or it has ended"),
        or(status = 503, description = "Not enough results for a prediction"),
        |request| detail(&request).await;

    /// The same; a prediction has the id of its event.
    "/api/v2/predictions/{id}/", params(ONE), answers(Prediction),
        or(status = 400, description = "Unknown parameter"),
        or(status = 404, description = "No such event, or it has ended"),
        or(status = 503, description = "Not enough results for a prediction"),
        |request| detail(&request).await;

    /// Predictions of matches that are not over, by their start.
    "/api/v2/predictions/", params(LIST), answers(Page<Prediction>), |request| list(&request).await;
}

async fn detail(request: &ApiRequest) -> ApiResult {
    request.answer(CacheControl::PREDICTIONS, &one(request).await?)
}

async fn list(request: &ApiRequest) -> ApiResult {
    let params = &request.params;
    let filters = EventParams::read(params)?;
    let PredictionParams { min_confidence, recommended, upcoming } =
        PredictionParams::read(params)?;
    let mut prediction_query = PredictionQuery::not_over();
    prediction_query.matches = MatchQuery {
        statuses: prediction_query.matches.statuses,
        ..filters.query(params, Some(Sport::Football))
    };
    prediction_query.confidence_min = min_confidence;
    prediction_query.recommended = recommended;
    if let Some(statuses) = params.statuses(filters.status.as_deref(), Vocabulary::Football) {
        prediction_query.narrow(&statuses);
    }
    if upcoming == Some(true) {
        prediction_query.upcoming();
    }
    let (count, rows) = prediction_query.rows(request, request.window).await?;
    request.page(CacheControl::PREDICTIONS, count, rows)
}

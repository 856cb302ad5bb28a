//! Predictions: the members of version 2, and beside them the flat ones of version 1. SERVICE section 9.

use std::collections::HashMap;

use facts::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    event::EventRow,
    events,
    request::{
        self, CompetitionParams, DateParams, ONE, RoundParams, StatusParams, TZ, TeamParams,
        V1Query,
    },
};
use crate::rest::{
    ApiError, ApiRequest, ApiResult, CacheControl, Page, Spec,
    predictions::{
        PredictionQuery, one,
        row::{Blend, Markets, ModelInfo, Prediction, Recommendations},
    },
};
use history::query::{MatchQuery, View};
use record::Key;

/// A prediction, which has the id of its event.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1Prediction)]
pub(super) struct PredictionRow {
    id: u64,
    /// When the model was fitted.
    created_at: Option<String>,
    event: PredictedEvent,
    #[serde(flatten)]
    #[schema(inline)]
    flat: FlatPrediction,
    markets: Markets,
    recommendations: Recommendations,
    model: ModelInfo,
    /// As in version 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    blend: Option<Blend>,
}

/// The event as in lists, and the members of version 2.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1PredictedEvent)]
struct PredictedEvent {
    #[serde(flatten)]
    #[schema(inline)]
    row: EventRow,
    league_id: Option<u64>,
    league_name: Option<String>,
    home_team_id: u64,
    away_team_id: u64,
}

/// Probabilities and the confidence are percentages.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = V1FlatPrediction)]
#[expect(clippy::struct_excessive_bools, reason = "the shape that clients read")]
struct FlatPrediction {
    model_version: &'static str,
    prob_home_win: f64,
    prob_draw: f64,
    prob_away_win: f64,
    /// `H`, `D` or `A`.
    predicted_result: &'static str,
    prob_over_15: f64,
    prob_over_25: f64,
    prob_over_35: f64,
    prob_btts_yes: f64,
    expected_home_goals: f64,
    expected_away_goals: f64,
    /// `1-1`.
    most_likely_score: String,
    /// The probability of the predicted result.
    confidence: f64,
    /// The likelier winner: `H` or `A`.
    favorite: &'static str,
    favorite_prob: f64,
    winner_recommend: bool,
    favorite_recommend: bool,
    over_15_recommend: bool,
    over_25_recommend: bool,
    over_35_recommend: bool,
    btts_recommend: bool,
}

impl FlatPrediction {
    fn new(markets: &Markets, recommendations: &Recommendations, model: &ModelInfo) -> Self {
        let (result, over_under) = (&markets.match_result, &markets.over_under);
        Self {
            model_version: model.version,
            prob_home_win: result.prob_home,
            prob_draw: result.prob_draw,
            prob_away_win: result.prob_away,
            predicted_result: result.predicted,
            prob_over_15: over_under.prob_over_15,
            prob_over_25: over_under.prob_over_25,
            prob_over_35: over_under.prob_over_35,
            prob_btts_yes: markets.btts.prob_yes,
            expected_home_goals: markets.expected_goals.home,
            expected_away_goals: markets.expected_goals.away,
            most_likely_score: markets.score.most_likely.clone(),
            confidence: (model.confidence * 1000.0).round() / 10.0,
            favorite: recommendations.favorite,
            favorite_prob: recommendations.favorite_prob,
            winner_recommend: recommendations.winner,
            favorite_recommend: recommendations.bet_favorite,
            over_15_recommend: recommendations.over_15,
            over_25_recommend: recommendations.over_25,
            over_35_recommend: recommendations.over_35,
            btts_recommend: recommendations.btts,
        }
    }
}

impl PredictionRow {
    fn new(row: EventRow, prediction: Prediction) -> Self {
        let Prediction { id, created_at, event, markets, recommendations, model, blend } =
            prediction;
        Self {
            id,
            created_at,
            event: PredictedEvent {
                row,
                league_id: event.league_id,
                league_name: event.league_name,
                home_team_id: event.home_team_id,
                away_team_id: event.away_team_id,
            },
            flat: FlatPrediction::new(&markets, &recommendations, &model),
            markets,
            recommendations,
            model,
            blend,
        }
    }
}

params! {
    struct UpcomingParams { upcoming: Flag = "" }
    struct EventParams { event: ManyIds = "One or more" }
}

const LIST: Spec = request::spec(&[
    UpcomingParams::PARAMS,
    CompetitionParams::PARAMS,
    TeamParams::PARAMS,
    RoundParams::PARAMS,
    EventParams::PARAMS,
    StatusParams::PARAMS,
    DateParams::PARAMS,
    TZ,
]);

endpoints! {
    /// Predictions of matches that are not over, by their start.
    "/api/predictions/", params(LIST), answers(Page<PredictionRow>), |request| list(&request).await;

    /// A prediction; it has the id of its event.
    "/api/predictions/{id}/", params(ONE), answers(PredictionRow),
        or(status = 404, description = "No such event, or it has ended"),
        or(status = 503, description = "Not enough results for a prediction"),
        |request| detail(&request).await;
}

async fn list(request: &ApiRequest) -> ApiResult {
    let query = V1Query::pages(request)?;
    let mut prediction_query = PredictionQuery::not_over();
    let wanted = query.matches()?;
    if let Some(statuses) = &wanted.statuses {
        prediction_query.narrow(statuses);
    }
    prediction_query.matches = MatchQuery {
        ids: EventParams::read(query.params)?.event,
        statuses: prediction_query.matches.statuses,
        ..wanted
    };
    if UpcomingParams::read(query.params)?.upcoming == Some(true) {
        prediction_query.upcoming();
    }
    let (count, predictions) = prediction_query.rows(request, query.window()).await?;
    let rows = rows(&query, predictions, &prediction_query.matches).await?;
    query.page(CacheControl::PREDICTIONS, count, rows)
}

async fn detail(request: &ApiRequest) -> ApiResult {
    let query = V1Query::pages(request)?;
    let prediction = one(request).await?;
    let row = rows(&query, vec![prediction], &MatchQuery::default())
        .await?
        .pop()
        .ok_or(ApiError::NotFound)?;
    request.answer(CacheControl::PREDICTIONS, &row)
}

/// These predictions with their events, as far as the matches are still selected.
async fn rows(
    query: &V1Query<'_>,
    predictions: Vec<Prediction>,
    matches: &MatchQuery,
) -> Result<Vec<PredictionRow>, ApiError> {
    let view = View::now(&query.api.history, Some(Sport::Football));
    let ids: Vec<_> = predictions.iter().map(|prediction| prediction.id).collect();
    let records = view.records_without_detail(matches, &ids).await?;
    let events = events::rows(query, &view, &records).await?;
    let mut events: HashMap<Key, EventRow> =
        events.into_iter().map(|row| (row.event.id, row)).collect();
    let rows = predictions.into_iter().filter_map(|prediction| {
        Some(PredictionRow::new(events.remove(&prediction.id)?, prediction))
    });
    Ok(rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::{Forecast, ScoreMatrix};

    #[test]
    fn flat_members_repeat_the_nested_ones_in_percent() {
        let expected = [2.4, 0.7];
        let scores = ScoreMatrix::new(expected[0], expected[1], -0.05);
        let forecast = Forecast { expected, scores };
        let (markets, recommendations) = (Markets::new(&forecast), Recommendations::new(&forecast));
        let model = ModelInfo::new(&forecast);
        let flat = FlatPrediction::new(&markets, &recommendations, &model);
        let sum = flat.prob_home_win + flat.prob_draw + flat.prob_away_win;
        assert!((sum - 100.0).abs() < 0.2, "{flat:?}");
        assert_eq!((flat.predicted_result, flat.favorite), ("H", "H"));
        assert!((flat.confidence - flat.prob_home_win).abs() < 0.06, "{flat:?}");
        assert!(flat.winner_recommend && flat.favorite_recommend, "{flat:?}");
        assert_eq!(flat.most_likely_score, "2-0");
        assert!(flat.expected_home_goals > flat.expected_away_goals, "{flat:?}");
    }
}

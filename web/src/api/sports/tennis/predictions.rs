//! `/tennis/api/v2/predictions/`.

use axum::extract::Path;
use ingest::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    super::{
        forecast::{Forecast, Model, percent},
        matches,
        predicted::{self, Predicted},
        request::{ApiResult, DateParams, PageParams, SportsRequest},
        shape,
        sport_stats::SportStats,
        status,
    },
    row::{PlayerBrief, TournamentBrief},
};
use crate::{
    api::{
        Api, CacheControl, Page,
        error::{ErrorBody, UnknownParametersBody},
    },
    rating,
    record::{Key, MatchRecord},
};

/// The same id as its match: there is one prediction of each.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TennisPrediction {
    id: Key,
    match_id: Key,
    #[serde(rename = "match")]
    game: PredictedTennis,
    /// In percent; null where neither prices nor results tell anything.
    prob_player1_wins: Option<f64>,
    prob_player2_wins: Option<f64>,
    /// 1 or 2.
    predicted_winner: Option<u8>,
    /// How likely that is, in percent.
    confidence: Option<f64>,
    /// `consensus`: the bookmakers' prices without their margin. `elo`: from earlier results.
    model: Option<Model>,
    /// No model of ours says anything of sets and games.
    expected_total_sets: Option<f64>,
    prob_over_2_5_sets: Option<f64>,
    expected_total_games: Option<f64>,
    prob_over_20_5_games: Option<f64>,
    prob_over_21_5_games: Option<f64>,
    prob_over_22_5_games: Option<f64>,
    prob_player1_wins_first_set: Option<f64>,
    /// 1 or 2, once it is known.
    actual_winner: Option<u8>,
    was_winner_correct: Option<bool>,
    was_over_sets_correct: Option<bool>,
    was_over_games_correct: Option<bool>,
}

#[derive(Debug, Serialize, ToSchema)]
struct PredictedTennis {
    id: Key,
    tournament: Option<TournamentBrief>,
    player1: Option<PlayerBrief>,
    player2: Option<PlayerBrief>,
    match_date: Option<String>,
    status: &'static str,
}

/// Predictions: unless something else is asked for, of matches that are still to begin.
#[utoipa::path(get, path = "/tennis/api/v2/predictions/", tag = "tennis",
    params(Predicted, DateParams, PageParams),
    responses(
        (status = 200, body = Page<TennisPrediction>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn list(request: SportsRequest) -> ApiResult {
    predicted::list(&request, Sport::Tennis, TennisPrediction::of).await
}

/// A prediction as the interface without a version had it.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct OldTennisPrediction {
    #[serde(flatten)]
    row: TennisPrediction,
    player1_obj: Option<PlayerBrief>,
    player2_obj: Option<PlayerBrief>,
}

/// The same at the address without a version, for clients of old.
#[utoipa::path(get, path = "/tennis/api/predictions/", tag = "tennis",
    params(Predicted, DateParams, PageParams),
    responses(
        (status = 200, body = Page<OldTennisPrediction>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn old_list(request: SportsRequest) -> ApiResult {
    predicted::list(&request, Sport::Tennis, OldTennisPrediction::of).await
}

/// The prediction of one match, by the match's id.
#[utoipa::path(get, path = "/tennis/api/v2/predictions/{id}/", tag = "tennis",
    params(("id" = u64, Path)),
    responses((status = 200, body = TennisPrediction), (status = 404, body = ErrorBody))
)]
pub(super) async fn detail(Path(id): Path<String>, request: SportsRequest) -> ApiResult {
    matches::one(&request, Sport::Tennis, &id, CacheControl::PREDICTIONS, TennisPrediction::of)
        .await
}

impl OldTennisPrediction {
    fn of(api: &Api, record: &MatchRecord, sport_stats: &SportStats) -> Self {
        let [player1_obj, player2_obj] = PlayerBrief::both(api, record, sport_stats);
        Self { row: TennisPrediction::of(api, record, sport_stats), player1_obj, player2_obj }
    }
}

impl TennisPrediction {
    fn of(api: &Api, record: &MatchRecord, sport_stats: &SportStats) -> Self {
        let forecast = Forecast::of(record, sport_stats);
        let predicted = forecast.map(|it| u8::from(it.winner() == 1) + 1);
        let actual = rating::winner(&record.brief).map(|winner| winner + 1);
        let [player1, player2] = PlayerBrief::both(api, record, sport_stats);
        Self {
            id: record.brief.id,
            match_id: record.brief.id,
            game: PredictedTennis {
                id: record.brief.id,
                tournament: TournamentBrief::of(record),
                player1,
                player2,
                match_date: shape::start(record),
                status: status::word(Sport::Tennis, record.brief.status),
            },
            prob_player1_wins: forecast.map(|it| percent(it.first)),
            prob_player2_wins: forecast.map(|it| percent(it.second)),
            predicted_winner: predicted,
            confidence: forecast.map(|it| percent(it.confidence())),
            model: forecast.map(|it| it.model),
            expected_total_sets: None,
            prob_over_2_5_sets: None,
            expected_total_games: None,
            prob_over_20_5_games: None,
            prob_over_21_5_games: None,
            prob_over_22_5_games: None,
            prob_player1_wins_first_set: None,
            actual_winner: actual,
            was_winner_correct: predicted
                .zip(actual)
                .map(|(predicted, actual)| predicted == actual),
            was_over_sets_correct: None,
            was_over_games_correct: None,
        }
    }
}

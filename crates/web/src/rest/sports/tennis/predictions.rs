//! `/tennis/api/v2/predictions/`.

use facts::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    super::{
        forecast::{Forecast, Model, percent},
        matches,
        predicted::{self, PREDICTIONS},
        request::NONE,
        shape,
        sport_stats::SportStats,
    },
    row::{PlayerBrief, TournamentBrief},
};
use crate::{
    rating,
    rest::{Api, CacheControl, Page},
};
use record::{Key, MatchRecord, Vocabulary};

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

endpoints! {
    /// Predictions; by default for matches that have not started.
    "/tennis/api/v2/predictions/", params(PREDICTIONS), answers(Page<TennisPrediction>),
        |request| predicted::list(&request, Sport::Tennis, TennisPrediction::new).await;

    /// The same at the address without a version, for clients of old.
    "/tennis/api/predictions/", params(PREDICTIONS), answers(Page<OldTennisPrediction>),
        |request| predicted::list(&request, Sport::Tennis, OldTennisPrediction::new).await;

    /// The prediction of one match, by the match's id.
    "/tennis/api/v2/predictions/{id}/", params(NONE), answers(TennisPrediction), |request| {
            matches::one(&request, Sport::Tennis, CacheControl::PREDICTIONS, TennisPrediction::new).await
        };
}

/// A prediction as the interface without a version had it.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct OldTennisPrediction {
    #[serde(flatten)]
    row: TennisPrediction,
    player1_obj: Option<PlayerBrief>,
    player2_obj: Option<PlayerBrief>,
}

impl OldTennisPrediction {
    fn new(api: &Api, record: &MatchRecord, sport_stats: &SportStats) -> Self {
        let [player1_obj, player2_obj] = PlayerBrief::both(api, record, sport_stats);
        Self { row: TennisPrediction::new(api, record, sport_stats), player1_obj, player2_obj }
    }
}

impl TennisPrediction {
    fn new(api: &Api, record: &MatchRecord, sport_stats: &SportStats) -> Self {
        let forecast = Forecast::new(record, sport_stats);
        let predicted = forecast.map(|it| u8::from(it.winner() == 1) + 1);
        let actual = rating::winner(&record.summary).map(|winner| winner + 1);
        let [player1, player2] = PlayerBrief::both(api, record, sport_stats);
        Self {
            id: record.summary.id,
            match_id: record.summary.id,
            game: PredictedTennis {
                id: record.summary.id,
                tournament: TournamentBrief::new(record),
                player1,
                player2,
                match_date: shape::start(record),
                status: record.summary.status.word(Vocabulary::Sport(Sport::Tennis)),
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

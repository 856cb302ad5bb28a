//! Predictions of hockey, basketball and CS2.

use serde::Serialize;
use utoipa::ToSchema;

use super::{
    forecast::{Forecast, Model, rounded},
    match_odds::id_by_name,
    shape::{self, LeagueBrief, TeamBrief},
    sport_stats::SportStats,
};
use crate::{rating, rest::Api};
use record::{Key, MatchRecord, Vocabulary};

/// The same id as its match: there is one prediction of each.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TeamPrediction {
    id: Key,
    /// The match, under the name that basketball has for its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    event_id: Option<Key>,
    /// The match, under the name that the other sports have for its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    match_id: Option<Key>,
    league: Option<LeagueBrief>,
    home_team: Option<TeamBrief>,
    away_team: Option<TeamBrief>,
    event_date: Option<String>,
    status: &'static str,
    /// 0 to 1; null where neither prices nor results tell anything.
    home_win_prob: Option<f64>,
    /// Where the bookmakers give a draw.
    draw_prob: Option<f64>,
    away_win_prob: Option<f64>,
    predicted_winner_id: Option<Key>,
    /// How likely that is, 0 to 1.
    confidence: Option<f64>,
    /// `consensus`: the bookmakers' prices without their margin. `elo`: from earlier results.
    model: Option<Model>,
    /// Once it is known.
    actual_winner_id: Option<Key>,
    was_winner_correct: Option<bool>,
}

impl TeamPrediction {
    pub(super) fn new(api: &Api, record: &MatchRecord, sport_stats: &SportStats) -> Self {
        let sport = record.summary.sport;
        let [event_id, match_id] = id_by_name(record);
        let forecast = Forecast::new(record, sport_stats);
        let [home_team, away_team] = TeamBrief::both(api, record, sport_stats);
        let id = record.summary.id;
        let predicted = forecast.and_then(|it| it.winner_id(record));
        let actual = winner_id(record);
        Self {
            id,
            event_id,
            match_id,
            league: LeagueBrief::new(record),
            home_team,
            away_team,
            event_date: shape::start(record),
            status: record.summary.status.word(Vocabulary::Sport(sport)),
            home_win_prob: forecast.map(|it| rounded(it.first)),
            draw_prob: forecast.and_then(|it| it.draw).map(rounded),
            away_win_prob: forecast.map(|it| rounded(it.second)),
            predicted_winner_id: predicted,
            confidence: forecast.map(|it| rounded(it.confidence())),
            model: forecast.map(|it| it.model),
            actual_winner_id: actual,
            was_winner_correct: predicted.zip(actual).map(|(expected, actual)| expected == actual),
        }
    }
}

/// The winner.
pub(super) fn winner_id(record: &MatchRecord) -> Option<Key> {
    let winner = rating::winner(&record.summary)?;
    record.summary.sides?.get(usize::from(winner)).copied()
}

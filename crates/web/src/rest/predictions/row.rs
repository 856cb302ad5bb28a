//! The shape of a prediction: SERVICE section 1.9. Probabilities are percentages with one decimal place.

use rust_decimal::prelude::ToPrimitive;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    predict::{self, FittedModel, Forecast},
    rest::{sports::consensus, time},
};
use record::{CONSENSUS, Key, MatchRecord, MatchSummary, Status, Vocabulary};

/// The probability from which a bet is recommended, in percent: clearly more likely than not.
const RECOMMENDED_FROM: f64 = 60.0;

#[derive(Debug, Clone, Serialize, ToSchema)]
pub(in crate::rest) struct Prediction {
    /// That of the event: there is one prediction of each.
    pub(in crate::rest) id: u64,
    /// When the model was fitted.
    pub(in crate::rest) created_at: Option<String>,
    pub(in crate::rest) event: PredictedEvent,
    pub(in crate::rest) markets: Markets,
    pub(in crate::rest) recommendations: Recommendations,
    pub(in crate::rest) model: ModelInfo,
    /// The model and the bookmakers' prices together. Absent without the Odds add-on unless the odds are free, without a consensus
    /// of all three results, and once the match has begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) blend: Option<Blend>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub(in crate::rest) struct PredictedEvent {
    id: u64,
    pub(in crate::rest) league_id: Option<u64>,
    pub(in crate::rest) league_name: Option<String>,
    pub(in crate::rest) home_team_id: u64,
    home_team: Option<String>,
    pub(in crate::rest) away_team_id: u64,
    away_team: Option<String>,
    event_date: Option<String>,
    status: &'static str,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub(in crate::rest) struct Markets {
    pub(in crate::rest) match_result: MatchResult,
    pub(in crate::rest) expected_goals: ExpectedGoals,
    pub(in crate::rest) over_under: OverUnder,
    pub(in crate::rest) btts: Btts,
    pub(in crate::rest) score: LikelyScore,
    draw_no_bet: DrawNoBet,
    corners: Corners,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub(in crate::rest) struct MatchResult {
    pub(in crate::rest) prob_home: f64,
    pub(in crate::rest) prob_draw: f64,
    pub(in crate::rest) prob_away: f64,
    /// `H`, `D` or `A`.
    pub(in crate::rest) predicted: &'static str,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub(in crate::rest) struct ExpectedGoals {
    pub(in crate::rest) home: f64,
    pub(in crate::rest) away: f64,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub(in crate::rest) struct OverUnder {
    pub(in crate::rest) prob_over_15: f64,
    pub(in crate::rest) prob_over_25: f64,
    pub(in crate::rest) prob_over_35: f64,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub(in crate::rest) struct Btts {
    pub(in crate::rest) prob_yes: f64,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub(in crate::rest) struct LikelyScore {
    /// `2-1`.
    pub(in crate::rest) most_likely: String,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
struct DrawNoBet {
    prob_home: f64,
}

/// The model speaks of goals alone: always null.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
struct Corners {
    prob_over_85: Option<f64>,
    prob_over_95: Option<f64>,
    prob_over_105: Option<f64>,
}

/// True where the probability is at least 60 %.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[expect(clippy::struct_excessive_bools, reason = "the shape that clients read")]
pub(in crate::rest) struct Recommendations {
    /// The likelier winner: `H` or `A`.
    pub(in crate::rest) favorite: &'static str,
    pub(in crate::rest) favorite_prob: f64,
    pub(in crate::rest) bet_favorite: bool,
    pub(in crate::rest) over_15: bool,
    pub(in crate::rest) over_25: bool,
    pub(in crate::rest) over_35: bool,
    pub(in crate::rest) btts: bool,
    /// What is predicted of the result, a draw included.
    pub(in crate::rest) winner: bool,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub(in crate::rest) struct ModelInfo {
    /// The probability of what is predicted, 0 to 1.
    pub(in crate::rest) confidence: f64,
    pub(in crate::rest) version: &'static str,
    quality: Quality,
}

/// How good probabilities of the result were in seasons to which they were not fitted. A log-loss is the mean of `-ln` of the
/// probability of what came true: lower is better, and three equal probabilities have 1.0986.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct Quality {
    /// The competition and the seasons.
    measured_on: &'static str,
    matches: u32,
    log_loss: f64,
    /// Of closing prices without their margin, over the same matches.
    closing_odds_log_loss: f64,
}

/// The result by the model and the prices, with the weights that `model_weight` gives.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(in crate::rest) struct Blend {
    prob_home: f64,
    prob_draw: f64,
    prob_away: f64,
    /// The part of the model, 0 to 1; the prices have the rest.
    model_weight: f64,
    /// Whose prices: `consensus`, the median of the bookmakers, without their margin.
    prices: &'static str,
    quality: Quality,
}

impl Quality {
    fn new(log_loss: f64) -> Self {
        let predict::Quality { measured_on, matches, closing_odds, .. } = predict::QUALITY;
        Self { measured_on, matches, log_loss, closing_odds_log_loss: closing_odds }
    }
}

impl Blend {
    /// Of a match that has not begun, and whose three results have a price.
    pub(super) fn new(record: &MatchRecord, forecast: &Forecast) -> Option<Self> {
        if record.summary.status != Status::NotStarted {
            return None;
        }
        let [home, draw, away] = consensus(record).map(|price| price.and_then(|it| it.to_f64()));
        let blended = predict::blend(forecast.scores.result(), [home?, draw?, away?])?;
        let [prob_home, prob_draw, prob_away] = blended.map(percent);
        let (model_weight, quality) = (predict::MODEL_WEIGHT, Quality::new(predict::QUALITY.blend));
        Some(Self { prob_home, prob_draw, prob_away, model_weight, prices: CONSENSUS, quality })
    }
}

/// The names in a row.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    pub(super) league: Option<String>,
    pub(super) sides: [Option<String>; 2],
}

impl Prediction {
    pub(super) fn new(
        summary: &MatchSummary,
        sides: [Key; 2],
        names: Names,
        fitted: &FittedModel,
        forecast: &Forecast,
        blend: Option<Blend>,
    ) -> Self {
        let [home_team, away_team] = names.sides;
        let event = PredictedEvent {
            id: summary.id,
            league_id: summary.competition,
            league_name: names.league,
            home_team_id: sides[0],
            home_team,
            away_team_id: sides[1],
            away_team,
            event_date: summary.start_text(time::offset),
            status: summary.status.word(Vocabulary::Football),
        };
        Self {
            id: summary.id,
            created_at: time::zulu(fitted.at),
            event,
            markets: Markets::new(forecast),
            recommendations: Recommendations::new(forecast),
            model: ModelInfo::new(forecast),
            blend,
        }
    }
}

/// The probability of the predicted result.
pub(super) fn confidence(forecast: &Forecast) -> f64 {
    let likeliest = forecast.scores.result().into_iter().fold(0.0, f64::max);
    (likeliest * 1000.0).round() / 1000.0
}

impl ModelInfo {
    pub(in crate::rest) fn new(forecast: &Forecast) -> Self {
        Self {
            confidence: confidence(forecast),
            version: predict::VERSION,
            quality: Quality::new(predict::QUALITY.model),
        }
    }
}

impl Markets {
    pub(in crate::rest) fn new(forecast: &Forecast) -> Self {
        let scores = &forecast.scores;
        let [home, draw, away] = scores.result();
        let predicted = if home >= draw && home >= away {
            "H"
        } else if away >= draw {
            "A"
        } else {
            "D"
        };
        let (of_home, of_away) = scores.most_likely();
        Self {
            match_result: MatchResult {
                prob_home: percent(home),
                prob_draw: percent(draw),
                prob_away: percent(away),
                predicted,
            },
            expected_goals: ExpectedGoals {
                home: hundredths(forecast.expected[0]),
                away: hundredths(forecast.expected[1]),
            },
            over_under: OverUnder {
                prob_over_15: percent(scores.over(1)),
                prob_over_25: percent(scores.over(2)),
                prob_over_35: percent(scores.over(3)),
            },
            btts: Btts { prob_yes: percent(scores.both_score()) },
            score: LikelyScore { most_likely: format!("{of_home}-{of_away}") },
            draw_no_bet: DrawNoBet { prob_home: percent(home / (home + away)) },
            corners: Corners::default(),
        }
    }
}

impl Recommendations {
    pub(in crate::rest) fn new(forecast: &Forecast) -> Self {
        let scores = &forecast.scores;
        let [home, draw, away] = scores.result().map(percent);
        let (favorite, favorite_prob) = if home >= away { ("H", home) } else { ("A", away) };
        let likely = |probability: f64| percent(probability) >= RECOMMENDED_FROM;
        Self {
            favorite,
            favorite_prob,
            bet_favorite: favorite_prob >= RECOMMENDED_FROM,
            over_15: likely(scores.over(1)),
            over_25: likely(scores.over(2)),
            over_35: likely(scores.over(3)),
            btts: likely(scores.both_score()),
            winner: favorite_prob.max(draw) >= RECOMMENDED_FROM,
        }
    }

    /// Whether a bet on the result is recommended.
    pub(super) fn is_recommended(&self) -> bool {
        self.bet_favorite || self.winner
    }
}

fn percent(probability: f64) -> f64 {
    (probability * 1000.0).round() / 10.0
}

fn hundredths(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::ScoreMatrix;

    #[test]
    fn measured_quality_stands_beside_the_confidence() {
        let quality = serde_json::to_value(Quality::new(predict::QUALITY.model)).unwrap();
        let predict::Quality { model, blend, closing_odds, matches, .. } = predict::QUALITY;
        assert_eq!(quality["log_loss"], model);
        assert_eq!(quality["closing_odds_log_loss"], closing_odds);
        assert_eq!(quality["matches"], matches);
        assert!(closing_odds < blend && blend < model, "{quality}");
    }

    #[test]
    fn clear_favourite_is_recommended_in_percent() {
        let expected = [2.4, 0.7];
        let scores = ScoreMatrix::new(expected[0], expected[1], -0.05);
        let forecast = Forecast { expected, scores };
        let markets = serde_json::to_value(Markets::new(&forecast)).unwrap();
        assert_eq!(markets["match_result"]["predicted"], "H");
        let [home, draw, away] = ["prob_home", "prob_draw", "prob_away"]
            .map(|name| markets["match_result"][name].as_f64().unwrap());
        assert!((home + draw + away - 100.0).abs() < 0.2, "{markets}");
        assert!(home > 70.0 && markets["draw_no_bet"]["prob_home"].as_f64().unwrap() > home);
        assert_eq!(markets["score"]["most_likely"], "2-0");
        assert!(markets["corners"]["prob_over_95"].is_null());
        let recommended = Recommendations::new(&forecast);
        assert!(recommended.is_recommended() && recommended.bet_favorite);
        assert_eq!(recommended.favorite, "H");
        assert!((confidence(&forecast) * 100.0 - home).abs() < 0.06);
    }
}

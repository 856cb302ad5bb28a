//! Win probabilities, the basis of predictions.
//!
//! Before a match they come from the bookmakers' consensus without the margin: 1/price of each outcome,
//! divided by the sum over all. Without a consensus, and once a match has begun, they come from Elo ratings
//! over earlier archived results. Without either there is no forecast.

use rust_decimal::prelude::ToPrimitive;
use serde::Serialize;
use utoipa::ToSchema;

use super::{price, sport_stats::SportStats};
use crate::rating;
use record::{Key, MatchRecord, Status};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Model {
    Consensus,
    Elo,
}

/// Probabilities that add up to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Forecast {
    pub(super) first: f64,
    /// If the bookmakers price a draw.
    pub(super) draw: Option<f64>,
    pub(super) second: f64,
    pub(super) model: Model,
}

impl Forecast {
    pub(super) fn new(record: &MatchRecord, sport_stats: &SportStats) -> Option<Self> {
        let before = record.summary.status == Status::NotStarted;
        let consensus = before.then(|| Self::from_odds(record)).flatten();
        consensus.or_else(|| {
            let table = &sport_stats.table;
            let expected = table.expected(record.summary.id);
            // Without earlier results of its sides, a result could not be predicted.
            let chance = || match rating::result(&record.summary) {
                Some(_) => None,
                None => table.chance(record.summary.sides?),
            };
            let first = expected.or_else(chance)?;
            Some(Self { first, draw: None, second: 1.0 - first, model: Model::Elo })
        })
    }

    fn from_odds(record: &MatchRecord) -> Option<Self> {
        let [first, draw, second] = price::consensus(record);
        let share = |price: rust_decimal::Decimal| price.to_f64().map(|price| 1.0 / price);
        let (first, second) = (share(first?)?, share(second?)?);
        let draw = match draw {
            Some(draw) => Some(share(draw)?),
            None => None,
        };
        let sum = first + draw.unwrap_or_default() + second;
        (sum.is_finite() && sum > 0.0).then(|| Self {
            first: first / sum,
            draw: draw.map(|draw| draw / sum),
            second: second / sum,
            model: Model::Consensus,
        })
    }

    /// 0 or 1: the favourite.
    pub(super) fn winner(&self) -> usize {
        usize::from(self.second > self.first)
    }

    /// The favourite's probability.
    pub(super) fn confidence(&self) -> f64 {
        self.first.max(self.second)
    }

    /// The favourite's id.
    pub(super) fn winner_id(&self, record: &MatchRecord) -> Option<Key> {
        record.summary.sides?.get(self.winner()).copied()
    }
}

/// To four decimal places: more would exceed the model's precision.
pub(super) fn rounded(probability: f64) -> f64 {
    (probability * 10_000.0).round() / 10_000.0
}

/// In percent, to two decimal places.
pub(super) fn percent(probability: f64) -> f64 {
    (probability * 10_000.0).round() / 100.0
}

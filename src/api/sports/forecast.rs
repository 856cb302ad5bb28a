//! Who is likely to win: what predictions are made of.
//!
//! Before a match the consensus of the bookmakers, without their margin: 1/price of each outcome,
//! divided by the sum of all. Where there is none, and of matches that have begun or are over, Elo
//! from the results that were kept before it. Where there is neither, nothing is said.

use rust_decimal::prelude::ToPrimitive;
use serde::Serialize;
use utoipa::ToSchema;

use super::{price, sport_stats::SportStats};
use crate::{
    rating,
    record::{Key, MatchRecord, Status},
};

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
    /// Where the bookmakers give one.
    pub(super) draw: Option<f64>,
    pub(super) second: f64,
    pub(super) model: Model,
}

impl Forecast {
    pub(super) fn of(record: &MatchRecord, sport_stats: &SportStats) -> Option<Self> {
        let before = record.brief.status == Status::NotStarted;
        let consensus = before.then(|| Self::of_odds(record)).flatten();
        consensus.or_else(|| {
            let table = &sport_stats.table;
            let expected = table.expected(record.brief.id);
            // A result whose sides had none before was not foreseen by anything.
            let chance = || match rating::result(&record.brief) {
                Some(_) => None,
                None => table.chance(record.brief.sides?),
            };
            expected.or_else(chance).map(Self::of_elo)
        })
    }

    fn of_odds(record: &MatchRecord) -> Option<Self> {
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

    fn of_elo(first: f64) -> Self {
        Self { first, draw: None, second: 1.0 - first, model: Model::Elo }
    }

    /// 0 or 1: the side that is likelier to win.
    pub(super) fn winner(&self) -> usize {
        usize::from(self.second > self.first)
    }

    /// The probability of that.
    pub(super) fn confidence(&self) -> f64 {
        self.first.max(self.second)
    }

    /// The id of the side that is likelier to win.
    pub(super) fn winner_id(&self, record: &MatchRecord) -> Option<Key> {
        record.brief.sides?.get(self.winner()).copied()
    }
}

/// To four decimals: more would say more than a model knows.
pub(super) fn rounded(probability: f64) -> f64 {
    (probability * 10_000.0).round() / 10_000.0
}

/// In percent, to two decimals.
pub(super) fn percent(probability: f64) -> f64 {
    (probability * 10_000.0).round() / 100.0
}

//! `[predictions]`: the model of football results.

use serde::{Deserialize, Serialize};

/// `[predictions]`: one model per competition, fitted to the stored results. docs/ODDS_API.md#predictions
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PredictionsConfig {
    /// Milliseconds between two checks for new results. Default 15 min. A competition without new results costs
    /// almost nothing, another about 10 ms of one core per 1000 results. One that reaches the minimum, or has a tenth
    /// more results than its model, is fitted sooner.
    pub refit_ms: u64,
    /// Days after which a result counts half. Default 365. A smaller value follows current form, a
    /// larger one the long-term average.
    pub half_life_days: u32,
    /// Results that a competition needs before it gets predictions. Default 50. With fewer, requests get 503.
    pub matches_min: usize,
}

impl Default for PredictionsConfig {
    fn default() -> Self {
        Self { refit_ms: 900_000, half_life_days: 365, matches_min: 50 }
    }
}

//! `[predictions]`: the model of football results.

use serde::{Deserialize, Serialize};

/// `[predictions]`: one model of each competition, made of the results that are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PredictionsConfig {
    /// Milliseconds from one look for new results to the next. Default 15 min. A competition with
    /// nothing new costs next to nothing, another some 10 ms of one core for each 1000 results.
    pub refit_ms: u64,
    /// Days after which a result counts half. Default 365. Less follows form, more the long run.
    pub half_life_days: u32,
    /// Results that a competition must have before anything is said of it. Default 50.
    pub matches_min: usize,
}

impl Default for PredictionsConfig {
    fn default() -> Self {
        Self { refit_ms: 900_000, half_life_days: 365, matches_min: 50 }
    }
}

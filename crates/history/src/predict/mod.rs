//! Forecasts of football matches: a model per competition, fitted to its archived results
//! (`model`), and refitted periodically ([`Predictor::refit_always`]).
//!
//! In: results. Out: [`Forecast`]s, which do not use bookmakers' prices; [`blend`] is a second figure that does. It knows
//! nothing of HTTP.

mod matrix;
mod model;
mod optimum;
mod quality;
#[cfg(test)]
mod season;

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use base::Micros;
use facts::event::Sport;
use tokio::{sync::watch, task::JoinHandle, time};
use tracing::{debug, error};

pub use self::{
    matrix::ScoreMatrix,
    model::{Forecast, MatchResult, Model, Strength},
    quality::{MODEL_WEIGHT, QUALITY, Quality, blend},
};
use crate::{
    archive::{Archive, EntityKind},
    clock::now,
    config::PredictionsConfig,
    match_query::{MatchQuery, Window},
    supervisor::{self, Lifetime},
};
use record::{Key, MatchSummary, Status};

/// The name of the model in responses.
pub const VERSION: &str = "dixon-coles-1";

/// The newest results of a competition that are used: with the default half-life, ten years of a
/// large league.
const RESULTS_MAX: usize = 4_000;

/// Interval between two checks for urgent competitions: those that have just got enough results,
/// from an import or from the demo's past, and those that have many more than before.
const LOOK_EVERY: Duration = Duration::from_secs(5);

const DAY_US: f64 = 86_400.0 * 1_000_000.0;

/// A handle on the models; clones share them.
#[derive(Debug, Clone, Default)]
pub struct Predictor {
    fitted: Arc<RwLock<HashMap<Key, Arc<FittedModel>>>>,
}

/// The model of a competition.
#[derive(Debug)]
pub struct FittedModel {
    pub model: Model,
    /// When the model was fitted.
    pub at: Micros,
    /// The number of results and their last change, to detect new data.
    data_version: (usize, Micros),
    /// Results that the archive had in total.
    results: usize,
}

/// Which competitions are refitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefitScope {
    /// All competitions with new results.
    All,
    /// Competitions without a model, and those that have a tenth more results than their model
    /// used.
    Urgent,
}

impl Predictor {
    /// The model of a competition, once it has enough results.
    #[must_use]
    pub fn fitted_model(&self, competition: Key) -> Option<Arc<FittedModel>> {
        let fitted = self.fitted.read().unwrap_or_else(PoisonError::into_inner);
        fitted.get(&competition).map(Arc::clone)
    }

    /// Refits the models periodically until the hub stops.
    #[must_use]
    pub fn refit_always(
        &self,
        archive: Archive,
        config: &PredictionsConfig,
        mut stopped: watch::Receiver<bool>,
    ) -> JoinHandle<()> {
        let (predictor, config) = (self.clone(), config.clone());
        supervisor::spawn("predictor", Lifetime::UntilStop, async move {
            let mut refits = time::interval(Duration::from_millis(config.refit_ms));
            let mut looks = time::interval(LOOK_EVERY);
            for ticks in [&mut refits, &mut looks] {
                ticks.set_missed_tick_behavior(time::MissedTickBehavior::Delay);
            }
            loop {
                let scope = tokio::select! {
                    biased;
                    _ = stopped.wait_for(|stopped| *stopped) => return,
                    _ = refits.tick() => RefitScope::All,
                    _ = looks.tick() => RefitScope::Urgent,
                };
                // Soon all results are there.
                if archive.is_partial() {
                    continue;
                }
                let (predictor, archive) = (predictor.clone(), archive.clone());
                let config = config.clone();
                let fit = move || predictor.refit(&archive, &config, scope, now());
                if let Err(error) = tokio::task::spawn_blocking(fit).await {
                    error!(
                        error = &error as &dyn std::error::Error,
                        "cannot fit prediction models"
                    );
                }
            }
        })
    }

    /// Fits the models of the selected competitions that have new results.
    pub fn refit(
        &self,
        archive: &Archive,
        config: &PredictionsConfig,
        scope: RefitScope,
        now: Micros,
    ) {
        let football = archive.entities(EntityKind::Competition, |it| it.sport == Sport::Football);
        for competition in football {
            let query = MatchQuery {
                competition: Some(competition.id),
                statuses: Some(vec![Status::Finished]),
                before: Some(now),
                newest_first: true,
                window: Window { offset: 0, limit: RESULTS_MAX },
                ..MatchQuery::of_sport(Sport::Football)
            };
            let fitted = self.fitted_model(competition.id);
            // Counting reads no match, and this runs every few seconds.
            let count = archive.find(&MatchQuery { window: Window::COUNT, ..query.clone() }).count;
            let is_urgent =
                fitted.as_ref().is_none_or(|fitted| count > fitted.results + fitted.results / 10);
            if count < config.matches_min || (scope == RefitScope::Urgent && !is_urgent) {
                continue;
            }
            let found = archive.find(&query);
            let results: Vec<_> = found.summaries.iter().filter_map(|it| result(it, now)).collect();
            let last = found.summaries.iter().map(|it| it.updated).max().unwrap_or_default();
            let data_version = (results.len(), last);
            let is_known = fitted.is_some_and(|fitted| fitted.data_version == data_version);
            if results.len() < config.matches_min || is_known {
                continue;
            }
            let model = Model::fit(&results, f64::from(config.half_life_days));
            debug!(
                competition = competition.id,
                results = results.len(),
                "fitted a prediction model"
            );
            let fitted = FittedModel { model, at: now, data_version, results: found.count };
            let mut models = self.fitted.write().unwrap_or_else(PoisonError::into_inner);
            models.insert(competition.id, Arc::new(fitted));
        }
    }
}

/// Goals without extra time, which is what the model predicts.
fn result(summary: &MatchSummary, now: Micros) -> Option<MatchResult> {
    let extra = summary.extra_time.unwrap_or_default().map(u32::from);
    let [home, away] = summary.score?;
    let age = now.saturating_sub(summary.start?) as f64;
    Some(MatchResult {
        sides: summary.sides?,
        goals: [home.checked_sub(extra[0])?, away.checked_sub(extra[1])?],
        days: age / DAY_US,
    })
}

#[cfg(test)]
mod tests;

//! The model of Dixon and Coles, fitted to the results of one competition.
//!
//! M. J. Dixon and S. G. Coles, "Modelling Association Football Scores and Inefficiencies in the
//! Football Betting Market", Journal of the Royal Statistical Society: Series C 46(2), 1997, 265-280.
//!
//! The goals of the home side are Poisson with mean `exp(level + home + attack_h + defence_a)`,
//! those of the away side with `exp(level + attack_a + defence_h)`; a team with a higher `defence`
//! concedes more. `rho` makes 0-0, 1-0, 0-1 and 1-1 depend on each other. The likelihood of a
//! result counts less the older it is: half as much after each half-life, which is the paper's
//! weight of section 4.4. Strengths have a normal prior around 0, which keeps teams with few
//! matches near the average and separates attack from level; the paper has a constraint there
//! instead. `rho` has a prior too, because a few results say little about it.

use std::collections::BTreeMap;

use super::{
    matrix::{ScoreMatrix, dependence},
    optimum::{Evaluation, maximum},
};
use record::Key;

/// 1/variance of the prior of a strength: a standard deviation of 0.4, slightly more than the teams
/// of a league differ by.
const PRIOR: f64 = 6.0;

/// The same for the dependence of low scores: a standard deviation of 0.14, about the spread
/// between leagues. Without it, `rho` is unbounded if the results contain no 0-0 and no 1-1, and
/// every forecast would be 1-0 or 0-1.
const DEPENDENCE_PRIOR: f64 = 50.0;

/// One result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MatchResult {
    pub sides: [Key; 2],
    /// Goals without extra time.
    pub goals: [u32; 2],
    /// Age in days.
    pub days: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Strength {
    pub attack: f64,
    pub defence: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    pub level: f64,
    pub home: f64,
    pub rho: f64,
    pub teams: BTreeMap<Key, Strength>,
}

/// The prediction for a match.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// Expected goals of home and away.
    pub expected: [f64; 2],
    pub scores: ScoreMatrix,
}

/// Number of parameters that belong to no team; they come before the others.
const COMMON: usize = 3;

impl Model {
    /// The most likely model of these results. Without results, all teams are equal.
    #[must_use]
    pub fn fit(played: &[MatchResult], half_life_days: f64) -> Self {
        let mut teams: BTreeMap<Key, usize> = BTreeMap::new();
        for side in played.iter().flat_map(|it| it.sides) {
            let next = teams.len();
            teams.entry(side).or_insert(next);
        }
        let results: Vec<_> =
            played.iter().map(|it| WeightedResult::new(it, &teams, half_life_days)).collect();
        let mut start = vec![0.0; COMMON + 2 * teams.len()];
        // Typical values of leagues, from which few steps remain.
        (start[0], start[1], start[2]) = (0.15, 0.25, -0.05);
        let found = maximum(start, |at| likelihood(at, &results));
        let strength = |index: usize| Strength {
            attack: found[COMMON + 2 * index],
            defence: found[COMMON + 2 * index + 1],
        };
        let teams = teams.into_iter().map(|(team, index)| (team, strength(index)));
        Self { level: found[0], home: found[1], rho: found[2], teams: teams.collect() }
    }

    /// The forecast of a match between two teams, if the model has results of both.
    #[must_use]
    pub fn forecast(&self, sides: [Key; 2], neutral: bool) -> Option<Forecast> {
        let [home, away] = [self.teams.get(&sides[0])?, self.teams.get(&sides[1])?];
        let advantage = if neutral { 0.0 } else { self.home };
        let expected = [
            (self.level + advantage + home.attack + away.defence).exp(),
            (self.level + away.attack + home.defence).exp(),
        ];
        let scores = ScoreMatrix::new(expected[0], expected[1], self.rho);
        Some(Forecast { expected, scores })
    }
}

/// A result in the form that the likelihood needs: teams by index.
struct WeightedResult {
    home: usize,
    away: usize,
    goals: [u32; 2],
    weight: f64,
}

impl WeightedResult {
    fn new(played: &MatchResult, teams: &BTreeMap<Key, usize>, half_life_days: f64) -> Self {
        let [home, away] = played.sides.map(|side| COMMON + 2 * teams[&side]);
        let weight = (-played.days.max(0.0) / half_life_days).exp2();
        Self { home, away, goals: played.goals, weight }
    }
}

/// The log-likelihood, without terms that do not depend on the parameters, and its gradient.
fn likelihood(at: &[f64], results: &[WeightedResult]) -> Evaluation {
    let (level, advantage, rho) = (at[0], at[1], at[2]);
    let mut gradient = vec![0.0; at.len()];
    let mut value = 0.0;
    for result in results {
        let WeightedResult { home, away, goals, weight } = *result;
        let logs = [level + advantage + at[home] + at[away + 1], level + at[away] + at[home + 1]];
        let [lambda, mu] = logs.map(f64::exp);
        let low = goals.map(|goals| usize::try_from(goals).unwrap_or(usize::MAX));
        let tau = dependence(low, lambda, mu, rho);
        if tau <= 0.0 || !tau.is_finite() {
            return Evaluation { value: f64::NEG_INFINITY, gradient };
        }
        let [x, y] = goals.map(f64::from);
        value += weight * (tau.ln() + x * logs[0] - lambda + y * logs[1] - mu);
        // Derivatives by the logarithms of both means, and by rho.
        let by_tau = match low {
            [0, 0] => [-lambda * mu * rho, -lambda * mu * rho, -lambda * mu],
            [0, 1] => [lambda * rho, 0.0, lambda],
            [1, 0] => [0.0, mu * rho, mu],
            [1, 1] => [0.0, 0.0, -1.0],
            [_, _] => [0.0; 3],
        };
        let by_lambda = weight * (x - lambda + by_tau[0] / tau);
        let by_mu = weight * (y - mu + by_tau[1] / tau);
        gradient[0] += by_lambda + by_mu;
        gradient[1] += by_lambda;
        gradient[2] += weight * by_tau[2] / tau;
        gradient[home] += by_lambda;
        gradient[away + 1] += by_lambda;
        gradient[away] += by_mu;
        gradient[home + 1] += by_mu;
    }
    value -= DEPENDENCE_PRIOR / 2.0 * rho * rho;
    gradient[2] -= DEPENDENCE_PRIOR * rho;
    for (index, strength) in at.iter().enumerate().skip(COMMON) {
        value -= PRIOR / 2.0 * strength * strength;
        gradient[index] -= PRIOR * strength;
    }
    Evaluation { value, gradient }
}

#[cfg(test)]
mod tests;

//! The few functions that probabilities need, from `+ - * /` and `sqrt` alone: those are exact to the
//! last bit everywhere, the platform's own `exp` is not, and a day must be the same on all.

use facts::event::Pair;

/// Goals of one side from here on; more are so rare that no price feels them.
pub(super) const GOALS_MAX: usize = 12;

/// `exp(-x)` for `x` from 0 to 40, to nine digits.
pub(super) fn exp_minus(x: f64) -> f64 {
    let small = x / 4096.0;
    let mut power = 1.0 - small * (1.0 - small / 2.0 * (1.0 - small / 3.0));
    for _ in 0..12 {
        power *= power;
    }
    power
}

/// P(0), P(1), ... of a Poisson distribution.
pub(super) fn poisson(mean: f64) -> [f64; GOALS_MAX + 1] {
    let mut probabilities = [0.0; GOALS_MAX + 1];
    let mut term = exp_minus(mean);
    for (probability, next) in probabilities.iter_mut().zip(1..) {
        *probability = term;
        term *= mean / f64::from(next);
    }
    probabilities
}

/// The probabilities that the first side ends ahead, level and behind, from the lead and the goals
/// that each side is still expected to score.
pub(super) fn result(lead: i32, to_come: Pair<f64>) -> [f64; 3] {
    let [home, away] = to_come.map(poisson);
    // What the other side may score at most for home to win, draw, or not: running sums of its
    // distribution make this one pass over home's goals.
    let below = running_sums(&away);
    let sum = |goals: i32| goals.try_into().map_or(0.0, |n: usize| below[n.min(GOALS_MAX)]);
    let (mut wins, mut draws) = (0.0, 0.0);
    for (goals, probability) in (0..).zip(home) {
        wins += probability * sum(goals + lead - 1);
        draws += probability * (sum(goals + lead) - sum(goals + lead - 1));
    }
    [wins, draws, (1.0 - wins - draws).max(0.0)]
}

fn running_sums(probabilities: &[f64; GOALS_MAX + 1]) -> [f64; GOALS_MAX + 1] {
    let mut sum = 0.0;
    probabilities.map(|probability| {
        sum += probability;
        sum
    })
}

/// The probability that a standard normal variable is below `z`, to seven digits: M. Abramowitz and
/// I. A. Stegun, "Handbook of Mathematical Functions", 26.2.17.
pub(super) fn normal(z: f64) -> f64 {
    const FACTORS: [f64; 5] =
        [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    const ROOT_OF_TWO_PI: f64 = 2.506_628_274_631;
    let x = z.abs().min(8.0);
    let t = 1.0 / (1.0 + 0.231_641_9 * x);
    let sum = FACTORS.iter().rev().fold(0.0, |sum, factor| (sum + factor) * t);
    let above = exp_minus(x * x / 2.0) / ROOT_OF_TWO_PI * sum;
    if z < 0.0 { above } else { 1.0 - above }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_exponential_is_exact_to_nine_digits() {
        for tenth in 0..80 {
            let x = f64::from(tenth) / 10.0;
            assert!((exp_minus(x) - f64::exp(-x)).abs() < 1e-9, "at {x}");
        }
    }

    #[test]
    fn normal_distribution_is_that_of_the_tables() {
        for (z, expected) in
            [(0.0, 0.5), (1.0, 0.841_344_7), (-1.96, 0.024_997_9), (3.0, 0.998_650)]
        {
            assert!((normal(z) - expected).abs() < 1e-6, "at {z}: {}", normal(z));
        }
    }
}

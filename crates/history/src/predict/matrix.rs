//! The probability of each score, and of the outcomes that follow from it.

/// Maximum goals of one side; larger numbers are so rare that they are ignored.
const GOALS_MAX: usize = 15;

/// The probability of each score: `rows[home][away]`. They add up to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoreMatrix {
    rows: [[f64; GOALS_MAX + 1]; GOALS_MAX + 1],
}

impl ScoreMatrix {
    /// Two Poisson variables with these means, with Dixon and Coles' dependence of low scores,
    /// `rho`, limited to the range in which no score has a negative probability.
    #[must_use]
    pub fn new(home: f64, away: f64, rho: f64) -> Self {
        let least = (-1.0 / home).max(-1.0 / away);
        let most = (1.0 / (home * away)).min(1.0);
        let rho = rho.clamp(least, most);
        let (of_home, of_away) = (poisson(home), poisson(away));
        let mut rows = [[0.0; GOALS_MAX + 1]; GOALS_MAX + 1];
        let mut total = 0.0;
        for (x, row) in rows.iter_mut().enumerate() {
            for (y, cell) in row.iter_mut().enumerate() {
                let tau = dependence([x, y], home, away, rho).max(0.0);
                *cell = of_home[x] * of_away[y] * tau;
                total += *cell;
            }
        }
        rows.iter_mut().flatten().for_each(|cell| *cell /= total);
        Self { rows }
    }

    /// The probability that a condition on home and away goals holds.
    #[must_use]
    pub fn probability(&self, holds: impl Fn(usize, usize) -> bool) -> f64 {
        let scores = self.scores().filter(|((home, away), _)| holds(*home, *away));
        scores.map(|(_, probability)| probability).sum()
    }

    /// Probabilities of home win, draw and away win.
    #[must_use]
    pub fn result(&self) -> [f64; 3] {
        [
            self.probability(|home, away| home > away),
            self.probability(|home, away| home == away),
            self.probability(|home, away| home < away),
        ]
    }

    /// The probability of more goals than this.
    #[must_use]
    pub fn over(&self, goals: usize) -> f64 {
        self.probability(|home, away| home + away > goals)
    }

    #[must_use]
    pub fn both_score(&self) -> f64 {
        self.probability(|home, away| home > 0 && away > 0)
    }

    #[must_use]
    pub fn most_likely(&self) -> (usize, usize) {
        let best = self.scores().max_by(|a, b| a.1.total_cmp(&b.1));
        best.map_or((0, 0), |(score, _)| score)
    }

    /// Each score and its probability.
    pub(super) fn scores(&self) -> impl Iterator<Item = ((usize, usize), f64)> {
        let rows = self.rows.iter().enumerate();
        rows.flat_map(|(home, row)| {
            row.iter().enumerate().map(move |(away, probability)| ((home, away), *probability))
        })
    }
}

/// The probabilities of 0, 1, .. events.
fn poisson(mean: f64) -> [f64; GOALS_MAX + 1] {
    let mut all = [0.0; GOALS_MAX + 1];
    let mut probability = (-mean).exp();
    for (count, cell) in all.iter_mut().enumerate() {
        if count > 0 {
            probability *= mean / f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        }
        *cell = probability;
    }
    all
}

/// Tau of the paper, equation 4.2: the factor by which low scores are more or less likely than if
/// goals were independent.
pub(super) fn dependence([x, y]: [usize; 2], home: f64, away: f64, rho: f64) -> f64 {
    match (x, y) {
        (0, 0) => 1.0 - home * away * rho,
        (0, 1) => 1.0 + home * rho,
        (1, 0) => 1.0 + away * rho,
        (1, 1) => 1.0 - rho,
        (_, _) => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// For any model, the probabilities are not negative and add up to 1.
        #[test]
        fn probabilities_of_all_scores_add_up_to_1(
            home in 0.05..6.0_f64,
            away in 0.05..6.0_f64,
            rho in -0.3..0.3_f64,
        ) {
            let matrix = ScoreMatrix::new(home, away, rho);
            prop_assert!((matrix.probability(|_, _| true) - 1.0).abs() < 1e-9);
            prop_assert!(matrix.scores().all(|(_, it)| (0.0..=1.0).contains(&it)));
            prop_assert!((matrix.result().iter().sum::<f64>() - 1.0).abs() < 1e-9);
            prop_assert!(matrix.over(1) >= matrix.over(2) && matrix.over(2) >= matrix.over(3));
        }
    }

    /// A model of few results may estimate a stronger dependence than is possible.
    #[test]
    fn low_scores_are_correlated_within_bounds() {
        for rho in [-100.0, 100.0] {
            let matrix = ScoreMatrix::new(2.64, 0.52, rho);
            let [home, draw, away] = matrix.result();
            assert!(home > 0.6 && draw > 0.03 && away < 0.2, "{:?} at {rho}", matrix.result());
            assert!(matrix.over(1) > matrix.over(2) && matrix.over(2) > 0.4, "{matrix:?}");
        }
    }

    #[test]
    fn stronger_side_is_more_likely_to_win() {
        let matrix = ScoreMatrix::new(1.9, 0.7, -0.05);
        let [home, draw, away] = matrix.result();
        assert!(home > 0.6 && draw < 0.25 && away < 0.2, "{:?}", matrix.result());
        assert_eq!(matrix.most_likely(), (1, 0));
    }
}

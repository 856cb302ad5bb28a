//! True probabilities of a football match from where it stands.
//!
//! The goals that each side still scores are independent and Poisson distributed, with means in
//! proportion to the time that is left: M. J. Maher, "Modelling association football scores",
//! Statistica Neerlandica 36 (1982). A market's probability is the sum over the final scores that
//! win it.

use std::cmp::Ordering;

use crate::{
    event::Pair,
    simulator::{
        market::{Bet, FOOTBALL},
        play::Chance,
    },
};

/// Goals of one side from here on; more are so rare that no price feels them.
const GOALS_MAX: usize = 12;

/// Where a match stands, for its prices.
#[derive(Debug, Clone, Copy)]
pub(super) struct Standing {
    pub(super) score: Pair<u16>,
    /// Goals that each side is still expected to score; `None` when it is over.
    pub(super) to_come: Option<Pair<f64>>,
}

impl Standing {
    pub(super) fn chances(self) -> Vec<Chance> {
        FOOTBALL.iter().map(|bet| self.chance(*bet)).collect()
    }

    fn chance(self, bet: Bet) -> Chance {
        match (self.decided(bet), self.to_come) {
            (Some(winner), _) => Chance::Won(winner),
            (None, Some(to_come)) => Chance::Open(self.open(bet, to_come)),
            (None, None) => Chance::Void,
        }
    }

    /// The selection that has won already: at the end, or because goals are never lost again.
    fn decided(self, bet: Bet) -> Option<usize> {
        let [home, away] = self.score;
        let over = self.to_come.is_none();
        match bet {
            Bet::Goals(line) if home + away > line => Some(0),
            Bet::BothScore if home > 0 && away > 0 => Some(0),
            Bet::Goals(_) | Bet::BothScore => over.then_some(1),
            Bet::Result | Bet::Winner => over.then(|| match home.cmp(&away) {
                Ordering::Greater => 0,
                Ordering::Equal => 1,
                Ordering::Less => 2,
            }),
        }
    }

    fn open(self, bet: Bet, to_come: Pair<f64>) -> [f64; 3] {
        match bet {
            Bet::Result | Bet::Winner => self.result(to_come),
            Bet::Goals(line) => {
                let under = at_most(line - self.score[0] - self.score[1], to_come[0] + to_come[1]);
                [1.0 - under, under, 0.0]
            }
            Bet::BothScore => {
                let scores = |side: usize| match self.score[side] {
                    0 => 1.0 - exp_minus(to_come[side]),
                    _ => 1.0,
                };
                let yes = scores(0) * scores(1);
                [yes, 1.0 - yes, 0.0]
            }
        }
    }

    fn result(self, to_come: Pair<f64>) -> [f64; 3] {
        let [home, away] = to_come.map(poisson);
        // What the other side may score at most for home to win, draw, or not: running sums of its
        // distribution make this one pass over home's goals.
        let lead = i32::from(self.score[0]) - i32::from(self.score[1]);
        let below = running_sums(&away);
        let sum = |goals: i32| goals.try_into().map_or(0.0, |n: usize| below[n.min(GOALS_MAX)]);
        let (mut wins, mut draws) = (0.0, 0.0);
        for (goals, probability) in (0..).zip(home) {
            wins += probability * sum(goals + lead - 1);
            draws += probability * (sum(goals + lead) - sum(goals + lead - 1));
        }
        [wins, draws, (1.0 - wins - draws).max(0.0)]
    }
}

/// P(0), P(1), ... of a Poisson distribution.
fn poisson(mean: f64) -> [f64; GOALS_MAX + 1] {
    let mut probabilities = [0.0; GOALS_MAX + 1];
    let mut term = exp_minus(mean);
    for (probability, next) in probabilities.iter_mut().zip(1..) {
        *probability = term;
        term *= mean / f64::from(next);
    }
    probabilities
}

fn running_sums(probabilities: &[f64; GOALS_MAX + 1]) -> [f64; GOALS_MAX + 1] {
    let mut sum = 0.0;
    probabilities.map(|probability| {
        sum += probability;
        sum
    })
}

/// The probability of at most so many goals.
fn at_most(goals: u16, mean: f64) -> f64 {
    poisson(mean).iter().take(usize::from(goals) + 1).sum()
}

/// `exp(-x)` for the means of a match, to nine digits, from `+` and `*` alone: the platform's own
/// differs in the last bit from one machine to the next, and a day must be the same on all.
fn exp_minus(x: f64) -> f64 {
    let small = x / 4096.0;
    let mut power = 1.0 - small * (1.0 - small / 2.0 * (1.0 - small / 3.0));
    for _ in 0..12 {
        power *= power;
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(score: Pair<u16>, to_come: Pair<f64>, bet: Bet, expected: [f64; 3]) {
        let standing = Standing { score, to_come: Some(to_come) };
        let Chance::Open(found) = standing.chance(bet) else { panic!("{bet:?} is decided") };
        for (found, expected) in found.into_iter().zip(expected) {
            assert!((found - expected).abs() < 1e-4, "{bet:?}: {found} for {expected}");
        }
    }

    #[test]
    fn probabilities_are_those_of_two_poisson_distributions() {
        // By hand: P(no goal) = e^-1 twice; draws are sum (e^-1 / k!)^2.
        check([0, 0], [1.0, 1.0], Bet::Result, [0.34575, 0.30851, 0.34575]);
        check([0, 0], [1.0, 1.0], Bet::Goals(2), [0.32332, 0.67668, 0.0]);
        check([0, 0], [1.0, 1.0], Bet::BothScore, [0.39958, 0.60042, 0.0]);
        check([1, 0], [0.0, 0.5], Bet::Result, [0.60653, 0.30327, 0.0902]);
        check([0, 2], [0.0, 0.0], Bet::Result, [0.0, 0.0, 1.0]);
    }

    #[test]
    fn goals_decide_what_they_can() {
        let standing = Standing { score: [2, 1], to_come: Some([0.3, 0.3]) };
        assert_eq!(standing.chance(Bet::Goals(2)), Chance::Won(0));
        assert_eq!(standing.chance(Bet::BothScore), Chance::Won(0));
        assert!(matches!(standing.chance(Bet::Goals(3)), Chance::Open(_)));
        let over = Standing { score: [1, 1], to_come: None };
        let winners = [1, 0, 1, 1, 0].map(Chance::Won);
        assert_eq!(over.chances(), winners);
    }

    #[test]
    fn own_exponential_is_exact_to_nine_digits() {
        for tenth in 0..80 {
            let x = f64::from(tenth) / 10.0;
            assert!((exp_minus(x) - f64::exp(-x)).abs() < 1e-9, "at {x}");
        }
    }
}

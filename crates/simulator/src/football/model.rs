//! True probabilities of a football match in its current state.
//!
//! The goals that each side still scores are independent and Poisson distributed, with means in
//! proportion to the time that is left: M. J. Maher, "Modelling association football scores",
//! Statistica Neerlandica 36 (1982). A market's probability is the sum over the final scores that
//! win it.

use std::cmp::Ordering;

use crate::{
    market::{Bet, FOOTBALL},
    maths::{self, exp_minus, poisson},
    play::Chance,
};
use facts::event::Pair;

/// The state of a match that determines its prices.
#[derive(Debug, Clone, Copy)]
pub(super) struct Standing {
    pub(super) score: Pair<u16>,
    /// Goals that each side is still expected to score; `None` when it is over.
    pub(super) to_come: Option<Pair<f64>>,
    /// Corners so far, and those expected from here on.
    pub(super) corners: u16,
    pub(super) corners_to_come: f64,
}

impl Standing {
    pub(super) fn chances(self) -> Vec<Chance> {
        FOOTBALL.iter().map(|bet| self.chance(*bet)).collect()
    }

    fn chance(self, bet: Bet) -> Chance {
        if let (Bet::DoubleChance, None) = (bet, self.to_come) {
            return Chance::Shared(match self.score[0].cmp(&self.score[1]) {
                Ordering::Greater => [0, 1],
                Ordering::Equal => [0, 2],
                Ordering::Less => [1, 2],
            });
        }
        match (self.decided(bet), self.to_come) {
            (Some(winner), _) => Chance::Won(winner),
            (None, Some(to_come)) => Chance::open(&self.open(bet, to_come)),
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
            Bet::Corners(line) if self.corners > line => Some(0),
            Bet::Goals(_) | Bet::BothScore | Bet::Corners(_) => over.then_some(1),
            Bet::Handicap(_) => over.then_some(usize::from(home <= away)),
            // A draw decides nothing.
            Bet::NoBetOnDraw => (over && home != away).then_some(usize::from(home < away)),
            Bet::DoubleChance => None,
            Bet::Result | Bet::Winner | Bet::Moneyline | Bet::Points(_) | Bet::Win => {
                over.then(|| match home.cmp(&away) {
                    Ordering::Greater => 0,
                    Ordering::Equal => 1,
                    Ordering::Less => 2,
                })
            }
        }
    }

    fn open(self, bet: Bet, to_come: Pair<f64>) -> [f64; 3] {
        match bet {
            Bet::Result | Bet::Winner | Bet::Moneyline | Bet::Points(_) | Bet::Win => {
                self.result(to_come)
            }
            Bet::DoubleChance => {
                let [home, draw, away] = self.result(to_come);
                [home + draw, home + away, draw + away]
            }
            Bet::NoBetOnDraw => {
                let [home, _, away] = self.result(to_come);
                let decided = home + away;
                let home = if decided > 1e-9 { home / decided } else { 0.5 };
                [home, 1.0 - home, 0.0]
            }
            Bet::Handicap(_) => {
                let [home, ..] = self.result(to_come);
                [home, 1.0 - home, 0.0]
            }
            Bet::Corners(line) => {
                let under = at_most(line - self.corners, self.corners_to_come);
                [1.0 - under, under, 0.0]
            }
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
        maths::result(i32::from(self.score[0]) - i32::from(self.score[1]), to_come)
    }
}

/// The probability of at most so many goals.
fn at_most(goals: u16, mean: f64) -> f64 {
    poisson(mean).iter().take(usize::from(goals) + 1).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(score: Pair<u16>, to_come: Option<Pair<f64>>) -> Standing {
        Standing { score, to_come, corners: 3, corners_to_come: 6.0 }
    }

    fn check(score: Pair<u16>, to_come: Pair<f64>, bet: Bet, expected: [f64; 3]) {
        let standing = standing(score, Some(to_come));
        let Chance::Open(found) = standing.chance(bet) else { panic!("{bet:?} is decided") };
        for (found, expected) in found.chances.into_iter().zip(expected) {
            assert!((found - expected).abs() < 1e-4, "{bet:?}: {found} for {expected}");
        }
    }

    #[test]
    fn probabilities_are_those_of_two_poisson_distributions() {
        // By hand: P(no goal) = e^-1 twice; draws are sum (e^-1 / k!)^2.
        check([0, 0], [1.0, 1.0], Bet::Result, [0.34575, 0.30851, 0.34575]);
        check([0, 0], [1.0, 1.0], Bet::Goals(2), [0.32332, 0.67668, 0.0]);
        check([0, 0], [1.0, 1.0], Bet::BothScore, [0.39958, 0.60042, 0.0]);
        check([0, 0], [1.0, 1.0], Bet::DoubleChance, [0.65426, 0.6915, 0.65426]);
        check([0, 0], [1.0, 1.0], Bet::NoBetOnDraw, [0.5, 0.5, 0.0]);
        check([0, 0], [1.0, 1.0], Bet::Handicap(-5), [0.34575, 0.65425, 0.0]);
        check([1, 0], [0.0, 0.5], Bet::Result, [0.60653, 0.30327, 0.0902]);
        check([0, 2], [0.0, 0.0], Bet::Result, [0.0, 0.0, 1.0]);
    }

    #[test]
    fn goals_settle_decided_bets() {
        let standing = standing([2, 1], Some([0.3, 0.3]));
        assert_eq!(standing.chance(Bet::Goals(2)), Chance::Won(0));
        assert_eq!(standing.chance(Bet::BothScore), Chance::Won(0));
        assert!(matches!(standing.chance(Bet::Goals(3)), Chance::Open(_)));
        let over = self::standing([1, 1], None);
        let mut expected: Vec<_> = [1, 0, 1, 1, 0].map(Chance::Won).into();
        expected.extend([Chance::Shared([0, 2]), Chance::Void, Chance::Won(1), Chance::Won(1)]);
        assert_eq!(over.chances(), expected);
        let corners = Standing { corners: 10, ..standing };
        assert_eq!(corners.chance(Bet::Corners(9)), Chance::Won(0));
    }
}

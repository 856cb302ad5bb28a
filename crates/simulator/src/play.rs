//! What all sports have in common: a play that is stepped from moment to moment.
//!
//! A play knows its sport and nothing of bookmakers. It says what happened as facts, what that
//! means for trading, and how likely each outcome is by now.

use std::fmt::Debug;

use facts::event::{Fact, Micros};

use super::truth::Ending;

/// One match on its pitch or court, or one race.
pub(super) trait Play: Debug + Send {
    /// When something happens next; `None` once it is over.
    fn due(&self) -> Option<Micros>;

    /// Plays what is due at `now`.
    fn step(&mut self, now: Micros) -> PlayStep;

    /// The state of each of its markets, in the order of its sport's list in [`super::market`].
    fn chances(&self, now: Micros) -> Vec<Chance>;

    /// The result, by its own record and not by the reported facts.
    fn ending(&self) -> Ending;
}

#[derive(Debug, Default)]
pub(super) struct PlayStep {
    pub(super) facts: Vec<Fact>,
    pub(super) trading: Trading,
}

/// What bookmakers do about a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Trading {
    #[default]
    AsBefore,
    /// The match begins: as `Halt`, and from here on markets are in play.
    Begin,
    /// Every market is suspended in the same batch.
    Halt,
    /// Bookmakers may open again, each at its own time.
    Resume,
    /// It is over: suspended in the same batch, settled by each bookmaker at its own time.
    End,
}

/// Selections of a market at most: the runners of the largest field.
pub(super) const SELECTIONS_MAX: usize = 14;

/// What is known of a market's outcome.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Chance {
    Open(Probabilities),
    /// It is decided: the index of the selection that won.
    Won(usize),
    /// Two have won: a dead heat, a double chance.
    Shared([usize; 2]),
    /// It will never be decided: stakes go back.
    Void,
}

/// The true probability of each selection; they add up to 1, or to 2 where two win. Unused ones
/// are 0.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Probabilities {
    pub(super) chances: [f64; SELECTIONS_MAX],
    /// Selections that were withdrawn, as bits.
    pub(super) removed: u16,
}

impl Chance {
    pub(super) fn open(probabilities: &[f64]) -> Self {
        let mut chances = [0.0; SELECTIONS_MAX];
        chances[..probabilities.len()].copy_from_slice(probabilities);
        Self::Open(Probabilities { chances, removed: 0 })
    }

    /// Of a match of two that the first wins so likely.
    pub(super) fn of_first(first: f64) -> Self {
        Self::open(&[first, 1.0 - first])
    }

    /// Whether this selection has won.
    pub(super) fn is_won_by(self, index: usize) -> bool {
        match self {
            Self::Won(winner) => winner == index,
            Self::Shared(winners) => winners.contains(&index),
            Self::Open(_) | Self::Void => false,
        }
    }
}

impl Probabilities {
    pub(super) fn is_removed(&self, index: usize) -> bool {
        self.removed >> index & 1 == 1
    }
}

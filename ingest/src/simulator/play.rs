//! What the two sports have in common: a play that is stepped from moment to moment.
//!
//! A play knows its sport and nothing of bookmakers. It says what happened as facts, what that
//! means for trading, and how likely each outcome is by now.

use std::fmt::Debug;

use crate::event::{Fact, Micros};

use super::truth::Ending;

/// One match on its pitch or court.
pub(super) trait Play: Debug + Send {
    /// When something happens next; `None` once it is over.
    fn due(&self) -> Option<Micros>;

    /// Lets happen what is due at `now`.
    fn step(&mut self, now: Micros) -> Step;

    /// The state of each of its markets, in the order of its sport's list in [`super::market`].
    fn chances(&self, now: Micros) -> Vec<Chance>;

    /// What has come of it, by its own record and not by the facts that it told.
    fn ending(&self) -> Ending;
}

#[derive(Debug, Default)]
pub(super) struct Step {
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

/// What is known of a market's outcome; at most three selections, unused ones are 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Chance {
    /// The true probability of each selection; they add up to 1.
    Open([f64; 3]),
    /// It is decided: the index of the selection that won.
    Won(usize),
    /// It will never be decided: stakes go back.
    Void,
}

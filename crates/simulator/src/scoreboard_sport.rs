//! The sports that are followed by their scoreboards: what the world asks of each. A sport's answers, its names and
//! its rules are in a module of its own.

use std::fmt::Debug;

use facts::event::{Micros, Pair, Participant, Sport};

use super::{
    calendar::{DayNumber, ROUND_DAYS},
    day::Lanes,
    dice::Dice,
    draw::Booking,
    market::Bet,
    play::Play,
};

/// A sport of the world.
pub(super) struct ScoreboardSport {
    pub(super) sport: Sport,
    pub(super) lanes: Lanes,
    /// All matches of a day, in random order.
    pub(super) draw: fn(DayNumber, &mut Dice) -> Vec<Booking>,
    pub(super) past: Past,
}

/// What of a sport was played before the first day.
#[derive(Debug, Clone, Copy)]
pub(super) struct Past {
    /// Tells the sports apart: each has a number of its own for ever.
    pub(super) number: u64,
    /// Days before the first one.
    pub(super) days: usize,
    /// Matches of each, at most; of leagues all.
    pub(super) matches_max: Option<usize>,
}

impl Past {
    pub(super) const fn of_leagues(number: u64, rounds: usize) -> Self {
        Self { number, days: rounds * ROUND_DAYS, matches_max: None }
    }
}

/// How a match is played, and where.
pub(super) trait ScoreboardGame: Debug + Send + Sync {
    fn sport(&self) -> Sport;

    fn setting(&self) -> Setting;

    /// Its markets, in the order of the play's chances.
    fn bets(&self) -> &'static [Bet];

    fn play(&self, sides: &Pair<Participant>, start: Micros, dice: Dice) -> Box<dyn Play>;
}

/// What a match is part of.
#[derive(Debug, Clone, Copy)]
pub(super) enum Setting {
    /// Teams with coaches meet at the ground of one of them, whose name ends with this word.
    League { ground: &'static str },
    Tournament {
        category: Option<&'static str>,
        best_of: u8,
        /// On a stage with a referee, or over the network.
        is_on_stage: bool,
    },
}

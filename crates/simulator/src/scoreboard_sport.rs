//! The sports that are followed by their scoreboards. What a sport is made of is in a module of its own.

use facts::event::{Micros, Pair, Participant, Sport};

use super::{
    dice::Dice,
    draw::{self, Booking},
    market::Bet,
    names,
    play::Play,
    programme::{GameKind, Lanes},
    rounds::DayNumber,
};

/// A sport of the world.
pub(super) struct ScoreboardSport {
    pub(super) sport: Sport,
    pub(super) lanes: Lanes,
    /// All matches of a day, in random order.
    pub(super) draw: fn(DayNumber, &mut Dice) -> Vec<Booking>,
    /// Its number among the sports of the past, for ever.
    pub(super) number: u64,
    /// Days that were played before the first one, and matches of each, at most; of leagues all.
    pub(super) past: (usize, Option<usize>),
}

/// How a match is played, and as part of what.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScoreboardGame {
    pub(super) sport: Sport,
    pub(super) setting: Setting,
    /// Its markets, in the order of the play's chances.
    pub(super) bets: &'static [Bet],
    /// What competitions have different: the seconds of a quarter; the sets and the legs that win.
    pub(super) rules: [u32; 2],
    pub(super) play: fn(&Self, &Pair<Participant>, Micros, Dice) -> Box<dyn Play>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Setting {
    /// Teams with coaches meet at the ground of one of them, whose name ends with this word.
    League { ground: &'static str },
    /// With its category and the most parts of a match; on a stage with a referee, or over the network.
    Tournament { category: Option<&'static str>, best_of: u8, is_on_stage: bool },
}

/// Draws the leagues that play on a day: their names and how they play, and their teams.
pub(super) fn leagues(
    day: DayNumber,
    dice: &mut Dice,
    league: fn(usize) -> (&'static str, ScoreboardGame),
    team: fn(usize, usize) -> Participant,
) -> Vec<Booking> {
    let pairs = draw::league_pairs(names::LEAGUES_OF_OTHERS, names::TEAMS_OF_OTHERS, day, dice);
    draw::bookings(pairs, |number, teams| {
        let (name, game) = league(number);
        let sides = teams.map(|it| team(number, it));
        (names::competition(name), sides, GameKind::Scoreboard(game))
    })
}

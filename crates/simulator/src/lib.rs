//! A seeded world of seven sports with bookmakers' odds: a source without a feed.
//!
//! **In:** a seed and the start of a day. **Out:** timed batches of facts, as from a feed, identical
//! every time and on every platform; the past before the first day and the fixtures after it; and the
//! *truth*, the expected results for tests. **Must not know** clocks, pacing or subscribers.
//!
//! Each match is a generator with its own random streams, and the simulator merges them by time. Memory
//! holds only matches that are announced and not over. `World` is a function of the seed and the start of
//! its first day, so upcoming matches keep their ids when they are played, and a later run continues in
//! the same world. All names are made up.
//!
//! Users: the demo, `matchwire simulate`, integration tests, benches, the load tool's hub. Production
//! sources do not depend on it.

mod about;
mod basketball;
mod board;
mod bookmaker;
mod cs2;
mod darts;
mod dice;
mod draw;
mod football;
mod game;
mod hockey;
mod lines;
mod market;
mod match_odds;
mod maths;
mod names;
mod play;
mod programme;
mod race;
mod recording;
mod rounds;
mod scheduled_match;
mod scoreboard_sport;
mod tennis;
mod truth;
mod truth_lines;
mod world;

#[cfg(test)]
mod tests;

use std::{
    cmp::{Ordering, Reverse},
    collections::{BinaryHeap, binary_heap::PeekMut},
    io,
    iter::Peekable,
    mem, vec,
};

use facts::event::{Micros, Timed};

use self::{
    bookmaker::BOOKMAKERS,
    game::Game,
    programme::{Entry, Plan},
    scoreboard_sport::ScoreboardSport,
};

pub use self::{
    recording::{Part, write_recording},
    scheduled_match::ScheduledMatch,
    truth::{
        Card, Colour, Ending, FootballTruth, Goal, MatchTruth, Minute, OverturnedGoal,
        PenaltyMissed, RaceTruth, ScoreboardTruth, SettledMarket, Substitution, TennisTruth, Truth,
    },
    world::World,
};

/// In the order in which their matches are drawn: a new one is the last.
static SCOREBOARD_SPORTS: [ScoreboardSport; 4] =
    [cs2::SPORT, darts::SPORT, hockey::SPORT, basketball::SPORT];

/// One day, batch by batch in time order.
///
/// Matches start within 24 hours of the day's start; those begun are played to their end, so the
/// last batches lie a few hours beyond.
#[derive(Debug)]
pub struct Simulator {
    seed: u64,
    /// Matches that are not announced yet, in the order in which they will be.
    upcoming: Peekable<vec::IntoIter<Entry>>,
    running: BinaryHeap<Running>,
}

impl Simulator {
    /// The day that begins at `start`, in UTC microseconds. The same seed and start give the same
    /// day; another start gives the same matches under other ids.
    #[must_use]
    pub fn new(seed: u64, start: Micros) -> Self {
        Self::from_plan(Plan::new(seed, start))
    }

    /// The slugs of the bookmakers that quote every match.
    pub fn bookmakers() -> impl Iterator<Item = &'static str> {
        BOOKMAKERS.iter().map(|bookmaker| bookmaker.slug)
    }

    /// The full correct outcome of the day, by playing it through without any trading.
    #[must_use]
    pub fn truth(seed: u64, start: Micros) -> Truth {
        Self::truth_of(Plan::new(seed, start))
    }

    fn from_plan(plan: Plan) -> Self {
        Self::since(plan, Micros::MIN)
    }

    fn since(plan: Plan, since: Micros) -> Self {
        let mut entries = plan.programme();
        entries.retain(|entry| entry.start >= since);
        let upcoming = entries.into_iter().peekable();
        Self { seed: plan.seed, upcoming, running: BinaryHeap::new() }
    }

    fn truth_of(plan: Plan) -> Truth {
        let mut entries = plan.programme();
        entries.sort_by_key(|entry| entry.number);
        let matches = entries.into_iter().map(|entry| Game::new(entry, plan.seed).truth());
        Truth { matches: matches.collect() }
    }

    /// Takes in the matches whose announcement is not later than what comes next.
    fn take_in_announced(&mut self) {
        while let Some(entry) = self.upcoming.next_if(|entry| is_next(entry, &self.running)) {
            let number = entry.number;
            let mut game = Box::new(Game::new(entry, self.seed));
            let next = game.next();
            self.running.extend(next.map(|next| Running { next, number, game }));
        }
    }
}

fn is_next(entry: &Entry, running: &BinaryHeap<Running>) -> bool {
    running.peek().is_none_or(|first| entry.announced <= first.next.clock_us)
}

impl Iterator for Simulator {
    type Item = Timed;

    fn next(&mut self) -> Option<Timed> {
        self.take_in_announced();
        let mut first = self.running.peek_mut()?;
        match first.game.next() {
            Some(next) => Some(mem::replace(&mut first.next, next)),
            None => Some(PeekMut::pop(first).next),
        }
    }
}

/// Writes a day as one line of JSON for each batch: what happened, in a form for eyes and scripts.
///
/// # Errors
///
/// Only those of `out`.
pub fn write_day(seed: u64, start: Micros, out: &mut impl io::Write) -> io::Result<()> {
    Simulator::new(seed, start).try_for_each(|timed| lines::write_batch(&timed, out))
}

impl Truth {
    /// Writes one line of JSON for each match in the order of their starts, then one with totals.
    ///
    /// # Errors
    ///
    /// Only those of `out`.
    pub fn write_json(&self, out: &mut impl io::Write) -> io::Result<()> {
        truth_lines::write(self, out)
    }
}

/// A match in progress with the batch that it has ready. The greatest is the one that comes first:
/// by time, and at the same time by its number.
#[derive(Debug)]
struct Running {
    next: Timed,
    number: u64,
    game: Box<Game>,
}

impl Running {
    fn rank(&self) -> Reverse<(Micros, u64)> {
        Reverse((self.next.clock_us, self.number))
    }
}

impl Ord for Running {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for Running {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Running {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for Running {}

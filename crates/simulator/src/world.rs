//! The simulated world: days without end, and what was played before the first of them.
//!
//! All of it is a function of a seed and of when the first day begins. The days before the first one follow the
//! same calendar as those after it, so nobody plays too soon again where they meet.

use facts::event::Micros;

use super::{
    SCOREBOARD_SPORTS, Simulator,
    dice::{Dice, MINUTE},
    draw::{self, Booking, RACING_COURSES},
    programme::{DAY, Entry, Plan},
    rounds::{DayNumber, PAST_ROUNDS, ROUND_DAYS, day_number},
    scheduled_match::ScheduledMatch,
    scoreboard_sport::ScoreboardSport,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct World {
    pub seed: u64,
    /// When its first day begins, in UTC microseconds.
    pub start: Micros,
}

/// What of a sport was played before the first day: enough for form, tables and ratings, and little enough to be
/// generated while a client connects.
struct Circuit {
    /// Tells the circuits apart.
    number: u64,
    name: &'static str,
    draw: fn(DayNumber, &mut Dice) -> Vec<Booking>,
    /// Days before the first one.
    days: usize,
    /// Matches of each, at most; of leagues all.
    matches_max: Option<usize>,
    /// Leagues that play later have one of each day until then. Forecasts of the other sports need all.
    is_thinned: bool,
    /// The time of a match since the day began, by its place among the day's.
    when: fn(usize, &mut Dice) -> Micros,
}

/// The circuits of sports that are not followed by their scoreboards.
const CIRCUITS: [Circuit; 3] = [
    Circuit {
        number: 0,
        name: "football",
        draw: draw::football,
        days: PAST_ROUNDS * ROUND_DAYS,
        matches_max: None,
        is_thinned: true,
        when: any_time,
    },
    Circuit {
        number: 4,
        name: "tennis",
        draw: draw::tennis,
        days: 10,
        matches_max: Some(8),
        is_thinned: false,
        when: any_time,
    },
    Circuit {
        number: 6,
        name: "horseracing",
        draw: draw::races,
        days: 2,
        matches_max: Some(18),
        is_thinned: false,
        when: post_time,
    },
];

/// Kick-offs of the past are at quarters of an hour.
const QUARTER: Micros = 15 * MINUTE;

/// Minutes between two races of a course.
const RACE_EVERY_MIN: usize = 60;

/// The streams of chance of the past, and the numbers of its matches, are from here on: a day has fewer matches.
const PAST_NUMBERS: u64 = 1_000_000;

impl World {
    #[must_use]
    pub fn new(seed: u64, start: Micros) -> Self {
        Self { seed, start }
    }

    /// The number of the day that contains a moment: 0 for the first and all before it.
    #[must_use]
    pub fn day_at(&self, moment: Micros) -> u64 {
        u64::try_from((moment - self.start).div_euclid(DAY)).unwrap_or(0)
    }

    /// When a day begins.
    #[must_use]
    pub fn start_of(&self, day: u64) -> Micros {
        self.plan(signed(day)).start
    }

    /// Plays a day, without the matches that start before a moment.
    #[must_use]
    pub fn play(&self, day: u64, since: Micros) -> Simulator {
        Simulator::since(self.plan(signed(day)), since)
    }

    /// The matches of a day, in the order in which they start, under the ids with which they will be
    /// played.
    #[must_use]
    pub fn programme(&self, day: u64) -> Vec<ScheduledMatch> {
        let plan = self.plan(signed(day));
        let mut entries = plan.programme();
        entries.sort_by_key(|entry| entry.number);
        entries.into_iter().map(|entry| ScheduledMatch::new(entry, plan.seed)).collect()
    }

    /// The matches that were played before the first day, in the order of their starts: complete rounds of the
    /// leagues, and some matches of the other sports. Of the football leagues that do not play on the days up to this one it
    /// has one of each day, so that no day of the past is empty. The last matches may end after the first day begins.
    #[must_use]
    pub fn past(&self, day: u64) -> Vec<ScheduledMatch> {
        let mut all = Vec::new();
        for circuit in CIRCUITS.into_iter().chain(SCOREBOARD_SPORTS.iter().map(Circuit::new)) {
            for days_back in 1..=circuit.days {
                // The first day on which those who played then play again.
                let again = (ROUND_DAYS - days_back % ROUND_DAYS) % ROUND_DAYS;
                let one_league = circuit.is_thinned && again as u64 > day;
                all.extend(circuit.matches(self.plan(-(days_back as i64)), one_league));
            }
        }
        all.sort_by_key(|planned| (planned.start(), planned.id()));
        all
    }

    /// A day, counted from the first one; those before it are negative.
    fn plan(&self, day: i64) -> Plan {
        let start = self.start.saturating_add(day.saturating_mul(DAY));
        let first = day_number(self.start);
        Plan { first, ..Plan::new(self.seed.wrapping_add(day.cast_unsigned()), start) }
    }
}

fn signed(day: u64) -> i64 {
    i64::try_from(day).unwrap_or(i64::MAX)
}

impl Circuit {
    fn new(sport: &ScoreboardSport) -> Self {
        let &ScoreboardSport { sport, draw, number, past: (days, matches_max), .. } = sport;
        let name = sport.as_str();
        Self { number, name, draw, days, matches_max, is_thinned: false, when: any_time }
    }

    /// The matches of a day of the past, or those of one league, always the same.
    fn matches(&self, plan: Plan, one_league: bool) -> Vec<ScheduledMatch> {
        let numbers = PAST_NUMBERS + self.number * 1_000;
        let mut dice = Dice::new(plan.seed, numbers);
        let bookings = (self.draw)(plan.day, &mut dice);
        let bookings =
            bookings.into_iter().take(self.matches_max.unwrap_or(usize::MAX)).enumerate();
        let entry = |(index, booking): (usize, Booking)| {
            let start = plan.start + (self.when)(index, &mut dice);
            let start = start - start.rem_euclid(QUARTER);
            let key = format!("{}/{}/past/{}/{index}", plan.seed, plan.start, self.name);
            let announced = start - DAY - dice.seconds((0, 3_600));
            let number = numbers + 1 + index as u64;
            booking.entry(key.into(), number, announced, start, plan.round())
        };
        let mut entries: Vec<Entry> = bookings.map(entry).collect();
        if one_league {
            let league = entries.iter().map(|entry| entry.competition.id).min();
            entries.retain(|entry| Some(entry.competition.id) == league);
        }
        entries.into_iter().map(|entry| ScheduledMatch::new(entry, plan.seed)).collect()
    }
}

/// Any time of the day, so that at every moment of the past some matches ended lately.
fn any_time(_place: usize, dice: &mut Dice) -> Micros {
    Micros::from(dice.between(0, 95)) * QUARTER
}

/// The courses race in turn, a quarter of an hour apart.
fn post_time(index: usize, _dice: &mut Dice) -> Micros {
    let (course, race) = (index % RACING_COURSES, index / RACING_COURSES);
    course as Micros * QUARTER + (race * RACE_EVERY_MIN) as Micros * MINUTE
}

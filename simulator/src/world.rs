//! The simulated world: days without end, and what was played before the first of them.
//!
//! All of it is a function of a seed and of when the first day begins; what lies before is one of the
//! seed and the season alone, and the first day only says how far it has come.

use facts::event::{Id, Micros};

use super::{
    Simulator,
    calendar::{ROUND, Season, matchday},
    day::{DAY, Entry, Plan},
    dice::{Dice, MINUTE},
    draw::{self, Booking},
    names,
    scheduled_match::ScheduledMatch,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct World {
    pub seed: u64,
    /// When its first day begins, in UTC microseconds.
    pub start: Micros,
}

/// What of a season is known of a sport before the first day.
struct Circuit {
    name: &'static str,
    draw: fn(usize, &mut Dice) -> Vec<Booking>,
    /// Rounds back from the first day, and matches of each, at most.
    rounds_max: u16,
    matches_max: usize,
    when: fn(usize, &mut Dice) -> Micros,
}

const CIRCUITS: [Circuit; 7] = [
    Circuit {
        name: "football",
        draw: draw::football,
        rounds_max: u16::MAX,
        matches_max: usize::MAX,
        when: any_time,
    },
    Circuit {
        name: "tennis",
        draw: draw::tennis,
        rounds_max: 4,
        matches_max: usize::MAX,
        when: any_time,
    },
    Circuit {
        name: "csgo",
        draw: draw::cs2,
        rounds_max: 8,
        matches_max: usize::MAX,
        when: any_time,
    },
    Circuit {
        name: "darts",
        draw: draw::darts,
        rounds_max: 5,
        matches_max: usize::MAX,
        when: any_time,
    },
    Circuit {
        name: "hockey",
        draw: draw::hockey,
        rounds_max: 8,
        matches_max: usize::MAX,
        when: any_time,
    },
    Circuit {
        name: "basketball",
        draw: draw::basketball,
        rounds_max: 8,
        matches_max: usize::MAX,
        when: any_time,
    },
    Circuit {
        name: "horseracing",
        draw: draw::races,
        rounds_max: 7,
        matches_max: 2 * RACES_A_DAY * 3,
        when: post_time,
    },
];

/// Days before the first one that may lie between it and the last round of the past.
const RECENT_DAYS_MAX: u64 = 8;
/// Of these, but for the last one, one match in so many is played.
const RECENT_SHARE: u64 = 6;

/// Races of a course on one of its days.
const RACES_A_DAY: usize = 8;

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
        let day = Micros::try_from(day).unwrap_or(Micros::MAX / DAY);
        self.start.saturating_add(day.saturating_mul(DAY))
    }

    /// Plays a day, without the matches that start before a moment.
    #[must_use]
    pub fn play(&self, day: u64, since: Micros) -> Simulator {
        Simulator::since(self.plan(day), since)
    }

    /// The matches of a day, in the order in which they start, under the ids with which they will be
    /// played.
    #[must_use]
    pub fn programme(&self, day: u64) -> Vec<ScheduledMatch> {
        let plan = self.plan(day);
        let mut entries = plan.programme();
        entries.sort_by_key(|entry| entry.number);
        entries.into_iter().map(|entry| ScheduledMatch::new(entry, plan.seed)).collect()
    }

    /// The matches that were played before the first day, in the order of their starts: the season of
    /// every football league, and the last weeks of the other sports.
    #[must_use]
    pub fn past(&self) -> Vec<ScheduledMatch> {
        past(self.seed, self.start)
    }

    /// The matches between the last round of the past and the first day, in the order of their
    /// starts: of the last day before it all that were played, of those before it some.
    #[must_use]
    pub fn recent(&self) -> Vec<ScheduledMatch> {
        let season = Season::of(self.start);
        let rounds = Micros::from(season.rounds_before(self.start));
        let played_until = season.start + rounds * ROUND;
        let mut recent = Vec::new();
        for days_back in 1..=RECENT_DAYS_MAX {
            let begins = self.start - days_back as Micros * DAY;
            if begins + DAY <= played_until {
                break;
            }
            let seed = self.seed.wrapping_sub(days_back);
            let round = matchday(self.start, 0);
            let plan = Plan { round, ..Plan::new(seed, begins) };
            let of_day = plan.programme().into_iter().filter(|it| it.start >= played_until);
            let share = if days_back == 1 { 1 } else { RECENT_SHARE };
            let some = of_day.filter(|it| it.number.is_multiple_of(share));
            recent.extend(some.map(|entry| ScheduledMatch::new(entry, plan.seed)));
        }
        recent.sort_by_key(|planned| (planned.start(), planned.id()));
        recent
    }

    fn plan(&self, day: u64) -> Plan {
        let (seed, round) = (self.seed.wrapping_add(day), matchday(self.start, day));
        Plan { round, ..Plan::new(seed, self.start_of(day)) }
    }
}

/// What was played of the season until a moment, in the order of the starts.
#[must_use]
pub fn past(seed: u64, until: Micros) -> Vec<ScheduledMatch> {
    let season = Season::of(until);
    let rounds = season.rounds_before(until);
    // The same matches have the same course in every call.
    let own = Id::derive(names::PROVIDER, "season", &format!("{seed}/{}", season.name)).0;
    let mut all = Vec::new();
    for (circuit, kind) in CIRCUITS.iter().zip(0..) {
        for round in rounds.saturating_sub(circuit.rounds_max)..rounds {
            all.extend(circuit.round(&season, round, (seed, own), kind));
        }
    }
    all.sort_by_key(|planned| (planned.start(), planned.id()));
    all
}

impl Circuit {
    fn round(
        &self,
        season: &Season,
        round: u16,
        (seed, own): (u64, u64),
        kind: u64,
    ) -> impl Iterator<Item = ScheduledMatch> {
        // Streams of the first million are the rounds', the others the matches'.
        let stream = kind * 1_000 + u64::from(round);
        let mut dice = Dice::new(own, stream);
        let begins = season.start + Micros::from(round) * ROUND;
        let bookings = (self.draw)(usize::from(round), &mut dice);
        let bookings = bookings.into_iter().take(self.matches_max).zip(0_u16..);
        let entry = move |(booking, place): (Booking, u16)| {
            let start = begins + (self.when)(usize::from(place), &mut dice);
            let key = format!("{seed}/{}/{}/{}/{place}", season.name, self.name, round + 1);
            let number = 1_000_000 + stream * 1_000 + u64::from(place);
            let announced = start - DAY - dice.seconds((0, 3_600));
            let entry: Entry = booking.entry(key.into(), number, announced, start, round + 1);
            ScheduledMatch::new(entry, own)
        };
        bookings.map(entry).collect::<Vec<_>>().into_iter()
    }
}

/// An afternoon or evening of a round.
fn any_time(_place: usize, dice: &mut Dice) -> Micros {
    let (day, quarter) = (dice.between(0, 3), dice.between(0, 36));
    Micros::from(day) * DAY + 12 * 60 * MINUTE + Micros::from(quarter) * 15 * MINUTE
}

/// Three courses race at the same time, on two days of a round.
fn post_time(place: usize, _dice: &mut Dice) -> Micros {
    let (course, race) = (place % 3, place / 3);
    let minutes = 12 * 60 + course * 10 + race % RACES_A_DAY * 35;
    (race / RACES_A_DAY) as Micros * DAY + minutes as Micros * MINUTE
}

//! The day's programme: which matches are played, by whom and when.
//!
//! Kick-offs run in lanes, each lane one match after another, so that at any time of the day about
//! as many matches are in play as there are lanes. No team and no player appears twice a day.

use std::sync::Arc;

use crate::{
    event::{Competition, Fixture, Id, Micros, Pair, Participant, Sport},
    tennis::Format,
};

use super::{
    dice::{Dice, MINUTE},
    names,
};

pub(super) const DAY: Micros = 24 * 60 * MINUTE;

/// Minutes from the day's start to the first kick-off of each lane: the first matches are under way
/// within minutes, and the rest follow, so that they are not all in the same phase of play.
const FOOTBALL_LANES: [i64; 8] = [1, 5, 10, 16, 22, 28, 34, 40];
const TENNIS_LANES: [i64; 6] = [2, 12, 25, 45, 65, 85];

/// Minutes from one kick-off of a lane to its next. A league match takes 110 to 117 with its break.
const FOOTBALL_GAP_MIN: (i64, i64) = (115, 121);
/// Tennis takes an hour to three and a half; lanes overlap now and then.
const TENNIS_GAP_MIN: (i64, i64) = (105, 130);

/// How long before its start a match is announced, where the day is old enough for it.
const NOTICE_MIN: (i64, i64) = (120, 240);

/// A match of the programme.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// Its place in the programme, from which its streams of chance are taken.
    pub(super) number: u64,
    pub(super) id: Id,
    pub(super) key: Arc<str>,
    pub(super) announced: Micros,
    pub(super) start: Micros,
    pub(super) competition: Competition,
    pub(super) sides: Pair<Participant>,
    pub(super) game: GameKind,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum GameKind {
    Football,
    Tennis(Format),
}

/// What is needed to write a day: tests take a short one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) start: Micros,
    /// Matches start within this span; those begun are played to their end.
    pub(super) length: Micros,
}

impl Plan {
    pub(super) fn new(seed: u64, start: Micros) -> Self {
        Self { seed, start, length: DAY }
    }

    /// The programme in the order in which its matches are announced.
    pub(super) fn programme(self) -> Vec<Entry> {
        let mut dice = Dice::new(self.seed, 0);
        let mut bookings = self.football(&mut dice);
        bookings.extend(self.tennis(&mut dice));
        bookings.sort_by_key(|booking| booking.start);
        let numbered = bookings.into_iter().zip(1..);
        let mut entries: Vec<_> =
            numbered.map(|(booking, number)| self.entry(booking, number, &mut dice)).collect();
        entries.sort_by_key(|entry| (entry.announced, entry.number));
        entries
    }

    fn football(self, dice: &mut Dice) -> Vec<Booking> {
        let mut starts = self.starts(&FOOTBALL_LANES, FOOTBALL_GAP_MIN, dice);
        starts.sort_unstable();
        let pairs = drawn_pairs(names::LEAGUE_COUNT, names::TEAMS_PER_LEAGUE, dice);
        starts.into_iter().zip(pairs).map(|(start, pair)| Booking::football(start, pair)).collect()
    }

    fn tennis(self, dice: &mut Dice) -> Vec<Booking> {
        let mut starts = self.starts(&TENNIS_LANES, TENNIS_GAP_MIN, dice);
        starts.sort_unstable();
        let pairs = drawn_pairs(names::TOURNAMENT_COUNT, names::PLAYERS_PER_TOURNAMENT, dice);
        starts.into_iter().zip(pairs).map(|(start, pair)| Booking::tennis(start, pair)).collect()
    }

    fn starts(self, lanes: &[i64], gap_min: (i64, i64), dice: &mut Dice) -> Vec<Micros> {
        let mut starts = Vec::new();
        for first in lanes {
            let mut offset = first * MINUTE;
            while offset < self.length {
                starts.push(self.start + offset);
                // Whole minutes, as on any fixture list.
                offset += dice.between(gap_min.0 as u32, gap_min.1 as u32) as Micros * MINUTE;
            }
        }
        starts
    }

    fn entry(self, booking: Booking, number: u64, dice: &mut Dice) -> Entry {
        let key: Arc<str> = format!("{}/{}/{number}", self.seed, self.start).into();
        let notice = dice.seconds((NOTICE_MIN.0 * 60, NOTICE_MIN.1 * 60));
        let soonest = self.start + dice.millis((0, 5_000));
        let Booking { start, competition, sides, game } = booking;
        let announced = (start - notice).max(soonest);
        let id = Id::derive(names::PROVIDER, "match", &key);
        Entry { number, id, key, announced, start, competition, sides, game }
    }
}

impl Entry {
    pub(super) fn sport(&self) -> Sport {
        match self.game {
            GameKind::Football => Sport::Football,
            GameKind::Tennis(_) => Sport::Tennis,
        }
    }

    pub(super) fn fixture(&self) -> Fixture {
        Fixture {
            provider: names::PROVIDER.into(),
            provider_key: self.key.clone(),
            competition: Some(self.competition.clone()),
            start: Some(self.start),
            date: None,
            sides: Some(self.sides.clone()),
        }
    }
}

/// A match before it has its number.
struct Booking {
    start: Micros,
    competition: Competition,
    sides: Pair<Participant>,
    game: GameKind,
}

impl Booking {
    fn football(start: Micros, (league, teams): (usize, Pair<usize>)) -> Self {
        let sides = teams.map(|team| names::team(league, team));
        Self { start, competition: names::league(league), sides, game: GameKind::Football }
    }

    fn tennis(start: Micros, (tournament, players): (usize, Pair<usize>)) -> Self {
        let sides = players.map(|player| names::tennis_player(tournament, player));
        let (competition, format) = names::tournament(tournament);
        Self { start, competition, sides, game: GameKind::Tennis(format) }
    }
}

/// Everyone of every competition paired once at random, the pairs in random order.
fn drawn_pairs(competitions: usize, members: usize, dice: &mut Dice) -> Vec<(usize, Pair<usize>)> {
    let mut pairs = Vec::with_capacity(competitions * members / 2);
    for competition in 0..competitions {
        let mut order: Vec<usize> = (0..members).collect();
        dice.shuffle(&mut order);
        pairs.extend(order.chunks_exact(2).map(|pair| (competition, [pair[0], pair[1]])));
    }
    dice.shuffle(&mut pairs);
    pairs
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn nobody_plays_twice_a_day() {
        for seed in 0..20 {
            let entries = Plan::new(seed, 0).programme();
            let sides: BTreeSet<_> = entries.iter().flat_map(|e| &e.sides).map(|p| p.id).collect();
            assert_eq!(sides.len(), entries.len() * 2, "seed {seed}");
            assert!(entries.iter().all(|e| e.announced < e.start));
        }
    }

    #[test]
    fn match_ids_differ_by_seed_and_by_day() {
        let plans = [Plan::new(1, 0), Plan::new(2, 0), Plan::new(1, DAY)];
        let entries: Vec<_> = plans.into_iter().flat_map(Plan::programme).collect();
        let ids: BTreeSet<_> = entries.iter().map(|entry| entry.id).collect();
        assert_eq!(ids.len(), entries.len());
    }

    /// A day that ran out of teams or players would end early.
    #[test]
    fn there_are_enough_teams_and_players_for_a_day() {
        for seed in 0..50 {
            let entries = Plan::new(seed, 0).programme();
            let football = entries.iter().filter(|e| e.sport() == Sport::Football).count();
            let tennis = entries.len() - football;
            assert!((80..110).contains(&football), "seed {seed}: {football} football matches");
            assert!((60..120).contains(&tennis), "seed {seed}: {tennis} tennis matches");
        }
    }
}

//! The day's programme: which matches are played, by which sides, and when.
//!
//! Kick-offs run in lanes, each lane one match after another, so that at any time of the day about
//! as many matches are in play as there are lanes. No player and no horse appears twice a day, and no
//! team within two days.

use std::sync::Arc;

use facts::{
    event::{Competition, Fixture, Id, Micros, Pair, Participant, Sport},
    tennis,
};

use super::{
    SCOREBOARD_SPORTS,
    dice::{Dice, MINUTE},
    draw::{self, Booking},
    names,
    race::RaceCard,
    rounds::{self, DayNumber},
    scoreboard_sport::ScoreboardGame,
};

pub(super) const DAY: Micros = 24 * 60 * MINUTE;

/// Minutes from the day's start to the first kick-off of each lane: the first matches are under way
/// within minutes, and the rest follow, so that they are not all in the same phase of play. Then
/// minutes from one kick-off of a lane to its next: as long as a match takes, or so.
#[derive(Debug)]
pub(super) struct Lanes {
    pub(super) first_min: &'static [i64],
    pub(super) gap_min: (u32, u32),
}

/// A league match takes 110 to 117 minutes with its break.
const FOOTBALL: Lanes = Lanes { first_min: &[1, 8, 17, 27, 38], gap_min: (115, 121) };
/// Tennis takes an hour to three and a half; lanes overlap now and then.
const TENNIS: Lanes = Lanes { first_min: &[2, 14, 35, 65], gap_min: (105, 130) };
const RACES: Lanes = Lanes { first_min: &[8, 15], gap_min: (15, 20) };

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
    pub(super) round: u16,
    /// Absent in a race, which has runners.
    pub(super) sides: Option<Pair<Participant>>,
    pub(super) game: GameKind,
}

#[derive(Debug, Clone)]
pub(super) enum GameKind {
    Football,
    /// With the number of the tournament.
    Tennis(tennis::MatchFormat, usize),
    Scoreboard(ScoreboardGame),
    Race(Arc<RaceCard>),
}

/// What is needed to write a day: tests take a short one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) start: Micros,
    /// Matches start within this span; those begun are played to their end.
    pub(super) length: Micros,
    /// The day that is played.
    pub(super) day: DayNumber,
    /// The first day of its world, from which rounds are counted.
    pub(super) first: DayNumber,
}

impl Plan {
    pub(super) fn new(seed: u64, start: Micros) -> Self {
        let day = rounds::day_number(start);
        Self { seed, start, length: DAY, day, first: day }
    }

    /// The round that is played.
    pub(super) fn round(self) -> u16 {
        rounds::round(self.day, self.first)
    }

    /// The programme in the order in which its matches are announced.
    pub(super) fn programme(self) -> Vec<Entry> {
        let mut dice = Dice::new(self.seed, 0);
        let mut bookings = Vec::new();
        let mut book = |lanes: &Lanes, all: fn(DayNumber, &mut Dice) -> Vec<Booking>| {
            let mut starts = self.starts(lanes, &mut dice);
            starts.sort_unstable();
            let drawn = all(self.day, &mut dice);
            bookings.extend(starts.into_iter().zip(drawn));
        };
        book(&FOOTBALL, draw::football);
        book(&TENNIS, draw::tennis);
        for sport in &SCOREBOARD_SPORTS {
            book(&sport.lanes, sport.draw);
        }
        book(&RACES, draw::races);
        bookings.sort_by_key(|(start, _)| *start);
        let numbered = bookings.into_iter().zip(1..);
        let mut entries: Vec<_> = numbered
            .map(|((start, booking), number)| self.entry(start, booking, number, &mut dice))
            .collect();
        entries.sort_by_key(|entry| (entry.announced, entry.number));
        entries
    }

    fn starts(self, lanes: &Lanes, dice: &mut Dice) -> Vec<Micros> {
        let mut starts = Vec::new();
        for first in lanes.first_min {
            let mut offset = first * MINUTE;
            while offset < self.length {
                starts.push(self.start + offset);
                // Whole minutes, as on any fixture list.
                offset += Micros::from(dice.between(lanes.gap_min.0, lanes.gap_min.1)) * MINUTE;
            }
        }
        starts
    }

    fn entry(self, start: Micros, booking: Booking, number: u64, dice: &mut Dice) -> Entry {
        let key: Arc<str> = format!("{}/{}/{number}", self.seed, self.start).into();
        let notice = dice.seconds((NOTICE_MIN.0 * 60, NOTICE_MIN.1 * 60));
        let soonest = self.start + dice.millis((0, 5_000));
        let announced = (start - notice).max(soonest);
        booking.entry(key, number, announced, start, self.round())
    }
}

impl Entry {
    pub(super) fn sport(&self) -> Sport {
        match &self.game {
            GameKind::Football => Sport::Football,
            GameKind::Tennis(..) => Sport::Tennis,
            GameKind::Scoreboard(game) => game.sport,
            GameKind::Race(_) => Sport::HorseRacing,
        }
    }

    pub(super) fn fixture(&self) -> Fixture {
        Fixture {
            provider: names::PROVIDER.into(),
            provider_key: self.key.clone(),
            competition: Some(self.competition.clone()),
            start: Some(self.start),
            date: None,
            sides: self.sides.clone(),
            ..Fixture::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    fn participants(entry: &Entry) -> Vec<Id> {
        match &entry.game {
            GameKind::Race(card) => card.runners.iter().map(|(horse, _)| horse.id).collect(),
            _ => entry.sides.iter().flatten().map(|side| side.id).collect(),
        }
    }

    #[test]
    fn no_participant_plays_twice_a_day() {
        for seed in 0..20 {
            let entries = Plan::new(seed, 0).programme();
            let all: Vec<_> = entries.iter().flat_map(participants).collect();
            let different: BTreeSet<_> = all.iter().collect();
            assert_eq!(different.len(), all.len(), "seed {seed}");
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
    fn there_are_enough_participants_for_a_day() {
        for seed in 0..50 {
            let mut counts: BTreeMap<Sport, usize> = BTreeMap::new();
            let entries = Plan::new(seed, 0).programme();
            for entry in &entries {
                *counts.entry(entry.sport()).or_default() += 1;
            }
            for (sport, expected) in [
                (Sport::Football, 55..67),
                (Sport::Tennis, 40..60),
                (Sport::Cs2, 27..34),
                (Sport::Darts, 46..58),
                (Sport::Hockey, 27..34),
                (Sport::Basketball, 27..34),
                (Sport::HorseRacing, 145..195),
            ] {
                assert!(expected.contains(&counts[&sport]), "seed {seed}: {sport:?} {counts:?}");
            }
            // No lane ends earlier than the longest gap before the end of the day.
            for sport in counts.keys() {
                let last = entries.iter().filter(|it| it.sport() == *sport).map(|it| it.start);
                assert!(last.max() > Some(DAY - 150 * MINUTE), "seed {seed}: {sport:?} ends early");
            }
        }
    }
}

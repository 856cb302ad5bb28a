//! What follows of the events of a match for analysis: possession, halves, momentum and average
//! positions.
//!
//! Everything is reported when a minute has passed and at the whistles, as absolute values.

use std::collections::{BTreeMap, BTreeSet};

use facts::{
    event::{
        Analysis, AveragePosition, Ball, FootballFact, Half, Id, MatchMinute, Micros, Momentum,
        Pair, Participant, PitchPlace, Side, Stat,
    },
    football::{Period, momentum, pressure},
};

/// Average positions and possession are reported once in this many minutes, and at the whistles.
const SLOW_EVERY_MIN: u16 = 5;

/// A stoppage: of the time between two events of a side no more counts as possession.
const HELD_US_MAX: Micros = 10_000_000;

/// Players of one side, at most: more than any rules allow.
const PLAYERS_MAX: usize = 60;

#[derive(Debug, Default)]
pub(super) struct Analyst {
    /// Who has had the ball since when.
    holder: Option<(Period, Micros, Side)>,
    held_us: Pair<Micros>,
    held_by_half_us: [Pair<Micros>; 2],
    halves: [Pair<BTreeMap<Stat, u32>>; 2],
    halves_changed: BTreeSet<(Half, Side, Stat)>,
    positions: Pair<BTreeMap<Id, Positions>>,
    positions_changed: Pair<bool>,
    /// The minute in progress and what it has been worth to both sides so far.
    minute: Option<MatchMinute>,
    pressure: Pair<u32>,
    possession_told: Option<u32>,
}

#[derive(Debug)]
struct Positions {
    player: Participant,
    x: u64,
    y: u64,
    count: u64,
}

impl Analyst {
    /// A side has the ball, at a moment of a period. The time since then is its possession until
    /// the next call.
    pub(super) fn held_by(&mut self, side: Side, period: Period, since_start_us: Micros) {
        let before = self.holder.replace((period, since_start_us, side));
        let Some((_, since, holder)) = before.filter(|before| before.0 == period) else { return };
        if period == Period::Shootout {
            return;
        }
        let held = (since_start_us - since).clamp(0, HELD_US_MAX);
        self.held_us[holder.index()] += held;
        if let Some(half) = Half::from_period(period) {
            self.held_by_half_us[half.index()][holder.index()] += held;
        }
    }

    pub(super) fn count(&mut self, side: Side, period: Period, stats: impl Iterator<Item = Stat>) {
        let Some(half) = Half::from_period(period) else { return };
        for stat in stats {
            *self.halves[half.index()][side.index()].entry(stat).or_default() += 1;
            self.halves_changed.insert((half, side, stat));
        }
    }

    pub(super) fn ball(&mut self, ball: Ball) {
        self.pressure[ball.side.index()] += pressure(ball.situation);
    }

    /// A player of a side was on the ball there.
    pub(super) fn touched(&mut self, side: Side, player: &Participant, location: PitchPlace) {
        let players = &mut self.positions[side.index()];
        if !players.contains_key(&player.id) && players.len() == PLAYERS_MAX {
            return;
        }
        let positions = players.entry(player.id);
        let positions =
            positions.or_insert_with(|| Positions { player: player.clone(), x: 0, y: 0, count: 0 });
        positions.x += u64::from(location.x);
        positions.y += u64::from(location.y);
        positions.count += 1;
        self.positions_changed[side.index()] = true;
    }

    /// Advances to a minute, and returns the facts of the ones before.
    pub(super) fn advance(&mut self, minute: MatchMinute) -> Vec<FootballFact> {
        let before = self.minute.replace(minute);
        let Some(before) = before.filter(|before| *before != minute) else { return Vec::new() };
        let mut facts = vec![self.momentum(before)];
        facts.extend(quiet(before, minute));
        facts.extend(self.half_stats());
        if before.minute.is_multiple_of(SLOW_EVERY_MIN) {
            facts.extend(self.slow());
        }
        facts
    }

    /// Ends a period, and returns everything not reported yet.
    pub(super) fn whistle(&mut self) -> Vec<FootballFact> {
        let minute = self.minute.take();
        let mut facts: Vec<_> = minute.map(|minute| self.momentum(minute)).into_iter().collect();
        facts.extend(self.slow());
        facts.extend(self.half_stats());
        facts
    }

    fn momentum(&mut self, minute: MatchMinute) -> FootballFact {
        let value = momentum(std::mem::take(&mut self.pressure));
        FootballFact::Analysis(Analysis::Momentum(Momentum { minute, value }))
    }

    fn half_stats(&mut self) -> Vec<FootballFact> {
        let changed = std::mem::take(&mut self.halves_changed);
        let mut facts = Vec::new();
        for half in Half::BOTH {
            for side in Side::BOTH {
                let counts = &self.halves[half.index()][side.index()];
                let changes = changed.iter().filter(|it| (it.0, it.1) == (half, side));
                let values: Vec<_> = changes.map(|it| (it.2, counts[&it.2])).collect();
                if !values.is_empty() {
                    facts.push(Analysis::HalfStats { half, side, values });
                }
            }
        }
        facts.into_iter().map(FootballFact::Analysis).collect()
    }

    fn slow(&mut self) -> Vec<FootballFact> {
        let mut facts = self.possession();
        for side in Side::BOTH {
            if std::mem::take(&mut self.positions_changed[side.index()]) {
                let players = self.positions[side.index()].values().map(Positions::average);
                let players = players.collect();
                let positions_fact = Analysis::AveragePositions { side, players };
                facts.push(FootballFact::Analysis(positions_fact));
            }
        }
        facts
    }

    fn possession(&mut self) -> Vec<FootballFact> {
        let Some(home) = share(self.held_us) else { return Vec::new() };
        for half in Half::BOTH {
            let Some(home) = share(self.held_by_half_us[half.index()]) else { continue };
            for (side, value) in Side::BOTH.into_iter().zip([home, 100 - home]) {
                let counts = &mut self.halves[half.index()][side.index()];
                if counts.insert(Stat::BallPossession, value) != Some(value) {
                    self.halves_changed.insert((half, side, Stat::BallPossession));
                }
            }
        }
        if self.possession_told.replace(home) == Some(home) {
            return Vec::new();
        }
        let values = Side::BOTH.into_iter().zip([home, 100 - home]);
        let fact = |(side, value)| FootballFact::Stats {
            side,
            values: vec![(Stat::BallPossession, value)],
        };
        values.map(fact).collect()
    }
}

impl Positions {
    fn average(&self) -> AveragePosition {
        let average = |sum: u64| (sum + self.count / 2) / self.count;
        let tenths = |sum| u16::try_from(average(sum)).unwrap_or(1000);
        let location = PitchPlace { x: tenths(self.x), y: tenths(self.y) };
        AveragePosition { player: self.player.clone(), location }
    }
}

/// Minutes between two in which nothing happened.
fn quiet(before: MatchMinute, minute: MatchMinute) -> impl Iterator<Item = FootballFact> {
    let last = if minute.added { minute.minute + 1 } else { minute.minute };
    (before.minute + 1..last).map(|minute| {
        let minute = MatchMinute { minute, added: false };
        FootballFact::Analysis(Analysis::Momentum(Momentum { minute, value: 0 }))
    })
}

/// The first side's share of both, in whole percent.
fn share([first, second]: Pair<Micros>) -> Option<u32> {
    let all = first + second;
    let share = (100 * first + all / 2).checked_div(all)?;
    u32::try_from(share).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stoppage_does_not_count_as_possession() {
        let mut analyst = Analyst::default();
        let seconds = [(0, Side::First), (5, Side::Second), (600, Side::First), (605, Side::First)];
        for (second, side) in seconds {
            analyst.held_by(side, Period::FirstHalf, second * 1_000_000);
        }
        // 5 s and 5 s of the first side, 10 of the 595 s of the second one.
        assert_eq!(analyst.held_us, [10_000_000, 10_000_000]);
    }
}

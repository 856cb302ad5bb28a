//! The counts of both sides, and which of them have not been reported yet.

use std::collections::{BTreeMap, BTreeSet};

use facts::event::{FootballFact, Half, Side, Situation, Stat};

/// Seconds of the match between two reports of the counts that rise all the time.
const SLOW_EVERY_S: u32 = 60;

#[derive(Debug, Default)]
pub(super) struct Tally {
    counts: BTreeMap<(Side, Stat), u32>,
    changed: BTreeSet<(Side, Stat)>,
    /// Turns with the ball: possession is a side's share of them.
    turns: [u32; 2],
    /// The same of the first half.
    first_turns: [u32; 2],
    /// Of each side, passes tried and passes that arrived.
    passes: [[u32; 2]; 2],
    slow_due_s: u32,
}

impl Tally {
    pub(super) fn count(&mut self, side: Side, stat: Stat) {
        *self.counts.entry((side, stat)).or_default() += 1;
        self.changed.insert((side, stat));
    }

    /// A side had the ball for one turn.
    pub(super) fn held(&mut self, side: Side, arrived: bool, half: Half) {
        self.turns[side.index()] += 1;
        if half == Half::First {
            self.first_turns[side.index()] += 1;
        }
        let [tried, accurate] = &mut self.passes[side.index()];
        *tried += 1;
        *accurate += u32::from(arrived);
    }

    /// All counts of a side.
    pub(super) fn of_side(&self, side: Side) -> BTreeMap<Stat, u32> {
        let counts = self.counts.iter().filter(|((whose, _), _)| *whose == side);
        counts.map(|((_, stat), count)| (*stat, *count)).collect()
    }

    /// A count of both sides together.
    pub(super) fn of_both(&self, stat: Stat) -> u16 {
        let count = |side| self.counts.get(&(side, stat)).copied().unwrap_or(0);
        Side::BOTH.map(count).iter().sum::<u32>().try_into().unwrap_or(u16::MAX)
    }

    /// A side's share of the turns of a half, in percent.
    pub(super) fn possession(&self, side: Side, half: Half) -> Option<u32> {
        let turns = match half {
            Half::First => self.first_turns,
            Half::Second => [0, 1].map(|side: usize| self.turns[side] - self.first_turns[side]),
        };
        let all: u32 = turns.iter().sum();
        let home = (turns[0] * 100 + all / 2).checked_div(all)?;
        Some(if side == Side::First { home } else { 100 - home })
    }

    /// The changes since the last report; `last`: including the counts that rise all the time.
    pub(super) fn take_facts(&mut self, second: u32, last: bool) -> Vec<FootballFact> {
        if last || second >= self.slow_due_s {
            self.slow_due_s = second + SLOW_EVERY_S;
            self.count_slow();
        }
        if self.changed.is_empty() {
            return Vec::new();
        }
        let changed = std::mem::take(&mut self.changed);
        Side::BOTH.into_iter().filter_map(|side| self.changes_of(side, &changed)).collect()
    }

    fn changes_of(&self, side: Side, changed: &BTreeSet<(Side, Stat)>) -> Option<FootballFact> {
        let counts = changed.iter().filter(|(whose, _)| *whose == side);
        let values: Vec<_> = counts.map(|key| (key.1, self.counts[key])).collect();
        (!values.is_empty()).then_some(FootballFact::Stats { side, values })
    }

    fn count_slow(&mut self) {
        let all: u32 = self.turns.iter().sum();
        if all == 0 {
            return;
        }
        let home = (self.turns[0] * 100 + all / 2) / all;
        for (side, share) in Side::BOTH.into_iter().zip([home, 100 - home]) {
            let [tried, accurate] = self.passes[side.index()];
            self.set(side, Stat::BallPossession, share);
            self.set(side, Stat::Passes, tried);
            self.set(side, Stat::AccuratePasses, accurate);
        }
    }

    fn set(&mut self, side: Side, stat: Stat, value: u32) {
        if self.counts.insert((side, stat), value) != Some(value) {
            self.changed.insert((side, stat));
        }
    }
}

/// The count that rises when play comes into a situation.
pub(super) fn counted(situation: Situation) -> Option<Stat> {
    Some(match situation {
        Situation::Attack => Stat::Attacks,
        Situation::Dangerous => Stat::DangerousAttacks,
        Situation::Corner => Stat::CornerKicks,
        Situation::FreeKick => Stat::FreeKicks,
        Situation::ThrowIn => Stat::ThrowIns,
        Situation::GoalKick => Stat::GoalKicks,
        _ => return None,
    })
}

//! Blocks of ticks: each match has one that is open, to which new ticks are added until it is full.

use base::Micros;

use crate::archive::odds::Tick;

/// Ticks in a block: some 3 KiB. The open one is written again with each new tick.
const TICKS_MAX: usize = 256;
/// The ticks of a block were received within this time, so that deleting whole blocks by age is precise to a day.
const SPAN_MAX_US: Micros = 86_400_000_000;

/// Some of the ticks of a match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TrailBlock {
    /// Increases within a match.
    pub(super) number: i64,
    /// When the first and the last tick were received.
    pub(super) from_us: Micros,
    pub(super) until_us: Micros,
    /// By row and time.
    pub(super) ticks: Vec<Tick>,
}

impl TrailBlock {
    pub(super) fn new(number: i64, ticks: Vec<Tick>) -> Option<Self> {
        let received = || ticks.iter().map(|tick| tick.received_us);
        let (from_us, until_us) = (received().min()?, received().max()?);
        Some(Self { number, from_us, until_us, ticks })
    }

    /// Adds ticks to the open block, if there is one; returns the blocks that have to be written. A tick
    /// with the row and the time of another one replaces it.
    pub(super) fn append(open: Option<Self>, mut ticks: Vec<Tick>) -> Vec<Self> {
        ticks.sort_by_key(|tick| tick.received_us);
        let mut blocks: Vec<Self> = open.into_iter().collect();
        for tick in ticks {
            match blocks.last_mut() {
                Some(block) if block.accepts(&tick) => block.add(tick),
                last => {
                    let number = last.map_or(0, |last| last.number + 1);
                    blocks.extend(Self::new(number, vec![tick]));
                }
            }
        }
        for block in &mut blocks {
            sort(&mut block.ticks);
        }
        blocks
    }

    fn accepts(&self, tick: &Tick) -> bool {
        let (from, until) = self.span_with(tick);
        self.ticks.len() < TICKS_MAX && until.saturating_sub(from) < SPAN_MAX_US
    }

    fn add(&mut self, tick: Tick) {
        (self.from_us, self.until_us) = self.span_with(&tick);
        self.ticks.push(tick);
    }

    fn span_with(&self, tick: &Tick) -> (Micros, Micros) {
        (self.from_us.min(tick.received_us), self.until_us.max(tick.received_us))
    }
}

/// Sorts ticks by row and time; of two of one row and time the later one of the list stays.
pub(super) fn sort(ticks: &mut Vec<Tick>) {
    ticks.reverse();
    ticks.sort_by_key(|tick| (tick.odds, tick.at_us));
    ticks.dedup_by_key(|tick| (tick.odds, tick.at_us));
}

#[cfg(test)]
mod tests;

//! Counts of one side, as far as single events give them.

use std::collections::BTreeMap;

use facts::event::Stat;

#[derive(Debug, Default)]
pub(super) struct Tally(BTreeMap<Stat, u32>);

impl Tally {
    /// Counts an event of this side and says which counts are new.
    pub(super) fn count(&mut self, stats: impl IntoIterator<Item = Stat>) -> Vec<(Stat, u32)> {
        let mut add = |stat| {
            let count = self.0.entry(stat).or_default();
            *count += 1;
            (stat, *count)
        };
        stats.into_iter().map(&mut add).collect()
    }
}

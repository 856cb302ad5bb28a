//! The doubts reported so far, so that each is reported once.

use std::collections::VecDeque;

use borsh::{BorshDeserialize, BorshSerialize};
use facts::event::Id;
use rustc_hash::FxHashSet;

/// Maximum number of doubts, in memory (40 bytes each) and in the store. Beyond it, the oldest is
/// dropped, and reported again if one of its matches is introduced again.
pub const DOUBTS_MAX: usize = 10_000;

#[derive(Debug, Clone, Default, BorshSerialize, BorshDeserialize)]
#[borsh(init = reindex)]
pub(super) struct Doubts {
    #[borsh(skip)]
    pairs: FxHashSet<(Id, Id)>,
    order: VecDeque<(Id, Id)>,
}

impl Doubts {
    /// Finds the pairs again, after they were restored in their order.
    fn reindex(&mut self) {
        self.pairs = self.order.iter().copied().collect();
    }

    /// Adds a doubt; returns false if it was reported before.
    pub(super) fn insert(&mut self, pair: (Id, Id)) -> bool {
        if !self.pairs.insert(pair) {
            return false;
        }
        self.order.push_back(pair);
        if self.order.len() > DOUBTS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.pairs.remove(&oldest);
        }
        true
    }

    /// All, the oldest first.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (Id, Id)> {
        self.order.iter().copied()
    }

    pub(super) fn pairs_with(&self, id: Id) -> impl Iterator<Item = (Id, Id)> {
        self.order.iter().copied().filter(move |(one, other)| *one == id || *other == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_doubt_is_evicted_at_the_limit() {
        let mut doubts = Doubts::default();
        for number in 1..=DOUBTS_MAX as u64 + 1 {
            assert!(doubts.insert((Id(0), Id(number))));
        }
        assert_eq!((doubts.pairs.len(), doubts.order.len()), (DOUBTS_MAX, DOUBTS_MAX));
        assert!(doubts.insert((Id(0), Id(1))), "it was forgotten");
        assert!(!doubts.insert((Id(0), Id(3))));
    }
}

//! The ids of signals, which are too many to be stored forever.

use std::collections::VecDeque;

use borsh::{BorshDeserialize, BorshSerialize};
use facts::event::Id;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::ids::{NUMBERS_MAX, choices};
use record::Key;

/// Signals whose ids are remembered, more than can be requested. About 60 bytes each.
const REMEMBERED_MAX: usize = 65_536;

/// The ids of the latest signals. Each gets the first of its choices that is free, so nearly all
/// get the same id again when a demo replays its past.
#[derive(Debug, Clone, Default, BorshSerialize, BorshDeserialize)]
#[borsh(init = reindex)]
pub(super) struct SignalNumbers {
    numbers: FxHashMap<Id, Key>,
    #[borsh(skip)]
    taken: FxHashSet<Key>,
    /// The oldest first.
    order: VecDeque<Id>,
}

impl SignalNumbers {
    /// Finds the taken numbers again, after they were restored.
    fn reindex(&mut self) {
        self.taken = self.numbers.values().copied().collect();
    }

    pub(super) fn number(&mut self, digest: Id) -> Key {
        if let Some(number) = self.numbers.get(&digest) {
            return *number;
        }
        let free = choices(digest, NUMBERS_MAX).map(Key::from);
        let number = { free }.find(|number| !self.taken.contains(number));
        let number = number.expect("far fewer are taken than there are");
        self.insert(digest, number);
        number
    }

    pub(super) fn insert(&mut self, digest: Id, number: Key) {
        if self.numbers.contains_key(&digest) || !self.taken.insert(number) {
            return;
        }
        self.numbers.insert(digest, number);
        self.order.push_back(digest);
        if self.order.len() > REMEMBERED_MAX
            && let Some(oldest) = self.order.pop_front()
            && let Some(number) = self.numbers.remove(&oldest)
        {
            self.taken.remove(&number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colliding_ids_get_different_stable_numbers() {
        let one = Id(7);
        let other = Id(7 + u64::from(NUMBERS_MAX));
        let mut numbers = SignalNumbers::default();
        let given = [numbers.number(one), numbers.number(other)];
        assert_eq!(given[0], 8);
        assert_ne!(given[0], given[1]);
        // A later run reads the numbers from the database, in another order.
        let mut later = SignalNumbers::default();
        later.insert(other, given[1]);
        later.insert(one, given[0]);
        assert_eq!([later.number(other), later.number(one)], [given[1], given[0]]);
    }

    #[test]
    fn remembered_numbers_are_limited() {
        let mut numbers = SignalNumbers::default();
        for number in 0..=REMEMBERED_MAX as u64 {
            numbers.number(Id(number));
        }
        assert_eq!((numbers.numbers.len(), numbers.taken.len()), (REMEMBERED_MAX, REMEMBERED_MAX));
        assert!(!numbers.numbers.contains_key(&Id(0)), "the oldest goes first");
    }
}

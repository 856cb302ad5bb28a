//! Markets that were closed or refused. Messages about them may still arrive, and must be
//! distinguished from messages about a market whose definition was missed.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
};

/// How many are remembered, about 60 bytes each: the size of the largest subscription by arrangement.
const RETIRED_MAX: usize = 1000;

/// The ids of the markets that were retired last.
#[derive(Debug, Default)]
pub(super) struct RetiredMarkets {
    ids: HashSet<Arc<str>>,
    oldest_first: VecDeque<Arc<str>>,
}

impl RetiredMarkets {
    pub(super) fn insert(&mut self, id: Arc<str>) {
        if !self.ids.insert(id.clone()) {
            return;
        }
        self.oldest_first.push_back(id);
        if self.oldest_first.len() > RETIRED_MAX {
            let oldest = self.oldest_first.pop_front();
            oldest.iter().for_each(|id| drop(self.ids.take(id)));
        }
    }

    pub(super) fn contains(&self, id: &str) -> bool {
        self.ids.contains(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_recently_retired_markets_are_remembered() {
        let mut retired = RetiredMarkets::default();
        (0..2 * RETIRED_MAX).for_each(|id| retired.insert(id.to_string().into()));
        retired.insert((2 * RETIRED_MAX - 1).to_string().into());
        let contains = |id: usize| retired.contains(&id.to_string());
        assert!(
            !contains(RETIRED_MAX - 1) && contains(RETIRED_MAX) && contains(2 * RETIRED_MAX - 1)
        );
        assert_eq!((retired.ids.len(), retired.oldest_first.len()), (RETIRED_MAX, RETIRED_MAX));
    }
}

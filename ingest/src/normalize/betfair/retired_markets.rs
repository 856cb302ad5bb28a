//! Markets of which more may be heard although they are not known any more: closed ones, and those
//! that were refused. Whoever follows a connection must tell them from a market that it has missed.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
};

/// How many are remembered, about 60 bytes each: as many as a subscription by arrangement has.
const GONE_MAX: usize = 1000;

/// The markets that went last.
#[derive(Debug, Default)]
pub(super) struct Gone {
    ids: HashSet<Arc<str>>,
    oldest_first: VecDeque<Arc<str>>,
}

impl Gone {
    pub(super) fn insert(&mut self, id: Arc<str>) {
        if !self.ids.insert(id.clone()) {
            return;
        }
        self.oldest_first.push_back(id);
        if self.oldest_first.len() > GONE_MAX {
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
    fn those_that_went_last_are_remembered() {
        let mut gone = Gone::default();
        (0..2 * GONE_MAX).for_each(|id| gone.insert(id.to_string().into()));
        gone.insert((2 * GONE_MAX - 1).to_string().into());
        let known = |id: usize| gone.contains(&id.to_string());
        assert!(!known(GONE_MAX - 1) && known(GONE_MAX) && known(2 * GONE_MAX - 1));
        assert_eq!((gone.ids.len(), gone.oldest_first.len()), (GONE_MAX, GONE_MAX));
    }
}

//! Matches whose prices readers over HTTP may still see although sockets have lost them.

use std::{
    collections::HashMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::{Key, MatchRecord, PlayRecord};

/// The withdrawals that sockets may know before the records do; clones share them.
///
/// The committer notes them before it publishes, and the follower settles them once its export has them. In
/// between, readers treat all prices of the match as suspended, however far the follower is behind.
#[derive(Debug, Clone, Default)]
pub struct Withdrawals {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// By match, the last record that withdraws a price of it.
    pending: RwLock<HashMap<Key, u64>>,
    version: AtomicU64,
}

impl Withdrawals {
    /// Prices of these matches are withdrawn by the records up to this number.
    pub fn note(&self, matches: impl IntoIterator<Item = Key>, record: u64) {
        let mut matches = matches.into_iter().peekable();
        if matches.peek().is_none() {
            return;
        }
        let mut pending = self.shared.pending.write().unwrap_or_else(PoisonError::into_inner);
        pending.extend(matches.map(|id| (id, record)));
        drop(pending);
        self.shared.version.fetch_add(1, Ordering::Release);
    }

    /// Readers have what the records up to this number contain.
    pub fn settle(&self, record: u64) {
        let is_late = |pending: &HashMap<Key, u64>| pending.values().any(|last| *last <= record);
        if !is_late(&self.shared.pending.read().unwrap_or_else(PoisonError::into_inner)) {
            return;
        }
        let mut pending = self.shared.pending.write().unwrap_or_else(PoisonError::into_inner);
        pending.retain(|_, last| *last > record);
        drop(pending);
        self.shared.version.fetch_add(1, Ordering::Release);
    }

    /// Whether prices of a match are withdrawn that readers may still have.
    #[must_use]
    pub fn contains(&self, id: Key) -> bool {
        let pending = self.shared.pending.read().unwrap_or_else(PoisonError::into_inner);
        pending.contains_key(&id)
    }

    /// Increases with every change.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.shared.version.load(Ordering::Acquire)
    }
}

impl MatchRecord {
    /// This record with every price withdrawn.
    #[must_use]
    pub fn without_offers(&self) -> Self {
        let mut record = self.clone();
        for price in &mut record.prices {
            (price.price, price.open) = (None, false);
        }
        if let PlayRecord::Race(race) = &mut record.play {
            for price in &mut race.prices {
                (price.price, price.open) = (None, false);
            }
        }
        record
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn withdrawal_is_pending_until_readers_have_its_last_record() {
        let withdrawals = Withdrawals::default();
        withdrawals.note([1, 2], 10);
        withdrawals.note([1], 12);
        let version = withdrawals.version();
        withdrawals.settle(9);
        assert_eq!(withdrawals.version(), version, "nothing was settled");
        withdrawals.settle(11);
        assert_eq!([1, 2].map(|id| withdrawals.contains(id)), [true, false]);
        withdrawals.settle(12);
        assert!(!withdrawals.contains(1));
        assert!(withdrawals.version() > version);
    }
}

//! What one account uses of one product on one day, as far as this process knows.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::OnceCell;

use super::{
    Call, Day,
    counts::{AtomicCounts, Counts},
};
use crate::{accounts::AccountId, products::Product};

/// Whose tally it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Slot {
    pub(super) account: AccountId,
    pub(super) product: Product,
    pub(super) day: Day,
}

/// Numbers that only ever grow: what has been counted here, and how much of that is known to be in
/// the store. What a failed flush leaves behind is simply still the difference.
#[derive(Debug, Default)]
pub(super) struct Tally {
    counted: AtomicCounts,
    /// Changed by the flush alone.
    stored: AtomicCounts,
    /// Calls of either kind that were counted here: the one number that quotas are decided by.
    calls: AtomicU64,
    /// Calls in the store that were not counted here: from before, and by other processes.
    others: AtomicU64,
    /// Set when `others` has been read.
    loaded: OnceCell<()>,
}

impl Tally {
    pub(super) fn add(&self, counts: Counts) {
        self.calls.fetch_add(counts.all_calls(), Ordering::Relaxed);
        self.counted.add(counts);
    }

    /// Counts a call if fewer than `limit` were made, and says how many more may be. Of many at the
    /// same time, exactly as many get through as may.
    pub(super) fn reserve(&self, call: Call, limit: u64) -> Option<u64> {
        let others = self.others.load(Ordering::Relaxed);
        let next = |calls: u64| (calls.saturating_add(others) < limit).then_some(calls + 1);
        let before = self.calls.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()?;
        self.counted.add(call.counts());
        Some(limit - others - before - 1)
    }

    /// Calls today, wherever they were counted.
    pub(super) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed).saturating_add(self.others.load(Ordering::Relaxed))
    }

    pub(super) fn loaded(&self) -> &OnceCell<()> {
        &self.loaded
    }

    /// All that was counted so far.
    pub(super) fn counted(&self) -> Counts {
        self.counted.read()
    }

    /// What the store is known to have of it.
    pub(super) fn stored(&self) -> Counts {
        self.stored.read()
    }

    /// What the store does not have, as far as is known.
    pub(super) fn unstored(&self) -> Counts {
        self.counted().since(self.stored())
    }

    /// The store has all that was `counted` when it was written.
    pub(super) fn is_stored(&self, counted: Counts) {
        self.stored.add(counted.since(self.stored.read()));
    }

    /// The store has so many calls in all, of which it was told here what is stored.
    pub(super) fn store_has(&self, calls: u64) {
        let others = calls.saturating_sub(self.stored.read().all_calls());
        self.others.store(others, Ordering::Relaxed);
        // An error means that it was known before, and is now known better.
        self.loaded.set(()).ok();
    }
}

//! One account's usage of one product on one day, as known to this process.

use std::sync::{
    OnceLock,
    atomic::{AtomicI64, AtomicU64, Ordering},
};

use tokio::sync::OnceCell;

use super::{
    Call, Day,
    call_time::still_holds,
    counts::{AtomicCounts, Counts},
    lease::{QuotaLease, QuotaPart},
};
use crate::{
    accounts::{AccountId, Micros},
    products::Product,
};

/// The key of a tally.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Slot {
    pub(super) account: AccountId,
    pub(super) product: Product,
    pub(super) day: Day,
}

/// Numbers that only increase: what was counted here, and how much of it is known to be stored. A
/// failed flush simply leaves the difference.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Distinguishes it from all other tallies of this writer, also from earlier ones of its slot.
    id: u64,
    /// The version of the journal that has this tally's slot.
    journaled: AtomicU64,
    counted: AtomicCounts,
    /// Changed only by a flush.
    stored: AtomicCounts,
    /// Calls of both kinds counted here, which quotas are based on.
    calls: AtomicU64,
    /// Calls in the store that were not counted here: from before, and by other processes.
    others: AtomicU64,
    /// Set once `others` has been loaded.
    loaded: OnceCell<()>,
    /// When they could not be loaded; 0 if that has not happened.
    load_failed: AtomicI64,
    /// Set in a cluster, where a quota applies.
    lease: OnceLock<Box<QuotaLease>>,
}

impl Tally {
    pub(super) fn new(id: u64) -> Self {
        Self { id, ..Self::default() }
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// Whether the journal needs its slot in this version, which from now on it has.
    pub(super) fn journaled_in(&self, version: u64) -> bool {
        self.journaled.swap(version, Ordering::Relaxed) != version
    }

    pub(super) fn add(&self, counts: Counts) {
        self.calls.fetch_add(counts.all_calls(), Ordering::Relaxed);
        self.counted.add(counts);
    }

    /// Counts a call if fewer than `limit` were made, and returns how many are left. Of concurrent
    /// calls, exactly as many succeed as are left.
    pub(super) fn reserve(&self, call: Call, limit: u64) -> Option<u64> {
        let others = self.others.load(Ordering::Relaxed);
        let next = |calls: u64| (calls.saturating_add(others) < limit).then_some(calls + 1);
        let before = self.calls.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()?;
        self.counted.add(call.counts());
        Some(limit - others - before - 1)
    }

    /// Counts a call if the lease of this node has one left, and returns how many are left of the quota.
    pub(super) fn reserve_leased(&self, call: Call, limit: u64, now: Micros) -> Option<u64> {
        let left = self.lease().admit(limit, now)?;
        self.add(call.counts());
        Some(left)
    }

    pub(super) fn lease(&self) -> &QuotaLease {
        self.lease.get_or_init(Box::default)
    }

    /// Ends its lease, if it has one, and that was last used before this moment; returns what was left of it.
    pub(super) fn end_lease(&self, before: Micros) -> Option<QuotaPart> {
        self.lease.get().map(|lease| lease.end(before))
    }

    /// Whether this node may admit calls without asking the store.
    pub(super) fn has_lease(&self) -> bool {
        self.lease.get().is_some_and(|lease| lease.left() > 0)
    }

    /// Calls today, by all processes.
    pub(super) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed).saturating_add(self.others.load(Ordering::Relaxed))
    }

    pub(super) fn loaded(&self) -> &OnceCell<()> {
        &self.loaded
    }

    /// Records that `others` could not be loaded. `now`: when that was known.
    pub(super) fn load_failed(&self, now: Micros) {
        self.load_failed.store(now, Ordering::Relaxed);
    }

    /// Whether the store failed so lately that it is not asked again.
    pub(super) fn has_load_failed(&self, now: Micros) -> bool {
        let failed = self.load_failed.load(Ordering::Relaxed);
        failed != 0 && still_holds(failed, now)
    }

    /// Everything counted so far.
    pub(super) fn counted(&self) -> Counts {
        self.counted.read()
    }

    /// The part known to be stored.
    pub(super) fn stored(&self) -> Counts {
        self.stored.read()
    }

    /// The part not known to be stored.
    pub(super) fn unstored(&self) -> Counts {
        self.counted().since(self.stored())
    }

    /// Records that the store has everything `counted` at the time of the write.
    pub(super) fn is_stored(&self, counted: Counts) {
        self.stored.add(counted.since(self.stored.read()));
    }

    /// Updates `others` from the store's total of calls.
    pub(super) fn store_has(&self, calls: u64) {
        let others = calls.saturating_sub(self.stored.read().all_calls());
        self.others.store(others, Ordering::Relaxed);
        // An error means that it was loaded before, and is now more precise.
        self.loaded.set(()).ok();
    }
}

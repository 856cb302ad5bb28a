//! All tallies of this process, bounded in number.
//!
//! A tally is counted on and removed only under its map entry's lock, so that nothing is counted on
//! a removed tally.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use dashmap::{DashMap, Entry};
use rustc_hash::FxBuildHasher;
use tokio::sync::Notify;

use super::{
    Counts, Day, UsageDay,
    lease::QuotaPart,
    tally::{Slot, Tally},
};
use crate::{
    accounts::{AccountId, Micros},
    products::Product,
};

#[derive(Debug)]
pub(super) struct Tallies {
    map: DashMap<Slot, Arc<Tally>, FxBuildHasher>,
    len: AtomicUsize,
    max: usize,
    /// The id of the next tally.
    next_id: AtomicU64,
    /// Notified when a flush should happen early.
    crowded: Notify,
}

impl Tallies {
    pub(super) fn new(max: usize) -> Self {
        Self {
            map: DashMap::default(),
            len: AtomicUsize::new(0),
            max,
            next_id: AtomicU64::new(1),
            crowded: Notify::new(),
        }
    }

    /// Accesses a tally, which is created if missing; `None` if there is no room.
    pub(super) fn with<R>(&self, slot: Slot, act: impl FnOnce(&Arc<Tally>) -> R) -> Option<R> {
        if let Some(tally) = self.map.get(&slot) {
            return Some(act(&tally));
        }
        match self.map.entry(slot) {
            Entry::Occupied(entry) => Some(act(entry.get())),
            Entry::Vacant(entry) => {
                let len = self.len.fetch_add(1, Ordering::Relaxed) + 1;
                if len > self.max {
                    self.len.fetch_sub(1, Ordering::Relaxed);
                }
                if len == self.max / 2 || len > self.max {
                    self.crowded.notify_one();
                }
                if len > self.max {
                    return None;
                }
                let id = self.next_id.fetch_add(1, Ordering::Relaxed);
                Some(act(&entry.insert(Arc::new(Tally::new(id)))))
            }
        }
    }

    /// Waits until little room is left.
    pub(super) async fn crowded(&self) {
        self.crowded.notified().await;
    }

    /// Whether little room is left.
    pub(super) fn is_crowded(&self) -> bool {
        self.len() >= self.max / 2
    }

    pub(super) fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// The tallies with unstored counts.
    pub(super) fn unstored(&self) -> Vec<(Slot, Arc<Tally>)> {
        let unstored = self.map.iter().filter(|it| !it.unstored().is_zero());
        unstored.map(|it| (*it.key(), Arc::clone(&it))).collect()
    }

    /// An account's unstored usage, from one day to another.
    pub(super) fn days(&self, account: AccountId, from: Day, to: Day) -> Vec<UsageDay> {
        let slots = (from.0..=to.0).flat_map(|day| {
            Product::all().map(move |product| Slot { account, product, day: Day(day) })
        });
        slots.filter_map(|slot| Some(usage_day(slot, self.map.get(&slot)?.unstored()))).collect()
    }

    /// Ends leases that were last used before this moment; returns what is left of those of today.
    pub(super) fn end_leases(&self, before: Micros, today: Day) -> Vec<(Slot, QuotaPart)> {
        let ended = self.map.iter().filter_map(|it| Some((*it.key(), it.end_lease(before)?)));
        ended.filter(|(slot, left)| left.calls > 0 && slot.day >= today).collect()
    }

    /// Goes on with leases that were ended and not returned, as far as there is room.
    pub(super) fn go_on_with_leases(&self, ended: Vec<(Slot, QuotaPart)>) {
        for (slot, part) in ended {
            self.with(slot, |tally| tally.lease().go_on(part));
        }
    }

    /// Evicts tallies whose counts are stored: those of past days and, if there is little room, of
    /// today too, which are loaded again on demand. Those with a lease are kept until it is returned.
    pub(super) fn tidy(&self, today: Day) {
        let crowded = self.is_crowded();
        self.map.retain(|slot, tally| {
            let is_needed = !crowded || tally.has_lease();
            let keep = !tally.unstored().is_zero() || slot.day >= today && is_needed;
            if !keep {
                self.len.fetch_sub(1, Ordering::Relaxed);
            }
            keep
        });
    }
}

fn usage_day(slot: Slot, counts: Counts) -> UsageDay {
    UsageDay { day: slot.day, product: slot.product, counts }
}

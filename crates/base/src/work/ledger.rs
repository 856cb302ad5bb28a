//! What each payer has used, and what it owes. Data only: times are arguments.

use std::{cmp::Reverse, sync::Arc, time::Duration};

use rustc_hash::FxHashMap;

use super::{Payer, Pool};
use crate::Micros;

/// Maximum payers, about 200 bytes each. Beyond it those that owe nothing go, then those that owe least.
const PAYERS_MAX: usize = 8_192;
/// What was used counts half after this time.
const HALF_LIFE_US: Micros = 300_000_000;

/// The limits of each payer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkLimits {
    /// The share in the long run, in hundredths of a core. 0: without a limit.
    pub percent: u32,
    /// Processor time that may be used ahead of the share.
    pub burst: Duration,
    /// Requests of one payer that may wait for its share.
    pub waiting_max: usize,
}

impl WorkLimits {
    /// Nobody waits.
    pub const UNLIMITED: Self = Self { percent: 0, burst: Duration::ZERO, waiting_max: 0 };

    /// How long the share takes to pay for this much processor time.
    fn time_to_pay(&self, used: Duration) -> Micros {
        let percent = u128::from(self.percent);
        let time = (used.as_micros() * 100).checked_div(percent).unwrap_or_default();
        // A century, so that sums do not overflow.
        Micros::try_from(time).unwrap_or(Micros::MAX).min(3_200_000_000_000_000)
    }
}

/// What a payer has used recently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PayerUse {
    /// Who.
    pub payer: Payer,
    /// Processor time, halved every five minutes.
    pub recent: Duration,
    /// The pool that took most of it.
    pub pool: Pool,
    /// How long until it may start more work.
    pub debt: Duration,
    /// Requests that wait until then.
    pub waiting: usize,
}

#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) limits: WorkLimits,
    entries: FxHashMap<Payer, Entry>,
}

#[derive(Debug, Default)]
pub(super) struct Entry {
    /// When its share will have paid for everything that it used.
    paid_at: Micros,
    /// The recent cost of one of its requests. It is charged when a request is admitted, and corrected when
    /// it ends.
    usual: Duration,
    /// The longest of its recent requests: an eighth less with each further one.
    longest: Duration,
    /// Microseconds by pool, halved since `halved_at`.
    recent: [u32; Pool::ALL.len()],
    halved_at: Micros,
    /// Waiting requests; the one that holds the lock is next.
    pub(super) queue: Arc<tokio::sync::Mutex<()>>,
    pub(super) waiting: usize,
}

impl Ledger {
    pub(super) fn new(limits: WorkLimits) -> Self {
        Self { limits, entries: FxHashMap::default() }
    }

    pub(super) fn charge(&mut self, payer: Payer, pool: Pool, used: Duration, now: Micros) {
        self.charge_debt(payer, used, now);
        self.entry(payer, now).add(pool, used, now);
    }

    /// Charges without saying for what.
    pub(super) fn charge_debt(&mut self, payer: Payer, used: Duration, now: Micros) {
        let time = self.limits.time_to_pay(used);
        let entry = self.entry(payer, now);
        entry.paid_at = entry.paid_at.max(now).saturating_add(time);
    }

    /// Charges the usual cost of a request in advance.
    pub(super) fn take_usual(&mut self, payer: Payer, now: Micros) -> Duration {
        let usual = self.entry(payer, now).usual;
        self.charge_debt(payer, usual, now);
        usual
    }

    /// Charges a request that has ended, less what was taken in advance. Time in which it only waited pays for nothing.
    pub(super) fn settle(
        &mut self,
        payer: Payer,
        pool: Pool,
        taken: Duration,
        used: Duration,
        now: Micros,
    ) {
        let [to_add, to_return] = [used, taken].map(|time| self.limits.time_to_pay(time));
        let worked = Micros::try_from(used.as_micros()).unwrap_or(Micros::MAX);
        let entry = self.entry(payer, now);
        entry.usual = (entry.usual * 7 + used) / 8;
        entry.longest = used.max(entry.longest * 7 / 8);
        let before = entry.paid_at.saturating_sub(to_return).max(now.saturating_sub(worked));
        entry.paid_at = before.saturating_add(to_add);
        entry.add(pool, used, now);
    }

    /// The longest of the recent requests of a payer: short ones among them do not hide it.
    pub(super) fn longest(&self, payer: Payer) -> Duration {
        self.entries.get(&payer).map_or(Duration::ZERO, |entry| entry.longest)
    }

    /// A request of this payer has taken so long so far.
    pub(super) fn set_longest(&mut self, payer: Payer, used: Duration, now: Micros) {
        let entry = self.entry(payer, now);
        entry.longest = entry.longest.max(used);
    }

    pub(super) fn debt(&self, payer: Payer, now: Micros) -> Duration {
        let burst =
            Duration::from_micros(self.limits.time_to_pay(self.limits.burst).unsigned_abs());
        self.unpaid(payer, now).saturating_sub(burst)
    }

    pub(super) fn unpaid(&self, payer: Payer, now: Micros) -> Duration {
        if self.limits.percent == 0 {
            return Duration::ZERO;
        }
        let paid_at = self.entries.get(&payer).map_or(now, |entry| entry.paid_at);
        Duration::from_micros(u64::try_from(paid_at.saturating_sub(now)).unwrap_or(0))
    }

    pub(super) fn dearest(&self, n: usize, now: Micros) -> Vec<PayerUse> {
        let mut sums: Vec<_> =
            self.entries.iter().map(|(payer, entry)| (entry.sum(now), *payer)).collect();
        sums.sort_unstable_by_key(|(sum, payer)| (Reverse(*sum), *payer));
        sums.truncate(n);
        let used = sums.into_iter().filter(|(sum, _)| *sum > 0);
        used.filter_map(|(sum, payer)| {
            let entry = self.entries.get(&payer)?;
            let most = Pool::ALL.into_iter().zip(entry.recent).max_by_key(|(_, used)| *used)?;
            Some(PayerUse {
                payer,
                recent: Duration::from_micros(sum),
                pool: most.0,
                debt: self.debt(payer, now),
                waiting: entry.waiting,
            })
        })
        .collect()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn get_mut(&mut self, payer: Payer) -> Option<&mut Entry> {
        self.entries.get_mut(&payer)
    }

    pub(super) fn entry(&mut self, payer: Payer, now: Micros) -> &mut Entry {
        if self.entries.len() >= PAYERS_MAX && !self.entries.contains_key(&payer) {
            self.evict(now);
        }
        self.entries.entry(payer).or_insert_with(|| Entry {
            paid_at: now,
            halved_at: now,
            ..Entry::default()
        })
    }

    /// Removes at least half of the payers without waiting requests: those that owe least.
    fn evict(&mut self, now: Micros) {
        let mut owed: Vec<Micros> = self.entries.values().map(|entry| entry.paid_at).collect();
        let middle = owed.len() / 2;
        let (_, median, _) = owed.select_nth_unstable(middle);
        let least = (*median).max(now);
        self.entries.retain(|_, entry| entry.paid_at > least || entry.waiting > 0);
    }
}

impl Entry {
    fn add(&mut self, pool: Pool, used: Duration, now: Micros) {
        let halvings = self.halvings(now);
        if halvings > 0 {
            self.recent = self.recent.map(|used| used.checked_shr(halvings).unwrap_or(0));
            self.halved_at += Micros::from(halvings) * HALF_LIFE_US;
        }
        if let Some(recent) = self.recent.get_mut(pool as usize) {
            *recent = recent.saturating_add(u32::try_from(used.as_micros()).unwrap_or(u32::MAX));
        }
    }

    fn halvings(&self, now: Micros) -> u32 {
        u32::try_from(now.saturating_sub(self.halved_at) / HALF_LIFE_US).unwrap_or(0)
    }

    fn sum(&self, now: Micros) -> u64 {
        let sum: u64 = self.recent.iter().map(|used| u64::from(*used)).sum();
        sum.checked_shr(self.halvings(now)).unwrap_or(0)
    }
}

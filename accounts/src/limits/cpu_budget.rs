//! CPU budgets of accounts: a rate in the long run, and a burst.
//!
//! Requests of an account over its budget are not refused. They queue until the budget has recovered. A
//! sequential client slows down and sees no error; a client with too many queued requests gets 429.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rustc_hash::FxHashMap;
use tokio::time::{Instant, sleep};

use super::{
    LimitsKey, RetryAfter,
    shared::{UnreportedUse, Uses},
};
use crate::accounts::AccountId;

/// Number of accounts at which those without debt are dropped.
const SWEEP_AT: usize = 1024;

/// The budgets of all accounts.
#[derive(Debug)]
pub(super) struct CpuBudgets {
    /// Hundredths of a core; never 0.
    percent: u32,
    /// The burst: how far ahead of its share an account may be.
    ahead_max: Duration,
    /// Maximum waiting requests of one account.
    waiting_max: usize,
    accounts: Mutex<Budgets>,
    /// For other nodes, in microseconds.
    unreported: Option<UnreportedUse>,
}

#[derive(Debug, Default)]
struct Budgets {
    of: FxHashMap<AccountId, Budget>,
    sweep_at: usize,
}

#[derive(Debug)]
struct Budget {
    /// When its share will have paid for everything it has used.
    paid_at: Instant,
    /// The recent cost of one of its requests. It is charged when a request is admitted, and
    /// corrected when it ends: concurrent requests are not free.
    usual: Duration,
    /// Waiting requests; the one that holds the lock is next.
    queue: Arc<tokio::sync::Mutex<()>>,
    waiting: usize,
}

/// An admitted request.
#[derive(Debug)]
#[must_use = "what it uses is to be charged"]
pub struct CpuPermit {
    account: AccountId,
    taken: Duration,
}

impl CpuBudgets {
    /// `None` where there is no limit.
    pub(super) fn new(
        percent: u32,
        at_once: Duration,
        waiting_max: usize,
        key: &LimitsKey,
    ) -> Option<Self> {
        if percent == 0 {
            return None;
        }
        let ahead_max = at_once * 100 / percent;
        let unreported = key.is_shared().then(UnreportedUse::default);
        Some(Self { percent, ahead_max, waiting_max, accounts: Mutex::default(), unreported })
    }

    /// Admits a request of this account, once it is its turn.
    pub(super) async fn acquire(&self, account: AccountId) -> Result<CpuPermit, RetryAfter> {
        let Some(waiting) = self.enter(account)? else { return Ok(self.take(account)) };
        let _next = waiting.queue.lock().await;
        loop {
            let ahead = self.ahead(account);
            if ahead.is_zero() {
                return Ok(self.take(account));
            }
            sleep(ahead).await;
        }
    }

    /// Records the cost of an admitted request.
    pub(super) fn charge(&self, CpuPermit { account, taken }: CpuPermit, used: Duration) {
        if let Some(told) = &self.unreported {
            let whose = account.number().cast_unsigned();
            told.add(whose, u32::try_from(used.as_micros()).unwrap_or(u32::MAX));
        }
        let mut accounts = self.accounts();
        let Some(account) = accounts.of.get_mut(&account) else { return };
        account.usual = (account.usual * 7 + used) / 8;
        account.paid_at = account.paid_at + self.time_to_pay(used) - self.time_to_pay(taken);
    }

    /// Charges what an account has used at another node.
    pub(super) fn charge_elsewhere(&self, account: AccountId, used: Duration) {
        let mut accounts = self.accounts();
        let now = Instant::now();
        let account = accounts.entry(account, now);
        account.paid_at = account.paid_at.max(now) + self.time_to_pay(used);
    }

    /// What was used here since this was last called, in microseconds.
    pub(super) fn drain_taken(&self) -> Uses {
        self.unreported.as_ref().map(UnreportedUse::drain).unwrap_or_default()
    }

    /// A place in the queue, if this request has to wait.
    fn enter(&self, id: AccountId) -> Result<Option<Waiter<'_>>, RetryAfter> {
        let mut accounts = self.accounts();
        let now = Instant::now();
        let account = accounts.entry(id, now);
        let ahead = self.ahead_of(account, now);
        if ahead.is_zero() && account.waiting == 0 {
            return Ok(None);
        }
        if account.waiting >= self.waiting_max {
            return Err(RetryAfter { seconds: ahead.as_secs() + 1 });
        }
        account.waiting += 1;
        Ok(Some(Waiter { budgets: self, account: id, queue: Arc::clone(&account.queue) }))
    }

    fn take(&self, id: AccountId) -> CpuPermit {
        let mut accounts = self.accounts();
        let taken = accounts.of.get_mut(&id).map_or(Duration::ZERO, |account| {
            account.paid_at = account.paid_at.max(Instant::now()) + self.time_to_pay(account.usual);
            account.usual
        });
        CpuPermit { account: id, taken }
    }

    /// How long it exceeds its burst.
    fn ahead(&self, id: AccountId) -> Duration {
        let accounts = self.accounts();
        accounts.of.get(&id).map_or(Duration::ZERO, |it| self.ahead_of(it, Instant::now()))
    }

    fn ahead_of(&self, account: &Budget, now: Instant) -> Duration {
        account.paid_at.saturating_duration_since(now).saturating_sub(self.ahead_max)
    }

    /// How long an account's share takes to pay for this much CPU time.
    fn time_to_pay(&self, used: Duration) -> Duration {
        used * 100 / self.percent
    }

    fn accounts(&self) -> MutexGuard<'_, Budgets> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Budgets {
    fn entry(&mut self, id: AccountId, now: Instant) -> &mut Budget {
        if self.of.len() >= self.sweep_at {
            self.of.retain(|_, it| it.paid_at > now || it.waiting > 0);
            self.sweep_at = (self.of.len() * 2).max(SWEEP_AT);
        }
        self.of.entry(id).or_insert_with(|| Budget {
            paid_at: now,
            usual: Duration::ZERO,
            queue: Arc::default(),
            waiting: 0,
        })
    }
}

/// A request that waits or was just admitted. It may also be cancelled.
struct Waiter<'a> {
    budgets: &'a CpuBudgets,
    account: AccountId,
    queue: Arc<tokio::sync::Mutex<()>>,
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        if let Some(account) = self.budgets.accounts().of.get_mut(&self.account) {
            account.waiting -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: AccountId = AccountId(1);
    const OTHER: AccountId = AccountId(2);

    fn budgets(at_once_ms: u64, waiting_max: usize) -> Arc<CpuBudgets> {
        let budgets = CpuBudgets::new(
            50,
            Duration::from_millis(at_once_ms),
            waiting_max,
            &LimitsKey::random(),
        );
        Arc::new(budgets.expect("a limit"))
    }

    async fn use_up(budgets: &CpuBudgets, account: AccountId, used_ms: u64) {
        let permit = budgets.acquire(account).await.expect("its turn comes");
        budgets.charge(permit, Duration::from_millis(used_ms));
    }

    #[tokio::test(start_paused = true)]
    async fn account_waits_until_its_share_covers_its_usage() {
        let budgets = budgets(20, 4);
        let begun = Instant::now();
        use_up(&budgets, ONE, 60).await;
        assert_eq!(begun.elapsed(), Duration::ZERO, "it had nothing to wait for");
        // 60 ms at half a core are paid after 120 ms, of which it may be 40 ahead.
        use_up(&budgets, ONE, 0).await;
        // A timer may be a millisecond late.
        let waited = begun.elapsed().as_millis();
        assert!((80..=81).contains(&waited), "{waited} ms");
    }

    #[tokio::test]
    async fn other_accounts_do_not_wait() {
        let budgets = budgets(20, 4);
        use_up(&budgets, ONE, 3_600_000).await;
        use_up(&budgets, OTHER, 10).await;
    }

    #[tokio::test]
    async fn account_is_refused_only_while_its_queue_is_full() {
        let budgets = budgets(20, 2);
        use_up(&budgets, ONE, 3_600_000).await;
        let waiting: Vec<_> = (0..2)
            .map(|_| {
                let budgets = Arc::clone(&budgets);
                tokio::spawn(async move { use_up(&budgets, ONE, 1).await })
            })
            .collect();
        tokio::task::yield_now().await;
        let refused = budgets.acquire(ONE).await.expect_err("two wait already");
        assert!(refused.seconds >= 1);
        // A cancelled request frees its place.
        for task in waiting {
            task.abort();
            assert!(task.await.expect_err("it waits").is_cancelled());
        }
        assert!(budgets.enter(ONE).is_ok_and(|place| place.is_some()), "no request waits");
    }

    #[tokio::test(start_paused = true)]
    async fn concurrent_requests_are_charged_in_advance() {
        let budgets = budgets(20, 4);
        use_up(&budgets, ONE, 80).await;
        sleep(budgets.ahead(ONE)).await;
        let first = budgets.acquire(ONE).await.expect("it is its turn");
        assert!(!first.taken.is_zero());
        assert!(!budgets.ahead(ONE).is_zero(), "the next one need not wait");
        budgets.charge(first, Duration::ZERO);
        assert!(budgets.ahead(ONE).is_zero(), "what was taken in advance was not given back");
    }

    #[test]
    fn accounts_without_debt_are_evicted() {
        let budgets = budgets(20, 2);
        for id in 0..10_000 {
            budgets.enter(AccountId(id)).expect("no request waits");
        }
        assert!(budgets.accounts().of.len() <= SWEEP_AT);
    }
}

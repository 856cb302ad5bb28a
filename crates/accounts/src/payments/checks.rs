//! Limits how many webhooks are sent to a provider for verification.
//!
//! Some signatures only the provider can check. Anybody can send such webhooks, and each costs a
//! request to the provider. So each account has a limit of its own, and webhooks about unknown
//! orders share one small limit.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::accounts::AccountId;

/// Concurrent checks: for one account, and for all unknown orders together.
const PER_ACCOUNT_MAX: u32 = 2;
const UNKNOWN_ORDERS_MAX: u32 = 4;

const MINUTE: Duration = Duration::from_secs(60);

/// The number of entries from which idle ones are removed.
const SWEEP_AT_ENTRIES: usize = 1_024;

/// The account whose order a webhook is about; `None` for unknown orders.
type CheckSubject = Option<AccountId>;

#[derive(Debug)]
pub(super) struct Checks {
    per_minute: u32,
    used: Arc<Mutex<HashMap<CheckSubject, CheckUsage>>>,
}

#[derive(Debug)]
struct CheckUsage {
    now: u32,
    since: Instant,
    in_this_minute: u32,
}

/// A check in progress.
#[derive(Debug)]
pub(super) struct CheckPermit {
    used: Arc<Mutex<HashMap<CheckSubject, CheckUsage>>>,
    subject: CheckSubject,
}

impl Checks {
    pub(super) fn new(per_minute: u32) -> Self {
        Self { per_minute, used: Arc::default() }
    }

    /// Begins a check; `None` if a limit is reached. The provider must then send the webhook again.
    pub(super) fn begin(&self, subject: CheckSubject, now: Instant) -> Option<CheckPermit> {
        let mut all = lock(&self.used);
        if all.len() >= SWEEP_AT_ENTRIES && !all.contains_key(&subject) {
            all.retain(|_, used| used.now > 0 || now - used.since < MINUTE);
        }
        let fresh = CheckUsage { now: 0, since: now, in_this_minute: 0 };
        let used = all.entry(subject).or_insert(fresh);
        if now - used.since >= MINUTE {
            (used.since, used.in_this_minute) = (now, 0);
        }
        let most = if subject.is_some() { PER_ACCOUNT_MAX } else { UNKNOWN_ORDERS_MAX };
        if used.now >= most || used.in_this_minute >= self.per_minute {
            return None;
        }
        used.now += 1;
        used.in_this_minute += 1;
        Some(CheckPermit { used: Arc::clone(&self.used), subject })
    }
}

impl Drop for CheckPermit {
    fn drop(&mut self) {
        if let Some(used) = lock(&self.used).get_mut(&self.subject) {
            used.now = used.now.saturating_sub(1);
        }
    }
}

/// The map holds only numbers, so it is valid even after a panic.
fn lock(
    used: &Mutex<HashMap<CheckSubject, CheckUsage>>,
) -> MutexGuard<'_, HashMap<CheckSubject, CheckUsage>> {
    used.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn accounts_have_their_own_allowance_and_unknown_orders_share_one() {
        let (checks, now) = (Checks::new(5), Instant::now());
        let begin = |subject| checks.begin(subject, now);
        let one = Some(AccountId(1));
        let unknown: Vec<_> = (0..9).filter_map(|_| begin(None)).collect();
        assert_eq!(unknown.len(), 4, "at a time");
        let first: Vec<_> = (0..9).filter_map(|_| begin(one)).collect();
        assert_eq!(first.len(), 2, "of one account at a time, besides unknown ones");
        assert!(begin(Some(AccountId(2))).is_some(), "another account");
        drop((unknown, first));
        assert_eq!((0..9).filter_map(|_| begin(None)).count(), 1, "five in a minute");
        assert_eq!((0..9).filter_map(|_| begin(one)).count(), 3, "five in a minute");
        let later = now + MINUTE;
        assert_eq!((0..9).filter_map(|_| checks.begin(one, later)).count(), 5, "the next minute");
    }
}

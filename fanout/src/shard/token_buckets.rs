//! Rate limits of catch-ups: a token bucket for each payer, which all shards share.
//!
//! Every response of the host is charged to the payer of its connection, over all of its keys and sockets, and so is what its
//! replays read. A payer in debt is not refused: the commands of its sockets wait until the debt is paid off, and other
//! payers are not affected. Publications are never charged, and slow readers can always catch up.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use base::work::Payer;
use rustc_hash::FxBuildHasher;

use crate::Micros;

/// Limits of one payer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TokenBucketLimits {
    /// Responses that a payer may use at once.
    pub(crate) burst: u32,
    /// Responses that are refilled each second.
    pub(crate) per_second: u32,
    /// The longest that a payer waits for one debt, in microseconds.
    pub(crate) debt_us_max: Micros,
}

/// Each of this many bytes of work counts as one more response.
const WORK_BYTES: usize = 16 * 1024;

/// Each of this many bytes of a command, as inflated, counts as one response.
const COMMAND_BYTES: usize = 1024;

#[derive(Debug)]
pub(crate) struct TokenBuckets {
    limits: TokenBucketLimits,
    payers: Mutex<HashMap<Payer, TokenBucket, FxBuildHasher>>,
}

/// Counts millionths of a response, so that no microsecond is lost in rounding.
#[derive(Debug)]
struct TokenBucket {
    /// Negative while the payer is in debt.
    tokens: i64,
    refilled: Micros,
}

const ONE: i64 = 1_000_000;

impl TokenBuckets {
    pub(crate) fn new(limits: TokenBucketLimits) -> Self {
        Self { limits, payers: Mutex::default() }
    }

    /// Charges a response that cost this many bytes of work.
    pub(super) fn charge_response(&self, payer: Payer, work: usize, now: Micros) {
        self.charge(payer, 1 + work / WORK_BYTES, now);
    }

    /// Charges work that is not part of a command: a replay reads its recording.
    pub(super) fn charge_work(&self, payer: Payer, work: usize, now: Micros) {
        self.charge(payer, work / WORK_BYTES, now);
    }

    /// Charges a long command for reading it.
    pub(super) fn charge_command(&self, payer: Payer, bytes: usize, now: Micros) {
        self.charge(payer, bytes / COMMAND_BYTES, now);
    }

    fn charge(&self, payer: Payer, responses: usize, now: Micros) {
        if responses == 0 || payer == Payer::Hub {
            return;
        }
        let debt_max = i64::from(self.limits.per_second).saturating_mul(self.limits.debt_us_max);
        let mut payers = self.payers();
        let full = TokenBucket { tokens: self.limits.full(), refilled: now };
        let bucket = payers.entry(payer).or_insert(full);
        bucket.refill(&self.limits, now);
        let cost = i64::try_from(responses).unwrap_or(i64::MAX).saturating_mul(ONE);
        bucket.tokens = bucket.tokens.saturating_sub(cost).max(-debt_max);
    }

    /// Whether commands of this payer must wait.
    pub(crate) fn is_in_debt(&self, payer: Payer, now: Micros) -> bool {
        self.payers().get_mut(&payer).is_some_and(|bucket| {
            bucket.refill(&self.limits, now);
            bucket.tokens < 0
        })
    }

    /// Forgets payers that have used nothing, or not for long. Debts stay, so that reconnecting brings no new tokens.
    pub(super) fn sweep(&self, now: Micros) {
        self.payers().retain(|_, bucket| {
            bucket.refill(&self.limits, now);
            bucket.tokens < self.limits.full()
        });
    }

    fn payers(&self) -> MutexGuard<'_, HashMap<Payer, TokenBucket, FxBuildHasher>> {
        // Each bucket is complete after each statement.
        self.payers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TokenBucketLimits {
    fn full(&self) -> i64 {
        i64::from(self.burst) * ONE
    }
}

impl TokenBucket {
    /// Shards read their clocks at different moments: time that has been paid for is not paid again.
    fn refill(&mut self, limits: &TokenBucketLimits, now: Micros) {
        let passed = (now - self.refilled).max(0);
        self.refilled = self.refilled.max(now);
        let earned = passed.saturating_mul(i64::from(limits.per_second));
        self.tokens = self.tokens.saturating_add(earned).min(limits.full());
    }
}

#[cfg(test)]
mod tests {
    use std::{net::IpAddr, sync::Arc, thread};

    use super::*;

    const LIMITS: TokenBucketLimits =
        TokenBucketLimits { burst: 10, per_second: 5, debt_us_max: 2_000_000 };

    const ONE_ACCOUNT: Payer = Payer::Account(1);
    const OTHER: Payer = Payer::Account(2);

    #[test]
    fn payer_beyond_its_rate_waits_and_others_do_not() {
        let buckets = TokenBuckets::new(LIMITS);
        (0..10).for_each(|_| buckets.charge_response(ONE_ACCOUNT, 0, 0));
        assert!(!buckets.is_in_debt(ONE_ACCOUNT, 0), "its burst is just used up");
        buckets.charge_response(ONE_ACCOUNT, 0, 0);
        assert!(buckets.is_in_debt(ONE_ACCOUNT, 0));
        assert!(!buckets.is_in_debt(OTHER, 0));
        assert!(buckets.is_in_debt(ONE_ACCOUNT, 199_999));
        assert!(!buckets.is_in_debt(ONE_ACCOUNT, 200_000));
    }

    #[test]
    fn expensive_response_counts_as_several_and_debt_is_limited() {
        let buckets = TokenBuckets::new(LIMITS);
        buckets.charge_response(ONE_ACCOUNT, 10 * WORK_BYTES, 0);
        assert!(buckets.is_in_debt(ONE_ACCOUNT, 0));
        buckets.charge_response(ONE_ACCOUNT, usize::MAX / 2, 0);
        assert!(buckets.is_in_debt(ONE_ACCOUNT, 1_999_999));
        assert!(!buckets.is_in_debt(ONE_ACCOUNT, 2_000_000), "the longest wait is over");
    }

    #[test]
    fn reconnecting_brings_no_new_tokens() {
        let buckets = TokenBuckets::new(LIMITS);
        buckets.charge_response(ONE_ACCOUNT, 20 * WORK_BYTES, 0);
        buckets.sweep(0);
        assert!(buckets.is_in_debt(ONE_ACCOUNT, 0));
        buckets.sweep(60_000_000);
        assert!(buckets.payers().is_empty(), "a payer without debt is removed");
        buckets.charge_response(Payer::Hub, 20 * WORK_BYTES, 0);
        assert!(!buckets.is_in_debt(Payer::Hub, 0), "what ends is nobody's");
    }

    /// However many sockets and shards: what all of them use is one sum, and a shard whose clock was read earlier
    /// earns nothing twice.
    #[test]
    fn shards_share_the_bucket_of_a_payer() {
        let stranger = Payer::address(IpAddr::from([192, 0, 2, 1]));
        for payer in [ONE_ACCOUNT, stranger] {
            let buckets = Arc::new(TokenBuckets::new(LIMITS));
            let shards: Vec<_> = (0..4)
                .map(|_| {
                    let buckets = Arc::clone(&buckets);
                    thread::spawn(move || {
                        (0..5).for_each(|_| buckets.charge_response(payer, 0, 0));
                    })
                })
                .collect();
            shards.into_iter().for_each(|shard| shard.join().expect("it does not panic"));
            assert!(buckets.is_in_debt(payer, 1_999_999), "20 of 10 are used");
            for early in [0, 1_000_000] {
                assert!(buckets.is_in_debt(payer, early));
                assert!(buckets.is_in_debt(payer, 1_999_999));
            }
            assert!(!buckets.is_in_debt(payer, 2_000_000));
        }
    }

    #[test]
    fn long_command_is_charged_by_its_inflated_bytes_and_a_short_one_is_free() {
        let buckets = TokenBuckets::new(LIMITS);
        (0..1_000).for_each(|_| buckets.charge_command(ONE_ACCOUNT, COMMAND_BYTES - 1, 0));
        assert!(!buckets.is_in_debt(ONE_ACCOUNT, 0));
        buckets.charge_command(ONE_ACCOUNT, 11 * COMMAND_BYTES, 0);
        assert!(buckets.is_in_debt(ONE_ACCOUNT, 0));
    }
}

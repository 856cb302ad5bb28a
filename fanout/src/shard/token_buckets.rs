//! Rate limits of catch-ups: a token bucket for each key.
//!
//! Every response of the host is charged to the key of its connection, and so is what its replays read. A key in debt is not refused: the
//! commands of its sockets wait until the debt is paid off, and other keys are not affected. Publications
//! are never charged, and slow readers can always catch up.

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;

use crate::Micros;

/// Limits of one key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TokenBucketLimits {
    /// Responses that a key may use at once.
    pub(crate) burst: u32,
    /// Responses that are refilled each second.
    pub(crate) per_second: u32,
    /// The longest that a key waits for one debt, in microseconds.
    pub(crate) debt_us_max: Micros,
}

/// Each of this many bytes of work counts as one more response.
const WORK_BYTES: usize = 16 * 1024;

/// Each of this many bytes of a command counts as one response.
const COMMAND_BYTES: usize = 1024;

#[derive(Debug)]
pub(super) struct TokenBuckets {
    limits: TokenBucketLimits,
    keys: HashMap<u64, TokenBucket, FxBuildHasher>,
}

/// Counts millionths of a response, so that no microsecond is lost in rounding.
#[derive(Debug)]
struct TokenBucket {
    /// Negative while the key is in debt.
    tokens: i64,
    refilled: Micros,
    sockets: usize,
}

const ONE: i64 = 1_000_000;

impl TokenBuckets {
    pub(super) fn new(limits: TokenBucketLimits) -> Self {
        Self { limits, keys: HashMap::default() }
    }

    /// Counts a new socket of this key.
    pub(super) fn add_socket(&mut self, key: u64, now: Micros) {
        let tokens = self.full();
        let bucket = self.keys.entry(key);
        bucket.or_insert(TokenBucket { tokens, refilled: now, sockets: 0 }).sockets += 1;
    }

    /// Removes a socket of this key. Its debt stays until it is paid off, so that reconnecting brings no
    /// new tokens.
    pub(super) fn remove_socket(&mut self, key: u64) {
        if let Some(bucket) = self.keys.get_mut(&key) {
            bucket.sockets = bucket.sockets.saturating_sub(1);
        }
    }

    /// Charges a response that cost this many bytes of work.
    pub(super) fn charge_response(&mut self, key: u64, work: usize, now: Micros) {
        self.charge(key, 1 + work / WORK_BYTES, now);
    }

    /// Charges work that is not part of a command: a replay reads its recording.
    pub(super) fn charge_work(&mut self, key: u64, work: usize, now: Micros) {
        self.charge(key, work / WORK_BYTES, now);
    }

    /// Charges a long command for parsing it.
    pub(super) fn charge_command(&mut self, key: u64, bytes: usize, now: Micros) {
        self.charge(key, bytes / COMMAND_BYTES, now);
    }

    fn charge(&mut self, key: u64, responses: usize, now: Micros) {
        self.refill(key, now);
        let debt_max = i64::from(self.limits.per_second).saturating_mul(self.limits.debt_us_max);
        let Some(bucket) = self.keys.get_mut(&key) else { return };
        let cost = i64::try_from(responses).unwrap_or(i64::MAX).saturating_mul(ONE);
        bucket.tokens = bucket.tokens.saturating_sub(cost).max(-debt_max);
    }

    /// Whether commands of this key must wait.
    pub(super) fn is_in_debt(&mut self, key: u64, now: Micros) -> bool {
        self.refill(key, now);
        self.keys.get(&key).is_some_and(|bucket| bucket.tokens < 0)
    }

    fn full(&self) -> i64 {
        i64::from(self.limits.burst) * ONE
    }

    fn refill(&mut self, key: u64, now: Micros) {
        let full = self.full();
        let Some(bucket) = self.keys.get_mut(&key) else { return };
        let passed = (now - bucket.refilled).max(0);
        bucket.refilled = now;
        let earned = passed.saturating_mul(i64::from(self.limits.per_second));
        bucket.tokens = bucket.tokens.saturating_add(earned).min(full);
    }

    /// Removes keys without sockets and debts.
    pub(super) fn sweep(&mut self, now: Micros) {
        let unused: Vec<u64> = self
            .keys
            .iter()
            .filter(|(_, bucket)| bucket.sockets == 0)
            .map(|(key, _)| *key)
            .collect();
        for key in unused {
            self.refill(key, now);
            if self.keys.get(&key).is_some_and(|bucket| bucket.tokens >= self.full()) {
                self.keys.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: TokenBucketLimits =
        TokenBucketLimits { burst: 10, per_second: 5, debt_us_max: 2_000_000 };

    #[test]
    fn key_beyond_its_rate_waits_and_others_do_not() {
        let mut buckets = TokenBuckets::new(LIMITS);
        buckets.add_socket(1, 0);
        buckets.add_socket(2, 0);
        (0..10).for_each(|_| buckets.charge_response(1, 0, 0));
        assert!(!buckets.is_in_debt(1, 0), "its burst is just used up");
        buckets.charge_response(1, 0, 0);
        assert!(buckets.is_in_debt(1, 0));
        assert!(!buckets.is_in_debt(2, 0));
        assert!(buckets.is_in_debt(1, 199_999));
        assert!(!buckets.is_in_debt(1, 200_000));
    }

    #[test]
    fn expensive_response_counts_as_several_and_debt_is_limited() {
        let mut buckets = TokenBuckets::new(LIMITS);
        buckets.add_socket(1, 0);
        buckets.charge_response(1, 10 * WORK_BYTES, 0);
        assert!(buckets.is_in_debt(1, 0));
        buckets.charge_response(1, usize::MAX / 2, 0);
        assert!(buckets.is_in_debt(1, 1_999_999));
        assert!(!buckets.is_in_debt(1, 2_000_000), "the longest wait is over");
    }

    #[test]
    fn reconnecting_brings_no_new_tokens() {
        let mut buckets = TokenBuckets::new(LIMITS);
        buckets.add_socket(1, 0);
        buckets.charge_response(1, 20 * WORK_BYTES, 0);
        buckets.remove_socket(1);
        buckets.sweep(0);
        buckets.add_socket(1, 0);
        assert!(buckets.is_in_debt(1, 0));
        buckets.remove_socket(1);
        buckets.sweep(60_000_000);
        assert!(buckets.keys.is_empty(), "a key without debt is removed");
    }
}

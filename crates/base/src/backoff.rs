//! Exponential back-off with jitter.
//!
//! [`BackoffPolicy`] determines the waits of any retry; [`Backoff`] counts the failures of a
//! source that reconnects. A source's wait is drawn between half of the bound and the bound, so that
//! many hubs that were disconnected together do not reconnect together. A success resets the bound: a
//! complete answer or image, or a connection that held for a minute.

use std::{
    hash::{BuildHasher, RandomState},
    ops::RangeInclusive,
    time::Duration,
};

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::Micros;

/// Between half of the bound and the bound.
const JITTER: RangeInclusive<f64> = 0.5..=1.0;

/// Waits that double with each failure, up to a maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackoffPolicy {
    /// After the first failure.
    pub first: Duration,
    pub max: Duration,
}

impl BackoffPolicy {
    /// The wait after this many failures in a row, at least one, times a random factor in `jitter`.
    pub fn wait(self, failures: u32, jitter: RangeInclusive<f64>, rng: &mut impl Rng) -> Duration {
        self.bound(failures).mul_f64(rng.random_range(jitter))
    }

    fn bound(self, failures: u32) -> Duration {
        let factor = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
        self.first.saturating_mul(factor).min(self.max)
    }
}

/// The back-off state of one source.
#[derive(Debug, Clone)]
pub struct Backoff {
    policy: BackoffPolicy,
    /// Failures since the last success.
    failures: u32,
    /// When the connection was established, while it is open.
    connected: Option<Micros>,
}

impl Backoff {
    /// A connection that was open for this many microseconds counts as healthy: one minute.
    pub const HEALTHY_US: Micros = 60_000_000;

    /// `first`: the upper bound of the first wait. `most`: the longest wait.
    #[must_use]
    pub fn new(first: Duration, most: Duration) -> Self {
        Self { policy: BackoffPolicy { first, max: most }, failures: 0, connected: None }
    }

    /// Records that the connection was established.
    pub fn connected(&mut self, now: Micros) {
        self.connected = Some(now);
    }

    /// Records a success: the next failure counts as the first.
    pub fn succeeded(&mut self) {
        self.failures = 0;
    }

    /// The wait after a refusal that waiting alone is unlikely to fix: near the longest.
    pub fn refused(&mut self, rng: &mut impl Rng) -> Duration {
        (self.failures, self.connected) = (u32::MAX, None);
        self.policy.wait(self.failures, JITTER, rng)
    }

    /// The wait after the connection failed or could not be established.
    pub fn failed(&mut self, now: Micros, rng: &mut impl Rng) -> Duration {
        let held = self.connected.take().map_or(0, |since| now - since);
        if held >= Self::HEALTHY_US {
            self.failures = 0;
        }
        self.failures = self.failures.saturating_add(1);
        self.policy.wait(self.failures, JITTER, rng)
    }
}

/// The random numbers for the jitter. They only need to differ between processes.
#[must_use]
pub fn rng() -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(RandomState::new().hash_one("back-off"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn waits_double_up_to_the_maximum_and_reset_after_a_healthy_minute() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut backoff = Backoff::new(ms(100), ms(1000));
        for longest in [100, 200, 400, 800, 1000, 1000] {
            backoff.connected(0);
            let wait = backoff.failed(Backoff::HEALTHY_US - 1, &mut rng);
            assert!(ms(longest / 2) <= wait && wait <= ms(longest), "{wait:?} of {longest}");
        }
        backoff.connected(0);
        assert!(backoff.failed(Backoff::HEALTHY_US, &mut rng) <= ms(100));
    }

    #[test]
    fn refusal_waits_near_the_maximum() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut backoff = Backoff::new(ms(100), ms(1000));
        assert!(backoff.refused(&mut rng) >= ms(500));
        assert!(backoff.failed(0, &mut rng) >= ms(500), "so does the failure after it");
    }

    #[test]
    fn failure_after_a_success_is_the_first() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut backoff = Backoff::new(ms(100), ms(60_000));
        for round in 0..20 {
            let wait = backoff.failed(round, &mut rng);
            assert!(wait <= ms(100), "{wait:?} at failure {round}");
            backoff.succeeded();
        }
        backoff.refused(&mut rng);
        backoff.succeeded();
        assert!(backoff.failed(0, &mut rng) <= ms(100), "a refusal is over as well");
    }

    #[test]
    fn bounds_double_up_to_the_maximum() {
        let policy = BackoffPolicy { first: ms(30_000), max: ms(3_600_000) };
        let bounds = (1..10).map(|failures| policy.bound(failures).as_secs());
        assert_eq!(bounds.collect::<Vec<_>>(), [30, 60, 120, 240, 480, 960, 1920, 3600, 3600]);
        assert_eq!(policy.bound(u32::MAX), policy.max);
    }

    proptest! {
        #[test]
        fn wait_is_within_the_jitter(failures in 1_u32.., first in 1_u32.., max: u64, seed: u64) {
            let policy = BackoffPolicy { first: ms(first.into()), max: ms(max) };
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let wait = policy.wait(failures, 0.75..=1.25, &mut rng).as_secs_f64();
            let bound = policy.bound(failures).as_secs_f64();
            // Rounded to nanoseconds.
            prop_assert!((bound * 0.7499 - 1e-8..=bound * 1.2501 + 1e-8).contains(&wait));
        }
    }
}

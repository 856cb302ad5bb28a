//! Exponential back-off with jitter, for a source that reconnects.
//!
//! Each failure doubles the upper bound of the wait. The wait is drawn between half of the bound and
//! the bound, so that many hubs that were disconnected together do not reconnect together. Only a
//! connection that held long enough resets the bound, so that a flapping peer is not hammered.

use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::event::Micros;

/// The back-off state of one source.
#[derive(Debug, Clone)]
pub struct Backoff {
    first: Duration,
    most: Duration,
    /// The upper bound of the next wait.
    next: Duration,
    /// When the connection was established, while it is open.
    connected: Option<Micros>,
}

impl Backoff {
    /// A connection that was open for this many microseconds counts as healthy: one minute.
    pub const HEALTHY_US: Micros = 60_000_000;

    /// `first`: the upper bound of the first wait. `most`: the longest wait.
    #[must_use]
    pub fn new(first: Duration, most: Duration) -> Self {
        Self { first, most, next: first.min(most), connected: None }
    }

    /// Whether a connection was established and has not failed since.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.connected.is_some()
    }

    /// Records that the connection was established.
    pub fn connected(&mut self, now: Micros) {
        self.connected = Some(now);
    }

    /// The wait after a refusal that waiting alone is unlikely to fix: near the longest.
    pub fn refused(&mut self, rng: &mut impl Rng) -> Duration {
        (self.next, self.connected) = (self.most, None);
        self.most.mul_f64(rng.random_range(0.5..=1.0))
    }

    /// The wait after the connection failed or could not be established.
    pub fn failed(&mut self, now: Micros, rng: &mut impl Rng) -> Duration {
        let held = self.connected.take().map_or(0, |since| now - since);
        if held >= Self::HEALTHY_US {
            self.next = self.first.min(self.most);
        }
        let longest = self.next;
        self.next = (longest * 2).min(self.most);
        longest.mul_f64(rng.random_range(0.5..=1.0))
    }
}

/// The random numbers for the jitter. They only need to differ between processes.
#[must_use]
pub(super) fn rng() -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(RandomState::new().hash_one("back-off"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn waits_double_up_to_the_longest_and_reset_after_a_healthy_minute() {
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
}

//! How long to wait before a source tries again.
//!
//! Each failure doubles the longest wait, and the wait is drawn between a half of that and all of it,
//! so that many hubs that were cut off together do not come back together. A connection that held
//! for long enough begins anew; one that breaks at once does not, or a flapping peer would be
//! hammered.

use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::event::Micros;

/// The waits of one source.
#[derive(Debug, Clone)]
pub struct Backoff {
    first: Duration,
    most: Duration,
    /// The longest that the next wait may be.
    next: Duration,
    /// When the connection was made, while it stands.
    connected: Option<Micros>,
}

impl Backoff {
    /// A connection that has held for so long, in microseconds, was a good one: one minute.
    pub const HEALTHY_US: Micros = 60_000_000;

    /// `first`: the longest first wait. `most`: the longest of all.
    #[must_use]
    pub fn new(first: Duration, most: Duration) -> Self {
        Self { first, most, next: first.min(most), connected: None }
    }

    /// Whether the connection stands, as far as was told.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.connected.is_some()
    }

    /// The connection stands.
    pub fn connected(&mut self, now: Micros) {
        self.connected = Some(now);
    }

    /// The peer refuses us for a reason that time alone is unlikely to mend: the longest wait.
    pub fn refused(&mut self, rng: &mut impl Rng) -> Duration {
        (self.next, self.connected) = (self.most, None);
        self.most.mul_f64(rng.random_range(0.5..=1.0))
    }

    /// The connection broke, or could not be made: how long to wait before the next try.
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

/// What a source draws its waits from: another in each process, which is all that is asked of it.
#[must_use]
pub(super) fn dice() -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(RandomState::new().hash_one("back-off"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn waits_double_up_to_the_longest_and_begin_anew_after_a_healthy_minute() {
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

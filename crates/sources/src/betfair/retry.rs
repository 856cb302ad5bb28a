//! How long to wait before reconnecting.
//!
//! A connection that was up to date is replaced at once when it breaks, because most failures affect
//! only the connection; but at most once a minute, so that a flapping peer is not hammered. All other
//! attempts back off, and begin anew after a connection that was up to date.

use std::time::Duration;

use facts::event::Micros;
use rand_chacha::ChaCha8Rng;

use super::error::Remedy;
use base::backoff::{self, Backoff};

#[derive(Debug)]
pub(super) struct RetryTimer {
    backoff: Backoff,
    rng: ChaCha8Rng,
    /// When a connection was last replaced at once.
    at_once: Option<Micros>,
}

impl RetryTimer {
    pub(super) fn new(first: Duration, most: Duration) -> Self {
        Self { backoff: Backoff::new(first, most), rng: backoff::rng(), at_once: None }
    }

    pub(super) fn connected(&mut self, now: Micros) {
        self.backoff.connected(now);
    }

    /// How long to wait. `was_live`: the connection that broke was up to date.
    pub(super) fn wait(&mut self, remedy: Remedy, was_live: bool, now: Micros) -> Duration {
        if was_live {
            self.backoff.succeeded();
        }
        match remedy {
            Remedy::AtOnce => Duration::ZERO,
            Remedy::WaitLong => self.backoff.refused(&mut self.rng),
            Remedy::Wait if was_live && self.may_be_at_once(now) => {
                self.at_once = Some(now);
                Duration::ZERO
            }
            Remedy::Wait => self.backoff.failed(now, &mut self.rng),
        }
    }

    fn may_be_at_once(&self, now: Micros) -> bool {
        self.at_once.is_none_or(|last| now - last >= Backoff::HEALTHY_US)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_connection_is_replaced_at_once_only_once_a_minute() {
        let second = Duration::from_secs(1);
        let mut retry = RetryTimer::new(second, 60 * second);
        let mut check = |was_live, now_s: Micros, least, most| {
            retry.connected(now_s * 1_000_000);
            let wait = retry.wait(Remedy::Wait, was_live, now_s * 1_000_000);
            assert!(least * second <= 2 * wait && wait <= most * second, "{wait:?} at {now_s}");
        };
        check(false, 0, 1, 1);
        check(true, 1, 0, 0);
        check(true, 2, 1, 1);
        check(false, 3, 2, 2);
        check(false, 4, 4, 4);
        check(true, 60, 1, 1);
        check(true, 61, 0, 0);
        let long = retry.wait(Remedy::WaitLong, true, 200_000_000);
        assert!(long >= 30 * second, "{long:?}");
        assert_eq!(retry.wait(Remedy::AtOnce, false, 200_000_000), Duration::ZERO);
    }
}

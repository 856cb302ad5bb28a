//! In which order and when the connections of a shard close while the process drains.

use std::vec;

use crate::Micros;

/// How connections are sent away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drain {
    /// All close now: this process stops serving, or its successor has not started. Each client reconnects after
    /// a delay of its own within `window_ms`, which begins after `after_ms`.
    AtOnce { after_ms: u32, window_ms: u32 },
    /// Connections close one after the other over this time, and are served until then. Each client reconnects at once, elsewhere.
    Spread { over_ms: u32 },
}

/// The delay of a client that connects during [`Drain::Spread`], so that it does not come back in a loop.
const LATE_RECONNECT_MS: u32 = 250;

impl Drain {
    /// After what time a connection that opens meanwhile, and is closed at once, reconnects.
    pub(super) fn late_reconnect_ms(self) -> u32 {
        match self {
            Self::AtOnce { after_ms, window_ms } => after_ms.saturating_add(window_ms),
            Self::Spread { .. } => LATE_RECONNECT_MS,
        }
    }
}

/// Connections that are still to close. All shards begin at the same moment and alternate, so that no two connections of the
/// process have the same share of the time.
#[derive(Debug)]
pub(super) struct Departures {
    drain: Drain,
    slots: vec::IntoIter<usize>,
    begun: Micros,
    /// How many of this shard have closed.
    closed: usize,
    /// Of all shards, if each has as many as this one.
    total: u64,
    shard: usize,
    shards: usize,
}

impl Departures {
    pub(super) fn new(
        drain: Drain,
        slots: Vec<usize>,
        (shard, shards): (usize, usize),
        now: Micros,
    ) -> Self {
        let total = (slots.len() * shards).max(1) as u64;
        Self { drain, slots: slots.into_iter(), begun: now, closed: 0, total, shard, shards }
    }

    /// The next connection that closes by now, and after how many milliseconds its client reconnects.
    pub(super) fn next(&mut self, now: Micros) -> Option<(usize, u32)> {
        let order = (self.closed * self.shards + self.shard) as u64;
        let share =
            |of_ms: u32| u32::try_from(u64::from(of_ms) * order / self.total).unwrap_or(of_ms);
        let reconnect_after_ms = match self.drain {
            Drain::AtOnce { after_ms, window_ms } => after_ms.saturating_add(share(window_ms)),
            Drain::Spread { over_ms }
                if now - self.begun >= Micros::from(share(over_ms)) * 1_000 =>
            {
                0
            }
            Drain::Spread { .. } => return None,
        };
        let slot = self.slots.next()?;
        self.closed += 1;
        Some((slot, reconnect_after_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Micros = 7_000_000;

    fn departures(drain: Drain, shard: usize) -> Departures {
        Departures::new(drain, (0..100).collect(), (shard, 2), START)
    }

    fn close_due(departures: &mut Departures, now: Micros) -> Vec<(usize, u32)> {
        std::iter::from_fn(|| departures.next(now)).collect()
    }

    #[test]
    fn all_close_at_once_with_different_delays() {
        let drain = Drain::AtOnce { after_ms: 3_000, window_ms: 5_000 };
        assert_eq!(drain.late_reconnect_ms(), 8_000);
        let mut delays = Vec::new();
        for shard in 0..2 {
            let closed = close_due(&mut departures(drain, shard), START);
            assert!(closed.iter().map(|(slot, _)| *slot).eq(0..100));
            delays.extend(closed.into_iter().map(|(_, delay)| delay));
        }
        delays.sort_unstable();
        assert!(delays.iter().copied().eq((0..200).map(|order| 3_000 + order * 25)));
    }

    #[test]
    fn connections_are_served_until_their_share_of_the_time_has_passed() {
        let mut open = [100_usize; 2];
        let mut shards = [0, 1].map(|shard| departures(Drain::Spread { over_ms: 5_000 }, shard));
        for passed_ms in (0..5_000).step_by(20) {
            for (open, departures) in open.iter_mut().zip(&mut shards) {
                let closed = close_due(departures, START + passed_ms * 1_000);
                assert!(closed.iter().all(|(_, delay)| *delay == 0), "{closed:?}");
                assert!(closed.len() <= 1, "{closed:?} after {passed_ms} ms");
                *open -= closed.len();
            }
            let left = Micros::try_from(open.iter().sum::<usize>()).expect("a small number");
            let expected = 200 - passed_ms / 25;
            assert!((expected - left).abs() <= 1, "{left} of {expected} after {passed_ms} ms");
        }
        assert_eq!(open, [0, 0]);
    }

    #[test]
    fn shard_that_was_late_closes_what_is_due() {
        let mut departures = departures(Drain::Spread { over_ms: 1_000 }, 0);
        assert_eq!(close_due(&mut departures, START + 500_000).len(), 51);
        assert_eq!(close_due(&mut departures, START + 9_000_000).len(), 49);
        assert_eq!(departures.next(START + 9_000_000), None);
    }
}

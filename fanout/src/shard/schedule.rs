//! The times at which a shard looks at its connections.

use super::TICK_US;
use crate::Micros;

/// What time makes due: each connection is looked at once in a round, a part of them at each tick,
/// so that many connections make no burst.
#[derive(Debug)]
pub(super) struct Clock {
    pub(super) tick_due: Micros,
    pub(super) slow_due: Micros,
    /// How long a round takes, and the slot at which its next part begins.
    pub(super) round_us: Micros,
    pub(super) next: usize,
    /// Of a round, how much has not been walked yet, in slots times microseconds.
    pub(super) carry: i64,
}

impl Clock {
    /// The slots whose turn it is.
    pub(super) fn part(&mut self, slots: usize, now: Micros) -> (usize, usize) {
        let passed = (now - self.tick_due + TICK_US).clamp(0, self.round_us);
        self.tick_due = now + TICK_US;
        self.carry += passed * i64::try_from(slots).unwrap_or(i64::MAX);
        let count = usize::try_from(self.carry / self.round_us).unwrap_or(0);
        self.carry %= self.round_us;
        if self.next >= slots {
            self.next = 0;
        }
        let from = self.next;
        let to = (from + count).min(slots);
        self.next = to;
        (from, to)
    }
}

//! When a shard checks its connections.

use super::TICK_US;
use crate::Micros;

/// Checks each connection once in a round, a part of them at each tick, so that many connections cause no
/// burst.
#[derive(Debug)]
pub(super) struct CheckSchedule {
    pub(super) tick_due: Micros,
    pub(super) slow_due: Micros,
    /// How long a round takes.
    pub(super) round_us: Micros,
    /// The slot at which the next part begins.
    pub(super) next: usize,
    /// The remainder of the last part, in slots times microseconds.
    pub(super) carry: i64,
}

impl CheckSchedule {
    /// The range of slots to check at this tick.
    pub(super) fn next_part(&mut self, slots: usize, now: Micros) -> (usize, usize) {
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

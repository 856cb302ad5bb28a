//! When each message is due. The schedule is fixed before the first message, so that all the time
//! for which a server blocks the publisher shows in the figures.

/// An open loop with this many messages a second, from a start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schedule {
    start: u64,
    per_second: f64,
}

impl Schedule {
    pub(crate) fn new(start: u64, per_second: f64) -> Self {
        Self { start, per_second }
    }

    /// The instant at which message `k` is due, in microseconds.
    pub(crate) fn intended(&self, k: u64) -> u64 {
        self.start + (k as f64 * 1e6 / self.per_second) as u64
    }

    /// The number of messages due by now.
    pub(crate) fn due(&self, now: u64) -> u64 {
        if now < self.start {
            return 0;
        }
        let guess = ((now - self.start) as f64 * self.per_second / 1e6) as u64;
        // Both directions round: settle on the value that agrees with `intended`.
        let mut due = guess.saturating_sub(1);
        while self.intended(due) <= now {
            due += 1;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn messages_are_due_at_their_instants() {
        let schedule = Schedule::new(1_000_000, 4.0);
        let due: Vec<u64> = [0, 999_999, 1_000_000, 1_249_999, 1_250_000, 2_000_000]
            .map(|now| schedule.due(now))
            .into();
        assert_eq!(due, [0, 0, 1, 1, 2, 5]);
        assert_eq!(schedule.intended(5), 2_250_000);
    }

    proptest! {
        #[test]
        fn due_counts_exactly_the_messages_whose_instant_has_come(
            rate in 0.5_f64..2_000_000.0,
            after in 0_u64..100_000_000,
        ) {
            let schedule = Schedule::new(7, rate);
            let due = schedule.due(7 + after);
            prop_assert!(due > 0 && schedule.intended(due - 1) <= 7 + after);
            prop_assert!(schedule.intended(due) > 7 + after);
        }
    }
}

//! The time of a call that waits for the store, and how long the store is left alone after it gave nothing.

use tokio::time::Instant;

use crate::accounts::Micros;

/// How long the answer that nothing is left, or no answer, holds: calls meanwhile do not ask again.
const ASKED_AGAIN_AFTER_US: Micros = 1_000_000;

/// The time during a call. It may wait for a connection for seconds, so the time when it began is not that of the answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallTime {
    began_at: Micros,
    began: Instant,
}

impl CallTime {
    /// A call that begins now.
    pub(super) fn beginning(now: Micros) -> Self {
        Self { began_at: now, began: Instant::now() }
    }

    pub(super) fn now(&self) -> Micros {
        let elapsed = i64::try_from(self.began.elapsed().as_micros()).unwrap_or(i64::MAX);
        self.began_at.saturating_add(elapsed)
    }
}

/// Whether an answer of this time still holds. A clock that was put back ends it, but not the small difference between the
/// clocks of two calls.
pub(super) fn still_holds(answered: Micros, now: Micros) -> bool {
    let difference = now.saturating_sub(answered);
    (1 - ASKED_AGAIN_AFTER_US..ASKED_AGAIN_AFTER_US).contains(&difference)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_holds_for_a_second() {
        let at = 1_000_000_000;
        for (now, holds) in [
            (at, true),
            (at + 999_999, true),
            (at + 1_000_000, false),
            (at - 1, true),
            (at - 1_000_000, false),
        ] {
            assert_eq!(still_holds(at, now), holds, "{now}");
        }
    }
}

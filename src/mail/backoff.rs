//! How long to wait after a failure.

/// Doubles each time, up to a maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Backoff {
    /// Milliseconds after the first failure, and at most.
    pub(super) first_ms: u64,
    pub(super) max_ms: u64,
}

impl Backoff {
    /// Milliseconds to wait after this many failures, at least one. `random` adds a jitter of up to a
    /// quarter either way: mails that failed together are not retried together.
    pub(super) fn after(self, failures: u32, random: u32) -> u64 {
        let doubled = 1_u64.checked_shl(failures.saturating_sub(1)).unwrap_or(u64::MAX);
        let middle = self.first_ms.saturating_mul(doubled).min(self.max_ms);
        let quarter = middle / 4;
        let moved = u128::from(quarter) * 2 * u128::from(random) / u128::from(u32::MAX);
        (middle - quarter).saturating_add(u64::try_from(moved).unwrap_or(quarter))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DEFAULT: Backoff = Backoff { first_ms: 30_000, max_ms: 3_600_000 };

    #[test]
    fn it_doubles_up_to_the_maximum() {
        let middles = (1..10).map(|failures| DEFAULT.after(failures, u32::MAX / 2) / 1_000);
        let middles = middles.map(|s| s + u64::from(s % 10 == 9)).collect::<Vec<_>>();
        assert_eq!(middles, [30, 60, 120, 240, 480, 960, 1920, 3600, 3600]);
    }

    proptest! {
        #[test]
        fn it_stays_within_a_quarter(failures in 1_u32.., random: u32, first in 1_u32.., max: u64) {
            let backoff = Backoff { first_ms: first.into(), max_ms: max };
            let doubled = u128::from(first) << (failures - 1).min(64);
            let middle = u64::try_from(doubled).unwrap_or(u64::MAX).min(max);
            let after = backoff.after(failures, random);
            prop_assert!(after >= middle - middle / 4);
            prop_assert!(after <= middle.saturating_add(middle / 4));
        }
    }
}

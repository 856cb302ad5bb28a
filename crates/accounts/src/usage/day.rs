//! A day in UTC, the unit of usage counts and quotas.

use std::fmt;

use jiff::{civil::Date, tz::TimeZone};

use crate::accounts::Micros;

const DAY_US: Micros = 24 * 60 * 60 * 1_000_000;

/// Days since the epoch, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Day(pub i64);

impl Day {
    /// The day of this moment.
    #[must_use]
    pub fn at(now: Micros) -> Self {
        Self(now.div_euclid(DAY_US))
    }

    /// The day this many days earlier.
    #[must_use]
    pub fn before(self, days: u32) -> Self {
        Self(self.0.saturating_sub(days.into()))
    }

    /// Its first moment.
    #[must_use]
    pub fn start(self) -> Micros {
        self.0.saturating_mul(DAY_US)
    }

    /// Its date; the epoch's if it is outside the calendar.
    #[must_use]
    pub fn date(self) -> Date {
        let start = jiff::Timestamp::from_microsecond(self.start()).unwrap_or_default();
        TimeZone::UTC.to_datetime(start).date()
    }

    /// Splits the time from `now - span_ms` to `now` by day, in milliseconds, the latest day first.
    /// The shares add up to the span.
    pub(super) fn shares(span_ms: u64, now: Micros) -> impl Iterator<Item = (Self, u64)> {
        let (mut end, mut left) = (now, span_ms);
        std::iter::from_fn(move || {
            if left == 0 {
                return None;
            }
            let day = Self::at(end.saturating_sub(1));
            // If a span begins in the middle of a millisecond, the first day gets all of it.
            let within = u64::try_from(end.saturating_sub(day.start())).unwrap_or(0).div_ceil(1000);
            let share = left.min(within.max(1));
            left -= share;
            end = day.start();
            Some((day, share))
        })
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.date().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn day_is_formatted_as_date() {
        let check = |now, date: &str| assert_eq!(Day::at(now).to_string(), date);
        check(0, "1970-01-01");
        check(-1, "1969-12-31");
        check(1_787_011_199_999_999, "2026-08-17");
        check(1_787_011_200_000_000, "2026-08-18");
        check(Micros::MAX, "1970-01-01");
    }

    #[test]
    fn span_over_midnight_is_split_between_both_days() {
        let midnight = Day(20_000).start();
        let check = |span_ms, now, expected: &[(i64, u64)]| {
            let shares: Vec<_> = Day::shares(span_ms, now).map(|(day, ms)| (day.0, ms)).collect();
            assert_eq!(shares, expected);
        };
        check(0, midnight, &[]);
        check(5_000, midnight, &[(19_999, 5_000)]);
        check(5_000, midnight + 2_000_000, &[(20_000, 2_000), (19_999, 3_000)]);
        check(5_000, midnight + 5_000_000, &[(20_000, 5_000)]);
        check(86_400_001, midnight + 500, &[(20_000, 1), (19_999, 86_400_000)]);
    }

    proptest! {
        /// Nothing of a span is lost or counted twice, whenever it ends.
        #[test]
        fn shares_add_up_to_the_span(span_ms in 0_u64..400_000_000, now in 0..4_000_000_000_000_000_i64) {
            let shares: Vec<_> = Day::shares(span_ms, now).collect();
            prop_assert_eq!(shares.iter().map(|share| share.1).sum::<u64>(), span_ms);
            prop_assert!(shares.windows(2).all(|pair| pair[0].0.0 == pair[1].0.0 + 1));
            prop_assert!(shares.iter().all(|share| share.1 <= 86_400_000));
        }
    }
}

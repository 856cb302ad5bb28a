//! How often a product may be recovered: sliding windows over the requests that were sent.
//!
//! Pure: the time is an argument, in milliseconds by the wall clock, so that windows outlive a restart.

use std::{collections::VecDeque, time::Duration};

use serde::{Deserialize, Serialize};

use crate::config::SportradarUofConfig;

/// At most this many requests within this time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// At least 1.
    pub requests: usize,
    pub within: Duration,
}

/// The provider's limits for each product, by how far back a recovery reaches. A request has to keep all rates of its
/// length. The defaults are those of the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveryRates {
    /// Less than 30 minutes.
    pub short: Vec<Rate>,
    /// Less than a day.
    pub day: Vec<Rate>,
    /// A day and more, and everything.
    pub full: Vec<Rate>,
}

impl Default for RecoveryRates {
    fn default() -> Self {
        let rate = |(requests, seconds)| Rate { requests, within: Duration::from_secs(seconds) };
        let rates = |pairs: Vec<_>| pairs.into_iter().map(rate).collect();
        Self {
            short: rates(SportradarUofConfig::short_rates()),
            day: rates(SportradarUofConfig::day_rates()),
            full: rates(SportradarUofConfig::full_rates()),
        }
    }
}

impl RecoveryRates {
    fn of_length(&self, length: RecoveryLength) -> &[Rate] {
        match length {
            RecoveryLength::Short => &self.short,
            RecoveryLength::Day => &self.day,
            RecoveryLength::Full => &self.full,
        }
    }

    fn longest(&self) -> Duration {
        let all = [&self.short, &self.day, &self.full].into_iter().flatten();
        all.map(|rate| rate.within).max().unwrap_or_default()
    }
}

/// How far back a recovery reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RecoveryLength {
    Short,
    Day,
    Full,
}

impl RecoveryLength {
    const SHORT_MS: i64 = 30 * 60 * 1000;
    const DAY_MS: i64 = 24 * 60 * 60 * 1000;

    /// Of a recovery of what came after this time, or of everything.
    pub(super) fn new(after_ms: Option<i64>, now_ms: i64) -> Self {
        match after_ms.map(|after| now_ms.saturating_sub(after)) {
            Some(back) if back < Self::SHORT_MS => Self::Short,
            Some(back) if back < Self::DAY_MS => Self::Day,
            _ => Self::Full,
        }
    }
}

/// The recoveries of a product that were requested, as far back as the rates look.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SentRecoveries(VecDeque<(i64, RecoveryLength)>);

impl SentRecoveries {
    /// More are forgotten, the oldest first. The default rates need 74.
    const MAX: usize = 1_000;

    pub(super) fn note(&mut self, rates: &RecoveryRates, length: RecoveryLength, now_ms: i64) {
        let since = now_ms.saturating_sub(millis(rates.longest()));
        self.0.retain(|(at, _)| *at > since);
        if self.0.len() >= Self::MAX {
            self.0.pop_front();
        }
        self.0.push_back((now_ms, length));
    }

    /// The last one was not sent.
    pub(super) fn take_back(&mut self) {
        self.0.pop_back();
    }

    /// How long the next request of this length has to wait; zero if it may be sent now.
    pub(super) fn wait(
        &self,
        rates: &RecoveryRates,
        length: RecoveryLength,
        now_ms: i64,
    ) -> Duration {
        // Of before the clock was put back: as if it were sent now.
        let sent = self.0.iter().filter(|(_, it)| *it == length).map(|(at, _)| (*at).min(now_ms));
        let mut sent: Vec<i64> = sent.collect();
        sent.sort_unstable();
        let waits = rates.of_length(length).iter().filter_map(|rate| {
            // The last one that has to leave the window.
            let leaving = sent.get(sent.len().checked_sub(rate.requests)?)?;
            let wait_ms = leaving.saturating_add(millis(rate.within)).saturating_sub(now_ms);
            u64::try_from(wait_ms).ok().map(Duration::from_millis)
        });
        waits.max().unwrap_or_default()
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MINUTE_MS: i64 = 60_000;

    fn minutes(minutes: u64) -> Duration {
        Duration::from_secs(minutes * 60)
    }

    /// The provider's own example: 4 requests per 10 minutes.
    #[test]
    fn window_slides() {
        let rates = RecoveryRates::default();
        let mut sent = SentRecoveries::default();
        let mut check = |minute: i64, expected: u64| {
            let wait = sent.wait(&rates, RecoveryLength::Day, minute * MINUTE_MS);
            assert_eq!(wait, minutes(expected), "at minute {minute}");
            if wait.is_zero() {
                sent.note(&rates, RecoveryLength::Day, minute * MINUTE_MS);
            }
        };
        for (minute, wait) in [(0, 0), (5, 0), (6, 0), (7, 0), (9, 1), (10, 0), (12, 3), (15, 0)] {
            check(minute, wait);
        }
        let wait = |length| sent.wait(&rates, length, 15 * MINUTE_MS);
        assert_eq!(wait(RecoveryLength::Short), Duration::ZERO, "each length has its own rates");
        assert_eq!(wait(RecoveryLength::Full), Duration::ZERO);
    }

    #[test]
    fn length_is_how_far_back_a_recovery_reaches() {
        let now_ms = 100 * RecoveryLength::DAY_MS;
        let check = |back_ms: Option<i64>, expected| {
            let after_ms = back_ms.map(|back_ms| now_ms - back_ms);
            assert_eq!(RecoveryLength::new(after_ms, now_ms), expected, "{back_ms:?}");
        };
        check(Some(-5), RecoveryLength::Short);
        check(Some(RecoveryLength::SHORT_MS - 1), RecoveryLength::Short);
        check(Some(RecoveryLength::SHORT_MS), RecoveryLength::Day);
        check(Some(RecoveryLength::DAY_MS), RecoveryLength::Full);
        check(None, RecoveryLength::Full);
    }

    proptest! {
        /// Whoever waits as told never exceeds a rate, also when the clock is put back, and is let in after the wait.
        #[test]
        fn no_window_has_more_requests_than_its_rate(
            steps in proptest::collection::vec(0_i64..40 * MINUTE_MS, 1..200),
            length in prop_oneof![
                Just(RecoveryLength::Short),
                Just(RecoveryLength::Day),
                Just(RecoveryLength::Full),
            ],
        ) {
            let rates = RecoveryRates::default();
            let (mut sent, mut now_ms, mut times) = (SentRecoveries::default(), 0, Vec::new());
            for step in steps {
                now_ms += step;
                let wait = sent.wait(&rates, length, now_ms);
                prop_assert!(wait <= rates.longest());
                prop_assert_eq!(sent.wait(&rates, length, now_ms + millis(wait)), Duration::ZERO);
                let earlier = sent.wait(&rates, length, now_ms - 100 * MINUTE_MS);
                prop_assert!(earlier <= rates.longest(), "after the clock was put back");
                if wait.is_zero() {
                    sent.note(&rates, length, now_ms);
                    times.push(now_ms);
                }
                for rate in rates.of_length(length) {
                    let since = now_ms - millis(rate.within);
                    let within = times.iter().filter(|at| **at > since).count();
                    prop_assert!(within <= rate.requests, "{} in {:?}", within, rate.within);
                }
            }
        }
    }
}

//! How fast a provider's quota may be spent.
//!
//! The rule: while no less than the reserve is left, every request keeps its interval. Below it, each
//! interval is stretched by reserve / left: at half the reserve it is doubled, at a tenth of it ten
//! times as long. So what is left is halved in about the same time over and over, and the last
//! request of all comes `reserve` intervals after the one before. No stretched interval is longer
//! than `wait_most`, so that a quota that begins anew is noticed. Of several quotas the one that asks
//! for the longest interval decides. A header that is missing from an answer leaves what was known.

use std::time::Duration;

use reqwest::header::HeaderMap;

/// A number that the provider counts down, told in a header of its answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quota {
    /// The header that says how many requests are left, in lower case.
    pub header: String,
    /// The number of requests left from which on it slows down. 0: never.
    pub reserve: u64,
    /// The longest that a stretched interval may become; an interval that is longer by itself stays.
    pub wait_most: Duration,
}

impl Quota {
    /// The Odds API: credits of the month.
    #[must_use]
    pub fn the_odds_api(reserve: u64) -> Self {
        let header = "x-requests-remaining".to_owned();
        Self { header, reserve, wait_most: Duration::from_secs(3600) }
    }

    /// API-Football: requests of the day.
    #[must_use]
    pub fn api_football_day(reserve: u64) -> Self {
        let header = "x-ratelimit-requests-remaining".to_owned();
        Self { header, reserve, wait_most: Duration::from_secs(3600) }
    }

    /// API-Football: requests of the minute.
    #[must_use]
    pub fn api_football_minute(reserve: u64) -> Self {
        let header = "x-ratelimit-remaining".to_owned();
        Self { header, reserve, wait_most: Duration::from_secs(60) }
    }

    fn stretched(&self, interval: Duration, left: u64) -> Duration {
        if left >= self.reserve {
            return interval;
        }
        let seconds = interval.as_secs_f64() * self.reserve as f64 / left.max(1) as f64;
        let stretched = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        stretched.min(self.wait_most).max(interval)
    }
}

/// What is left of each quota, as was told last.
#[derive(Debug)]
pub(super) struct Allowance(Vec<(Quota, Option<u64>)>);

impl Allowance {
    pub(super) fn new(quotas: Vec<Quota>) -> Self {
        Self(quotas.into_iter().map(|quota| (quota, None)).collect())
    }

    pub(super) fn note(&mut self, headers: &HeaderMap) {
        for (quota, left) in &mut self.0 {
            let told = headers.get(quota.header.as_str()).and_then(|value| value.to_str().ok());
            *left = told.and_then(|told| number(told.trim())).or(*left);
        }
    }

    /// How long to wait from the beginning of a request to that of the next.
    pub(super) fn interval(&self, interval: Duration) -> Duration {
        let stretched = self
            .0
            .iter()
            .filter_map(|(quota, left)| left.map(|left| quota.stretched(interval, left)));
        stretched.max().unwrap_or(interval)
    }
}

/// What is left, in whole requests: some tell `12.0`, and less than nothing is nothing.
fn number(told: &str) -> Option<u64> {
    let (owed, digits) = match told.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, told),
    };
    let whole: u64 = digits.split('.').next()?.parse().ok()?;
    Some(if owed { 0 } else { whole })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(quotas: &[Quota], headers: &[(&'static str, &str)]) -> u64 {
        let mut allowance = Allowance::new(quotas.to_vec());
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        allowance.note(&map);
        allowance.interval(Duration::from_secs(10)).as_secs()
    }

    #[test]
    fn intervals_grow_below_the_reserve_so_that_the_quota_lasts() {
        let quotas = [Quota::the_odds_api(100)];
        let cases = [
            ("500", 10),
            ("100", 10),
            ("50", 20),
            ("50.0", 20),
            ("10", 100),
            ("1", 1000),
            ("0", 1000),
            ("-3", 1000),
            ("plenty", 10),
            ("", 10),
        ];
        for (left, expected) in cases {
            assert_eq!(seconds(&quotas, &[("x-requests-remaining", left)]), expected, "{left:?}");
        }
    }

    #[test]
    fn the_quota_that_asks_for_the_longest_interval_decides() {
        let quotas = [Quota::api_football_day(100), Quota::api_football_minute(30)];
        let both = |day, minute| {
            let headers =
                [("x-ratelimit-requests-remaining", day), ("x-ratelimit-remaining", minute)];
            seconds(&quotas, &headers)
        };
        assert_eq!(both("50", "300"), 20);
        assert_eq!(both("50", "1"), 60, "no longer than the minute of that quota");
        assert_eq!(both("1", "300"), 1000);
    }

    #[test]
    fn an_interval_that_is_long_by_itself_is_not_shortened() {
        let quota = Quota { wait_most: Duration::from_secs(3), ..Quota::the_odds_api(100) };
        assert_eq!(seconds(&[quota], &[("x-requests-remaining", "1")]), 10);
    }

    #[test]
    fn what_is_left_is_halved_in_the_same_time_over_and_over() {
        let quota = Quota::the_odds_api(1000);
        let spent = |from: u64, to: u64| -> Duration {
            (to..from).map(|left| quota.stretched(Duration::from_secs(1), left + 1)).sum()
        };
        for (from, to) in [(1000, 500), (500, 250), (250, 125)] {
            let seconds = spent(from, to).as_secs();
            assert!((680..700).contains(&seconds), "{from} to {to}: {seconds}");
        }
    }
}

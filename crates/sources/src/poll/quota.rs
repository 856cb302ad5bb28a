//! Slows polling down as a provider's quota runs out.
//!
//! While at least the reserve is left, every request keeps its interval. Below it, each interval is
//! stretched by reserve / left: doubled at half the reserve, ten times as long at a tenth. So the
//! remaining quota is halved in about the same time over and over, and the last request comes
//! `reserve` intervals after the one before. No stretched interval exceeds `wait_most`, so that a
//! reset of the quota is noticed. With several quotas the longest interval applies. A header that is
//! missing from a response leaves the previous value.

use std::time::Duration;

use reqwest::header::HeaderMap;

/// A counter of the provider, given in a header of its responses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quota {
    /// The header with the number of requests left, in lower case.
    pub header: String,
    /// Polling slows down when fewer requests than this are left. 0: never.
    pub reserve: u64,
    /// The longest stretched interval; an interval that is longer by itself is not shortened.
    pub wait_most: Duration,
}

impl Quota {
    /// The Odds API: credits per month.
    #[must_use]
    pub fn the_odds_api(reserve: u64) -> Self {
        let header = "x-requests-remaining".to_owned();
        Self { header, reserve, wait_most: Duration::from_secs(3600) }
    }

    /// API-Football: requests per day.
    #[must_use]
    pub fn api_football_day(reserve: u64) -> Self {
        let header = "x-ratelimit-requests-remaining".to_owned();
        Self { header, reserve, wait_most: Duration::from_secs(3600) }
    }

    /// API-Football: requests per minute.
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

/// The last known remainder of each quota.
#[derive(Debug)]
pub(super) struct Allowance(Vec<(Quota, Option<u64>)>);

impl Allowance {
    pub(super) fn new(quotas: Vec<Quota>) -> Self {
        Self(quotas.into_iter().map(|quota| (quota, None)).collect())
    }

    pub(super) fn note(&mut self, headers: &HeaderMap) {
        for (quota, left) in &mut self.0 {
            let value = headers.get(quota.header.as_str()).and_then(|value| value.to_str().ok());
            *left = value.and_then(|value| number(value.trim())).or(*left);
        }
    }

    /// The interval from the start of one request to the start of the next.
    pub(super) fn interval(&self, interval: Duration) -> Duration {
        let stretched = self
            .0
            .iter()
            .filter_map(|(quota, left)| left.map(|left| quota.stretched(interval, left)));
        stretched.max().unwrap_or(interval)
    }
}

/// The number of whole requests left. Some providers send `12.0`; a negative number counts as 0.
fn number(value: &str) -> Option<u64> {
    let (is_negative, digits) = match value.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, value),
    };
    let whole: u64 = digits.split('.').next()?.parse().ok()?;
    Some(if is_negative { 0 } else { whole })
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
    fn the_longest_interval_of_all_quotas_applies() {
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
    fn the_remainder_is_halved_in_constant_time() {
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

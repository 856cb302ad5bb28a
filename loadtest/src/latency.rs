//! Histograms of durations in microseconds, and their percentiles.

use std::array;

use hdrhistogram::Histogram;
use serde::Serialize;

/// Ten minutes. Longer durations are recorded as this, which the maximum then shows.
const LONGEST_US: u64 = 600_000_000;

/// Significant digits of a histogram. Three are within 0.1 % everywhere.
pub(crate) fn histogram(digits: u8) -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_US, digits).expect("bounds and digits are constants")
}

/// Both ways of measuring one class of sockets in one phase.
#[derive(Debug, Clone)]
pub(crate) struct Latencies {
    /// From the instant at which the message was due.
    pub(crate) corrected: Histogram<u64>,
    /// From the instant at which it was sent, or published by the hub.
    pub(crate) uncorrected: Histogram<u64>,
    /// How long the oldest change in a merged update was unseen.
    pub(crate) unseen: Histogram<u64>,
}

impl Latencies {
    pub(crate) fn new() -> Self {
        Self { corrected: histogram(3), uncorrected: histogram(3), unseen: histogram(3) }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        add(&mut self.corrected, &other.corrected);
        add(&mut self.uncorrected, &other.uncorrected);
        add(&mut self.unseen, &other.unseen);
    }
}

/// Adds a histogram to one with the same bounds.
pub(crate) fn add(to: &mut Histogram<u64>, other: &Histogram<u64>) {
    to.add(other).expect("all histograms of a kind have the same bounds");
}

/// The summary of a histogram, in microseconds; all zero if nothing was recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct Percentiles {
    pub(crate) count: u64,
    pub(crate) min_us: u64,
    pub(crate) mean_us: f64,
    pub(crate) p50_us: u64,
    pub(crate) p90_us: u64,
    pub(crate) p99_us: u64,
    pub(crate) p999_us: u64,
    pub(crate) p9999_us: u64,
    pub(crate) max_us: u64,
}

impl Percentiles {
    /// From the median to the maximum.
    pub(crate) fn ascending(&self) -> [u64; 6] {
        [self.p50_us, self.p90_us, self.p99_us, self.p999_us, self.p9999_us, self.max_us]
    }
}

impl From<&Histogram<u64>> for Percentiles {
    fn from(histogram: &Histogram<u64>) -> Self {
        if histogram.is_empty() {
            return Self::default();
        }
        let [p50_us, p90_us, p99_us, p999_us, p9999_us] =
            [0.5, 0.9, 0.99, 0.999, 0.9999].map(|quantile| histogram.value_at_quantile(quantile));
        Self {
            count: histogram.len(),
            min_us: histogram.min(),
            mean_us: (histogram.mean() * 10.0).round() / 10.0,
            p50_us,
            p90_us,
            p99_us,
            p999_us,
            p9999_us,
            max_us: histogram.max(),
        }
    }
}

/// The curve of a histogram for a plot: the values at the quantiles one minus each of 1, 0.8 ..
/// 1e-5.
pub(crate) fn curve(histogram: &Histogram<u64>) -> Vec<(f64, u64)> {
    const POINTS: usize = 64;
    if histogram.is_empty() {
        return Vec::new();
    }
    let points: [f64; POINTS] = array::from_fn(|at| 10_f64.powf(-5.0 * at as f64 / 63.0));
    // A quantile finer than the number of samples is the maximum again.
    let finest = 1.0 / histogram.len().max(1) as f64;
    points
        .iter()
        .filter(|rest| **rest >= finest * 0.8)
        .map(|rest| (*rest, histogram.value_at_quantile(1.0 - rest)))
        .collect()
}

/// What happened in each interval of a run.
#[derive(Debug)]
pub(crate) struct Series {
    interval_us: u64,
    intervals: Vec<Interval>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Interval {
    /// Corrected latencies of the messages that were due in it.
    pub(crate) latencies: Option<Histogram<u64>>,
    /// Frames received in it, regardless of when they were sent.
    pub(crate) received: u64,
}

/// A run has about 120 intervals; those of a run that exceeds its plan are folded into the last.
const INTERVALS_MAX: usize = 400;

impl Series {
    pub(crate) fn new(interval_us: u64) -> Self {
        Self { interval_us, intervals: Vec::new() }
    }

    fn at(&mut self, since: u64) -> &mut Interval {
        let index = usize::try_from(since / self.interval_us).unwrap_or(usize::MAX);
        let index = index.min(INTERVALS_MAX - 1);
        if index >= self.intervals.len() {
            self.intervals.resize_with(index + 1, Interval::default);
        }
        &mut self.intervals[index]
    }

    /// Records the latency of a message that was due this long after the start.
    #[inline]
    pub(crate) fn record(&mut self, since: u64, latency: u64) {
        let latencies = self.at(since).latencies.get_or_insert_with(|| histogram(2));
        latencies.saturating_record(latency);
    }

    /// Records frames that arrived this long after the start.
    pub(crate) fn received(&mut self, since: u64, frames: u64) {
        self.at(since).received += frames;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (index, interval) in other.intervals.iter().enumerate() {
            let mine = self.at(index as u64 * other.interval_us);
            mine.received += interval.received;
            if let Some(latencies) = &interval.latencies {
                add(mine.latencies.get_or_insert_with(|| histogram(2)), latencies);
            }
        }
    }

    pub(crate) fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    pub(crate) fn interval_us(&self) -> u64 {
        self.interval_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_match_the_values() {
        let mut values = histogram(3);
        for value in 1..=100_000 {
            values.record(value).unwrap();
        }
        let percentiles = Percentiles::from(&values);
        for (found, exact) in [
            (percentiles.p50_us, 50_000),
            (percentiles.p90_us, 90_000),
            (percentiles.p99_us, 99_000),
            (percentiles.p999_us, 99_900),
            (percentiles.p9999_us, 99_990),
            (percentiles.max_us, 100_000),
        ] {
            assert!(found.abs_diff(exact) <= exact / 1000 + 1, "{found} for {exact}");
        }
        assert_eq!((percentiles.count, percentiles.min_us), (100_000, 1));
    }

    #[test]
    fn empty_histogram_is_all_zero() {
        assert_eq!(Percentiles::from(&histogram(3)), Percentiles::default());
        assert!(curve(&histogram(3)).is_empty());
    }

    #[test]
    fn one_second_among_ten_thousand_is_the_maximum_and_not_the_median() {
        let mut values = histogram(3);
        values.record_n(100, 9_999).unwrap();
        values.record(1_000_000).unwrap();
        let percentiles = Percentiles::from(&values);
        assert_eq!((percentiles.p50_us, percentiles.p999_us), (100, 100));
        assert!(percentiles.max_us >= 1_000_000);
    }

    #[test]
    fn values_beyond_the_maximum_are_recorded_as_the_maximum() {
        let mut values = histogram(3);
        values.saturating_record(u64::MAX);
        assert!(values.max() >= LONGEST_US);
    }

    #[test]
    fn series_of_two_threads_add_up_by_interval() {
        let (mut one, mut other) = (Series::new(1000), Series::new(1000));
        one.record(500, 7);
        other.record(700, 9);
        other.record(2500, 11);
        other.received(2500, 3);
        one.add(&other);
        let counts: Vec<u64> = one
            .intervals()
            .iter()
            .map(|i| i.latencies.as_ref().map_or(0, Histogram::len))
            .collect();
        assert_eq!(counts, [2, 0, 1]);
        assert_eq!(one.intervals()[2].received, 3);
    }

    #[test]
    fn run_that_never_ends_keeps_a_bounded_series() {
        let mut series = Series::new(1);
        series.record(u64::MAX, 1);
        assert_eq!(series.intervals().len(), INTERVALS_MAX);
    }
}

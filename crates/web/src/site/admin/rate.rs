//! The growth rate of a counter, from readings over time. Pure: time comes in as `now`.

use accounts::Micros;

/// Readings closer together than this count as one: a rate over a shorter time says little.
pub(super) const READING_INTERVAL_MIN: Micros = 1_000_000;

/// The rate of one counter.
#[derive(Debug, Clone, Copy)]
pub(super) struct CounterRate {
    before: CounterReading,
    last: CounterReading,
}

#[derive(Debug, Clone, Copy)]
struct CounterReading {
    at: Micros,
    total: f64,
}

impl CounterRate {
    /// A counter that starts at 0 now.
    pub(super) fn new(now: Micros) -> Self {
        let reading = CounterReading { at: now, total: 0.0 };
        Self { before: reading, last: reading }
    }

    /// The rate per second since the previous reading; `None` if that was just now.
    pub(super) fn at(&mut self, now: Micros, total: f64) -> Option<f64> {
        if now - self.last.at >= READING_INTERVAL_MIN {
            self.before = self.last;
            self.last = CounterReading { at: now, total };
        }
        let span = self.last.at - self.before.at;
        (span > 0).then(|| (self.last.total - self.before.total).max(0.0) * 1e6 / as_float(span))
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate for people; a century is below 2^53")]
fn as_float(span: Micros) -> f64 {
    span as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_covers_the_time_since_the_previous_read() {
        let mut rate = CounterRate::new(0);
        assert_eq!(rate.at(500_000, 10.0), None);
        assert_eq!(rate.at(2_000_000, 100.0), Some(50.0));
        assert_eq!(rate.at(4_000_000, 100.0), Some(0.0));
        assert_eq!(rate.at(5_000_000, 130.0), Some(30.0));
    }

    /// Two operators who read at the same time see the same.
    #[test]
    fn read_right_after_another_repeats_the_rate() {
        let mut rate = CounterRate::new(0);
        assert_eq!(rate.at(2_000_000, 100.0), Some(50.0));
        assert_eq!(rate.at(2_000_001, 101.0), Some(50.0));
        assert_eq!(rate.at(4_000_000, 200.0), Some(50.0));
    }
}

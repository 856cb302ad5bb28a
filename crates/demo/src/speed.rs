//! The speed of the demo.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// A factor from 0.1 to 100, in hundredths, because settings are compared and floats have no total
/// equality.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct DemoSpeed {
    pub(crate) hundredths: u32,
}

/// The speed is not from 0.1 to 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a number from 0.1 to 100")]
pub struct WrongDemoSpeed;

impl DemoSpeed {
    /// Converts a duration by the real clock to one by the demo's clock.
    #[must_use]
    pub fn times(self, span_us: i64) -> i64 {
        self.scale(span_us, self.hundredths.into(), 100)
    }

    /// Converts a duration by the demo's clock to one by the real clock.
    #[must_use]
    pub fn divide(self, span_us: i64) -> i64 {
        self.scale(span_us, 100, self.hundredths.into())
    }

    fn scale(self, span_us: i64, by: i128, divisor: i128) -> i64 {
        let scaled = i128::from(span_us) * by / divisor;
        i64::try_from(scaled).unwrap_or(i64::MAX)
    }
}

/// As fast as real matches.
impl Default for DemoSpeed {
    fn default() -> Self {
        Self { hundredths: 100 }
    }
}

impl TryFrom<f64> for DemoSpeed {
    type Error = WrongDemoSpeed;

    fn try_from(speed: f64) -> Result<Self, WrongDemoSpeed> {
        let hundredths = (speed * 100.0).round();
        // Within these bounds a float is a whole number of 32 bits.
        let fits = || Self { hundredths: hundredths as u32 };
        (10.0..=10_000.0).contains(&hundredths).then(fits).ok_or(WrongDemoSpeed)
    }
}

impl From<DemoSpeed> for f64 {
    fn from(speed: DemoSpeed) -> Self {
        Self::from(speed.hundredths) / 100.0
    }
}

impl FromStr for DemoSpeed {
    type Err = WrongDemoSpeed;

    fn from_str(text: &str) -> Result<Self, WrongDemoSpeed> {
        text.parse::<f64>().map_err(|_| WrongDemoSpeed)?.try_into()
    }
}

impl fmt::Display for DemoSpeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f64::from(*self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speed_is_between_a_tenth_and_a_hundred() {
        for (text, expected) in [("1", "1"), ("0.1", "0.1"), ("100", "100"), ("2.5", "2.5")] {
            assert_eq!(text.parse::<DemoSpeed>().map(|it| it.to_string()).as_deref(), Ok(expected));
        }
        for wrong in ["0", "0.09", "101", "-1", "nan", "inf", "fast", ""] {
            assert_eq!(wrong.parse::<DemoSpeed>(), Err(WrongDemoSpeed), "{wrong}");
        }
        let speed: DemoSpeed = "2.5".parse().expect("a speed");
        assert_eq!((speed.times(1_000), speed.divide(1_000)), (2_500, 400));
    }
}

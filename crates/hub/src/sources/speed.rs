//! The speed of a replay.

use std::str::FromStr;

/// The speed of a replay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Speed {
    /// This many times the recorded speed; positive and finite.
    Times(f64),
    /// Without pauses.
    Max,
}

/// The speed is neither a positive decimal number nor `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a positive decimal number or `max`")]
pub struct WrongSpeed;

impl FromStr for Speed {
    type Err = WrongSpeed;

    fn from_str(text: &str) -> Result<Self, WrongSpeed> {
        if text == "max" {
            return Ok(Self::Max);
        }
        // Rust also parses `inf`, `1e3` and `+1` as numbers; those are not decimal.
        let decimal = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let times = text.parse::<f64>().map_err(|_| WrongSpeed)?;
        let usable = decimal && times.is_finite() && times > 0.0;
        usable.then_some(Self::Times(times)).ok_or(WrongSpeed)
    }
}

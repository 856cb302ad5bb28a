//! The parts of settings that several crates share: errors, checks, secrets and networks.

mod network;
mod secret_ref;

pub use self::{
    network::Network,
    secret_ref::{SecretError, SecretRef},
};

use crate::Micros;

/// Names the component of a debug build that panics; see [`crate::supervisor::fault`]. It is not a
/// setting, and a release build ignores it.
pub const FAULT_VARIABLE: &str = "MATCHWIRE_FAULT";

/// The component that panics on demand.
#[cfg(debug_assertions)]
#[expect(clippy::disallowed_methods, reason = "this is where the environment is read")]
pub fn fault() -> Option<String> {
    std::env::var(FAULT_VARIABLE).ok()
}

/// A setting in milliseconds as microseconds.
#[must_use]
pub fn micros(ms: u64) -> Micros {
    Micros::try_from(ms).unwrap_or(Micros::MAX).saturating_mul(1_000)
}

/// A setting that exceeds a bound.
#[derive(Debug, thiserror::Error)]
#[error("{name} is {value}, more than {bound_name}, which is {bound}")]
pub struct BoundExceeded {
    pub name: &'static str,
    pub value: u64,
    pub bound_name: &'static str,
    pub bound: u64,
}

/// The name of a setting and its value.
pub type Knob = (&'static str, u64);

/// Checks that a setting does not exceed a bound.
///
/// # Errors
///
/// If it does.
pub fn at_most((name, value): Knob, (bound_name, bound): Knob) -> Result<(), BoundExceeded> {
    if value <= bound {
        return Ok(());
    }
    Err(BoundExceeded { name, value, bound_name, bound })
}

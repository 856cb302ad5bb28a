//! The time of day, for those who hand it in.

use std::time::{SystemTime, UNIX_EPOCH};

use fanout::Micros;

/// Microseconds since the Unix epoch, UTC.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is where the hub asks for the time")]
pub fn now() -> Micros {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Micros::try_from(since.as_micros()).unwrap_or(Micros::MAX)
}

//! The clocks of this crate. All timers use [`monotonic`], so that setting the wall clock delays no beat
//! and closes no socket. Clients and accounts see times of day, which come from the host.

use std::{
    sync::LazyLock,
    time::{SystemTime, UNIX_EPOCH},
};

use crate::Micros;

#[expect(clippy::disallowed_types, reason = "shards run outside tokio, whose clock tests pause")]
type Instant = std::time::Instant;

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Microseconds since the first call. Never goes back, even if the wall clock is set.
pub(crate) fn monotonic() -> Micros {
    Micros::try_from(START.elapsed().as_micros()).unwrap_or(Micros::MAX)
}

/// Microseconds since the Unix epoch, for hosts without their own clock.
#[expect(
    clippy::disallowed_methods,
    reason = "the only place in this crate that reads the time of day"
)]
pub(crate) fn system() -> Micros {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Micros::try_from(since.as_micros()).unwrap_or(Micros::MAX)
}

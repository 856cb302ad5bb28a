//! The clocks of the fan-out. Everything that is due after some time goes by [`monotonic`]: a wall clock that is
//! set back or forward delays no beat and closes no socket. What clients and accounts see are times of day,
//! for which the host is asked.

use std::{
    sync::LazyLock,
    time::{SystemTime, UNIX_EPOCH},
};

use crate::Micros;

#[expect(clippy::disallowed_types, reason = "shards run outside tokio, whose clock tests pause")]
type Instant = std::time::Instant;

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Microseconds since this was first asked. It never goes back, whatever happens to the wall clock.
pub(crate) fn monotonic() -> Micros {
    Micros::try_from(START.elapsed().as_micros()).unwrap_or(Micros::MAX)
}

/// Microseconds since the Unix epoch, for hosts without a clock of their own.
#[expect(clippy::disallowed_methods, reason = "this is where the fan-out asks for the time of day")]
pub(crate) fn system() -> Micros {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Micros::try_from(since.as_micros()).unwrap_or(Micros::MAX)
}

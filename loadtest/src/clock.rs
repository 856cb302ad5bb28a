//! The one clock of a run: that of the sources and of the hub, so that times of both can be taken
//! from each other. It is the system's, because `at` is; a step of it during a run would show as
//! latencies that nobody had.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Microseconds since the Unix epoch.
#[expect(clippy::disallowed_methods, reason = "this is the edge at which time comes in")]
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// Waits on a thread of the tool's own: its generators are threads, not tasks.
#[expect(clippy::disallowed_methods, reason = "a thread with a schedule of its own has to wait")]
pub(crate) fn wait(us: u64) {
    std::thread::sleep(Duration::from_micros(us));
}

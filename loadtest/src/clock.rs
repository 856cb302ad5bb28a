//! The clock of a run. It is the system's clock because `at` is, so that times of the sources and
//! of the hub can be subtracted from each other. A step of the system's clock during a run shows up
//! as false latencies.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Microseconds since the Unix epoch.
#[expect(clippy::disallowed_methods, reason = "this is the edge at which time comes in")]
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// Blocks a thread of the tool: its generators are threads, not tasks.
#[expect(clippy::disallowed_methods, reason = "a thread with a schedule of its own has to wait")]
pub(crate) fn wait(us: u64) {
    std::thread::sleep(Duration::from_micros(us));
}

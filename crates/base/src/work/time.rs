//! The processor time of threads.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The processor time of the thread that calls, since it began.
#[must_use]
pub fn thread_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// The output of a closure, and the processor time that it took.
pub fn measure<T>(closure: impl FnOnce() -> T) -> (T, Duration) {
    let begun = thread_time();
    let output = closure();
    (output, thread_time().saturating_sub(begun))
}

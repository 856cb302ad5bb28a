//! The processor time of threads.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    time::Duration,
};

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

/// Reports the processor time of each poll of a future. Waiting is not counted, nor is work on other threads.
pub(super) async fn metered<F: Future>(future: F, mut report: impl FnMut(Duration)) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|context| {
        let (polled, used) = measure(|| future.as_mut().poll(context));
        report(used);
        polled
    })
    .await
}

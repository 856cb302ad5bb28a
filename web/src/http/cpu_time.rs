//! The processor time of a response.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    time::Duration,
};

use rustix::time::{ClockId, clock_gettime};

/// Returns the output of a future and the processor time of the threads that polled it. Waiting is not
/// counted, nor is work on other threads.
pub(super) async fn measured<F: Future>(future: F) -> (F::Output, Duration) {
    let mut future = pin!(future);
    let mut used = Duration::ZERO;
    let output = poll_fn(|context| {
        let begun = of_this_thread();
        let polled = future.as_mut().poll(context);
        used += of_this_thread().saturating_sub(begun);
        polled
    })
    .await;
    (output, used)
}

fn of_this_thread() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    #[tokio::test]
    async fn work_counts_and_waiting_does_not() {
        let wait = tokio::time::sleep(Duration::from_millis(50));
        let ((), waited) = measured(wait).await;
        assert!(waited < Duration::from_millis(25), "{waited:?} of waiting");
        let least = Duration::from_millis(20);
        let work = async {
            let begun = of_this_thread();
            while of_this_thread() - begun < least {
                black_box(());
            }
        };
        let ((), worked) = measured(work).await;
        assert!(worked >= least, "{worked:?} of work");
    }
}

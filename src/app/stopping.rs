//! The order and the deadlines of a stop. Each step has a deadline, and the whole ends within `server.drain_ms` plus five
//! seconds.

use std::{pin::Pin, time::Duration};

use tokio::{
    task::JoinHandle,
    time::{Instant, timeout_at},
};
use tracing::warn;

use super::milliseconds;
use crate::config::ServerConfig;
use base::supervisor;
use cluster::RunningNode;

/// A part of the hub that runs.
pub(super) trait RunningPart {
    /// Ends the part. Steps that take longer than the deadline are given up.
    async fn stop(self, deadline: StopDeadline);
}

impl RunningPart for RunningNode {
    async fn stop(self, deadline: StopDeadline) {
        deadline.step("cluster", Self::stop(self, deadline.patience())).await;
    }
}

/// A part that is not configured.
impl<P: RunningPart> RunningPart for Option<P> {
    async fn stop(self, deadline: StopDeadline) {
        if let Some(part) = self {
            part.stop(deadline).await;
        }
    }
}

type Stop = Box<dyn FnOnce(StopDeadline) -> Pin<Box<dyn Future<Output = ()>>>>;

/// The running parts, each behind those that must outlive it.
#[derive(Default)]
pub(super) struct RunningParts(Vec<Stop>);

impl RunningParts {
    pub(super) fn add(&mut self, part: impl RunningPart + 'static) {
        self.0.push(Box::new(|deadline| Box::pin(part.stop(deadline))));
    }

    /// Stops the parts, the last one first.
    pub(super) async fn stop(self, deadline: StopDeadline) {
        for stop in self.0.into_iter().rev() {
            stop(deadline).await;
        }
    }
}

/// What all steps after the drain have together.
const AFTER_DRAIN: Duration = Duration::from_millis(3_500);

/// What the steps after the archive have of it.
const AFTER_ARCHIVE: Duration = Duration::from_millis(1_000);

/// What each step has even if those before it have used up the time.
const STEP_MIN: Duration = Duration::from_millis(100);

/// The deadlines of a stop.
#[derive(Debug, Clone, Copy)]
pub(super) struct StopDeadline {
    drained: Instant,
    ended: Instant,
}

impl StopDeadline {
    /// From now on. After a failure, the watchdog ends the process.
    pub(super) fn begin(settings: &ServerConfig, now: Instant) -> Self {
        let span = |ms| Duration::from_millis(milliseconds(ms).into());
        if supervisor::has_failed() {
            return Self { drained: now, ended: now + span(settings.failure_exit_ms) };
        }
        let drained = now + span(settings.drain_ms);
        Self { drained, ended: drained + AFTER_DRAIN }
    }

    /// Runs a step of the stop; `None`, with its name in the log, if it takes too long.
    pub(super) async fn step<T>(
        self,
        name: &'static str,
        step: impl Future<Output = T>,
    ) -> Option<T> {
        let deadline = self.ended.max(Instant::now() + STEP_MIN);
        let done = timeout_at(deadline, step).await;
        if done.is_err() {
            warn!(step = name, "the stop does not wait any longer for this step");
        }
        done.ok()
    }

    /// Waits for the end of a task, which is cut off at the deadline. The supervisor has reported a panic.
    pub(super) async fn task<T>(self, name: &'static str, mut task: JoinHandle<T>) {
        if self.step(name, &mut task).await.is_none() {
            task.abort();
        }
    }

    /// For the archive: leaves time for the steps after it.
    pub(super) fn archive(self) -> Self {
        Self { ended: self.ended - AFTER_ARCHIVE, ..self }
    }

    /// How long work that others take up again, such as a mail, may go on.
    pub(super) fn patience(self) -> Duration {
        self.drained.saturating_duration_since(Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc;

    #[tokio::test(start_paused = true)]
    async fn stop_ends_whatever_its_steps_do() {
        let settings = ServerConfig { drain_ms: 2_000, ..ServerConfig::default() };
        let began = Instant::now();
        let deadline = StopDeadline::begin(&settings, began);
        assert_eq!(deadline.step("quick", async { 7 }).await, Some(7));
        assert_eq!(deadline.patience(), Duration::from_secs(2));
        for name in ["stuck", "next", "third"] {
            deadline.task(name, tokio::spawn(std::future::pending::<()>())).await;
        }
        assert_eq!(deadline.step("last", async { 8 }).await, Some(8), "what is done counts");
        assert_eq!(deadline.patience(), Duration::ZERO);
        let took = began.elapsed();
        assert!(took < Duration::from_millis(settings.drain_ms + 5_000), "{took:?}");
    }

    struct Named(&'static str, mpsc::Sender<&'static str>);

    impl RunningPart for Named {
        async fn stop(self, _: StopDeadline) {
            self.1.send(self.0).await.expect("the test receives it");
        }
    }

    #[tokio::test]
    async fn parts_stop_in_reverse_order() {
        let (tx, mut stopped) = mpsc::channel(9);
        let mut parts = RunningParts::default();
        parts.add(Named("database", tx.clone()));
        parts.add(None::<Named>);
        parts.add(Some(Named("log", tx.clone())));
        parts.add(Named("http", tx));
        parts.stop(StopDeadline::begin(&ServerConfig::default(), Instant::now())).await;
        let mut names = Vec::new();
        stopped.recv_many(&mut names, 9).await;
        assert_eq!(names, ["http", "log", "database"]);
    }
}

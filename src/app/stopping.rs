//! Stops the HTTP server and the sockets, and the writer with the log and the history. `run` says in which order the
//! parts stop. Each step has a deadline, and the whole ends within `server.drain_ms` plus five seconds.

use std::{io, time::Duration};

use fanout::{Drain, Fanout};
use tokio::{
    sync::watch,
    task::{JoinError, JoinHandle, JoinSet},
    time::{Instant, timeout_at},
};
use tracing::{info, warn};

use super::{exports, milliseconds};
use crate::config::ServerConfig;
use base::supervisor::{self, fault};
use hub::{
    follower::FollowerEnd,
    pipeline::{EndedLog, HubHandle, Request, Running},
};
use log::files::SnapshotStore;

/// How the task of the HTTP server ended. If it stopped as it should, it leaves the requests that are not answered
/// yet.
type Served = Result<io::Result<JoinSet<()>>, JoinError>;

/// What all steps after the drain have together.
const AFTER_DRAIN: Duration = Duration::from_millis(3_500);

/// What the steps after the archive have of it.
const AFTER_ARCHIVE: Duration = Duration::from_millis(1_000);

/// What each step has even if those before it have used up the time.
const STEP_MIN: Duration = Duration::from_millis(100);

/// The least time in which a log that refuses records may take them yet.
const LOG_MIN: Duration = Duration::from_secs(1);

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

/// Closes the acceptor and all sockets, and waits until open requests are answered, up to the configured time.
pub(super) async fn stop_serving(
    fanout: &Fanout,
    serving: impl Future<Output = Served>,
    stop: &watch::Sender<bool>,
    settings: &ServerConfig,
    deadline: StopDeadline,
) {
    supervisor::stopping();
    let drain_ms = if supervisor::has_failed() {
        fault::hang_if_wanted().await;
        // The acceptor stays meanwhile, so that probes learn from `/readyz` why they should not
        // connect.
        let drain_ms = settings.drain_ms.min(settings.failure_exit_ms / 2);
        drain(fanout, drain_ms).await;
        0
    } else {
        settings.drain_ms
    };
    stop.send_replace(true);
    // The acceptor is closed first, so that closed clients do not reconnect to this process.
    let served = deadline.step("http", serving).await;
    let mut answering = served.and_then(|served| ended(served).ok()).unwrap_or_default();
    deadline.step("sockets", drain(fanout, drain_ms)).await;
    let answered = async { while answering.join_next().await.is_some() {} };
    if tokio::time::timeout(deadline.patience(), answered).await.is_err() {
        info!("open requests were dropped at the drain deadline");
    }
}

/// Treats a panic of the HTTP server as a failure like others.
pub(super) fn ended(served: Served) -> io::Result<JoinSet<()>> {
    served.unwrap_or_else(|panic| Err(io::Error::other(panic)))
}

/// Closes all sockets and waits until they are gone, up to the configured time.
async fn drain(fanout: &Fanout, drain_ms: u64) {
    fanout.drain(Drain::AtOnce { window_ms: milliseconds(drain_ms) });
    wait_for_sockets(fanout, Duration::from_millis(drain_ms)).await;
    let fanout = fanout.clone();
    tokio::task::spawn_blocking(move || fanout.stop()).await.ok();
}

/// Waits until all sockets are gone, up to this time.
pub(super) async fn wait_for_sockets(fanout: &Fanout, patience: Duration) {
    let deadline = tokio::time::sleep(patience);
    let mut look = tokio::time::interval(Duration::from_millis(20));
    let gone = async {
        while fanout.sockets() > 0 {
            look.tick().await;
        }
    };
    tokio::select! {
        () = gone => {}
        () = deadline => info!(sockets = fanout.sockets(), "sockets were dropped at the deadline"),
    }
}

/// Stops the writer, and with it the history. A last snapshot makes the next start short. A log that cannot be written
/// holds it up until the drain ends. Returns the log, which stays locked until [`close_log`]: another process must not
/// write to the archive before this one is done. `None` if a part failed.
pub(super) async fn stop_writer(
    hub_handle: &HubHandle,
    running: Running<exports::HistoryFeed>,
    snapshots: Option<SnapshotStore>,
    deadline: StopDeadline,
) -> Option<EndedLog> {
    let log_state = running.state.clone();
    let ending = move || {
        // The supervisor has reported a part that failed.
        let (EndedLog(log), FollowerEnd { consumer, applied, state }) = running.join()?;
        consumer.end();
        let is_whole = applied == log.end().number;
        if let (Some(store), Some(state), true) = (snapshots, state, is_whole) {
            exports::write_snapshot(&store, log.end(), &state);
        }
        Some(EndedLog(log))
    };
    let stopping = async {
        hub_handle.requests.send(Request::Stop).await.ok();
        // The supervisor has reported a panic.
        tokio::task::spawn_blocking(ending).await.ok().flatten()
    };
    tokio::pin!(stopping);
    let patience = deadline.patience().max(LOG_MIN);
    if let Ok(log) = tokio::time::timeout(patience, &mut stopping).await {
        return log;
    }
    log_state.abandon();
    deadline.step("writer", stopping).await.flatten()
}

/// Closes the log, so that the next start finds continuity proven.
pub(super) async fn close_log(EndedLog(log): EndedLog) {
    let closing = move || {
        if let Err(error) = log.close() {
            let error = &error as &dyn std::error::Error;
            warn!(error, "the log could not be closed cleanly");
        }
    };
    // The supervisor has reported a panic.
    tokio::task::spawn_blocking(closing).await.ok();
}

#[cfg(test)]
mod tests {
    use super::*;

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
}

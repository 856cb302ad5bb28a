//! Stops the HTTP server and the sockets, and the writer with the log and the history. Each has a deadline. `run`
//! says in which order the parts stop.

use std::{io, time::Duration};

use fanout::{Drain, Fanout};
use tokio::{
    sync::watch,
    task::{JoinError, JoinSet},
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

/// Closes the acceptor and all sockets, and waits until open requests are answered, up to the configured time.
/// Returns this time, which is 0 if a part has failed.
pub(super) async fn stop_serving(
    fanout: &Fanout,
    serving: impl Future<Output = Served>,
    stop: &watch::Sender<bool>,
    settings: &ServerConfig,
) -> Duration {
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
    let mut answering = ended(serving.await).unwrap_or_default();
    drain(fanout, drain_ms).await;
    let patience = Duration::from_millis(drain_ms);
    let answered = async { while answering.join_next().await.is_some() {} };
    if tokio::time::timeout(patience, answered).await.is_err() {
        info!("open requests were dropped at the drain deadline");
    }
    patience
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
/// holds it up for `patience`. Returns the log, which stays locked until [`close_log`]: another process must not
/// write to the archive before this one is done. `None` if a part failed.
pub(super) async fn stop_writer(
    hub_handle: &HubHandle,
    running: Running<exports::HistoryFeed>,
    snapshots: Option<SnapshotStore>,
    patience: Duration,
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
    if let Ok(log) = tokio::time::timeout(patience, &mut stopping).await {
        return log;
    }
    log_state.abandon();
    stopping.await
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

//! Receives the listening socket from a service manager such as systemd, and notifies it.

use std::{net, time::Duration};

use listenfd::ListenFd;
use sd_notify::NotifyState;
use tracing::warn;

use super::AppError;

/// The time that a step of the start asks for, again and again.
const EXTENSION: Duration = Duration::from_secs(60);

/// The listening socket that the service manager has opened and keeps (`LISTEN_FDS`); `None` without one. Connections
/// that come between the end of one process and the start of the next wait in it.
///
/// # Errors
///
/// If there are several, or it is not a TCP socket.
pub(super) fn listener() -> Result<Option<net::TcpListener>, AppError> {
    let mut sockets = ListenFd::from_env();
    if sockets.len() > 1 {
        return Err(AppError::PassedSockets(sockets.len()));
    }
    let Some(listener) = sockets.take_tcp_listener(0).map_err(AppError::PassedSocket)? else {
        return Ok(None);
    };
    listener.set_nonblocking(true).map_err(AppError::PassedSocket)?;
    Ok(Some(listener))
}

/// Runs a step of the start that may take longer than the service manager allows, such as the migration of a large
/// database, and asks it for more time meanwhile.
pub(super) async fn extending_start<T>(step: impl Future<Output = T>) -> T {
    let asking = async {
        loop {
            let more = EXTENSION.as_micros().try_into().unwrap_or(u32::MAX);
            notify(&[NotifyState::ExtendTimeoutUsec(more)]);
            tokio::time::sleep(EXTENSION / 4).await;
        }
    };
    tokio::select! {
        done = step => done,
        never = asking => never,
    }
}

/// Notifies the service manager, if there is one, that clients are served.
pub(super) fn is_ready() {
    notify(&[NotifyState::Ready]);
}

/// Notifies the service manager that the settings are being reloaded. [`is_ready`] ends it.
pub(super) fn is_reloading() {
    // systemd wants the time too, to tell this reload from an earlier one.
    if let Ok(now) = NotifyState::monotonic_usec_now() {
        notify(&[NotifyState::Reloading, now]);
    }
}

/// Notifies the service manager that the hub stops.
pub(super) fn is_stopping() {
    notify(&[NotifyState::Stopping]);
}

fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        warn!(error = &error as &dyn std::error::Error, "the service manager cannot be notified");
    }
}

//! Signals of the operating system.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::info;

use base::supervisor::fault;

/// What a signal requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignalRequest {
    /// The settings are to be read again.
    Reload,
    Stop,
}

/// SIGINT and SIGTERM stop the hub, and SIGHUP reloads its settings. SIGUSR1 and SIGUSR2, which would end the
/// process, are logged and have no effect. SIGPIPE is ignored by Rust's runtime: a write to a closed pipe is an error.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
    user_1: Signal,
    user_2: Signal,
}

impl Signals {
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            user_1: signal(SignalKind::user_defined1())?,
            user_2: signal(SignalKind::user_defined2())?,
        })
    }

    pub(super) async fn next(&mut self) -> SignalRequest {
        loop {
            let ignored = tokio::select! {
                _ = self.interrupt.recv() => return SignalRequest::Stop,
                _ = self.terminate.recv() => return SignalRequest::Stop,
                _ = self.hang_up.recv() => return SignalRequest::Reload,
                _ = self.user_1.recv() => "SIGUSR1",
                _ = self.user_2.recv() => "SIGUSR2",
            };
            if ignored == "SIGUSR1" {
                fault::arm();
            }
            info!(signal = ignored, "signal ignored");
        }
    }
}

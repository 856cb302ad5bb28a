//! Signals of the operating system. Only SIGINT and SIGTERM stop the hub.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::info;

use base::supervisor::fault;

/// SIGINT and SIGTERM stop the hub. SIGHUP, SIGUSR1 and SIGUSR2, which would end the process, are
/// logged and have no effect. SIGPIPE is ignored by Rust's runtime: a write to a closed pipe is an error.
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

    pub(super) async fn stop_requested(&mut self) {
        loop {
            let ignored = tokio::select! {
                _ = self.interrupt.recv() => return,
                _ = self.terminate.recv() => return,
                _ = self.hang_up.recv() => "SIGHUP",
                _ = self.user_1.recv() => "SIGUSR1",
                _ = self.user_2.recv() => "SIGUSR2",
            };
            if ignored == "SIGUSR1" {
                fault::arm();
            }
            info!(signal = ignored, "signal ignored: settings are read only at startup");
        }
    }
}

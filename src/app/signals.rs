//! Signals of the operating system.

use std::{io, pin::pin};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::info;

use super::service_manager;
use base::supervisor::{self, fault};

/// What a signal requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignalRequest {
    /// The settings are to be read again.
    Reload,
    Stop,
}

/// SIGINT and SIGTERM stop the hub, and SIGHUP reloads its settings. SIGUSR1 and SIGUSR2, which would end the
/// process, are logged and have no effect. SIGPIPE is ignored by Rust's runtime: a write to a closed pipe is an error.
/// What comes between two runs of the hub is received in the next one, on another runtime.
#[derive(Debug)]
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

    /// Runs a step of the start; `None` if a signal stops the hub first. A reload waits until the hub has started.
    pub(super) async fn unless_stopped<T>(&mut self, step: impl Future<Output = T>) -> Option<T> {
        let mut step = pin!(step);
        tokio::select! {
            biased;
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            done = &mut step => return Some(done),
        }
        // Before the step is dropped, whose parts then end.
        supervisor::stopping();
        service_manager::is_stopping();
        info!("stopping");
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Signal, getpid, kill_process};
    use std::future;
    use tokio::runtime::{Builder, Runtime};

    fn runtime() -> Runtime {
        Builder::new_current_thread().enable_all().build().expect("a runtime")
    }

    #[test]
    fn signals_between_two_runs_are_received_in_the_next() {
        let mut signals = runtime().block_on(async { Signals::listen() }).expect("handlers");
        for signal in [Signal::HUP, Signal::TERM] {
            kill_process(getpid(), signal).expect("it is sent");
        }
        runtime().block_on(async {
            assert_eq!(signals.unless_stopped(future::pending::<()>()).await, None);
            assert_eq!(signals.next().await, SignalRequest::Reload);
            assert_eq!(signals.unless_stopped(future::ready(7)).await, Some(7));
        });
    }
}

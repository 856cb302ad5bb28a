//! Captures the signals of an interpreter, for sources that determine the state of the feed
//! themselves.
//!
//! A poller has several addresses, and an odds feed has several products. Each signals on its own
//! that it is complete; only the source knows whether all are. So these signals are not sent as
//! reports, and the source evaluates them. Heartbeats pass through.

use facts::event::Micros;

use ingest::{
    error::DecodeError,
    normalize::{Interpret, Interpretation, KnownMatch, Signal},
};

/// An interpreter whose signals are captured.
pub(super) struct SignalCapture {
    inner: Box<dyn Interpret>,
    pub(super) outcome: MessageOutcome,
}

/// The outcome of the last message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct MessageOutcome {
    /// The message could not be used.
    pub(super) refused: bool,
    /// Its last signal that is not a heartbeat.
    pub(super) signal: Option<Signal>,
}

impl SignalCapture {
    pub(super) fn new(inner: Box<dyn Interpret>) -> Self {
        Self { inner, outcome: MessageOutcome::default() }
    }
}

impl Interpret for SignalCapture {
    fn message(
        &mut self,
        bytes: &[u8],
        received: Micros,
        out: &mut Interpretation,
    ) -> Result<(), DecodeError> {
        let result = self.inner.message(bytes, received, out);
        let signal = out.signals.iter().rfind(|signal| **signal != Signal::Alive).copied();
        self.outcome = MessageOutcome { refused: result.is_err(), signal };
        out.signals.retain(|signal| *signal == Signal::Alive);
        result
    }

    fn restart(&mut self) {
        self.inner.restart();
    }

    fn resume(&mut self, matches: Vec<KnownMatch>) {
        self.inner.resume(matches);
    }
}

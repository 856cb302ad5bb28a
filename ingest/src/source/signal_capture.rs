//! What an interpreter said of the last message, for sources that judge the whole feed themselves.
//!
//! A poller asks several addresses, and an odds feed has several products: each of them says that
//! it is complete, and only the source knows whether all are. So their word is kept from the reports
//! and weighed by the source. Heartbeats pass.

use crate::{
    error::DecodeError,
    event::Micros,
    normalize::{Interpret, Played, Signal},
};

/// An interpreter whose signals are kept.
pub(super) struct Judged {
    inner: Box<dyn Interpret>,
    pub(super) verdict: Verdict,
}

/// What came of the last message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Verdict {
    /// Nothing of it could be used.
    pub(super) refused: bool,
    /// The last of its signals that is no heartbeat.
    pub(super) signal: Option<Signal>,
}

impl Judged {
    pub(super) fn new(inner: Box<dyn Interpret>) -> Self {
        Self { inner, verdict: Verdict::default() }
    }
}

impl Interpret for Judged {
    fn message(
        &mut self,
        bytes: &[u8],
        received: Micros,
        out: &mut Played,
    ) -> Result<(), DecodeError> {
        let taken = self.inner.message(bytes, received, out);
        let signal = out.signals.iter().rfind(|signal| **signal != Signal::Alive).copied();
        self.verdict = Verdict { refused: taken.is_err(), signal };
        out.signals.retain(|signal| *signal == Signal::Alive);
        taken
    }

    fn restart(&mut self) {
        self.inner.restart();
    }
}

//! Why a connection ended, and when there is to be another.

use std::{convert::Infallible, time::Duration};

use rand_chacha::ChaCha8Rng;
use tokio::time::sleep;

use super::{
    ReceiverClosed, Report, ReportSender,
    backoff::{self, Backoff},
};

/// Why there is no connection, or no longer one. Fragments in lower case, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Cut {
    #[error("{0}")]
    Broken(String),
    /// The peer does not let us in; to ask again soon would not help.
    #[error("access was denied: {0}")]
    Denied(String),
    /// The peer said when to come back.
    #[error("the peer says good-bye: {why}")]
    Bye { why: String, wait: Duration },
}

/// Why one connection was the last one, for now or for good.
#[derive(Debug)]
pub(super) enum End {
    Cut(Cut),
    ReceiverClosed,
}

impl From<Cut> for End {
    fn from(cut: Cut) -> Self {
        Self::Cut(cut)
    }
}

impl From<ReceiverClosed> for End {
    fn from(ReceiverClosed: ReceiverClosed) -> Self {
        Self::Closed
    }
}

/// When to try again.
pub(super) struct Again {
    backoff: Backoff,
    most: Duration,
    dice: ChaCha8Rng,
}

impl Again {
    /// `first`: the longest first wait. `most`: the longest of all, and the wait after access was
    /// denied.
    pub(super) fn new(first: Duration, most: Duration) -> Self {
        Self { backoff: Backoff::new(first, most), most, dice: backoff::dice() }
    }

    pub(super) fn connected(&mut self, reports: &ReportSender) {
        self.backoff.connected(reports.now());
    }

    /// Says that the connection is cut, and waits.
    pub(super) async fn wait(
        &mut self,
        end: Result<Infallible, End>,
        reports: &ReportSender,
    ) -> Result<(), ReceiverClosed> {
        let cut = match end {
            Ok(never) => match never {},
            Err(End::Closed) => return Err(ReceiverClosed),
            Err(End::Cut(cut)) => cut,
        };
        reports.send(Report::Down(cut.to_string().into())).await?;
        let wait = self.backoff.failed(reports.now(), &mut self.dice);
        sleep(match cut {
            Cut::Broken(_) => wait,
            Cut::Denied(_) => self.most,
            Cut::Bye { wait: asked, .. } => asked.max(wait),
        })
        .await;
        Ok(())
    }
}

//! Why a connection ended, and when to reconnect.

use std::{convert::Infallible, time::Duration};

use rand_chacha::ChaCha8Rng;
use tokio::time::sleep;

use crate::SourceSender;
use base::{
    backoff::{self, Backoff},
    clock::now,
};
use hub::pipeline::HubStopped;

/// Why a connection failed or ended. Messages are lower-case fragments without secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Disconnect {
    #[error("{0}")]
    Broken(String),
    /// The peer denies access; retrying soon would not help.
    #[error("access was denied: {0}")]
    Denied(String),
    /// The peer closed the connection and requested a time to reconnect.
    #[error("the peer says good-bye: {why}")]
    Bye { why: String, wait: Duration },
}

/// Why a connection ended: it was disconnected, or the source has to stop.
#[derive(Debug)]
pub(super) enum ConnectionEnd {
    Disconnect(Disconnect),
    HubStopped,
}

impl From<Disconnect> for ConnectionEnd {
    fn from(disconnect: Disconnect) -> Self {
        Self::Disconnect(disconnect)
    }
}

impl From<HubStopped> for ConnectionEnd {
    fn from(HubStopped: HubStopped) -> Self {
        Self::HubStopped
    }
}

/// Waits between the connections of one source.
pub(super) struct Reconnector {
    backoff: Backoff,
    most: Duration,
    rng: ChaCha8Rng,
}

impl Reconnector {
    /// `first`: the upper bound of the first wait. `most`: the longest wait, also used after access
    /// was denied.
    pub(super) fn new(first: Duration, most: Duration) -> Self {
        Self { backoff: Backoff::new(first, most), most, rng: backoff::rng() }
    }

    pub(super) fn connected(&mut self) {
        self.backoff.connected(now());
    }

    /// The connection has delivered all that it was opened for.
    pub(super) fn succeeded(&mut self) {
        self.backoff.succeeded();
    }

    /// Reports that the source is down, then waits.
    pub(super) async fn wait(
        &mut self,
        end: Result<Infallible, ConnectionEnd>,
        sender: &SourceSender,
    ) -> Result<(), HubStopped> {
        let disconnect = match end {
            Ok(never) => match never {},
            Err(ConnectionEnd::HubStopped) => return Err(HubStopped),
            Err(ConnectionEnd::Disconnect(disconnect)) => disconnect,
        };
        sender.down(disconnect.to_string().into()).await?;
        let wait = self.backoff.failed(now(), &mut self.rng);
        sleep(match disconnect {
            Disconnect::Broken(_) => wait,
            Disconnect::Denied(_) => self.most,
            Disconnect::Bye { wait: requested, .. } => requested.max(wait),
        })
        .await;
        Ok(())
    }
}

//! A provider's feed over a WebSocket, interpreted message by message.
//!
//! It reports `Recovering` when it is connected and has subscribed, and `Live` when the interpreter
//! signals that the data is complete, or with the first message if the feed has no such signal. A
//! disconnect is reported at once; the source then reconnects and subscribes again.

mod socket;

use std::convert::Infallible;

pub use self::socket::{Address, AddressError, SocketLimits};
pub(super) use self::socket::{Incoming, Socket};
use crate::{
    SourceSender,
    reconnect::{ConnectionEnd, Reconnector},
};
use base::secret::Secret;
use hub::{feeds::FeedState, pipeline::HubStopped};
use ingest::normalize::Interpret;

/// The address of the provider and its conventions.
#[derive(Debug, Clone)]
pub struct WebSocketSettings {
    pub address: Address,
    pub limits: SocketLimits,
    /// Text messages to send, in order, as soon as the socket is open: log in, subscribe.
    /// Default: none.
    pub first: Vec<Secret>,
    /// Each line of a frame is a separate message. Default: false.
    pub lines: bool,
    pub live: LiveWhen,
}

/// When the data of the feed counts as complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LiveWhen {
    /// The interpreter signals it, by [`Signal::Fresh`](ingest::normalize::Signal::Fresh).
    #[default]
    Signalled,
    /// With the first message: it is a whole image, or the feed sends only changes.
    FirstMessage,
}

impl WebSocketSettings {
    #[must_use]
    pub fn new(address: Address, limits: SocketLimits) -> Self {
        Self { address, limits, first: Vec::new(), lines: false, live: LiveWhen::default() }
    }
}

/// Follows the provider until the hub has stopped.
pub async fn run(
    settings: WebSocketSettings,
    interpreter: Box<dyn Interpret>,
    sender: SourceSender,
) {
    let mut feed = WebSocketFeed { interpreter, number: 0 };
    let source = async {
        let mut reconnector = settings.limits.reconnector();
        loop {
            let end = feed.follow(&settings, &sender, &mut reconnector).await;
            reconnector.wait(end, &sender).await?;
        }
    };
    sender.until_closed(source).await;
}

struct WebSocketFeed {
    interpreter: Box<dyn Interpret>,
    /// Messages so far, for the place in a refusal.
    number: u64,
}

impl WebSocketFeed {
    async fn follow(
        &mut self,
        settings: &WebSocketSettings,
        sender: &SourceSender,
        reconnector: &mut Reconnector,
    ) -> Result<Infallible, ConnectionEnd> {
        let mut socket = Socket::connect(&settings.address, &settings.limits).await?;
        reconnector.connected();
        for message in &settings.first {
            socket.send(message.expose()).await?;
        }
        self.interpreter.restart();
        sender.state(FeedState::Recovering).await?;
        let mut awaiting_first = settings.live == LiveWhen::FirstMessage;
        loop {
            match socket.next().await? {
                Incoming::KeepAlive => sender.alive().await?,
                Incoming::Message(bytes) => {
                    self.handle(settings.lines, &bytes, sender).await?;
                    if std::mem::take(&mut awaiting_first) {
                        sender.state(FeedState::Live).await?;
                    }
                }
            }
        }
    }

    async fn handle(
        &mut self,
        lines: bool,
        bytes: &[u8],
        sender: &SourceSender,
    ) -> Result<(), HubStopped> {
        if !lines {
            return self.message(bytes, sender).await;
        }
        for line in bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii) {
            if !line.is_empty() {
                self.message(line, sender).await?;
            }
        }
        Ok(())
    }

    async fn message(&mut self, bytes: &[u8], sender: &SourceSender) -> Result<(), HubStopped> {
        self.number += 1;
        sender.message(&mut *self.interpreter, bytes, self.number).await
    }
}

//! Another Matchwire hub as a source, over its stream (`docs/PROTOCOL.md`), so that hubs can be
//! chained.
//!
//! The [`Session`](client::Session) of the Rust client subscribes, resumes after a disconnect, and
//! repairs gaps; silence and the waits between connections are those of all sources. `Live` once a
//! beat confirms every subscription. The documents are interpreted by
//! [`Matchwire`](ingest::normalize::matchwire::Matchwire), which gets images, updates, ends of
//! channels, and the frames with the other hub's time, each once and in order.

mod position;

use std::{convert::Infallible, time::Duration};

use client::{Frame, Millis};
use serde::de::IgnoredAny;
use serde_json::json;

use self::position::{ChannelPositions, FrameEffect};
use crate::{
    SourceSender,
    reconnect::{ConnectionEnd, Disconnect, Reconnector},
    signal_capture::SignalCapture,
    websocket::{Address, AddressError, Incoming, Socket, SocketLimits},
};
use base::{clock::monotonic, secret::Secret};
use hub::{feeds::FeedState, pipeline::HubStopped};
use ingest::normalize::Interpret;

/// The longest wait before reconnecting after a `bye`.
const RECONNECT_MOST: Duration = Duration::from_secs(10 * 60);
/// How late the second missing beat may be before the connection counts as dead.
const BEAT_MARGIN: Duration = Duration::from_secs(2);

/// The address of the other hub, and the channels to subscribe to.
#[derive(Debug, Clone)]
pub struct UpstreamSettings {
    address: Address,
    pub limits: SocketLimits,
    /// Channels and patterns: `football/*`, `*/*/odds/*`. Together they must not cover more
    /// channels than the other hub allows per socket, 1,000 unless configured otherwise.
    pub channels: Vec<String>,
    /// The minimum interval between value updates of a channel, in milliseconds, as the protocol
    /// defines it. Default: 0, each change at once.
    pub every_ms: u64,
}

impl UpstreamSettings {
    /// `url`: `wss://hub.example.com/stream/v1`. `token`: an API key of the other hub.
    ///
    /// # Errors
    ///
    /// When the address is not a WebSocket address, or the key is not a valid header value.
    pub fn new(
        url: &str,
        token: &Secret,
        channels: Vec<String>,
        limits: SocketLimits,
    ) -> Result<Self, AddressError> {
        let key = Secret::from(format!("Token {}", token.expose()));
        let address = Address::new(url, &[("authorization".to_owned(), key)])?;
        Ok(Self { address, limits, channels, every_ms: 0 })
    }
}

/// Follows the other hub until the hub has stopped.
pub async fn run(
    settings: UpstreamSettings,
    interpreter: Box<dyn Interpret>,
    sender: SourceSender,
) {
    let mut client = UpstreamClient {
        settings: &settings,
        sender: &sender,
        interpreter: SignalCapture::new(interpreter),
        positions: ChannelPositions::new(settings.channels.clone(), settings.every_ms),
        live: false,
        number: 0,
    };
    let source = async {
        let mut reconnector = settings.limits.reconnector();
        loop {
            let end = client.follow(&mut reconnector).await;
            reconnector.wait(end, &sender).await?;
        }
    };
    sender.until_closed(source).await;
}

struct UpstreamClient<'a> {
    settings: &'a UpstreamSettings,
    sender: &'a SourceSender,
    interpreter: SignalCapture,
    positions: ChannelPositions,
    /// The state reported last.
    live: bool,
    /// Messages so far, for the place in a refusal.
    number: u64,
}

impl UpstreamClient<'_> {
    async fn follow(&mut self, reconnector: &mut Reconnector) -> Result<Infallible, ConnectionEnd> {
        let mut socket = Socket::connect(&self.settings.address, &self.settings.limits).await?;
        reconnector.connected();
        self.positions.connected(now());
        self.live = false;
        self.sender.state(FeedState::Recovering).await?;
        loop {
            match socket.next().await? {
                Incoming::KeepAlive => {}
                Incoming::Message(bytes) => self.handle(&bytes, &mut socket).await?,
            }
            if self.live {
                reconnector.succeeded();
            }
        }
    }

    async fn handle(&mut self, bytes: &[u8], socket: &mut Socket) -> Result<(), ConnectionEnd> {
        let frame = match Frame::parse(bytes) {
            Ok(frame) => frame,
            Err(error) => return Ok(self.refuse(bytes, &error).await?),
        };
        match &*frame.kind {
            "bye" => return Err(bye(&frame).into()),
            "hello" => {
                let beat = Duration::from_millis(frame.beat_ms.unwrap_or(5000).min(60_000));
                socket.expect_within(beat * 2 + BEAT_MARGIN);
            }
            _ => {}
        }
        let effect = self.positions.handle(&frame, now());
        let effect = effect.map_err(|error| Disconnect::Broken(error.to_string()))?;
        let FrameEffect { interpret, commands, removed, refused } = effect;
        if let Some(why) = refused {
            return Err(Disconnect::Denied(why).into());
        }
        for command in commands {
            socket.send(&command).await?;
        }
        if interpret {
            self.interpret(bytes).await?;
            if self.interpreter.outcome.refused
                && let Some(ch) = &frame.ch
            {
                self.positions.invalidate(ch);
            }
        }
        for ch in removed {
            // The hub may have sent another frame, or none, because we were disconnected.
            let frame = json!({"type": "unsubscribed", "ch": ch, "why": "gone"});
            self.interpret(frame.to_string().as_bytes()).await?;
        }
        Ok(self.report_state().await?)
    }

    /// The interpreter refuses what is not JSON. It might use the document of another frame, whose position is not known.
    async fn refuse(&mut self, bytes: &[u8], error: &serde_json::Error) -> Result<(), HubStopped> {
        if serde_json::from_slice::<IgnoredAny>(bytes).is_err() {
            return self.interpret(bytes).await;
        }
        self.positions.skip(error);
        self.report_state().await
    }

    async fn interpret(&mut self, bytes: &[u8]) -> Result<(), HubStopped> {
        self.number += 1;
        self.sender.message(&mut self.interpreter, bytes, self.number).await
    }

    async fn report_state(&mut self) -> Result<(), HubStopped> {
        let live = self.positions.is_complete();
        if live == self.live {
            return Ok(());
        }
        self.live = live;
        self.sender.state(if live { FeedState::Live } else { FeedState::Recovering }).await
    }
}

fn now() -> Millis {
    Millis::try_from(monotonic() / 1000).unwrap_or_default()
}

fn bye(frame: &Frame<'_>) -> Disconnect {
    let wait = Duration::from_millis(frame.reconnect_after_ms.unwrap_or_default());
    let why = frame.why.as_deref().unwrap_or_default().to_owned();
    Disconnect::Bye { why, wait: wait.min(RECONNECT_MOST) }
}

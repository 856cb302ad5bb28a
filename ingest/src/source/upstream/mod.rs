//! Another Matchwire as a source: its stream, as `docs/PROTOCOL.md` says, so that hubs can be
//! chained.
//!
//! Subscribes to channels and patterns, resumes after a cut from where it stood, sees by the beats
//! whether anything is missing, and comes back when it is told to. `Live` once a beat confirms all
//! that is subscribed to. What the documents say is the interpreter's, which is
//! [`Matchwire`](crate::normalize::matchwire::Matchwire); it sees images, updates, ends of channels,
//! and the frames that tell the other hub's time, each once and in order.

mod frame;
mod position;

use std::{convert::Infallible, time::Duration};

use serde_json::json;

use self::{
    frame::Frame,
    position::{Positions, Taken},
};
use super::{
    ReceiverClosed, Report, ReportSender,
    again::{Again, Cut, End},
    secret::Secret,
    verdict::Judged,
    websocket::{Address, AddressError, Limits, Received, Socket},
};
use crate::normalize::Interpret;

/// The longest that a hub which says good-bye is waited for, whatever it says.
const RECONNECT_MOST: Duration = Duration::from_secs(10 * 60);
/// How late the second beat may be before the connection counts as dead.
const BEAT_MARGIN: Duration = Duration::from_secs(2);

/// Where the other hub is, and what is followed there.
#[derive(Debug, Clone)]
pub struct Settings {
    address: Address,
    pub limits: Limits,
    /// Channels and patterns: `football/*`, `*/*/odds/*`. All of them together must not cover more
    /// channels than the other hub lets one socket follow, 1,000 unless it is set otherwise.
    pub channels: Vec<String>,
    /// At most one update of values of a channel in so many milliseconds; what the protocol allows.
    /// Default: 0, each change at once.
    pub every_ms: u64,
}

impl Settings {
    /// `url`: `wss://hub.example.com/stream/v1`. `token`: a key of the other hub's.
    ///
    /// # Errors
    ///
    /// When the address is no WebSocket address, or the key cannot stand in a header.
    pub fn new(
        url: &str,
        token: &Secret,
        channels: Vec<String>,
        limits: Limits,
    ) -> Result<Self, AddressError> {
        let key = Secret::from(format!("Token {}", token.expose()));
        let address = Address::new(url, &[("authorization".to_owned(), key)])?;
        Ok(Self { address, limits, channels, every_ms: 0 })
    }
}

/// Follows the other hub until nobody listens any more.
pub async fn run(settings: Settings, interpreter: Box<dyn Interpret>, reports: ReportSender) {
    let mut follower = Follower {
        settings: &settings,
        reports: &reports,
        interpreter: Judged::new(interpreter),
        positions: Positions::new(settings.channels.clone(), settings.every_ms),
        live: false,
        number: 0,
    };
    let followed = async {
        let mut again = settings.limits.again();
        loop {
            let end = follower.follow(&mut again).await;
            again.wait(end, &reports).await?;
        }
    };
    reports.until_closed(followed).await;
}

struct Follower<'a> {
    settings: &'a Settings,
    reports: &'a ReportSender,
    interpreter: Judged,
    positions: Positions,
    /// What was told last.
    live: bool,
    /// Messages, for places.
    number: u64,
}

impl Follower<'_> {
    async fn follow(&mut self, again: &mut Again) -> Result<Infallible, End> {
        let mut socket = Socket::connect(&self.settings.address, &self.settings.limits).await?;
        again.connected(self.reports);
        self.positions.connected();
        self.live = false;
        self.reports.send(Report::Recovering).await?;
        loop {
            match socket.next().await? {
                Received::Sign => {}
                Received::Message(bytes) => self.take(&bytes, &mut socket).await?,
            }
        }
    }

    async fn take(&mut self, bytes: &[u8], socket: &mut Socket) -> Result<(), End> {
        // What is no frame at all is the interpreter's to refuse.
        let Ok(frame) = serde_json::from_slice::<Frame>(bytes) else {
            return Ok(self.interpret(bytes).await?);
        };
        match frame.kind.as_str() {
            "bye" => return Err(bye(&frame).into()),
            "hello" => {
                let beat = Duration::from_millis(frame.beat_ms.unwrap_or(5000).min(60_000));
                socket.expect_within(beat * 2 + BEAT_MARGIN);
            }
            _ => {}
        }
        let Taken { interpret, send, gone, refused } = self.positions.take(&frame);
        if let Some(why) = refused {
            return Err(Cut::Denied(why).into());
        }
        for command in send {
            socket.send(&command).await?;
        }
        if interpret {
            self.interpret(bytes).await?;
            if self.interpreter.verdict.refused
                && let Some(ch) = &frame.ch
            {
                self.positions.distrust(ch);
            }
        }
        for ch in gone {
            // As the hub would have said it, had we been there.
            let frame = json!({"type": "unsubscribed", "ch": ch, "why": "gone"});
            self.interpret(frame.to_string().as_bytes()).await?;
        }
        Ok(self.tell().await?)
    }

    async fn interpret(&mut self, bytes: &[u8]) -> Result<(), ReceiverClosed> {
        self.number += 1;
        self.reports.message(&mut self.interpreter, bytes, self.number).await
    }

    async fn tell(&mut self) -> Result<(), ReceiverClosed> {
        let live = self.positions.is_complete();
        if live == self.live {
            return Ok(());
        }
        self.live = live;
        self.reports.send(if live { Report::Live } else { Report::Recovering }).await
    }
}

fn bye(frame: &Frame) -> Cut {
    let wait = Duration::from_millis(frame.reconnect_after_ms).min(RECONNECT_MOST);
    Cut::Bye { why: frame.why.clone().unwrap_or_default(), wait }
}

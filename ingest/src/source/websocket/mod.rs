//! A provider that speaks over a WebSocket: what it sends is interpreted message by message.
//!
//! It says `Recovering` when it is connected and has subscribed, and `Live` when the interpreter
//! says that all is there, or with the first message where the feed has no such word. A cut is told
//! at once; the source comes back by itself, and subscribes anew.

mod socket;

use std::convert::Infallible;

pub use self::socket::{Address, AddressError, Limits};
pub(super) use self::socket::{Received, Socket};
use super::{
    ReceiverClosed, Report, ReportSender,
    again::{Again, End},
    secret::Secret,
};
use crate::normalize::Interpret;

/// Where the provider is, and how it speaks.
#[derive(Debug, Clone)]
pub struct Settings {
    pub address: Address,
    pub limits: Limits,
    /// Text messages that are sent, in order, as soon as the socket stands: log in, subscribe.
    /// Default: none.
    pub first: Vec<Secret>,
    /// Each line of a message is a message of its own. Default: false.
    pub lines: bool,
    pub live: LiveWhen,
}

/// How it is known that what the feed has told is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LiveWhen {
    /// The interpreter says so, by [`Signal::Fresh`](crate::normalize::Signal::Fresh).
    #[default]
    Told,
    /// The first message is a whole image, or there is nothing but changes.
    FirstMessage,
}

impl Settings {
    #[must_use]
    pub fn new(address: Address, limits: Limits) -> Self {
        Self { address, limits, first: Vec::new(), lines: false, live: LiveWhen::default() }
    }
}

/// Follows the provider until nobody listens any more.
pub async fn run(settings: Settings, interpreter: Box<dyn Interpret>, reports: ReportSender) {
    let mut follower = Follower { interpreter, number: 0 };
    let followed = async {
        let mut again = settings.limits.again();
        loop {
            let end = follower.follow(&settings, &reports, &mut again).await;
            again.wait(end, &reports).await?;
        }
    };
    reports.until_closed(followed).await;
}

struct Follower {
    interpreter: Box<dyn Interpret>,
    /// Messages, for places.
    number: u64,
}

impl Follower {
    async fn follow(
        &mut self,
        settings: &Settings,
        reports: &ReportSender,
        again: &mut Again,
    ) -> Result<Infallible, End> {
        let mut socket = Socket::connect(&settings.address, &settings.limits).await?;
        again.connected(reports);
        for message in &settings.first {
            socket.send(message.expose()).await?;
        }
        self.interpreter.restart();
        reports.send(Report::Recovering).await?;
        let mut awaited = settings.live == LiveWhen::FirstMessage;
        loop {
            match socket.next().await? {
                Received::Sign => reports.send(Report::Heartbeat).await?,
                Received::Message(bytes) => {
                    self.take(settings.lines, &bytes, reports).await?;
                    if std::mem::take(&mut awaited) {
                        reports.send(Report::Live).await?;
                    }
                }
            }
        }
    }

    async fn take(
        &mut self,
        lines: bool,
        bytes: &[u8],
        reports: &ReportSender,
    ) -> Result<(), ReceiverClosed> {
        if !lines {
            return self.message(bytes, reports).await;
        }
        for line in bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii) {
            if !line.is_empty() {
                self.message(line, reports).await?;
            }
        }
        Ok(())
    }

    async fn message(
        &mut self,
        bytes: &[u8],
        reports: &ReportSender,
    ) -> Result<(), ReceiverClosed> {
        self.number += 1;
        reports.message(&mut *self.interpreter, bytes, self.number).await
    }
}

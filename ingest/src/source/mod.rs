//! Connections to live feeds: the only I/O of this crate beside recordings.
//!
//! A source connects, authenticates, subscribes, resumes, and comes back by itself when it is cut
//! off. It reads bytes and hands them to an [`Interpret`], which knows what they mean; what comes of
//! them, and how the source itself is, goes to its [`Outlet`].

pub mod backoff;
pub mod secret;
pub mod tls;

pub mod betfair;
pub mod poll;
pub mod sportradar_uof;
pub mod upstream;
pub mod websocket;

mod again;
mod lines;
mod verdict;

use std::{convert::Infallible, sync::Arc};

use tokio::sync::mpsc;

use crate::{
    error::{DecodeError, Place, Refusal},
    event::{Batch, Micros},
    normalize::{Interpret, Played, Signal},
};

/// What a live source says.
#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    /// It is connected and has subscribed; what it knows is not complete yet.
    Recovering,
    /// What it knows is complete and up to date: an image or a resume is through.
    Live,
    /// It is connected, and the provider says that what it sends lags behind.
    Late,
    /// It is cut off, or nothing was heard for longer than its deadline; it tries again by itself.
    /// A lower-case fragment that says why, without any secret.
    Down(Arc<str>),
    /// The provider is there and has nothing new: a heartbeat, an unchanged answer.
    Heard,
    Batch(Batch),
    Refused(Refusal),
}

/// A report and when its cause was received.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceMessage {
    pub received: Micros,
    pub report: Report,
}

/// A message as it was received, for who records a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raw {
    pub received: Micros,
    pub bytes: Vec<u8>,
}

/// Where a source puts what it says. Both queues are bounded: a source waits when they are full.
#[derive(Debug, Clone)]
pub struct Outlet {
    /// The source's name in places, logs and metrics.
    name: Arc<str>,
    told: mpsc::Sender<SourceMessage>,
    /// Every message as it came, while somebody records it.
    raw: Option<mpsc::Sender<Raw>>,
    clock: fn() -> Micros,
}

/// Nobody listens any more: the source is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("nobody listens any more")]
pub struct Closed;

impl Outlet {
    #[must_use]
    pub fn new(name: Arc<str>, told: mpsc::Sender<SourceMessage>, clock: fn() -> Micros) -> Self {
        Self { name, told, raw: None, clock }
    }

    /// Also hands out every message as it was received.
    #[must_use]
    pub fn tapped(self, raw: mpsc::Sender<Raw>) -> Self {
        Self { raw: Some(raw), ..self }
    }

    #[must_use]
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Now, in microseconds since the Unix epoch.
    #[must_use]
    pub fn now(&self) -> Micros {
        (self.clock)()
    }

    /// Waits until nobody listens any more.
    pub async fn closed(&self) {
        self.told.closed().await;
    }

    /// Says how the source is.
    ///
    /// # Errors
    ///
    /// When nobody listens any more.
    pub async fn tell(&self, report: Report) -> Result<(), Closed> {
        self.tell_at(report, self.now()).await
    }

    /// Interprets a message that was received now, and tells all that comes of it. `number` counts
    /// the source's messages, for places.
    ///
    /// # Errors
    ///
    /// When nobody listens any more.
    pub async fn message(
        &self,
        interpreter: &mut dyn Interpret,
        bytes: &[u8],
        number: u64,
    ) -> Result<(), Closed> {
        let received = self.now();
        if let Some(raw) = &self.raw {
            raw.send(Raw { received, bytes: bytes.to_vec() }).await.map_err(|_| Closed)?;
        }
        let mut played = Played::default();
        let taken = interpreter.message(bytes, received, &mut played);
        let nothing = played.batches.is_empty() && played.signals.is_empty();
        for timed in played.batches {
            self.tell_at(Report::Batch(timed.batch), received).await?;
        }
        for notice in played.notices.into_iter().chain(taken.err()) {
            let refused = self.refusal(notice, number, bytes);
            self.tell_at(Report::Refused(refused), received).await?;
        }
        for signal in played.signals {
            let report = match signal {
                Signal::Alive => Report::Heard,
                Signal::Fresh => Report::Live,
                Signal::Late => Report::Late,
                Signal::Recovering => Report::Recovering,
            };
            self.tell_at(report, received).await?;
        }
        if nothing {
            self.tell_at(Report::Heard, received).await?;
        }
        Ok(())
    }

    /// Runs a source until nobody listens any more, whatever it waits for.
    async fn until_closed(&self, source: impl Future<Output = Result<Infallible, Closed>>) {
        tokio::select! {
            () = self.closed() => {}
            Err(Closed) = source => {}
        }
    }

    fn refusal(&self, error: DecodeError, number: u64, bytes: &[u8]) -> Refusal {
        Refusal::new(error, Place { file: Arc::clone(&self.name), line: number }, bytes)
    }

    async fn tell_at(&self, report: Report, received: Micros) -> Result<(), Closed> {
        self.told.send(SourceMessage { received, report }).await.map_err(|_| Closed)
    }
}

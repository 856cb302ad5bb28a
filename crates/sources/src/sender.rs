//! Connections to live feeds: the only I/O of this crate apart from recordings.
//!
//! A source connects, authenticates, subscribes, resumes, and reconnects by itself after a
//! disconnect. It reads bytes and passes them to an [`Interpret`], which knows what they mean. The resulting
//! batches and the state of the source go to its [`ReportSender`].

pub mod betfair;
pub mod poll;
#[cfg(feature = "amqp")]
pub mod sportradar_uof;
pub mod upstream;
pub mod websocket;

pub use base::{backoff, secret, tls};

mod lines;
mod lookup;
mod reconnect;
mod signal_capture;

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
};

use facts::event::{Batch, Micros};
use tokio::sync::mpsc;

use crate::{
    error::{DecodeError, Place, Refusal},
    normalize::{Interpret, Interpretation, KnownMatch, Signal},
};

/// A state change or a result of a live source.
#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    /// Connected and subscribed; its data is not complete yet.
    Recovering,
    /// Its data is complete and up to date: an image or a resume has finished.
    Live,
    /// Connected, but the provider says that its data lags behind.
    Late,
    /// Disconnected, or silent for longer than its deadline; it retries by itself. The value is the
    /// reason: a lower-case fragment without any secret.
    Down(Arc<str>),
    /// The provider is alive and has nothing new: a heartbeat or an unchanged response.
    Heartbeat,
    Batch(Batch),
    Refused(Refusal),
    /// How far it has read, with all reports before this one, for a [`Resume`] after a restart.
    Position(Arc<str>),
}

/// Where a source goes on after a restart.
#[derive(Debug)]
pub struct Resume {
    /// Its last [`Report::Position`].
    pub position: Arc<str>,
    /// What the hub still has of it; `None` if that is not all that came before: only the provider's limits go on.
    pub matches: Option<Vec<KnownMatch>>,
}

/// Where a source finds its [`Resume`] when it begins. Clones share it.
pub type ResumeSlot = Arc<Mutex<Option<Resume>>>;

/// A report, and when the message that caused it was received.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceMessage {
    pub received: Micros,
    pub report: Report,
}

/// A message exactly as it was received, for recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawMessage {
    pub received: Micros,
    pub bytes: Vec<u8>,
}

/// The sending side of a source's queues. Both are bounded: a source waits while they are full.
#[derive(Debug, Clone)]
pub struct ReportSender {
    /// The source's name in places, logs and metrics.
    name: Arc<str>,
    messages: mpsc::Sender<SourceMessage>,
    /// Every message as it was received, while the source is being recorded.
    raw: Option<mpsc::Sender<RawMessage>>,
    resume: ResumeSlot,
    clock: fn() -> Micros,
}

/// The receiver was dropped: the source must stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the receiver was dropped")]
pub struct ReceiverClosed;

impl ReportSender {
    #[must_use]
    pub fn new(
        name: Arc<str>,
        messages: mpsc::Sender<SourceMessage>,
        clock: fn() -> Micros,
    ) -> Self {
        Self { name, messages, raw: None, resume: ResumeSlot::default(), clock }
    }

    /// Also sends every message exactly as it was received.
    #[must_use]
    pub fn with_raw(self, raw: mpsc::Sender<RawMessage>) -> Self {
        Self { raw: Some(raw), ..self }
    }

    /// Where to put what the source goes on from, before it begins.
    #[must_use]
    pub fn resume_slot(&self) -> ResumeSlot {
        Arc::clone(&self.resume)
    }

    /// What the source goes on from; `None` if it begins anew.
    #[cfg(feature = "amqp")]
    fn take_resume(&self) -> Option<Resume> {
        self.resume.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()
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

    /// Waits until the receiver is dropped.
    pub async fn closed(&self) {
        self.messages.closed().await;
    }

    /// Sends a report that is caused by nothing received, stamped with the current time.
    ///
    /// # Errors
    ///
    /// When the receiver was dropped.
    pub async fn send(&self, report: Report) -> Result<(), ReceiverClosed> {
        self.send_at(report, self.now()).await
    }

    /// Interprets a message that was received now, and sends all results. `number` counts the
    /// source's messages, for the place in a refusal.
    ///
    /// # Errors
    ///
    /// When the receiver was dropped.
    pub async fn message(
        &self,
        interpreter: &mut dyn Interpret,
        bytes: &[u8],
        number: u64,
    ) -> Result<(), ReceiverClosed> {
        let received = self.now();
        if let Some(raw) = &self.raw {
            raw.send(RawMessage { received, bytes: bytes.to_vec() })
                .await
                .map_err(|_| ReceiverClosed)?;
        }
        let mut played = Interpretation::default();
        let result = interpreter.message(bytes, received, &mut played);
        let is_empty = played.batches.is_empty() && played.signals.is_empty();
        for timed in played.batches {
            self.send_at(Report::Batch(timed.batch), received).await?;
        }
        for notice in played.notices.into_iter().chain(result.err()) {
            let refused = self.refusal(notice, number, bytes);
            self.send_at(Report::Refused(refused), received).await?;
        }
        for signal in played.signals {
            let report = match signal {
                Signal::Alive => Report::Heartbeat,
                Signal::Fresh => Report::Live,
                Signal::Late => Report::Late,
                Signal::Recovering => Report::Recovering,
            };
            self.send_at(report, received).await?;
        }
        if is_empty {
            self.send_at(Report::Heartbeat, received).await?;
        }
        Ok(())
    }

    /// Runs a source until the receiver is dropped, and interrupts it at any await point.
    async fn until_closed(&self, source: impl Future<Output = Result<Infallible, ReceiverClosed>>) {
        tokio::select! {
            () = self.closed() => {}
            Err(ReceiverClosed) = source => {}
        }
    }

    fn refusal(&self, error: DecodeError, number: u64, bytes: &[u8]) -> Refusal {
        Refusal::new(error, Place { file: Arc::clone(&self.name), line: number }, bytes)
    }

    async fn send_at(&self, report: Report, received: Micros) -> Result<(), ReceiverClosed> {
        self.messages.send(SourceMessage { received, report }).await.map_err(|_| ReceiverClosed)
    }
}

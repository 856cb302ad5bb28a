//! What a live source sends to the hub.

use std::{convert::Infallible, sync::Arc};

use base::clock::now;
use facts::event::Micros;
use hub::{
    HubInput,
    feeds::{FeedState, Health, SourceNumber},
    pipeline::{HubStopped, Input, InputSender},
};
use ingest::{
    error::{DecodeError, Place, Refusal},
    normalize::{Interpret, Interpretation, KnownMatch, Signal},
};
use tokio::sync::{mpsc, oneshot};

use crate::positions::Positions;

/// Where a source goes on after a restart.
#[derive(Debug)]
pub struct Resume {
    /// The last position that it reported.
    pub position: Arc<str>,
    /// What the hub still has of it; `None` if that is not all that came before: only the provider's limits go on.
    pub matches: Option<Vec<KnownMatch>>,
}

/// A message exactly as it was received, for recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawMessage {
    pub received: Micros,
    pub bytes: Vec<u8>,
}

/// Sends the inputs of one source to the hub. The source waits while the queue of the hub is full.
#[derive(Debug)]
pub struct SourceSender {
    source: SourceNumber,
    /// The source's name in places, logs and metrics.
    name: Arc<str>,
    inputs: InputSender,
    /// Where positions are stored; they are dropped if there is none.
    positions: Option<Positions>,
    resume: Option<Resume>,
    /// Every message as it was received, while the source is being recorded.
    raw: Option<mpsc::Sender<RawMessage>>,
}

impl SourceSender {
    /// `source`: the number of the source in the hub. `name`: its name there.
    #[must_use]
    pub fn new(source: SourceNumber, name: Arc<str>, inputs: InputSender) -> Self {
        Self { source, name, inputs, positions: None, resume: None, raw: None }
    }

    /// Also stores positions, and lets the source go on from an earlier one.
    #[must_use]
    pub fn with_positions(self, positions: Positions, resume: Option<Resume>) -> Self {
        Self { positions: Some(positions), resume, ..self }
    }

    /// Also sends every message exactly as it was received.
    #[must_use]
    pub fn with_raw(self, raw: mpsc::Sender<RawMessage>) -> Self {
        Self { raw: Some(raw), ..self }
    }

    /// What the source goes on from; `None` if it starts from the beginning. Once.
    #[must_use]
    pub fn take_resume(&mut self) -> Option<Resume> {
        self.resume.take()
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Waits until the hub has stopped.
    pub(crate) async fn closed(&self) {
        self.inputs.closed().await;
    }

    /// Runs a source until the hub has stopped, and interrupts it at any await point.
    pub(crate) async fn until_closed(
        &self,
        source: impl Future<Output = Result<Infallible, HubStopped>>,
    ) {
        tokio::select! {
            () = self.closed() => {}
            Err(HubStopped) = source => {}
        }
    }

    /// Reports a state that the source is in. [`Self::down`] reports that it is down.
    pub(crate) async fn state(&self, feed: FeedState) -> Result<(), HubStopped> {
        let why = (feed == FeedState::Late).then(|| Arc::from("the provider lags"));
        self.health(Health { feed, why }).await
    }

    /// Reports that the source is disconnected, or silent for longer than its deadline; it retries by itself. `why`: a
    /// lower-case fragment without any secret.
    pub(crate) async fn down(&self, why: Arc<str>) -> Result<(), HubStopped> {
        self.health(Health { feed: FeedState::Down, why: Some(why) }).await
    }

    async fn health(&self, health: Health) -> Result<(), HubStopped> {
        self.inputs.send(HubInput::Health { source: self.source, health, now: now() }).await
    }

    /// Reports that the provider is alive and has nothing new: a heartbeat or an unchanged response.
    pub(crate) async fn alive(&self) -> Result<(), HubStopped> {
        self.alive_at(now()).await
    }

    async fn alive_at(&self, received: Micros) -> Result<(), HubStopped> {
        self.inputs.send(HubInput::Alive { source: self.source, received, now: received }).await
    }

    /// Interprets a message that was received now, and sends all results. `number` counts the
    /// source's messages, for the place in a refusal.
    pub(crate) async fn message(
        &self,
        interpreter: &mut dyn Interpret,
        bytes: &[u8],
        number: u64,
    ) -> Result<(), HubStopped> {
        let received = now();
        if let Some(raw) = &self.raw {
            let message = RawMessage { received, bytes: bytes.to_vec() };
            raw.send(message).await.map_err(|_| HubStopped)?;
        }
        let mut played = Interpretation::default();
        let result = interpreter.message(bytes, received, &mut played);
        let is_empty = played.batches.is_empty() && played.signals.is_empty();
        for timed in played.batches {
            let (source, batch) = (self.source, timed.batch);
            self.inputs.send(HubInput::Batch { source, batch, received, now: received }).await?;
        }
        for notice in played.notices.into_iter().chain(result.err()) {
            self.refuse(notice, number, bytes).await?;
        }
        for signal in played.signals {
            match signal {
                Signal::Alive => self.alive_at(received).await?,
                Signal::Fresh => self.state(FeedState::Live).await?,
                Signal::Late => self.state(FeedState::Late).await?,
                Signal::Recovering => self.state(FeedState::Recovering).await?,
            }
        }
        if is_empty {
            self.alive_at(received).await?;
        }
        Ok(())
    }

    /// Refuses the message of this number, or a part of it.
    pub(crate) async fn refuse(
        &self,
        error: DecodeError,
        number: u64,
        bytes: &[u8],
    ) -> Result<(), HubStopped> {
        let location = Place { file: Arc::clone(&self.name), line: number };
        let refusal = Refusal::new(error, location, bytes);
        self.inputs.send(Input::Refused { source: self.source, refusal }).await
    }

    /// Reports how far the source has read, with all inputs before this, for a [`Resume`] after a restart. It is stored once
    /// these are in the log; the source does not wait for that.
    ///
    /// # Errors
    ///
    /// If the hub has stopped.
    pub async fn position(&self, position: Arc<str>) -> Result<(), HubStopped> {
        let Some(positions) = &self.positions else { return Ok(()) };
        let (reply, committed) = oneshot::channel();
        self.inputs.send(Input::Committed { source: self.source, reply }).await?;
        positions.write(&self.name, position, committed);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use database::testing::on_each;

    use super::*;

    /// A source that is stopped for a change of its settings ends like any other, and reports nothing then. Its position
    /// follows what it has sent.
    #[tokio::test]
    async fn end_of_a_source_changes_nothing() {
        on_each(async |database| {
            let (queue, mut inputs) = mpsc::channel(8);
            let (source, inputs_sender) = (SourceNumber(3), InputSender::new(queue, None));
            let positions = Positions::start(&database);
            let sender = SourceSender::new(source, "feed".into(), inputs_sender)
                .with_positions(positions.clone(), None);
            sender.down("the connection broke".into()).await.expect("there is room");
            sender.position("p".into()).await.expect("there is room");
            drop(sender);
            let Some(Input::Hub(HubInput::Health { source: SourceNumber(3), health, .. })) =
                inputs.recv().await
            else {
                panic!("the state is not sent")
            };
            let why = Some(Arc::from("the connection broke"));
            assert_eq!(health, Health { feed: FeedState::Down, why });
            let Some(Input::Committed { source: SourceNumber(3), reply }) = inputs.recv().await
            else {
                panic!("the position does not wait for what came before")
            };
            assert_eq!(positions.load("feed").await.expect("it can be read"), None);
            reply.send(Some(5)).expect("it is waited for");
            assert!(inputs.recv().await.is_none(), "more is sent than the source did");
        })
        .await;
    }
}

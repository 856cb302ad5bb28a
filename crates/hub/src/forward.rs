//! What a node of a cluster that follows asks of the leader's hub: to take a push, and to keep channels of the older
//! sockets open. Everything else is answered by the node itself.

use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use bytes::Bytes;
use facts::event::Batch;
use fanout::Micros;
use ingest::error::Place;
use tokio::sync::oneshot;

use crate::{
    hub::ChannelName,
    pipeline::{HubHandle, HubStopped, Input, Request},
    push::{Fingerprint, PushAnswer, PushRequest, PushedLine},
};

/// A request to the leader. Encoded, it crosses machines of the same version.
#[derive(Debug, Clone, PartialEq, BorshSerialize, BorshDeserialize)]
pub enum Forwarded {
    Push(ForwardedPush),
    /// Channels of the older sockets that are to stay open: they have followers on the node.
    Legacy(Vec<LegacyUse>),
}

/// Lines that a source has pushed to another node. Those that could not be read stay there.
#[derive(Debug, Clone, PartialEq, BorshSerialize, BorshDeserialize)]
pub struct ForwardedPush {
    pub source: Arc<str>,
    pub received: Micros,
    /// The deadline that the push states, in microseconds.
    pub deadline_us: Option<Micros>,
    pub lines: Vec<ForwardedLine>,
}

/// A line that a source has pushed to another node.
#[derive(Debug, Clone, PartialEq, BorshSerialize, BorshDeserialize)]
pub struct ForwardedLine {
    /// The number of the line in its body.
    pub number: u64,
    pub fingerprint: Option<Fingerprint>,
    pub batch: Batch,
}

impl From<PushedLine> for ForwardedLine {
    fn from(PushedLine { batch, location, fingerprint, .. }: PushedLine) -> Self {
        Self { number: location.line, fingerprint, batch }
    }
}

/// A channel of the older sockets with followers, and a bookmaker among its companions.
#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct LegacyUse {
    pub channel: ChannelName,
    pub book: Option<Arc<str>>,
}

/// A request on its way to the leader.
#[derive(Debug)]
pub struct LeaderRequest {
    pub request: Forwarded,
    /// Where the leader's answer goes. It is dropped if there is none.
    pub reply: oneshot::Sender<PushAnswer>,
}

/// A request or an answer that another version has encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is encoded in another way")]
pub struct ForwardedError;

impl Forwarded {
    #[must_use]
    pub fn encode(&self) -> Bytes {
        borsh::to_vec(self).expect("writing to memory does not fail").into()
    }

    /// # Errors
    ///
    /// If another version has encoded it.
    pub fn decode(bytes: &[u8]) -> Result<Self, ForwardedError> {
        borsh::from_slice(bytes).map_err(|_| ForwardedError)
    }

    /// Has this hub, which leads, do it. Returns the answer to a push.
    ///
    /// # Errors
    ///
    /// If the hub no longer leads, has stopped, or has taken a later push of the source.
    pub async fn run(self, hub: &HubHandle) -> Result<PushAnswer, HubStopped> {
        match self {
            Self::Push(ForwardedPush { source, received, deadline_us, lines }) => {
                let file = Arc::clone(&source);
                let lines =
                    lines.into_iter().map(|ForwardedLine { number, fingerprint, batch }| {
                        let location = Place { file: Arc::clone(&file), line: number };
                        // The node that has read the lines has their bytes.
                        PushedLine { batch, location, bytes: Bytes::new(), fingerprint }
                    });
                let (lines, refusals) = (lines.collect(), Vec::new());
                let (reply, answer) = oneshot::channel();
                let is_forwarded = true;
                let push = PushRequest {
                    source,
                    received,
                    deadline_us,
                    lines,
                    refusals,
                    is_forwarded,
                    reply,
                };
                hub.inputs.send(Input::Push(Box::new(push))).await?;
                answer.await.map_err(|_| HubStopped)
            }
            Self::Legacy(uses) => {
                hub.requests.send(Request::KeepLegacy(uses)).await.map_err(|_| HubStopped)?;
                Ok(PushAnswer::default())
            }
        }
    }
}

/// Encodes the answer to a request.
#[must_use]
pub fn encode_answer(answer: &PushAnswer) -> Bytes {
    borsh::to_vec(answer).expect("writing to memory does not fail").into()
}

/// # Errors
///
/// If another version has encoded it.
pub fn decode_answer(bytes: &[u8]) -> Result<PushAnswer, ForwardedError> {
    borsh::from_slice(bytes).map_err(|_| ForwardedError)
}

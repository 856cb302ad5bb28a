//! Reading messages by their sequences, and finding a position of the log.

use async_nats::{
    HeaderMap, Request, StatusCode,
    header::NATS_MESSAGE_ID,
    jetstream::{message::StreamMessage, stream::RawMessage},
};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use log::LogPosition;
use serde::Deserialize;
use serde_json::json;

use super::{Failure, NO_MESSAGE, Refusal, Stream, StreamEntry, StreamError, Unavailable};
use crate::message::{Body, Message};

/// Messages of a range that are requested at a time. With 512 KiB each, they take 32 MiB.
const READ_AHEAD: usize = 64;

/// A message of the stream that was not decoded.
pub(super) struct StoredBytes {
    pub(super) seq: u64,
    pub(super) id: String,
    pub(super) bytes: Bytes,
}

impl StoredBytes {
    pub(super) fn new(seq: u64, headers: &HeaderMap, bytes: Bytes) -> Self {
        let id = headers.get(NATS_MESSAGE_ID).map_or_else(String::new, |id| id.as_str().to_owned());
        Self { seq, id, bytes }
    }

    pub(super) fn decode(self) -> Result<StreamEntry, StreamError> {
        let Self { seq, id, bytes } = self;
        match Message::decode(&bytes) {
            Ok(message) => Ok(StreamEntry { seq, id, message }),
            Err(problem) => Err(StreamError::Damaged { seq, problem }),
        }
    }
}

#[derive(Deserialize)]
struct LeaderAnswer {
    message: RawMessage,
}

impl Stream {
    /// The message at this sequence, from any replica; `None` if the stream does not have it, by its leader.
    ///
    /// # Errors
    ///
    /// If nobody answers, or the message cannot be read.
    pub async fn read(&self, seq: u64) -> Result<Option<StreamEntry>, StreamError> {
        let request = Request::new().payload(json!({ "seq": seq }).to_string().into());
        let subject = format!("$JS.API.DIRECT.GET.{}", self.shared.name);
        let found = match self.request(self.answer_timeout(), subject, request).await {
            Ok(answer) if answer.status.is_none() => found(seq, answer),
            Ok(answer) => {
                if answer.status != Some(StatusCode::NOT_FOUND) {
                    tracing::debug!(seq, status = ?answer.status, "a replica cannot read a message");
                }
                None
            }
            Err(Unavailable::Disconnected) => return Err(Unavailable::Disconnected.into()),
            // The replica hangs, or none offers it.
            Err(_) => None,
        };
        match found {
            Some(found) => found.decode().map(Some),
            // A replica may be behind.
            None => self.read_at_leader(seq).await,
        }
    }

    /// The message at this sequence, from the leader of the stream; `None` if it does not have it.
    ///
    /// This is slower than [`Self::read`]. It decides when replicas differ.
    ///
    /// # Errors
    ///
    /// If the stream has no leader, or the message cannot be read.
    pub async fn read_at_leader(&self, seq: u64) -> Result<Option<StreamEntry>, StreamError> {
        self.read_bytes_at_leader(seq).await?.map(StoredBytes::decode).transpose()
    }

    pub(super) async fn read_bytes_at_leader(
        &self,
        seq: u64,
    ) -> Result<Option<StoredBytes>, Failure> {
        let operation = format!("STREAM.MSG.GET.{}", self.shared.name);
        let answer = self.ask::<LeaderAnswer>(&operation, &json!({ "seq": seq })).await;
        let raw = match answer {
            Ok(answer) => answer.message,
            Err(Failure::Refused(Refusal { error: NO_MESSAGE, .. })) => return Ok(None),
            Err(failure) => return Err(failure),
        };
        let message = StreamMessage::try_from(raw)
            .map_err(|error| Failure::Unavailable(Unavailable::Answer(error.to_string())))?;
        Ok(Some(StoredBytes::new(message.sequence, &message.headers, message.payload)))
    }

    /// The messages from one sequence to another, both included, in order. 64 are requested at a time.
    ///
    /// The first error, also for a message that the stream does not have, should be the end of the reader.
    pub fn read_range(
        &self,
        from: u64,
        to: u64,
    ) -> impl futures_util::Stream<Item = Result<StreamEntry, StreamError>> + Send + use<> {
        let this = self.clone();
        stream::iter(from..=to)
            .map(move |seq| {
                let this = this.clone();
                async move {
                    match this.read(seq).await? {
                        Some(stored) => Ok(stored),
                        None => Err(this.gone(seq).await),
                    }
                }
            })
            .buffered(READ_AHEAD)
    }

    /// The error for a message that the stream does not have.
    async fn gone(&self, seq: u64) -> StreamError {
        match self.end().await {
            Ok(end) => StreamError::Gone { seq, first: end.first, last: end.last },
            Err(error) => error,
        }
    }

    /// The sequence of the message after which the log is at this position: the last part of its records, or a term
    /// that begins there; if there are several, the greatest. `None` if there is none with this number and chain.
    ///
    /// A server that has just begun to lead may not know the last messages yet. Before concluding from `None` that records
    /// are lost, ask again for 2 s.
    ///
    /// It is a binary search, for which numbers must not decrease in the stream: a term must begin behind the last
    /// record in front of it.
    ///
    /// # Errors
    ///
    /// If messages cannot be read.
    pub async fn find(&self, position: LogPosition) -> Result<Option<u64>, StreamError> {
        let end = self.end().await?;
        // Every message before `low` is at the number or before it, and those from `high` on are behind it.
        let (mut low, mut high) = (end.first, end.last + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            let number = self.read(middle).await?.map(|stored| number_after(&stored.message));
            if number.is_none() && self.end().await?.first <= middle {
                return Err(Unavailable::Behind.into());
            }
            // A message that is not there was deleted meanwhile, because it was old.
            if number.is_none_or(|number| number <= position.number) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        for seq in (end.first..low).rev() {
            let Some(StreamEntry { message, .. }) = self.read(seq).await? else { return Ok(None) };
            let is_there = match &message.body {
                Body::Records(records) => records.part.is_last(),
                Body::Term { .. } => true,
                Body::HandOver { .. } => false,
            };
            if number_after(&message) != position.number {
                return Ok(None);
            }
            if is_there {
                return Ok((message.position().chain == position.chain).then_some(seq));
            }
        }
        Ok(None)
    }
}

/// The number of the last whole record after this message. A part that is not the last does not complete any.
fn number_after(message: &Message) -> u64 {
    match &message.body {
        Body::Records(records) if !records.part.is_last() => records.first - 1,
        Body::Records(_) | Body::Term { .. } | Body::HandOver { .. } => message.position().number,
    }
}

/// A message that a replica has answered with; `None` if it is another than the one that was requested.
fn found(seq: u64, answer: async_nats::Message) -> Option<StoredBytes> {
    let headers = answer.headers?;
    let answered = headers.get("Nats-Sequence")?.as_str().parse::<u64>().ok()?;
    (answered == seq).then(|| StoredBytes::new(seq, &headers, answer.payload))
}

//! Appending behind a known sequence.

use std::{cmp::max, time::Duration};

use async_nats::{
    HeaderMap, Request,
    header::{NATS_EXPECTED_LAST_SEQUENCE, NATS_EXPECTED_STREAM, NATS_MESSAGE_ID},
};
use bytes::Bytes;
use serde::Deserialize;
use tokio::time::{Instant, sleep};

use super::{
    Failure, NO_STREAM, Refusal, SHORTER_TIMEOUT, Stream, StreamEnd, StreamEntry, Unavailable,
    read_answer,
};
use crate::message::{Body, Message};

/// The stream has another end than expected.
const WRONG_LAST_SEQUENCE: u64 = 10_071;
/// The same without a number, from 2.12 on.
const WRONG_LAST_SEQUENCE_CONSTANT: u64 = 10_164;
/// A message with this id is being stored.
const DUPLICATE_IN_FLIGHT: u64 = 10_158;

/// Why a message was not appended, or why nobody knows.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The outcome is unknown. Repeat it with the same id, message and expectation. Until then, and even if it is
    /// not repeated, the message may still be stored.
    #[error("the outcome is unknown: {0}")]
    Unavailable(#[from] Unavailable),
    /// Another message follows the expected one, or the stream has lost it.
    #[error("the stream ends at {last}, not at {expected}")]
    Refused {
        /// The sequence that the message, or its first missing part, should have followed.
        expected: u64,
        /// A sequence that the stream has. It is less than `expected` if the stream has lost messages, which is only
        /// reported after 2 s.
        last: u64,
        /// The message behind the expected one, if there is one and it can be read.
        by: Option<Box<StreamEntry>>,
    },
    #[error("the message has {bytes} bytes, more than {max}")]
    TooLarge { bytes: usize, max: usize },
    /// The server refuses it for a reason that repetition does not change.
    #[error("the server refuses: {description} ({code})")]
    Rejected { code: u64, description: String },
}

/// Between two looks at a stream that is too short.
const SHORTER_LOOK: Duration = Duration::from_millis(100);

/// The server's answer to a message that it has stored.
#[derive(Deserialize)]
struct Ack {
    seq: u64,
    #[serde(default)]
    duplicate: bool,
}

impl Stream {
    /// Appends a message behind the sequence `expected`, and returns its own. For records larger than
    /// `cluster.record_bytes_max`, it appends parts, and returns the sequence of the last.
    ///
    /// `id` identifies the message for ever: the same id with other bytes is a defect of the caller. A repetition
    /// succeeds with the same sequence if the message is already stored, no matter for how long.
    ///
    /// # Errors
    ///
    /// If it was not appended, or if the outcome is unknown. Records that need parts may be stored up to one of them.
    pub async fn append(
        &self,
        expected: u64,
        message: &Message,
        id: &str,
    ) -> Result<u64, AppendError> {
        let bytes_max = self.config().record_bytes_max;
        let too_large = || AppendError::TooLarge {
            bytes: match &message.body {
                Body::Records(records) => records.bytes.len(),
                Body::Term { .. } | Body::HandOver { .. } => 0,
            },
            max: bytes_max * usize::from(u16::MAX),
        };
        let parts = message.parts(bytes_max).ok_or_else(too_large)?;
        if let [whole] = &*parts {
            return self.append_one(expected, whole.encode(), id).await;
        }
        let mut last = expected;
        for (index, part) in parts.iter().enumerate() {
            last = self.append_one(last, part.encode(), &format!("{id}.{index}")).await?;
        }
        Ok(last)
    }

    async fn append_one(&self, expected: u64, bytes: Bytes, id: &str) -> Result<u64, AppendError> {
        let mut headers = HeaderMap::new();
        headers.insert(NATS_MESSAGE_ID, id);
        headers.insert(NATS_EXPECTED_LAST_SEQUENCE, expected.to_string());
        headers.insert(NATS_EXPECTED_STREAM, self.shared.name.as_str());
        let request = Request::new().headers(headers).payload(bytes.clone());
        let subject = self.shared.log_subject.clone();
        let answer = self.request(self.answer_timeout(), subject, request).await?;
        match read_answer(&answer.payload) {
            Ok(Ack { seq, duplicate: false }) if seq == expected + 1 => Ok(seq),
            // The server remembers ids apart from messages, so the message itself must be there.
            Ok(Ack { .. }) => self.resolve(expected, &bytes, id).await,
            Err(Failure::Unavailable(why)) => Err(why.into()),
            Err(Failure::Refused(refusal)) => match refusal.error {
                WRONG_LAST_SEQUENCE | WRONG_LAST_SEQUENCE_CONSTANT => {
                    self.resolve(expected, &bytes, id).await
                }
                DUPLICATE_IN_FLIGHT => Err(Unavailable::InFlight.into()),
                _ => Err(refusal.into()),
            },
        }
    }

    /// Reads which message follows the expected one, until a stream that is too short is certain.
    async fn resolve(&self, expected: u64, bytes: &Bytes, id: &str) -> Result<u64, AppendError> {
        let seq = expected + 1;
        let start = Instant::now();
        loop {
            match self.read_bytes_at_leader(seq).await {
                Ok(Some(found)) if found.id == id && found.bytes == *bytes => return Ok(seq),
                Ok(Some(found)) => {
                    let by = found.decode().ok().map(Box::new);
                    // Others may have followed it. Without an answer, this one is certain.
                    let last = self.end().await.map_or(seq, |end| max(end.last, seq));
                    return Err(AppendError::Refused { expected, last, by });
                }
                Ok(None) => {}
                Err(Failure::Unavailable(why)) => return Err(why.into()),
                Err(Failure::Refused(refusal)) => return Err(refusal.into()),
            }
            let StreamEnd { first, last } = match self.end_or_failure().await {
                Ok(end) => end,
                Err(Failure::Unavailable(why)) => return Err(why.into()),
                Err(Failure::Refused(refusal)) => return Err(refusal.into()),
            };
            if first > seq || (last < expected && start.elapsed() >= SHORTER_TIMEOUT) {
                return Err(AppendError::Refused { expected, last, by: None });
            }
            if last >= expected {
                // The server compares with what it is about to store, and that may still fail.
                return Err(Unavailable::InFlight.into());
            }
            sleep(SHORTER_LOOK).await;
        }
    }
}

impl From<Refusal> for AppendError {
    fn from(Refusal { error: code, description, .. }: Refusal) -> Self {
        match code {
            NO_STREAM => Unavailable::NoStream.into(),
            _ => Self::Rejected { code, description },
        }
    }
}

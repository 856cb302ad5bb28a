//! Requests between nodes: parts of a snapshot, and orders of an operator.
//!
//! They use a connection of their own, so that a large answer does not delay the log.

use std::{future::Future, io, sync::Arc, time::Duration};

use async_nats::{HeaderMap, Message, Request, RequestErrorKind};
use base::Micros;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use log::{Chain, RecordNumber};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    sync::Semaphore,
};

use crate::{
    beat::hex,
    config::ClusterConfig,
    connection::{ClusterError, Connection},
};

/// Bytes of a part of a snapshot; the last one may have fewer.
pub const PART_BYTES: u64 = 512 << 10;
/// Parts that are requested at a time: at most 2 MiB are in flight.
const PARTS_AHEAD: usize = 4;
/// A part without an answer is requested so many times.
const PART_ATTEMPTS: u32 = 3;
/// For the answer of a node. A snapshot may have to be found on a slow disk.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// Requests that a node answers at a time. Further ones wait, and those beyond 1,024 are dropped.
const REQUESTS_MAX: usize = 16;
/// The greatest request, in bytes. Longer ones are refused.
pub const REQUEST_BYTES_MAX: usize = 4 << 10;
/// Names of channels in an answer at most.
pub const CHANNELS_AT_ONCE: usize = 2_000;
/// Bytes of a forwarded request at most: a message of NATS has at most 1 MiB.
pub const FORWARDED_BYTES_MAX: usize = 896 << 10;
/// The header of an answer that is a part, not JSON.
const PART_HEADER: &str = "Mw-Part";
/// The header of a forwarded request and of its answer.
const FORWARD_HEADER: &str = "Mw-Forward";

/// What a node asks another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum PeerRequest {
    /// Which snapshot the node has. Answered with [`PeerReply::Snapshot`].
    Snapshot,
    /// Bytes of the snapshot at this record, at most [`PART_BYTES`]. Answered with [`PeerReply::Part`].
    Part { number: RecordNumber, offset: u64 },
    /// Give up the lead, in favour of a node if `to` is not empty. Answered with [`PeerReply::Done`].
    HandOver { to: String },
    /// Send the clients to other nodes and take no more; or take them again. Answered with [`PeerReply::Done`].
    Drain { ends: bool },
    /// Which channels the node has, from the first name after this one. Answered with [`PeerReply::Channels`].
    Channels { after: String },
    /// Digests of the documents of these channels. Answered with [`PeerReply::Digests`].
    Digests { channels: Vec<String> },
    /// Answered with [`PeerReply::Done`] by a node that is there.
    Ping,
    /// A request of this node's hub to that of the leader, as the hub has encoded it; at most
    /// [`FORWARDED_BYTES_MAX`]. Answered with [`PeerReply::Forwarded`].
    #[serde(skip)]
    Forward(Bytes),
}

/// What a node answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PeerReply {
    Snapshot(SnapshotInfo),
    /// Names of channels in their order, at most [`CHANNELS_AT_ONCE`]; none if there are no further ones.
    Channels(Vec<String>),
    /// A digest for each channel; `None` where the node does not have the channel.
    Digests(Vec<Option<ChannelDigest>>),
    #[serde(skip)]
    Part(Bytes),
    /// The answer of the leader's hub, as it has encoded it.
    #[serde(skip)]
    Forwarded(Bytes),
    Done,
    /// The node cannot or will not do this. The text is for an operator.
    Refused(String),
}

/// A snapshot that a node has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotInfo {
    /// The number of the last record that it contains.
    pub number: RecordNumber,
    /// The chain of this record; 32 hexadecimal digits.
    #[serde(with = "hex")]
    pub chain: Chain,
    /// When this record was made.
    pub at: Micros,
    /// The version of the snapshot's form.
    pub format: u16,
    pub bytes: u64,
}

/// What a node has of a channel. Nodes that agree have the same digest at the same position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelDigest {
    pub epoch: u32,
    pub seq: u64,
    /// Of the document at this position: the first half of its SHA-256; 32 hexadecimal digits.
    #[serde(with = "hex")]
    pub digest: [u8; 16],
}

/// Why a node did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// No such node is connected.
    #[error("no node {node} responds")]
    Away { node: String },
    #[error("node {node} does not answer in time")]
    TimedOut { node: String },
    #[error("node {node} refuses: {reason}")]
    Refused { node: String, reason: String },
    #[error("the answer of node {node} is invalid: {problem}")]
    Invalid { node: String, problem: String },
    #[error("cannot send the request to node {node}: {problem}")]
    Send { node: String, problem: String },
    #[error("cannot write the snapshot")]
    Write(#[from] io::Error),
}

/// What answers the requests of other nodes.
pub trait PeerHandler: Send + Sync + 'static {
    /// Answers a request. Up to 16 are answered at a time.
    fn answer(&self, request: PeerRequest) -> impl Future<Output = PeerReply> + Send;
}

/// A node's connection to its peers. A clone uses the same connection.
#[derive(Debug, Clone)]
pub struct Peers {
    connection: Connection,
    cluster: String,
    node: String,
}

impl Peers {
    /// Connects to the servers, each of which is tried once. Later the connection is made again by itself.
    ///
    /// # Errors
    ///
    /// If a setting is invalid, or no server accepts the connection.
    pub async fn connect(config: &ClusterConfig) -> Result<Self, ClusterError> {
        let connection = Connection::open(config, "peers").await?;
        Ok(Self { connection, cluster: config.name.clone(), node: config.node_name() })
    }

    /// Answers the requests to this node, until the future is dropped.
    ///
    /// # Errors
    ///
    /// If the client has ended, or the subscription is refused.
    pub async fn serve(&self, handler: Arc<impl PeerHandler>) -> Result<(), PeerError> {
        let client = &self.connection.client;
        let failed = |problem: String| PeerError::Send { node: self.node.clone(), problem };
        let subscribed = client.subscribe(self.subject(&self.node)).await;
        let mut requests = subscribed.map_err(|error| failed(error.to_string()))?;
        let running = Arc::new(Semaphore::new(REQUESTS_MAX));
        let mut tasks = tokio::task::JoinSet::new();
        while let Some(message) = requests.next().await {
            let Some(reply) = message.reply.clone() else { continue };
            let permit = running.clone().acquire_owned().await.expect("it is never closed");
            let (client, handler) = (client.clone(), handler.clone());
            // Finished ones are forgotten; a set, so that all end with the future.
            while tasks.try_join_next().is_some() {}
            tasks.spawn(async move {
                let answer = match read_request(message.headers.as_ref(), &message.payload) {
                    Ok(request) => handler.answer(request).await,
                    Err(reason) => PeerReply::Refused(reason),
                };
                let (headers, bytes) = write_reply(answer);
                let sent = client.publish_with_headers(reply, headers, bytes).await;
                if let Err(error) = sent {
                    tracing::debug!(%error, "cannot answer a peer");
                }
                drop(permit);
            });
        }
        Err(failed("the client has ended".to_owned()))
    }

    /// Asks a node. [`PeerReply::Refused`] becomes an error.
    ///
    /// # Errors
    ///
    /// If it is away, does not answer within 2 s, or refuses.
    pub async fn ask(&self, node: &str, request: &PeerRequest) -> Result<PeerReply, PeerError> {
        self.ask_within(ANSWER_TIMEOUT, node, request).await
    }

    /// Like [`Self::ask`], with another time for the answer.
    ///
    /// # Errors
    ///
    /// If it is away, does not answer in time, or refuses.
    pub async fn ask_within(
        &self,
        time: Duration,
        node: &str,
        request: &PeerRequest,
    ) -> Result<PeerReply, PeerError> {
        let request = match request {
            PeerRequest::Forward(bytes) => {
                let mut headers = HeaderMap::new();
                headers.insert(FORWARD_HEADER, "1");
                Request::new().headers(headers).payload(bytes.clone())
            }
            request => {
                let bytes = serde_json::to_vec(request).expect("requests are plain values");
                Request::new().payload(bytes.into())
            }
        };
        let request = request.timeout(Some(time));
        let node = || node.to_owned();
        if !self.connection.connected(time).await {
            return Err(PeerError::TimedOut { node: node() });
        }
        let answer = self.connection.client.send_request(self.subject(&node()), request);
        let answer = match self.connection.unless_lost(answer).await {
            None => return Err(PeerError::TimedOut { node: node() }),
            Some(Ok(answer)) => answer,
            Some(Err(error)) => {
                return Err(match error.kind() {
                    RequestErrorKind::NoResponders => PeerError::Away { node: node() },
                    RequestErrorKind::TimedOut => PeerError::TimedOut { node: node() },
                    RequestErrorKind::InvalidSubject
                    | RequestErrorKind::MaxPayloadExceeded
                    | RequestErrorKind::Other => {
                        PeerError::Send { node: node(), problem: error.to_string() }
                    }
                });
            }
        };
        match read_reply(&answer) {
            Ok(PeerReply::Refused(reason)) => Err(PeerError::Refused { node: node(), reason }),
            Ok(reply) => Ok(reply),
            Err(problem) => Err(PeerError::Invalid { node: node(), problem }),
        }
    }

    /// The newest snapshot of a node.
    ///
    /// # Errors
    ///
    /// If the node does not answer, or has none.
    pub async fn snapshot(&self, node: &str) -> Result<SnapshotInfo, PeerError> {
        match self.ask(node, &PeerRequest::Snapshot).await? {
            PeerReply::Snapshot(info) => Ok(info),
            other => Err(unexpected(node, &other)),
        }
    }

    /// Writes the bytes of a node's snapshot, with 4 parts of 512 KiB in flight. Each part is requested up to 3 times.
    /// The length is that of the description; whoever reads the snapshot checks its content.
    ///
    /// # Errors
    ///
    /// If the node does not answer, no longer has this snapshot, or `writer` fails. Some bytes may have been written.
    pub async fn download(
        &self,
        node: &str,
        info: &SnapshotInfo,
        mut writer: impl AsyncWrite + Unpin,
    ) -> Result<(), PeerError> {
        let offsets = (0..info.bytes.div_ceil(PART_BYTES)).map(|index| index * PART_BYTES);
        let part = |offset| self.part(node, info, offset);
        let mut parts = stream::iter(offsets).map(part).buffered(PARTS_AHEAD);
        while let Some(part) = parts.next().await {
            writer.write_all(&part?).await?;
        }
        writer.flush().await?;
        Ok(())
    }

    async fn part(&self, node: &str, info: &SnapshotInfo, offset: u64) -> Result<Bytes, PeerError> {
        let request = PeerRequest::Part { number: info.number, offset };
        let mut attempt = 1;
        let reply = loop {
            match self.ask(node, &request).await {
                Err(PeerError::TimedOut { .. }) if attempt < PART_ATTEMPTS => attempt += 1,
                reply => break reply?,
            }
        };
        let PeerReply::Part(bytes) = reply else { return Err(unexpected(node, &reply)) };
        let expected = PART_BYTES.min(info.bytes - offset);
        if bytes.len() as u64 == expected {
            return Ok(bytes);
        }
        let problem = format!("a part has {} bytes instead of {expected}", bytes.len());
        Err(PeerError::Invalid { node: node.to_owned(), problem })
    }

    /// The names of a node's channels, in their order.
    ///
    /// # Errors
    ///
    /// If the node does not answer.
    pub async fn channels(&self, node: &str) -> Result<Vec<String>, PeerError> {
        let mut names: Vec<String> = Vec::new();
        loop {
            let after = names.last().cloned().unwrap_or_default();
            match self.ask(node, &PeerRequest::Channels { after }).await? {
                PeerReply::Channels(next) if next.is_empty() => return Ok(names),
                PeerReply::Channels(next) if next.first() > names.last() => names.extend(next),
                PeerReply::Channels(_) => {
                    let problem = "names come again".to_owned();
                    return Err(PeerError::Invalid { node: node.to_owned(), problem });
                }
                other => return Err(unexpected(node, &other)),
            }
        }
    }

    /// What a node has of these channels, whose names must fit in [`REQUEST_BYTES_MAX`] together. One for each.
    ///
    /// # Errors
    ///
    /// If the node does not answer.
    pub async fn digests(
        &self,
        node: &str,
        channels: &[String],
    ) -> Result<Vec<Option<ChannelDigest>>, PeerError> {
        let request = PeerRequest::Digests { channels: channels.to_vec() };
        match self.ask(node, &request).await? {
            PeerReply::Digests(digests) if digests.len() == channels.len() => Ok(digests),
            other => Err(unexpected(node, &other)),
        }
    }

    fn subject(&self, node: &str) -> String {
        format!("mw.{}.node.{node}", self.cluster)
    }
}

fn unexpected(node: &str, reply: &PeerReply) -> PeerError {
    let problem = match reply {
        PeerReply::Snapshot(_) => "it describes a snapshot",
        PeerReply::Part(_) => "it is a part of a snapshot",
        PeerReply::Channels(_) => "it lists channels",
        PeerReply::Digests(_) => "it is of other channels",
        PeerReply::Forwarded(_) => "it is the answer of a hub",
        PeerReply::Done => "it says that something is done",
        PeerReply::Refused(_) => "it refuses",
    };
    PeerError::Invalid { node: node.to_owned(), problem: problem.to_owned() }
}

fn read_request(headers: Option<&HeaderMap>, bytes: &Bytes) -> Result<PeerRequest, String> {
    if headers.is_some_and(|headers| headers.get(FORWARD_HEADER).is_some()) {
        return match bytes.len() {
            ..=FORWARDED_BYTES_MAX => Ok(PeerRequest::Forward(bytes.clone())),
            length => Err(format!("the request has {length} bytes")),
        };
    }
    if bytes.len() > REQUEST_BYTES_MAX {
        return Err(format!("the request has {} bytes", bytes.len()));
    }
    serde_json::from_slice(bytes).map_err(|error| format!("the request is invalid: {error}"))
}

fn write_reply(reply: PeerReply) -> (HeaderMap, Bytes) {
    let mut headers = HeaderMap::new();
    let json = match reply {
        PeerReply::Part(bytes) => {
            headers.insert(PART_HEADER, "1");
            return (headers, bytes);
        }
        PeerReply::Forwarded(bytes) => {
            headers.insert(FORWARD_HEADER, "1");
            return (headers, bytes);
        }
        reply => serde_json::to_vec(&reply).expect("replies are plain values"),
    };
    (headers, json.into())
}

fn read_reply(answer: &Message) -> Result<PeerReply, String> {
    let headers = answer.headers.as_ref();
    if headers.is_some_and(|headers| headers.get(PART_HEADER).is_some()) {
        return Ok(PeerReply::Part(answer.payload.clone()));
    }
    if headers.is_some_and(|headers| headers.get(FORWARD_HEADER).is_some()) {
        return Ok(PeerReply::Forwarded(answer.payload.clone()));
    }
    serde_json::from_slice(&answer.payload).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(request: &PeerRequest, json: &str) {
        assert_eq!(serde_json::to_string(request).expect("plain values"), json);
        let read = read_request(None, &Bytes::copy_from_slice(json.as_bytes()));
        assert_eq!(read.as_ref(), Ok(request));
    }

    #[test]
    fn requests_have_the_documented_form() {
        check(&PeerRequest::Snapshot, r#"{"op":"snapshot"}"#);
        check(
            &PeerRequest::Part { number: 7, offset: 524_288 },
            r#"{"op":"part","number":7,"offset":524288}"#,
        );
        check(&PeerRequest::HandOver { to: "b".to_owned() }, r#"{"op":"hand_over","to":"b"}"#);
        check(
            &PeerRequest::Channels { after: "feeds".to_owned() },
            r#"{"op":"channels","after":"feeds"}"#,
        );
        check(
            &PeerRequest::Digests { channels: vec!["feeds".to_owned()] },
            r#"{"op":"digests","channels":["feeds"]}"#,
        );
        check(&PeerRequest::Ping, r#"{"op":"ping"}"#);
        assert!(read_request(None, &Bytes::from_static(b"{}")).is_err());
        assert!(read_request(None, &vec![b' '; 5_000].into()).is_err());
    }
}

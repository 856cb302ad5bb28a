//! The log of the cluster as a JetStream stream.
//!
//! A message is appended behind a sequence that its writer knows. The server refuses it if the stream has another end,
//! so two writers never both believe that they lead. Modules in reading order: `settings`, `append`, `read`, `follow`.

mod append;
mod follow;
mod join;
mod read;
mod settings;

use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use async_nats::{RequestErrorKind, jetstream};
use bytes::Bytes;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    config::ClusterConfig,
    connection::{ClusterError, Connection},
    message::{Message, MessageError},
};

pub use self::{
    append::AppendError,
    follow::{EndReader, Following, WholeMessage},
};

/// The log of one cluster. A clone uses the same connection.
#[derive(Debug, Clone)]
pub struct Stream {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    config: ClusterConfig,
    connection: Connection,
    /// `MW_C`.
    name: String,
    /// `mw.C.log`, on which messages are appended.
    log_subject: String,
    /// `mw.C.out`, on which the server publishes what it has stored.
    out_subject: String,
    /// When the stream was created, in nanoseconds of Unix time.
    created: OnceLock<i128>,
}

/// The sequences of the stream. Those in between exist, because nothing else is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StreamEnd {
    /// Of the oldest message. In an empty stream, one more than `last`.
    pub first: u64,
    /// Of the last message; 0 if there never was one.
    pub last: u64,
}

/// The stream as the server describes it that leads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StreamState {
    #[serde(flatten)]
    pub end: StreamEnd,
    /// Of its messages on one server.
    pub bytes: u64,
    /// The server that leads the stream, if one does. It differs from the node that leads the cluster.
    pub leader: Option<String>,
    /// Servers that have all messages.
    pub copies: usize,
    /// Servers that should have them, `cluster.replicas`.
    pub replicas: usize,
}

impl StreamState {
    /// Fewer servers have all messages than should.
    #[must_use]
    pub fn lacks_copies(&self) -> bool {
        self.copies < self.replicas
    }
}

impl fmt::Display for StreamState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { end: StreamEnd { first, last }, bytes, leader, copies, replicas } = self;
        write!(f, "messages {first} to {last}, {bytes} bytes, {copies} of {replicas} copies, ")?;
        match leader {
            Some(leader) => write!(f, "led by {leader}"),
            None => f.write_str("led by no server"),
        }
    }
}

/// A message of the stream, maybe a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamEntry {
    pub seq: u64,
    /// The id with which it was appended; parts have `.INDEX` after it.
    pub id: String,
    pub message: Message,
}

/// Why an operation on the stream has no known result. Repeat it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    #[error("no answer in time")]
    TimedOut,
    /// The stream has no leader, or nobody answers for it.
    #[error("no server responds for the stream")]
    NoResponders,
    #[error("there is no connection")]
    Disconnected,
    /// A server that led the stream, or has just begun to lead it, does not have a message that others have.
    #[error("the server that answers is behind")]
    Behind,
    /// The server still stores a message with this id, or another one behind the same sequence.
    #[error("a message is in flight")]
    InFlight,
    #[error("the server is unavailable: {description} ({code})")]
    Server { code: u64, description: String },
    /// Servers that lost their stores. A node goes on with what it has until the stream is made again.
    #[error("the stream does not exist; `matchwire cluster init` creates it")]
    NoStream,
    #[error("the answer cannot be read: {0}")]
    Answer(String),
}

/// Why the stream could not be read.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    #[error("the stream is unavailable: {0}")]
    Unavailable(#[from] Unavailable),
    /// It is too old, or there are no messages after `last`.
    #[error("message {seq} is not in the stream, which has {first} to {last}")]
    Gone { seq: u64, first: u64, last: u64 },
    /// The stream lost messages that were read before.
    #[error("the stream ends at {last}, but had message {seen}")]
    Lost { seen: u64, last: u64 },
    /// The stream lost a message that was read before, and has another in its place.
    #[error("message {seq} is not the one that was read before")]
    Replaced { seq: u64 },
    #[error("message {seq} cannot be read: {problem}")]
    Damaged { seq: u64, problem: MessageError },
    #[error("the server refuses: {description} ({code})")]
    Rejected { code: u64, description: String },
    /// After another error.
    #[error("the stream is no longer followed")]
    Ended,
}

/// What the server said instead of a result.
#[derive(Debug)]
enum Failure {
    Unavailable(Unavailable),
    /// A definite refusal.
    Refused(Refusal),
}

/// An error of JetStream's API.
#[derive(Debug, Clone, Deserialize)]
struct Refusal {
    /// Like a status of HTTP.
    code: u64,
    /// Which error it is; see `errors.json` of the server.
    #[serde(default, rename = "err_code")]
    error: u64,
    #[serde(default)]
    description: String,
}

impl From<Failure> for StreamError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Unavailable(why) => why.into(),
            Failure::Refused(Refusal { error: NO_STREAM, .. }) => Unavailable::NoStream.into(),
            Failure::Refused(Refusal { error: code, description, .. }) => {
                Self::Rejected { code, description }
            }
        }
    }
}

impl Stream {
    /// Connects to the servers, each of which is tried once.
    ///
    /// Later the connection is made again by itself whenever it is lost.
    ///
    /// # Errors
    ///
    /// If a setting is invalid, no server accepts the connection, or it is older than 2.9.
    pub async fn connect(config: &ClusterConfig) -> Result<Self, ClusterError> {
        let connection = Connection::open(config, "log").await?;
        let cluster = &config.name;
        let shared = Shared {
            name: format!("MW_{cluster}"),
            log_subject: format!("mw.{cluster}.log"),
            out_subject: format!("mw.{cluster}.out"),
            connection,
            config: config.clone(),
            created: OnceLock::new(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The version of the server that the node is connected to, such as `2.10.27`.
    #[must_use]
    pub fn server_version(&self) -> String {
        self.shared.connection.server_version()
    }

    /// Whether there is a connection. It may take 2 s until a server that hangs is noticed.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.shared.connection.is_connected()
    }

    /// What distinguishes the stream from others of its name, before it and in other places: when it was created.
    /// Known once it was checked.
    #[must_use]
    pub fn identity(&self) -> String {
        let Shared { name, created, .. } = &*self.shared;
        format!("{name} {}", created.get().copied().unwrap_or_default())
    }

    pub(crate) fn config(&self) -> &ClusterConfig {
        &self.shared.config
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.shared.connection
    }

    fn answer_timeout(&self) -> Duration {
        Duration::from_millis(self.shared.config.answer_ms)
    }

    /// The first and last sequence, by the leader of the stream.
    ///
    /// A leader that was replaced and has not noticed yet may answer with an older end.
    ///
    /// # Errors
    ///
    /// If the stream has no leader, or does not exist.
    pub async fn end(&self) -> Result<StreamEnd, StreamError> {
        Ok(self.end_or_failure().await?)
    }

    /// The first and last sequence, by a leader of the stream that most servers have followed within the last two seconds. An
    /// election takes longer, so nobody has replaced it, and the stream had no more when it was asked.
    ///
    /// # Errors
    ///
    /// As [`Self::end`], and if it is not known whether it still leads.
    pub async fn current_end(&self) -> Result<StreamEnd, StreamError> {
        let info = self.info().await?;
        let others = info.cluster.iter().flat_map(|cluster| &cluster.replicas);
        let near = others.filter(|it| !it.offline && it.active < LEADER_RECENT).count();
        if 2 * (1 + near) <= info.config.num_replicas {
            return Err(Unavailable::Behind.into());
        }
        Ok(end(&info))
    }

    async fn end_or_failure(&self) -> Result<StreamEnd, Failure> {
        Ok(end(&self.info().await?))
    }

    /// What it has, and where.
    ///
    /// # Errors
    ///
    /// If the stream has no leader, or does not exist.
    pub async fn state(&self) -> Result<StreamState, StreamError> {
        let info = self.info().await?;
        let (end, copies) = (end(&info), copies(info.cluster.as_ref()));
        let leader = info.cluster.and_then(|cluster| cluster.leader);
        let (bytes, replicas) = (info.state.bytes, info.config.num_replicas);
        Ok(StreamState { end, bytes, leader, copies, replicas })
    }

    async fn info(&self) -> Result<jetstream::stream::Info, Failure> {
        self.ask(&format!("STREAM.INFO.{}", self.shared.name), &()).await
    }

    /// Sends a request to the API of JetStream.
    async fn ask<T: DeserializeOwned>(
        &self,
        operation: &str,
        request: &impl Serialize,
    ) -> Result<T, Failure> {
        self.ask_within(self.answer_timeout(), operation, request).await
    }

    async fn ask_within<T: DeserializeOwned>(
        &self,
        timeout: Duration,
        operation: &str,
        request: &impl Serialize,
    ) -> Result<T, Failure> {
        let bytes = serde_json::to_vec(request).expect("requests are plain values");
        let subject = format!("$JS.API.{operation}");
        let request = async_nats::Request::new().payload(bytes.into());
        let answer = self.request(timeout, subject, request).await.map_err(Failure::Unavailable)?;
        read_answer(&answer.payload)
    }

    /// Sends a request to the servers, and waits for an answer no longer than the connection lasts.
    async fn request(
        &self,
        timeout: Duration,
        subject: String,
        request: async_nats::Request,
    ) -> Result<async_nats::Message, Unavailable> {
        let connection = &self.shared.connection;
        // Without a connection, the client would keep requests in memory, repeated ones too.
        if !connection.connected(timeout).await {
            return Err(Unavailable::Disconnected);
        }
        let request = request.timeout(Some(timeout));
        let answer = connection.client.send_request(subject, request);
        match connection.unless_lost(answer).await {
            None => Err(Unavailable::Disconnected),
            Some(Ok(answer)) => Ok(answer),
            Some(Err(error)) => Err(match error.kind() {
                RequestErrorKind::TimedOut => Unavailable::TimedOut,
                RequestErrorKind::NoResponders => Unavailable::NoResponders,
                RequestErrorKind::InvalidSubject
                | RequestErrorKind::MaxPayloadExceeded
                | RequestErrorKind::Other => Unavailable::Answer(error.to_string()),
            }),
        }
    }
}

fn end(info: &jetstream::stream::Info) -> StreamEnd {
    let last = info.state.last_sequence;
    let first = if info.state.messages == 0 { last + 1 } else { info.state.first_sequence };
    StreamEnd { first, last }
}

/// Servers that have all messages. While none leads the stream, the one that answers is itself among the replicas.
fn copies(cluster: Option<&jetstream::stream::ClusterInfo>) -> usize {
    let is_led = cluster.is_none_or(|cluster| cluster.leader.is_some());
    let replicas = cluster.into_iter().flat_map(|cluster| &cluster.replicas);
    usize::from(is_led) + replicas.filter(|it| it.current && !it.offline).count()
}

/// A stream that is shorter than known for so long has lost messages. For a shorter time it may be the answer of a server
/// that no longer leads it and has not noticed, such as one that was suspended, or of one that has just begun.
const SHORTER_TIMEOUT: Duration = Duration::from_secs(2);

/// A leader of a stream that most servers have followed within this time leads it still. They elect another one after 4 s.
const LEADER_RECENT: Duration = Duration::from_secs(2);

/// The status of errors that pass.
const STATUS_UNAVAILABLE: u64 = 503;
const CLUSTER_NOT_AVAILABLE: u64 = 10_008;
const CLUSTER_NOT_LEADER: u64 = 10_009;
const NO_MESSAGE: u64 = 10_037;
const NO_STREAM: u64 = 10_059;

#[derive(Deserialize)]
#[serde(untagged)]
enum Answer<T> {
    Refused { error: Refusal },
    Result(T),
}

fn read_answer<T: DeserializeOwned>(bytes: &Bytes) -> Result<T, Failure> {
    let answer = serde_json::from_slice(bytes)
        .map_err(|error| Failure::Unavailable(Unavailable::Answer(error.to_string())))?;
    match answer {
        Answer::Result(answer) => Ok(answer),
        Answer::Refused { error } if error.is_passing() => {
            let Refusal { error: code, description, .. } = error;
            Err(Failure::Unavailable(Unavailable::Server { code, description }))
        }
        Answer::Refused { error } => Err(Failure::Refused(error)),
    }
}

impl Refusal {
    fn is_passing(&self) -> bool {
        self.code == STATUS_UNAVAILABLE
            || matches!(self.error, CLUSTER_NOT_AVAILABLE | CLUSTER_NOT_LEADER)
    }
}

#[cfg(test)]
mod tests {
    use async_nats::jetstream::stream::{ClusterInfo, PeerInfo};

    use super::*;

    #[test]
    fn server_is_counted_once_whether_or_not_one_leads() {
        let peer = |name: &str, current, offline| {
            let name = name.to_owned();
            PeerInfo { name, current, offline, ..PeerInfo::default() }
        };
        let count = |leader: Option<&str>, replicas| {
            let leader = leader.map(str::to_owned);
            copies(Some(&ClusterInfo { leader, replicas, ..ClusterInfo::default() }))
        };
        let [n1, n2, n3] = ["n1", "n2", "n3"].map(|name| peer(name, true, false));
        assert_eq!(count(Some("n1"), vec![n2.clone(), n3.clone()]), 3);
        assert_eq!(count(None, vec![n1, n2.clone(), n3]), 3);
        assert_eq!(count(Some("n1"), vec![n2, peer("n3", true, true)]), 2);
        assert_eq!(count(Some("n1"), vec![peer("n2", false, false)]), 1);
        assert_eq!(copies(None), 1, "a server without others");
    }

    #[test]
    fn error_without_a_stream_says_how_to_make_it() {
        let refusal = Refusal { code: 404, error: NO_STREAM, description: String::new() };
        let error = StreamError::from(Failure::Refused(refusal.clone()));
        assert!(error.to_string().contains("`matchwire cluster init`"), "{error}");
        let error = AppendError::from(refusal);
        assert!(matches!(error, AppendError::Unavailable(Unavailable::NoStream)), "{error}");
    }
}

//! Beats: what every node says about itself four times a second, and what a node knows of the others.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use base::{Micros, clock::now};
use bytes::Bytes;
use futures_util::StreamExt;
use log::{Chain, RecordNumber};
use serde::{Deserialize, Serialize};
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, MissedTickBehavior, interval},
};

use crate::{
    config::{NODE_BYTES_MAX, Role, is_name},
    message::Formats,
    stream::{Stream, StreamError},
};

/// Between two beats of a node.
pub const BEAT_INTERVAL: Duration = Duration::from_millis(250);
/// A node that was not heard for so long is gone.
pub const BEAT_TIMEOUT: Duration = Duration::from_secs(3);
/// A node does not lead with a clock that differs from those of the others by so much, in microseconds: it would stamp
/// what happens.
pub const CLOCK_UNFIT_US: Micros = 2_000_000;
/// Nodes that are remembered. Beats and reports of further ones are ignored.
pub(crate) const NODES_MAX: usize = 256;
/// The greatest beat. Longer ones are ignored.
const BEAT_BYTES_MAX: usize = 16 << 10;

/// What a node says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beat {
    pub node: String,
    pub role: Role,
    /// The release that it runs.
    pub version: String,
    /// The term that it knows.
    pub term: u64,
    /// Whether it leads in this term.
    pub leads: bool,
    /// Whether it serves clients.
    pub ready: bool,
    /// Whether an operator has taken it out of service.
    pub drained: bool,
    /// Whether it leads and the log refuses its records: nobody has what happens now.
    pub refused: bool,
    /// Whether it could take over without a new generation.
    pub in_sync: bool,
    /// The sequence in the stream of the last message that it has applied, or appended if it leads.
    pub seq: u64,
    /// The number of its last record.
    pub number: RecordNumber,
    /// The chain of its last record; 32 hexadecimal digits.
    #[serde(with = "hex")]
    pub chain: Chain,
    /// Milliseconds by which it is behind the leader.
    pub lag_ms: u64,
    /// Open sockets of clients.
    pub sockets: u64,
    /// The greatest versions that it reads.
    pub formats: Formats,
    /// When it was sent, by the clock of the node.
    pub at: Micros,
}

/// A beat, and when it arrived.
#[derive(Debug, Clone)]
pub struct ReceivedBeat {
    pub beat: Beat,
    pub at: Instant,
    /// By how much the clock of its node was ahead of this one's, less the time that it was on its way.
    ahead: Micros,
}

/// The nodes that were heard in the last 3 s. A clone shares them.
#[derive(Debug, Clone)]
pub struct Beats {
    nodes: Arc<Mutex<Nodes>>,
    changes: watch::Receiver<u64>,
    _task: Arc<Task>,
}

type Nodes = BTreeMap<String, ReceivedBeat>;

impl Beats {
    /// Subscribes to the beats of all nodes, this one too. The subscription ends when the last clone is dropped.
    ///
    /// # Errors
    ///
    /// If the client has ended.
    pub async fn subscribe(stream: &Stream) -> Result<Self, StreamError> {
        let subject = format!("mw.{}.beat.*", stream.config().name);
        let subscribed = stream.connection().client.subscribe(subject).await;
        let mut beats = subscribed.map_err(|_| StreamError::Ended)?;
        let nodes = Arc::new(Mutex::new(Nodes::new()));
        let (changed, changes) = watch::channel(0_u64);
        let shared = nodes.clone();
        let task = tokio::spawn(async move {
            let mut forget = interval(BEAT_INTERVAL);
            forget.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                let is_changed = tokio::select! {
                    message = beats.next() => match message {
                        None => return,
                        Some(message) => {
                            let node = message.subject.rsplit('.').next().unwrap_or_default();
                            let beat = read_beat(node, &message.payload);
                            beat.is_some_and(|beat| hear(&mut lock(&shared), beat, Instant::now()))
                        }
                    },
                    now = forget.tick() => forget_silent(&mut lock(&shared), now),
                };
                if is_changed {
                    changed.send_modify(|count| *count += 1);
                }
            }
        });
        Ok(Self { nodes, changes, _task: Arc::new(Task(task)) })
    }

    /// The node that leads: of those that say so, the one with the greatest term.
    #[must_use]
    pub fn leader(&self) -> Option<ReceivedBeat> {
        let nodes = lock(&self.nodes);
        let now = Instant::now();
        let leaders = nodes.values().filter(|it| it.beat.leads && it.is_recent(now));
        leaders.max_by_key(|received| (received.beat.term, received.at)).cloned()
    }

    /// All nodes, by name.
    #[must_use]
    pub fn all(&self) -> Vec<ReceivedBeat> {
        let nodes = lock(&self.nodes);
        let now = Instant::now();
        nodes.values().filter(|received| received.is_recent(now)).cloned().collect()
    }

    /// By how many microseconds the clock of a node is ahead of the median of all nodes' clocks, to within the time that
    /// beats are on their way; negative if it is behind. `None` with fewer than three nodes: of two, either may be wrong.
    #[must_use]
    pub fn clock_offset(&self, node: &str) -> Option<Micros> {
        let nodes = self.all();
        let local = nodes.iter().find(|received| received.beat.node == node)?.ahead;
        Some(local - median(nodes.iter().map(|received| received.ahead).collect())?)
    }

    /// Waits for the next beat, or until a node is gone. Each clone waits for itself, from its creation or its last
    /// call on.
    pub async fn changed(&mut self) {
        if self.changes.changed().await.is_err() {
            // The client has ended; nothing is heard again.
            std::future::pending::<()>().await;
        }
    }
}

/// The median of three or more values.
fn median(mut values: Vec<Micros>) -> Option<Micros> {
    values.sort_unstable();
    (values.len() >= 3).then(|| values[values.len() / 2])
}

impl ReceivedBeat {
    fn is_recent(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.at) < BEAT_TIMEOUT
    }
}

/// Sends beats until it is dropped.
#[derive(Debug)]
pub struct BeatSender {
    _task: Task,
}

impl BeatSender {
    /// Sends a beat now, and then one every 250 ms. `beat` is called for each, on a task.
    #[must_use]
    pub fn start(stream: &Stream, beat: impl Fn() -> Beat + Send + 'static) -> Self {
        let stream = stream.clone();
        let task = tokio::spawn(async move {
            let mut beats = interval(BEAT_INTERVAL);
            beats.set_missed_tick_behavior(MissedTickBehavior::Skip);
            loop {
                beats.tick().await;
                send(&stream, &beat()).await;
            }
        });
        Self { _task: Task(task) }
    }
}

/// Without a connection nothing is sent; the client would keep old beats in memory.
async fn send(stream: &Stream, beat: &Beat) {
    if !stream.is_connected() {
        return;
    }
    let bytes = serde_json::to_vec(beat).expect("a beat has only plain values");
    let subject = format!("mw.{}.beat.{}", stream.config().name, beat.node);
    if let Err(error) = stream.connection().client.publish(subject, bytes.into()).await {
        tracing::debug!(%error, "cannot send a beat");
    }
}

/// Ends with its owner.
#[derive(Debug)]
struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn lock(nodes: &Mutex<Nodes>) -> std::sync::MutexGuard<'_, Nodes> {
    nodes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `None`, if it is not a beat of this node.
fn read_beat(node: &str, bytes: &Bytes) -> Option<Beat> {
    if bytes.len() > BEAT_BYTES_MAX || !is_name(node, NODE_BYTES_MAX) {
        return None;
    }
    let beat: Beat = serde_json::from_slice(bytes)
        .inspect_err(|error| tracing::debug!(node, %error, "ignoring a beat"))
        .ok()?;
    (beat.node == node).then_some(beat)
}

/// Returns whether it was taken.
fn hear(nodes: &mut Nodes, beat: Beat, at: Instant) -> bool {
    if nodes.len() >= NODES_MAX && !nodes.contains_key(&beat.node) {
        return false;
    }
    let ahead = beat.at.saturating_sub(now());
    nodes.insert(beat.node.clone(), ReceivedBeat { beat, at, ahead });
    true
}

/// Returns whether a node is gone.
fn forget_silent(nodes: &mut Nodes, now: Instant) -> bool {
    let before = nodes.len();
    nodes.retain(|_, received| received.is_recent(now));
    nodes.len() != before
}

pub(crate) mod hex {
    //! A chain as 32 hexadecimal digits.

    use log::Chain;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(
        chain: &Chain,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{:032x}", u128::from_be_bytes(*chain)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Chain, D::Error> {
        let text = String::deserialize(deserializer)?;
        let is_hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let value = u128::from_str_radix(&text, 16).ok().filter(|_| is_hex);
        value
            .map(u128::to_be_bytes)
            .ok_or_else(|| D::Error::custom("a chain has 32 hexadecimal digits"))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Beats that were heard just now, and no more.
    pub(crate) fn heard(beats: Vec<Beat>) -> Beats {
        let mut nodes = Nodes::new();
        for beat in beats {
            hear(&mut nodes, beat, Instant::now());
        }
        let task = Arc::new(Task(tokio::spawn(std::future::ready(()))));
        Beats { nodes: Arc::new(Mutex::new(nodes)), changes: watch::channel(0).1, _task: task }
    }

    pub(crate) fn beat(node: &str) -> Beat {
        Beat {
            node: node.to_owned(),
            role: Role::All,
            version: "0.1.0".to_owned(),
            term: 1,
            leads: false,
            ready: true,
            drained: false,
            refused: false,
            in_sync: false,
            seq: 1,
            number: 1,
            chain: *b"0123456789abcdef",
            lag_ms: 0,
            sockets: 0,
            formats: Formats::default(),
            at: 0,
        }
    }

    #[test]
    fn beat_is_read_as_it_was_written() {
        let bytes = Bytes::from(serde_json::to_vec(&beat("a")).expect("plain values"));
        assert_eq!(read_beat("a", &bytes), Some(beat("a")));
        assert_eq!(read_beat("b", &bytes), None, "a node speaks for itself only");
        assert_eq!(read_beat("a", &bytes.slice(1..)), None);
        let text = String::from_utf8(bytes.to_vec()).expect("it is JSON");
        assert!(text.contains(r#""chain":"30313233343536373839616263646566""#), "{text}");
    }

    #[test]
    fn silent_nodes_are_forgotten() {
        let (mut nodes, start) = (Nodes::new(), Instant::now());
        assert!(hear(&mut nodes, beat("a"), start));
        assert!(hear(&mut nodes, beat("b"), start + Duration::from_secs(2)));
        assert!(!forget_silent(&mut nodes, start + Duration::from_millis(2_900)));
        assert!(forget_silent(&mut nodes, start + BEAT_TIMEOUT));
        assert!(nodes.keys().eq(["b"]));
    }

    #[test]
    fn nodes_are_bounded() {
        let (mut nodes, now) = (Nodes::new(), Instant::now());
        for node in 0..NODES_MAX {
            assert!(hear(&mut nodes, beat(&node.to_string()), now));
        }
        assert!(!hear(&mut nodes, beat("another"), now));
        assert!(hear(&mut nodes, beat("0"), now), "known ones are heard");
    }
}

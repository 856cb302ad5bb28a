//! A node of a cluster: how it joins, follows and leads. Without `[cluster]` nothing of this runs.
//!
//! `join` brings the node's own log up to the cluster's stream and restores the hub from it. `task` is the task
//! that then feeds the hub from the stream, and takes the lead when there is none, as `heard` tells. `client_service` sends clients
//! away when the node is cut off or drained. `peers` answers other nodes, with `digests` of its documents among others.

mod client_service;
mod digests;
mod heard;
mod join;
mod peers;
mod readers;
mod task;

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use accounts::limits::{LimitUse, Limits};
use base::supervisor::{self, Lifetime};
use database::{Database, Fence, LeaderSigns};
use fanout::{Drain, Fanout};
use hub::{
    Hub, HubSettings, STATE_FORMAT,
    log_state::LogState,
    pipeline::HubHandle,
    recovery::DOCUMENT_FORMAT,
    restart::{HubStart, OpenedLog, RestartError},
    signals::SignalSettings,
    turn::INPUTS_FORMAT,
};
use log::{RecordSource, files::LogSettings};
use metrics::gauge;
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::JoinHandle,
    time::{Instant, MissedTickBehavior, interval, timeout},
};
use tracing::error;

use self::{
    client_service::ClientService,
    join::StreamPosition,
    task::{Node, NodeOrder},
};
use crate::{
    AppendError, Beat, Beats, ClusterConfig, ClusterError, ClusterNode, ClusterState, Formats,
    NodeHealth, NodeParts, NodeState, PeerError, Peers, Stream, StreamError, Unready, ViewCluster,
    limits,
    node_log::Lead,
    sockets::{self, AccountSockets},
};

pub use self::join::HistoryError;

/// What this program reads and writes. Nodes whose formats differ cannot follow one another.
const FORMATS: Formats =
    Formats { state: STATE_FORMAT, inputs: INPUTS_FORMAT as u16, document: DOCUMENT_FORMAT };

/// Orders that may wait for the node. Beyond it who orders waits.
const ORDERS_MAX: usize = 4;

/// How long a node that stops may take to hand the lead over.
const HAND_OVER_WITHIN: Duration = Duration::from_secs(5);

/// Why a node cannot take part in its cluster.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterFailure {
    #[error(transparent)]
    Restart(#[from] RestartError),
    #[error(transparent)]
    Connect(#[from] ClusterError),
    #[error("the log of the cluster cannot be read")]
    Stream(#[from] StreamError),
    #[error("the log of the cluster cannot be written")]
    Append(#[from] AppendError),
    #[error("another node does not give its state")]
    Peer(#[from] PeerError),
    #[error(transparent)]
    History(#[from] HistoryError),
    #[error("the snapshot of node {0} is not in the stream")]
    NoSnapshot(String),
}

impl ClusterFailure {
    /// Whether it is because NATS does not answer at the moment.
    fn is_passing(&self) -> bool {
        if let Self::Connect(error) = self {
            return error.is_passing();
        }
        matches!(
            self,
            Self::Stream(StreamError::Unavailable(_)) | Self::Append(AppendError::Unavailable(_))
        )
    }
}

/// The connection to a cluster, before the node has joined.
#[derive(Debug)]
pub struct Cluster {
    config: ClusterConfig,
    node: Arc<str>,
    stream: Stream,
    beats: Beats,
    peers: Peers,
    lead: Lead,
    /// Of the archive, which only the node that leads may write.
    fence: Fence,
    database: Database,
}

impl Cluster {
    /// Connects, and checks that the stream is as `matchwire cluster init` makes it. Waits for NATS as long as it
    /// takes. `None` without `[cluster]`.
    ///
    /// # Errors
    ///
    /// If NATS refuses the node, or the stream is not as it must be.
    pub async fn connect(
        config: &ClusterConfig,
        fence: Fence,
        database: &Database,
    ) -> Result<Option<Self>, ClusterFailure> {
        if !config.is_enabled() {
            return Ok(None);
        }
        let connect = async || {
            let stream = Stream::connect(config).await?;
            stream.check().await?;
            let beats = Beats::subscribe(&stream).await?;
            let peers = Peers::connect(config).await?;
            Ok((stream, beats, peers))
        };
        let (stream, beats, peers) = join::retry(connect).await?;
        let (node, lead) = (config.node_name().into(), Lead::default());
        let (config, database) = (config.clone(), database.clone());
        Ok(Some(Self { config, node, stream, beats, peers, lead, fence, database }))
    }

    /// Joins the cluster. Waits as long as it takes until NATS answers, and until there is something to join if this
    /// node may not lead. `files`: of the node's own log.
    ///
    /// # Errors
    ///
    /// If the node's files cannot be used, or the stream is not what they are a copy of.
    pub async fn join(
        self,
        files: &LogSettings,
        start: &HubStart<'_>,
        fresh: impl FnOnce() -> Hub,
    ) -> Result<(OpenedLog, JoinedNode), ClusterFailure> {
        let (opened, reached) = join::join(files, &self, start, fresh).await?;
        let (leads, records) = (opened.leads, opened.startup.records());
        let (settings, signals) = (start.settings, start.signals.clone());
        Ok((opened, JoinedNode { cluster: self, reached, leads, records, settings, signals }))
    }
}

/// A node that has joined, before it runs.
pub struct JoinedNode {
    cluster: Cluster,
    reached: StreamPosition,
    leads: bool,
    records: Arc<dyn RecordSource>,
    /// The hub's settings from the moment it leads.
    settings: HubSettings,
    signals: SignalSettings,
}

impl fmt::Debug for JoinedNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinedNode").field("reached", &self.reached).finish_non_exhaustive()
    }
}

/// The hub of this node. Clones share it.
#[derive(Clone)]
struct LocalHub {
    handle: HubHandle,
    fanout: Fanout,
    log_state: LogState,
    health: NodeHealth,
    /// The node's copy of the log.
    records: Arc<dyn RecordSource>,
}

/// `term`: of the leader. Of a node that was deposed, and ends, an older beat may still say that it leads.
fn cluster_node(beat: Beat, term: Option<u64>) -> ClusterNode {
    let state = match (beat.leads && Some(beat.term) == term, beat.ready) {
        (true, _) => NodeState::Leads,
        (false, _) if beat.leads => NodeState::Behind,
        (false, _) if beat.drained => NodeState::Drained,
        (false, true) => NodeState::Follows,
        (false, false) => NodeState::Behind,
    };
    let role = beat.role.as_str().to_owned();
    let Beat { node: name, number: record, lag_ms, sockets, version, .. } = beat;
    ClusterNode { name, state, role, record, lag_ms, sockets, version }
}

/// Between two looks at the stream.
const STREAM_LOOK_EVERY: Duration = Duration::from_secs(2);

/// Looks at the stream of the log, for the operator.
async fn watch_stream(stream: Stream, shown: watch::Sender<String>) {
    let mut looks = interval(STREAM_LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        looks.tick().await;
        let state = stream.state().await;
        // What nobody answers for has no copy that could be used.
        let (copies, bytes) = state.as_ref().map_or((0, 0), |state| (state.copies, state.bytes));
        #[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
        {
            gauge!("matchwire_cluster_stream_copies").set(copies as f64);
            gauge!("matchwire_cluster_stream_bytes").set(bytes as f64);
        }
        shown.send_replace(state.map_or_else(|error| error.to_string(), |it| it.to_string()));
    }
}

/// Exchanges with other nodes how many sockets accounts have.
async fn count_sockets(
    stream: Stream,
    node: Arc<str>,
    local: impl Fn() -> AccountSockets,
    others: impl Fn(HashMap<i64, usize>),
) {
    // It ends with the client, and then the node does too.
    sockets::exchange(&stream, &node, local, others).await.ok();
}

/// Exchanges with other nodes what was used of limits.
async fn share_limits(stream: Stream, node: Arc<str>, limits: Limits) {
    let here = || {
        let uses = limits.uses_here();
        uses.into_iter().map(|LimitUse { limit, whose, amount }| (limit, whose, amount)).collect()
    };
    let elsewhere = |uses: Vec<_>| {
        let read = |(limit, whose, amount)| LimitUse { limit, whose, amount };
        limits.use_elsewhere(&uses.into_iter().map(read).collect::<Vec<_>>());
    };
    // It ends with the client, and then the node does too.
    limits::exchange(&stream, &node, here, elsewhere).await.ok();
}

fn spawn(part: &'static str, task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    supervisor::spawn(part, Lifetime::UntilStop, task)
}

/// A node at work.
#[derive(Debug)]
pub struct RunningNode {
    fanout: Fanout,
    health: NodeHealth,
    leading: watch::Receiver<bool>,
    beats: Beats,
    /// The stream, in words.
    stream: watch::Receiver<String>,
    orders: mpsc::Sender<NodeOrder>,
    caught_up: Option<oneshot::Receiver<()>>,
    node: JoinHandle<()>,
    /// What nodes tell one another besides the log.
    talking: [JoinHandle<()>; 6],
}

impl RunningNode {
    /// Starts the tasks of the node. `local`: the accounts with many sockets here. `others`: takes how many accounts have
    /// at all other nodes together.
    pub fn start(
        joined: JoinedNode,
        parts: NodeParts,
        local: impl Fn() -> AccountSockets + Send + Sync + 'static,
        others: impl Fn(HashMap<i64, usize>) + Send + Sync + 'static,
    ) -> Self {
        let hub = LocalHub {
            handle: parts.handle,
            fanout: parts.fanout,
            log_state: parts.log_state,
            health: parts.health,
            records: Arc::clone(&joined.records),
        };
        let (tells_leading, leading) = watch::channel(joined.leads);
        let (tells_caught_up, caught_up) = oneshot::channel();
        let (orders, waiting) = mpsc::channel(ORDERS_MAX);
        let (shown, stream_view) = watch::channel("not known yet".to_owned());
        let Cluster { stream, node, beats, peers, lead, .. } = &joined.cluster;
        let signs =
            LeaderSigns::new(parts.accounts.database(), stream.identity(), node.to_string());
        let answering = peers::answer(peers.clone(), hub.handle.clone(), parts.snapshots, &orders);
        let forwarding =
            peers::forward(peers.clone(), beats.clone(), hub.handle.clone(), parts.requests);
        let counting = count_sockets(stream.clone(), node.clone(), local, others);
        let limiting = share_limits(stream.clone(), node.clone(), parts.limits);
        let watching = watch_stream(stream.clone(), shown);
        let noting =
            client_service::note_commits(lead.clone(), Arc::clone(&hub.records), signs.clone());
        let talking = [
            spawn("cluster-peers", answering),
            spawn("cluster-requests", forwarding),
            spawn("cluster-sockets", counting),
            spawn("cluster-limits", limiting),
            spawn("cluster-stream", watching),
            spawn("cluster-signs", noting),
        ];
        let (beats, isolated_ms) = (beats.clone(), joined.cluster.config.isolated_ms);
        let (fanout, health) = (hub.fanout.clone(), hub.health.clone());
        let clients =
            ClientService::new(isolated_ms, parts.drain_ms, hub.clone(), signs, parts.accounts);
        let node = Node::new(joined, hub, clients, tells_leading, tells_caught_up);
        let node = async move {
            if let Err(error) = node.run(waiting).await {
                let error = &error as &dyn std::error::Error;
                error!(error, "this node cannot go on; it joins again when it starts again");
            }
        };
        let node = spawn("cluster", node);
        let (stream, caught_up) = (stream_view, Some(caught_up));
        Self { fanout, health, leading, beats, stream, orders, caught_up, node, talking }
    }

    /// Waits until the node has what the stream had after it had restored its state, or has ended.
    pub async fn caught_up(&mut self) {
        if let Some(caught_up) = self.caught_up.take() {
            caught_up.await.ok();
        }
    }

    /// Whether the node leads, so that its sources run.
    #[must_use]
    pub fn leading(&self) -> watch::Receiver<bool> {
        self.leading.clone()
    }

    /// The cluster as of a moment ago, for the operator.
    #[must_use]
    pub fn view(&self) -> ViewCluster {
        let (beats, stream) = (self.beats.clone(), self.stream.clone());
        ViewCluster(Arc::new(move || {
            let term = beats.leader().map(|heard| heard.beat.term);
            let nodes = beats.all().into_iter().map(|heard| cluster_node(heard.beat, term));
            ClusterState { nodes: nodes.collect(), stream: stream.borrow().clone() }
        }))
    }

    /// Hands the lead over, if the node has it, and sends its clients to other nodes, one after the other. It serves the rest
    /// meanwhile. Returns when they are gone, or the time of the drain is over.
    async fn leave(&self, patience: Duration) {
        let began = Instant::now();
        let (reply, handed_over) = oneshot::channel();
        let to = String::new();
        if self.orders.send(NodeOrder::HandOver { to, reply }).await.is_ok() {
            // A node that follows has nothing to hand over.
            timeout(HAND_OVER_WITHIN, handed_over).await.ok();
        }
        self.health.set(Unready::Drained, true);
        // What the leader's end has left. A quarter of it is for the closing handshakes of the last.
        let patience = patience.saturating_sub(began.elapsed());
        let over_ms = u32::try_from((patience / 4 * 3).as_millis()).unwrap_or(u32::MAX);
        self.fanout.drain(Drain::Spread { over_ms });
        self.fanout.wait_until_empty(patience).await;
    }

    /// Hands the lead over, if the node has it, sends the clients to other nodes for at most this time, and ends the node.
    pub async fn stop(self, patience: Duration) {
        if !supervisor::has_failed() {
            timeout(patience, self.leave(patience)).await.ok();
        }
        for task in self.talking {
            task.abort();
            task.await.ok();
        }
        drop(self.orders);
        // The supervisor has reported a panic.
        timeout(HAND_OVER_WITHIN, self.node).await.ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_that_was_deposed_does_not_lead() {
        let beat = |term, leads, ready| Beat {
            node: "a".to_owned(),
            role: crate::Role::Edge,
            version: "0.1.0".to_owned(),
            term,
            leads,
            ready,
            drained: false,
            in_sync: true,
            seq: 9,
            number: 7,
            chain: [0; 16],
            lag_ms: 3,
            sockets: 5,
            formats: FORMATS,
            at: 0,
        };
        let state = |beat, term| cluster_node(beat, term).state;
        assert_eq!(state(beat(4, true, true), Some(4)), NodeState::Leads);
        assert_eq!(state(beat(4, true, true), Some(5)), NodeState::Behind, "it ends");
        assert_eq!(state(beat(4, false, true), None), NodeState::Follows);
        assert_eq!(state(beat(4, false, false), Some(4)), NodeState::Behind);
        let node = cluster_node(beat(4, false, true), None);
        assert_eq!((&*node.name, &*node.role, node.record, node.lag_ms), ("a", "edge", 7, 3));
    }
}

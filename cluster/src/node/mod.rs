//! A node of a cluster: how it joins, follows and leads. Without `[cluster]` nothing of this runs.
//!
//! [`join`] brings the node's own log up to the cluster's stream and restores the hub from it. [`task`] is the task
//! that then feeds the hub from the stream, and takes the lead when there is none, as [`heard`] tells. [`client_service`] sends clients
//! away when the node is cut off or drained. [`peers`] answers other nodes, with [`digests`] of its documents among others.

mod client_service;
mod digests;
mod heard;
mod join;
mod peers;
mod readers;
mod task;

use std::{sync::Arc, time::Duration};

use accounts::{
    Accounts,
    limits::{LimitUse, Limits},
};
use cluster::{
    AppendError, Beat, Beats, ClusterConfig, ClusterError, Formats, PeerError, Peers, Stream,
    StreamError, node_log::Lead,
};
use database::{Database, Fence, LeaderSigns};
use fanout::Drain;
use hub::{
    Hub, STATE_FORMAT, forward::LeaderRequest, recovery::DOCUMENT_FORMAT, turn::INPUTS_FORMAT,
};
use log::files::SnapshotStore;
use metrics::gauge;
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::JoinHandle,
    time::{MissedTickBehavior, interval, timeout},
};
use tracing::error;

use self::{
    client_service::ClientService,
    join::StreamPosition,
    task::{Node, NodeOrder},
};
use super::{
    AppError,
    restart::{HubStart, OpenedLog},
    running_hub::HubServices,
    serving::wait_for_sockets,
    stopping::{RunningPart, StopDeadline},
};
use crate::config::Config;
use base::supervisor::{self, Lifetime};
use web::http::{ClusterNode, ClusterState, NodeState, Registry, ViewCluster};

pub use self::join::HistoryError;

/// What this program reads and writes. Nodes whose formats differ cannot follow one another.
pub(crate) const FORMATS: Formats =
    Formats { state: STATE_FORMAT, inputs: INPUTS_FORMAT as u16, document: DOCUMENT_FORMAT };

/// Orders that may wait for the node. Beyond it who orders waits.
const ORDERS_MAX: usize = 4;

/// How long a node that stops may take to hand the lead over.
const HAND_OVER_WITHIN: Duration = Duration::from_secs(5);

/// Why a node cannot take part in its cluster.
#[derive(Debug, thiserror::Error)]
pub enum ClusterFailure {
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
pub(super) struct Cluster {
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
    pub(super) async fn connect(
        config: &Config,
        fence: Fence,
        database: &Database,
    ) -> Result<Option<Self>, ClusterFailure> {
        let config = config.cluster.clone();
        if !config.is_enabled() {
            return Ok(None);
        }
        let connect = async || {
            let stream = Stream::connect(&config).await?;
            stream.check().await?;
            let beats = Beats::subscribe(&stream).await?;
            let peers = Peers::connect(&config).await?;
            Ok((stream, beats, peers))
        };
        let (stream, beats, peers) = join::retry(connect).await?;
        let (node, lead) = (config.node_name().into(), Lead::default());
        let database = database.clone();
        Ok(Some(Self { config, node, stream, beats, peers, lead, fence, database }))
    }

    /// Joins the cluster. Waits as long as it takes until NATS answers, and until there is something to join if this
    /// node may not lead.
    pub(super) async fn join(
        self,
        config: &Config,
        start: &HubStart<'_>,
        fresh: impl FnOnce() -> Hub,
    ) -> Result<(OpenedLog, JoinedNode), AppError> {
        let (opened, reached) = join::join(config, &self, start, fresh).await?;
        let leads = opened.leads;
        Ok((opened, JoinedNode { cluster: self, reached, leads }))
    }
}

/// A node that has joined, before it runs.
pub(super) struct JoinedNode {
    cluster: Cluster,
    reached: StreamPosition,
    leads: bool,
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
async fn count_sockets(stream: Stream, node: Arc<str>, registry: Registry) {
    let local = || registry.accounts_with_many();
    let remote = |sockets| registry.set_at_others(sockets);
    // It ends with the client, and then the node does too.
    cluster::sockets::exchange(&stream, &node, local, remote).await.ok();
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
    cluster::limits::exchange(&stream, &node, here, elsewhere).await.ok();
}

fn spawn(part: &'static str, task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    supervisor::spawn(part, Lifetime::UntilStop, task)
}

/// A node at work.
pub(super) struct RunningNode {
    hub: HubServices,
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
    /// `requests`: what the hub asks of the leader's.
    pub(super) fn start(
        config: &Config,
        joined: JoinedNode,
        accounts: &Accounts,
        hub: HubServices,
        snapshots: Option<SnapshotStore>,
        requests: mpsc::Receiver<LeaderRequest>,
    ) -> Self {
        let (tells_leading, leading) = watch::channel(joined.leads);
        let (tells_caught_up, caught_up) = oneshot::channel();
        let (orders, waiting) = mpsc::channel(ORDERS_MAX);
        let (shown, stream_view) = watch::channel("not known yet".to_owned());
        let Cluster { stream, node, beats, peers, lead, .. } = &joined.cluster;
        let signs = LeaderSigns::new(accounts.database(), stream.identity(), node.to_string());
        let answering = peers::answer(peers.clone(), hub.handle.clone(), snapshots, &orders);
        let forwarding = peers::forward(peers.clone(), beats.clone(), hub.handle.clone(), requests);
        let counting = count_sockets(stream.clone(), node.clone(), hub.registry.clone());
        let limiting = share_limits(stream.clone(), node.clone(), hub.limits.clone());
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
        let beats = beats.clone();
        let clients = ClientService::new(config, hub.clone(), signs, accounts.clone());
        let node = Node::new(config, joined, hub.clone(), clients, tells_leading, tells_caught_up);
        let node = async move {
            if let Err(error) = node.run(waiting).await {
                let error = &error as &dyn std::error::Error;
                error!(error, "this node cannot go on; it joins again when it starts again");
            }
        };
        let node = spawn("cluster", node);
        let (stream, caught_up) = (stream_view, Some(caught_up));
        Self { hub, leading, beats, stream, orders, caught_up, node, talking }
    }

    /// Waits until the node has what the stream had after it had restored its state, or has ended.
    pub(super) async fn caught_up(&mut self) {
        if let Some(caught_up) = self.caught_up.take() {
            caught_up.await.ok();
        }
    }

    /// Whether the node leads, so that its sources run.
    pub(super) fn leading(&self) -> watch::Receiver<bool> {
        self.leading.clone()
    }

    /// The cluster as of a moment ago, for the operator.
    pub(super) fn view(&self) -> ViewCluster {
        let (beats, stream) = (self.beats.clone(), self.stream.clone());
        ViewCluster(Arc::new(move || {
            let term = beats.leader().map(|heard| heard.beat.term);
            let nodes = beats.all().into_iter().map(|heard| cluster_node(heard.beat, term));
            ClusterState { nodes: nodes.collect(), stream: stream.borrow().clone() }
        }))
    }

    /// Hands the lead over, if the node has it, and sends its clients to other nodes, one after the other. It serves the rest
    /// meanwhile. Returns when they are gone, or the time of the drain is over.
    async fn leave(&self, deadline: StopDeadline) {
        let (reply, handed_over) = oneshot::channel();
        let to = String::new();
        if self.orders.send(NodeOrder::HandOver { to, reply }).await.is_ok() {
            // A node that follows has nothing to hand over.
            timeout(HAND_OVER_WITHIN, handed_over).await.ok();
        }
        self.hub.log_state.set_drained(true);
        // What the leader's end has left. A quarter of it is for the closing handshakes of the last.
        let patience = deadline.patience();
        let over_ms = u32::try_from((patience / 4 * 3).as_millis()).unwrap_or(u32::MAX);
        self.hub.fanout.drain(Drain::Spread { over_ms });
        wait_for_sockets(&self.hub.fanout, patience).await;
    }
}

impl RunningPart for RunningNode {
    /// Hands the lead over, if the node has it, sends the clients to other nodes, and ends the node.
    async fn stop(self, deadline: StopDeadline) {
        if !supervisor::has_failed() {
            timeout(deadline.patience(), self.leave(deadline)).await.ok();
        }
        let Self { orders, node, talking, .. } = self;
        let ended = async {
            for task in talking {
                task.abort();
                task.await.ok();
            }
            drop(orders);
            // The supervisor has reported a panic.
            timeout(HAND_OVER_WITHIN, node).await.ok();
        };
        deadline.step("cluster", ended).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_that_was_deposed_does_not_lead() {
        let beat = |term, leads, ready| Beat {
            node: "a".to_owned(),
            role: cluster::Role::Edge,
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

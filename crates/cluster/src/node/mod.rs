//! A node of a cluster: how it joins, follows and leads. Without `[cluster]` nothing of this runs.
//!
//! `join` brings the node's own log up to the cluster's stream and restores the hub from it. `leadership` is the task
//! that then feeds the hub from the stream, and takes the lead when there is none, as `leader_view` tells. `isolation` sends clients
//! away when the node is cut off or drained. `peers` answers other nodes, with `digests` of its documents among others.

mod digests;
mod isolation;
mod join;
mod leader_view;
mod leadership;
mod peers;
mod readers;

use std::{collections::HashMap, sync::Arc, time::Duration};

use base::supervisor::{self, Lifetime};
use database::{Database, Fence, LeaderSigns};
use hub::{
    Hub, HubSettings, STATE_FORMAT,
    forward::LeaderRequest,
    recovery::DOCUMENT_FORMAT,
    restart::{HubStart, OpenedLog, RestartError},
    signals::SignalSettings,
    turn::INPUTS_FORMAT,
};
use log::{
    RecordSource,
    files::{LogSettings, SnapshotStore},
};
use metrics::gauge;
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::JoinHandle,
    time::{MissedTickBehavior, interval},
};
use tracing::error;

use self::{isolation::ClientService, join::StreamPosition, leadership::Node};
use crate::{
    AppendError, Beat, Beats, ClusterConfig, ClusterError, ClusterNode, ClusterState, Formats,
    NodeParts, NodeState, PeerError, Peers, RunningNode, Stream, StreamError, StreamState,
    Unavailable, ViewCluster, limit_reports,
    node_log::Lead,
    socket_reports::{self, AccountSockets},
};

pub use self::join::HistoryError;

/// What this program reads and writes. Nodes whose formats differ cannot follow one another.
const FORMATS: Formats =
    Formats { state: STATE_FORMAT, inputs: INPUTS_FORMAT as u16, document: DOCUMENT_FORMAT };

/// Orders that may wait for the node. Beyond it who orders waits.
const ORDERS_MAX: usize = 4;

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
    /// What this node would make of its records would not be the same.
    #[error("node {0} leads, which is of a release with other formats")]
    OtherFormats(String),
    #[error("the hub has stopped")]
    Stopped,
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

/// The connection to a cluster.
struct Cluster {
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

/// A node that has joined, before it runs.
#[expect(missing_debug_implementations, reason = "the records have none")]
pub struct JoinedNode {
    cluster: Cluster,
    reached: StreamPosition,
    leads: bool,
    /// The node's copy of the log.
    records: Arc<dyn RecordSource>,
    /// The hub's settings from the moment it leads.
    settings: HubSettings,
    signals: SignalSettings,
}

/// Connects to the cluster, whose stream must be as `matchwire cluster init` makes it, and joins it. Waits as long as it takes
/// until NATS answers, and until there is something to join if this node may not lead. `files`: of the node's own log.
///
/// # Errors
///
/// If NATS refuses the node, the stream is not as it must be, or the node's files cannot be used.
pub async fn join(
    config: &ClusterConfig,
    fence: Fence,
    database: &Database,
    files: &LogSettings,
    start: &HubStart<'_>,
    fresh: impl FnOnce() -> Hub,
) -> Result<(OpenedLog, JoinedNode), ClusterFailure> {
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
    let cluster = Cluster { config, node, stream, beats, peers, lead, fence, database };
    let (opened, reached) = join::join(files, &cluster, start, fresh).await?;
    let (leads, records) = (opened.leads, opened.startup.records());
    let (settings, signals) = (start.settings, start.signals.clone());
    Ok((opened, JoinedNode { cluster, reached, leads, records, settings, signals }))
}

/// Starts the tasks of a node. `requests`: what the hub asks of the leader's. `local`: the accounts with many sockets here.
/// `others`: takes how many accounts have at all other nodes together.
pub fn start(
    joined: JoinedNode,
    parts: NodeParts,
    snapshots: Option<SnapshotStore>,
    requests: mpsc::Receiver<LeaderRequest>,
    local: impl Fn() -> AccountSockets + Send + Sync + 'static,
    others: impl Fn(HashMap<i64, usize>) + Send + Sync + 'static,
) -> RunningNode {
    let (tells_leading, leading) = watch::channel(joined.leads);
    let (tells_caught_up, caught_up) = oneshot::channel();
    let (orders, waiting) = mpsc::channel(ORDERS_MAX);
    let (shown, stream_view) = watch::channel("not known yet".to_owned());
    let Cluster { stream, node, beats, peers, lead, .. } = &joined.cluster;
    let signs = LeaderSigns::new(parts.accounts.database(), stream.identity(), node.to_string());
    let answering = peers::answer(peers.clone(), parts.handle.clone(), snapshots, &orders);
    let forwarding = peers::forward(peers.clone(), beats.clone(), parts.handle.clone(), requests);
    // Both end with the client, and then the node does too.
    let (reports, name) = (stream.clone(), node.clone());
    let counting = async move {
        socket_reports::exchange(&reports, &name, local, others).await.ok();
    };
    let (reports, name, used) = (stream.clone(), node.clone(), parts.limits.clone());
    let limiting = async move {
        let (here, elsewhere) = (|| used.uses_here(), |uses: &[_]| used.use_elsewhere(uses));
        limit_reports::exchange(&reports, &name, here, elsewhere).await.ok();
    };
    let watching = watch_stream(stream.clone(), shown);
    let noting = isolation::note_commits(lead.clone(), Arc::clone(&joined.records), signs.clone());
    let talking = [
        spawn("cluster-peers", answering),
        spawn("cluster-requests", forwarding),
        spawn("cluster-sockets", counting),
        spawn("cluster-limits", limiting),
        spawn("cluster-stream", watching),
        spawn("cluster-signs", noting),
    ];
    let name = node.clone();
    let (beats, isolated_ms) = (beats.clone(), joined.cluster.config.isolated_ms);
    let clients = ClientService::new(isolated_ms, parts.clone(), signs);
    let node = Node::new(joined, parts.clone(), clients, tells_leading, tells_caught_up);
    let (served, old_beats) = (parts.clone(), beats.clone());
    let node = async move {
        let Err(failure) = node.run(waiting).await else { return };
        // What stopped the hub has said why.
        if matches!(failure, ClusterFailure::Stopped) {
            return;
        }
        error!(
            error = &failure as &dyn std::error::Error,
            "this node cannot go on from where it is; it joins the cluster again"
        );
        if matches!(failure, ClusterFailure::Stream(StreamError::Lost { .. })) {
            isolation::serve_old(&served, old_beats).await;
        }
        // The next process may be of the release that leads.
        if !matches!(failure, ClusterFailure::OtherFormats(_)) {
            supervisor::restart();
        }
    };
    let node = spawn("cluster", node);
    let view = ViewCluster(Arc::new(move || {
        let term = beats.leader().map(|received| received.beat.term);
        let nodes = beats.all().into_iter().map(|received| cluster_node(received.beat, term));
        ClusterState { nodes: nodes.collect(), stream: stream_view.borrow().clone() }
    }));
    RunningNode { name, parts, leading, view, orders, caught_up, node, talking }
}

/// `term`: of the leader. Of a node that was deposed, and joins again, an older beat may still say that it leads.
fn cluster_node(beat: Beat, term: Option<u64>) -> ClusterNode {
    let state = match (beat.leads && Some(beat.term) == term, beat.ready) {
        (true, _) if beat.refused => NodeState::Refuses,
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
    let mut missed = 0;
    loop {
        looks.tick().await;
        let state = stream.state().await;
        let before = missed;
        missed = missed_looks(before, &state);
        if (before, missed) == (1, 2) {
            error!("the stream of the log is gone: `matchwire cluster init` makes it again");
        }
        // What nobody answers for has no copy that could be used.
        let (copies, bytes) = state.as_ref().map_or((0, 0), |state| (state.copies, state.bytes));
        gauge!("matchwire_cluster_stream_copies").set(copies as f64);
        gauge!("matchwire_cluster_stream_bytes").set(bytes as f64);
        shown.send_replace(state.map_or_else(|error| error.to_string(), |it| it.to_string()));
    }
}

/// How often in a row the servers have said that there is no stream. They may say it once while they start.
fn missed_looks(before: u32, state: &Result<StreamState, StreamError>) -> u32 {
    match state {
        Ok(_) => 0,
        Err(StreamError::Unavailable(Unavailable::NoStream)) => before.saturating_add(1),
        Err(_) => before,
    }
}

fn spawn(part: &'static str, task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    supervisor::spawn(part, Lifetime::UntilStop, task)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{StreamEnd, beat::tests::beat};

    #[test]
    fn stream_that_is_gone_is_reported_once() {
        let failed = |why: Unavailable| Err(StreamError::from(why));
        let gone = || failed(Unavailable::NoStream);
        let end = StreamEnd { first: 1, last: 0 };
        let there = StreamState { end, bytes: 0, leader: None, copies: 3, replicas: 3 };
        let mut missed = 0;
        let silent = failed(Unavailable::TimedOut);
        let counts = [gone(), Ok(there), gone(), silent, gone(), gone()].map(|state| {
            missed = missed_looks(missed, &state);
            missed
        });
        assert_eq!(counts, [1, 0, 1, 1, 2, 3]);
    }

    #[test]
    fn node_that_was_deposed_does_not_lead() {
        let beat = |term, leads, ready| Beat {
            role: crate::Role::Edge,
            term,
            leads,
            ready,
            number: 7,
            lag_ms: 3,
            ..beat("a")
        };
        let state = |beat, term| cluster_node(beat, term).state;
        assert_eq!(state(beat(4, true, true), Some(4)), NodeState::Leads);
        assert_eq!(state(beat(4, true, true), Some(5)), NodeState::Behind, "deposed");
        let refusing = Beat { refused: true, ..beat(4, true, false) };
        assert_eq!(state(refusing, Some(4)), NodeState::Refuses);
        assert_eq!(state(beat(4, false, true), None), NodeState::Follows);
        assert_eq!(state(beat(4, false, false), Some(4)), NodeState::Behind);
        let node = cluster_node(beat(4, false, true), None);
        assert_eq!((&*node.name, &*node.role, node.record, node.lag_ms), ("a", "edge", 7, 3));
    }
}

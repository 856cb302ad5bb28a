//! What a node needs of its program, and what it shows of the cluster: with or without the feature `nats`.

use accounts::{Accounts, limits::Limits};
use fanout::Fanout;
use hub::{forward::LeaderRequest, log_state::LogState, pipeline::HubHandle};
use log::files::SnapshotStore;
use tokio::sync::mpsc;

/// The parts that a node works with.
#[derive(Debug)]
pub struct NodeParts {
    pub handle: HubHandle,
    pub fanout: Fanout,
    pub log_state: LogState,
    pub snapshots: Option<SnapshotStore>,
    /// What the hub asks of the leader's.
    pub requests: mpsc::Receiver<LeaderRequest>,
    pub accounts: Accounts,
    pub limits: Limits,
    /// Over which a node sends its clients away, in milliseconds.
    pub drain_ms: u32,
}

/// A cluster as a node sees it.
#[derive(Debug)]
pub struct ClusterStatus {
    /// Those that were heard a moment ago, by name.
    pub nodes: Vec<NodeStatus>,
    /// The stream of the log, in words.
    pub stream: String,
}

/// A node as another one sees it.
#[derive(Debug)]
pub struct NodeStatus {
    pub name: String,
    pub state: NodeState,
    pub role: &'static str,
    /// The number of its last record.
    pub record: u64,
    /// Milliseconds by which it is behind the leader.
    pub lag_ms: u64,
    /// Open sockets.
    pub sockets: u64,
    /// Its release.
    pub version: String,
}

/// What a node does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeState {
    Leads,
    Follows,
    /// It does not serve clients now.
    Behind,
    /// An operator has taken it out of service.
    Drained,
}

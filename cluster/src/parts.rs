//! What a node needs of its program, with or without the feature `nats`.

use accounts::{Accounts, limits::Limits};
use fanout::Fanout;
use hub::{forward::LeaderRequest, log_state::LogState, pipeline::HubHandle};
use log::files::SnapshotStore;
use tokio::sync::mpsc;

use crate::NodeHealth;

/// The parts that a node works with.
#[derive(Debug)]
pub struct NodeParts {
    pub handle: HubHandle,
    pub fanout: Fanout,
    pub log_state: LogState,
    /// What the node says of itself.
    pub health: NodeHealth,
    pub snapshots: Option<SnapshotStore>,
    /// What the hub asks of the leader's.
    pub requests: mpsc::Receiver<LeaderRequest>,
    pub accounts: Accounts,
    pub limits: Limits,
    /// Over which a node sends its clients away, in milliseconds.
    pub drain_ms: u32,
}

//! The node of a cluster: what it gets of the other parts, its part of the stop, and what the operator sees of it.

use std::sync::Arc;

use accounts::Accounts;
use cluster::{
    NodeParts, NodeState, NodeStatus,
    node::{JoinedNode, RunningNode},
};
use hub::forward::LeaderRequest;
use log::files::SnapshotStore;
use tokio::sync::mpsc;
use web::http::{self, ClusterNode, ClusterState, ViewCluster};

use super::{
    milliseconds,
    running_hub::HubServices,
    stopping::{RunningPart, StopDeadline},
};
use crate::config::ServerConfig;

/// `requests`: what the hub asks of the leader's.
pub(super) fn start(
    server: &ServerConfig,
    joined: JoinedNode,
    accounts: &Accounts,
    hub: &HubServices,
    snapshots: Option<SnapshotStore>,
    requests: mpsc::Receiver<LeaderRequest>,
) -> RunningNode {
    let parts = NodeParts {
        handle: hub.handle.clone(),
        fanout: hub.fanout.clone(),
        log_state: hub.log_state.clone(),
        snapshots,
        requests,
        accounts: accounts.clone(),
        limits: hub.limits.clone(),
        drain_ms: milliseconds(server.drain_ms),
    };
    let (local, others) = (hub.registry.clone(), hub.registry.clone());
    let local = move || local.accounts_with_many();
    RunningNode::start(joined, parts, local, move |sockets| others.set_at_others(sockets))
}

impl RunningPart for RunningNode {
    async fn stop(self, deadline: StopDeadline) {
        deadline.step("cluster", Self::stop(self, deadline.patience())).await;
    }
}

/// The cluster as of a moment ago, for the operator.
pub(super) fn view(node: &RunningNode) -> ViewCluster {
    let status = node.status();
    ViewCluster(Arc::new(move || {
        let status = status();
        let nodes = status.nodes.into_iter().map(cluster_node).collect();
        ClusterState { nodes, stream: status.stream }
    }))
}

fn cluster_node(node: NodeStatus) -> ClusterNode {
    let NodeStatus { name, state, role, record, lag_ms, sockets, version } = node;
    let state = match state {
        NodeState::Leads => http::NodeState::Leads,
        NodeState::Follows => http::NodeState::Follows,
        NodeState::Behind => http::NodeState::Behind,
        NodeState::Drained => http::NodeState::Drained,
    };
    ClusterNode { name, state, role: role.to_owned(), record, lag_ms, sockets, version }
}

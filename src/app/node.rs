//! The node of a cluster: what it gets of the other parts, and its step of the stop.

use accounts::Accounts;
use cluster::{
    NodeParts,
    node::{JoinedNode, RunningNode},
};
use hub::forward::LeaderRequest;
use log::files::SnapshotStore;
use tokio::sync::mpsc;

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
        health: hub.health.clone(),
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

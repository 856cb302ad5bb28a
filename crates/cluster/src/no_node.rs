//! In place of `node` in a program without the feature `nats`: a hub that is a single machine. The settings of a
//! cluster are refused, so no node ever joins.

use std::{collections::HashMap, convert::Infallible};

use base::feature::MissingFeature;
use database::{Database, Fence};
use hub::{
    Hub,
    forward::LeaderRequest,
    restart::{HubStart, OpenedLog, RestartError},
};
use log::files::{LogSettings, SnapshotStore};
use tokio::sync::mpsc;

use crate::{ClusterConfig, NodeParts, RunningNode};

/// Why a node cannot take part in its cluster.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterFailure {
    #[error(transparent)]
    Restart(RestartError),
    #[error(transparent)]
    Missing(MissingFeature),
}

/// A node that has joined: none.
pub type JoinedNode = Infallible;

/// # Errors
///
/// Always.
pub async fn join(
    _: &ClusterConfig,
    _: Fence,
    _: &Database,
    _: &LogSettings,
    _: &HubStart<'_>,
    _: impl FnOnce() -> Hub,
) -> Result<(OpenedLog, JoinedNode), ClusterFailure> {
    Err(ClusterFailure::Missing(MissingFeature { needed_by: "cluster.name", feature: "cluster" }))
}

#[must_use]
pub fn start(
    joined: JoinedNode,
    _: NodeParts,
    _: Option<SnapshotStore>,
    _: mpsc::Receiver<LeaderRequest>,
    _: impl Fn() -> Vec<(i64, u32)>,
    _: impl Fn(HashMap<i64, usize>),
) -> RunningNode {
    match joined {}
}

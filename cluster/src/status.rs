//! The nodes of a cluster, for the operator.

use std::{fmt, sync::Arc};

use serde::Serialize;

/// What this node knows of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClusterNode {
    pub name: String,
    /// Whether it leads, may lead, or only serves clients.
    pub state: NodeState,
    /// `all`, `writer` or `edge`.
    pub role: String,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeState {
    Leads,
    Follows,
    /// It does not serve clients now.
    Behind,
    /// An operator has taken it out of service.
    Drained,
}

/// A cluster as this node sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClusterState {
    /// Those that were heard a moment ago, by name.
    pub nodes: Vec<ClusterNode>,
    /// The stream of the log, in words.
    pub stream: String,
}

#[derive(Clone)]
pub struct ViewCluster(pub Arc<dyn Fn() -> ClusterState + Send + Sync>);

impl NodeState {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Leads => "leads",
            Self::Follows => "follows",
            Self::Behind => "behind",
            Self::Drained => "drained",
        }
    }

    /// The class of its chip.
    pub(super) fn tone(self) -> &'static str {
        match self {
            Self::Leads | Self::Follows => "live",
            Self::Drained => "warn",
            Self::Behind => "bad",
        }
    }
}

impl fmt::Debug for ViewCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ViewCluster").field(&(self.0)()).finish()
    }
}

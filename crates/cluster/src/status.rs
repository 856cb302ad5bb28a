//! The nodes of a cluster, for the operator, and whether this one is ready.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};

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
    /// It leads, and the log takes no records.
    Refuses,
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

/// Why a node is not ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unready {
    /// An operator has taken it out of service.
    Drained,
    /// It reaches neither the others nor the database, so that it cannot learn of revoked keys. It accepts none.
    Alone,
    /// It has sent its clients to others, because it is cut off.
    Isolated,
    /// It has heard nothing of the log for a while, so that what it shows may be old.
    Behind,
}

/// The reasons for which this node is not ready. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct NodeHealth(Arc<AtomicU8>);

/// Reads the cluster as of a moment ago.
#[derive(Clone)]
pub struct ViewCluster(pub Arc<dyn Fn() -> ClusterState + Send + Sync>);

impl NodeHealth {
    #[must_use]
    pub fn has(&self, reason: Unready) -> bool {
        self.0.load(Ordering::Relaxed) & (1_u8 << reason as u8) != 0
    }

    pub fn set(&self, reason: Unready, is_so: bool) {
        let bit = 1_u8 << reason as u8;
        if is_so {
            self.0.fetch_or(bit, Ordering::Relaxed);
        } else {
            self.0.fetch_and(!bit, Ordering::Relaxed);
        }
    }
}

impl NodeState {
    /// Whether clients can go there.
    #[must_use]
    pub fn takes_clients(self) -> bool {
        matches!(self, Self::Leads | Self::Follows)
    }

    /// As on the operator's page.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Leads => "leads",
            Self::Refuses => "refuses",
            Self::Follows => "follows",
            Self::Behind => "behind",
            Self::Drained => "drained",
        }
    }
}

impl fmt::Debug for ViewCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ViewCluster").field(&(self.0)()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_that_lead_or_follow_take_clients() {
        use NodeState::{Behind, Drained, Follows, Leads, Refuses};
        assert_eq!([Leads, Follows].map(NodeState::takes_clients), [true; 2]);
        assert_eq!([Refuses, Behind, Drained].map(NodeState::takes_clients), [false; 3]);
    }

    #[test]
    fn reasons_are_independent_of_one_another() {
        let health = NodeHealth::default();
        health.set(Unready::Alone, true);
        health.set(Unready::Behind, true);
        let has = |reason| health.has(reason);
        let all = [Unready::Drained, Unready::Alone, Unready::Isolated, Unready::Behind];
        assert_eq!(all.map(has), [false, true, false, true]);
        health.set(Unready::Alone, false);
        assert_eq!(all.map(has), [false, false, false, true]);
    }
}

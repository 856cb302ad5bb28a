//! In place of `node` in a program without the feature `nats`: a hub that is a single machine. The settings of a
//! cluster are refused, so nothing here has a value.

use std::{collections::HashMap, convert::Infallible, time::Duration};

use database::{Database, Fence};
use hub::{
    Hub,
    restart::{HubStart, OpenedLog, RestartError},
};
use log::files::LogSettings;
use tokio::sync::watch;

use crate::{ClusterConfig, NodeParts, ViewCluster};

/// Why a node cannot take part in its cluster: never, without a cluster.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterFailure {
    #[error(transparent)]
    Restart(RestartError),
}

#[derive(Debug)]
pub enum Cluster {}

impl Cluster {
    /// # Errors
    ///
    /// Never.
    #[expect(clippy::unused_async, reason = "as with a cluster")]
    pub async fn connect(
        _: &ClusterConfig,
        _: Fence,
        _: &Database,
    ) -> Result<Option<Self>, ClusterFailure> {
        Ok(None)
    }

    /// # Errors
    ///
    /// Never.
    #[expect(clippy::unused_async, reason = "as with a cluster")]
    pub async fn join(
        self,
        _: &LogSettings,
        _: &HubStart<'_>,
        _: impl FnOnce() -> Hub,
    ) -> Result<(OpenedLog, JoinedNode), ClusterFailure> {
        match self {}
    }
}

/// A node that has joined: none.
pub type JoinedNode = Infallible;

#[derive(Debug)]
pub enum RunningNode {}

impl RunningNode {
    #[must_use]
    pub fn start(
        joined: JoinedNode,
        _: NodeParts,
        _: impl Fn() -> Vec<(i64, u32)>,
        _: impl Fn(HashMap<i64, usize>),
    ) -> Self {
        match joined {}
    }

    #[expect(clippy::unused_async, reason = "as with a cluster")]
    pub async fn caught_up(&self) {
        match *self {}
    }

    #[must_use]
    pub fn leading(&self) -> watch::Receiver<bool> {
        match *self {}
    }

    #[must_use]
    pub fn view(&self) -> ViewCluster {
        match *self {}
    }

    #[expect(clippy::unused_async, reason = "as with a cluster")]
    pub async fn stop(self, _: Duration) {
        match self {}
    }
}

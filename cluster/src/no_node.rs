//! In place of `cluster` in a program without the feature `cluster`: a hub that is a single machine. The settings of a
//! cluster are refused, so nothing here has a value.

use std::convert::Infallible;

use accounts::Accounts;
use database::{Database, Fence};
use hub::{Hub, forward::LeaderRequest};
use log::files::SnapshotStore;
use tokio::sync::{mpsc, watch};
use web::http::ViewCluster;

use super::{
    AppError,
    restart::{HubStart, OpenedLog},
    running_hub::HubServices,
    stopping::{RunningPart, StopDeadline},
};
use crate::config::Config;

/// Why a node cannot take part in its cluster: never, without a cluster.
pub type ClusterFailure = Infallible;

pub(super) enum Cluster {}

impl Cluster {
    #[expect(clippy::unused_async, reason = "as with a cluster")]
    pub(super) async fn connect(
        _: &Config,
        _: Fence,
        _: &Database,
    ) -> Result<Option<Self>, ClusterFailure> {
        Ok(None)
    }

    #[expect(clippy::unused_async, reason = "as with a cluster")]
    pub(super) async fn join(
        self,
        _: &Config,
        _: &HubStart<'_>,
        _: impl FnOnce() -> Hub,
    ) -> Result<(OpenedLog, JoinedNode), AppError> {
        match self {}
    }
}

#[derive(Clone, Copy)]
pub(super) enum JoinedNode {}

pub(super) enum RunningNode {}

impl RunningNode {
    pub(super) fn start(
        _: &Config,
        joined: JoinedNode,
        _: &Accounts,
        _: HubServices,
        _: Option<SnapshotStore>,
        _: mpsc::Receiver<LeaderRequest>,
    ) -> Self {
        match joined {}
    }

    #[expect(clippy::unused_async, reason = "as with a cluster")]
    pub(super) async fn caught_up(&self) {
        match *self {}
    }

    pub(super) fn leading(&self) -> watch::Receiver<bool> {
        match *self {}
    }

    pub(super) fn view(&self) -> ViewCluster {
        match *self {}
    }
}

impl RunningPart for RunningNode {
    async fn stop(self, _: StopDeadline) {
        match self {}
    }
}

//! In place of `cluster` in a program without the feature `cluster`: a hub that is a single machine. The settings of a
//! cluster are refused, so nothing here has a value.

use std::{convert::Infallible, sync::Arc};

use accounts::{Accounts, limits::Limits};
use database::{Database, Fence};
use fanout::Fanout;
use hub::{
    Hub, HubSettings, forward::LeaderRequest, log_state::LogState, pipeline::HubHandle,
    signals::SignalSettings,
};
use log::{RecordSource, files::SnapshotStore};
use tokio::sync::{mpsc, watch};
use web::http::{Registry, ViewCluster};

use super::{
    AppError,
    restart::{HubStart, OpenedLog},
    stopping::StopDeadline,
};
use crate::config::Config;

/// Why a node cannot take part in its cluster: never, without a cluster.
pub type ClusterFailure = Infallible;

#[derive(Clone, Copy)]
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
}

pub(super) struct Joined {
    pub opened: OpenedLog,
    pub place: Infallible,
    pub leads: bool,
}

#[expect(clippy::unused_async, reason = "as with a cluster")]
pub(super) async fn join(
    _: &Config,
    cluster: &Cluster,
    _: &HubStart<'_>,
    _: impl FnOnce() -> Hub,
) -> Result<Joined, AppError> {
    match *cluster {}
}

#[expect(dead_code, reason = "a cluster reads them")]
pub(super) struct NodeParts {
    pub hub: HubHandle,
    pub fanout: Fanout,
    pub state: LogState,
    pub records: Arc<dyn RecordSource>,
    pub snapshots: Option<SnapshotStore>,
    pub registry: Registry,
    pub limits: Limits,
    pub accounts: Accounts,
    pub drain_ms: u32,
    pub settings: (HubSettings, SignalSettings),
}

pub(super) enum RunningNode {}

impl RunningNode {
    #[expect(clippy::unused_async, reason = "as with a cluster")]
    pub(super) async fn leave(&self, _: StopDeadline) {
        match *self {}
    }

    pub(super) fn start(
        cluster: Cluster,
        _: (Infallible, bool),
        _: NodeParts,
        _: mpsc::Receiver<LeaderRequest>,
    ) -> Self {
        match cluster {}
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

    #[expect(clippy::unused_async, reason = "as with a cluster")]
    pub(super) async fn stop(self) {
        match self {}
    }
}

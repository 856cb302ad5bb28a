//! Answers other nodes: the newest snapshot, and orders of an operator.

use std::{os::unix::fs::FileExt, sync::Arc};

use cluster::{PeerHandler, PeerReply, PeerRequest, Peers, SnapshotInfo, peer::PART_BYTES};
use log::{RecordNumber, files::SnapshotStore};
use tokio::{
    sync::{mpsc, oneshot},
    task::spawn_blocking,
};
use tracing::warn;

use super::NodeOrder;

struct Handler {
    snapshots: Option<SnapshotStore>,
    /// Not kept open: the node ends when nobody else can order anything.
    orders: mpsc::WeakSender<NodeOrder>,
}

/// Answers until it is dropped.
pub(super) fn answer(
    peers: Peers,
    snapshots: Option<SnapshotStore>,
    orders: &mpsc::Sender<NodeOrder>,
) -> impl Future<Output = ()> + use<> {
    let handler = Arc::new(Handler { snapshots, orders: orders.downgrade() });
    async move {
        if let Err(error) = peers.serve(handler).await {
            let error = &error as &dyn std::error::Error;
            warn!(error, "requests of other nodes are no longer answered");
        }
    }
}

impl PeerHandler for Handler {
    async fn answer(&self, request: PeerRequest) -> PeerReply {
        let refused = |reason: &str| PeerReply::Refused(reason.to_owned());
        match request {
            PeerRequest::Snapshot => self.read(newest).await,
            PeerRequest::Part { number, offset } => {
                self.read(move |store| part(store, number, offset)).await
            }
            PeerRequest::HandOver { to } => {
                let (reply, done) = oneshot::channel();
                let Some(orders) = self.orders.upgrade() else { return refused("it stops") };
                if orders.send(NodeOrder::HandOver { to, reply }).await.is_err() {
                    return refused("it stops");
                }
                match done.await {
                    Ok(Ok(())) => PeerReply::Done,
                    Ok(Err(reason)) => PeerReply::Refused(reason),
                    Err(_) => refused("it stops"),
                }
            }
            PeerRequest::Drain | PeerRequest::Status => refused("it does not know this request"),
        }
    }
}

impl Handler {
    async fn read(
        &self,
        read: impl FnOnce(&SnapshotStore) -> std::io::Result<PeerReply> + Send + 'static,
    ) -> PeerReply {
        let Some(store) = self.snapshots.clone() else {
            return PeerReply::Refused("it has no snapshots".to_owned());
        };
        // The supervisor has reported a panic.
        match spawn_blocking(move || read(&store)).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(error)) => PeerReply::Refused(error.to_string()),
            Err(error) => PeerReply::Refused(error.to_string()),
        }
    }
}

fn newest(store: &SnapshotStore) -> std::io::Result<PeerReply> {
    let (listed, _) = store.list()?;
    let Some(newest) = listed.first() else {
        return Ok(PeerReply::Refused("it has no snapshot yet".to_owned()));
    };
    Ok(PeerReply::Snapshot(SnapshotInfo {
        number: newest.position.number,
        chain: newest.position.chain,
        at: newest.position.at,
        format: newest.format,
        bytes: newest.file_bytes,
    }))
}

fn part(store: &SnapshotStore, number: RecordNumber, offset: u64) -> std::io::Result<PeerReply> {
    let file = store.open_file(number)?;
    let bytes = file.metadata()?.len().saturating_sub(offset).min(PART_BYTES);
    let mut part = vec![0; usize::try_from(bytes).unwrap_or(0)];
    file.read_exact_at(&mut part, offset)?;
    Ok(PeerReply::Part(part.into()))
}

//! Requests between nodes: the newest snapshot, orders of an operator, and what the hub of a node asks of the
//! leader's.

use std::{os::unix::fs::FileExt, sync::Arc, time::Duration};

use cluster::{
    Beats, PeerHandler, PeerReply, PeerRequest, Peers, SnapshotInfo,
    peer::{FORWARDED_BYTES_MAX, PART_BYTES},
};
use hub::{
    forward::{self, Forwarded, ForwardedPush, LeaderRequest},
    pipeline::HubHandle,
};
use log::{RecordNumber, files::SnapshotStore};
use tokio::{
    sync::{Semaphore, mpsc, oneshot},
    task::{JoinSet, spawn_blocking},
};
use tracing::{debug, warn};

use super::NodeOrder;

/// How long the leader may take to commit a push.
const FORWARDED_WITHIN: Duration = Duration::from_secs(5);

/// Requests to the leader at a time. The pushes of a source come one after the other.
const FORWARDED_MAX: usize = 64;

struct Handler {
    hub: HubHandle,
    snapshots: Option<SnapshotStore>,
    /// Not kept open: the node ends when nobody else can order anything.
    orders: mpsc::WeakSender<NodeOrder>,
}

/// Asks the leader what the hub of this node wants of it, until the hub is gone.
pub(super) async fn forward(
    peers: Peers,
    beats: Beats,
    hub: HubHandle,
    mut requests: mpsc::Receiver<LeaderRequest>,
) {
    let running = Arc::new(Semaphore::new(FORWARDED_MAX));
    let mut tasks = JoinSet::new();
    while let Some(LeaderRequest { request, reply }) = requests.recv().await {
        let permit = Arc::clone(&running).acquire_owned().await.expect("it is never closed");
        let (peers, hub) = (peers.clone(), hub.clone());
        let leader = beats.leader().map(|heard| heard.beat.node);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move {
            if let Some(answer) = ask(&peers, &hub, leader, request).await {
                // The requester may be gone.
                reply.send(answer).ok();
            }
            drop(permit);
        });
    }
}

/// The answer of the leader; `None` if there is none.
async fn ask(
    peers: &Peers,
    hub: &HubHandle,
    leader: Option<String>,
    request: Forwarded,
) -> Option<Vec<Option<String>>> {
    if hub.leads() {
        return request.run(hub).await.ok();
    }
    let leader = leader?;
    let mut answers = Vec::new();
    let mut parts = vec![request];
    while let Some(part) = parts.pop() {
        let bytes = part.encode();
        if bytes.len() > FORWARDED_BYTES_MAX {
            let (first, rest) = halves(part)?;
            parts.extend([rest, first]);
            continue;
        }
        let request = PeerRequest::Forward(bytes);
        match peers.ask_within(FORWARDED_WITHIN, &leader, &request).await {
            Ok(PeerReply::Forwarded(bytes)) => answers.extend(forward::decode_answer(&bytes).ok()?),
            Ok(_) => return None,
            Err(error) => {
                debug!(%error, "the leader does not take a request");
                return None;
            }
        }
    }
    Some(answers)
}

/// Two requests of half the size; `None` if it cannot be divided.
fn halves(request: Forwarded) -> Option<(Forwarded, Forwarded)> {
    let Forwarded::Push(ForwardedPush { source, received, mut lines }) = request else {
        return None;
    };
    let rest = lines.split_off(lines.len() / 2);
    let push =
        |lines| Forwarded::Push(ForwardedPush { source: Arc::clone(&source), received, lines });
    (!lines.is_empty()).then(|| (push(lines), push(rest)))
}

/// Answers until it is dropped.
pub(super) fn answer(
    peers: Peers,
    hub: HubHandle,
    snapshots: Option<SnapshotStore>,
    orders: &mpsc::Sender<NodeOrder>,
) -> impl Future<Output = ()> + use<> {
    let handler = Arc::new(Handler { hub, snapshots, orders: orders.downgrade() });
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
            PeerRequest::Forward(bytes) => {
                let Ok(request) = Forwarded::decode(&bytes) else {
                    return refused("it runs another version");
                };
                if !self.hub.leads() {
                    return refused("it does not lead");
                }
                match request.run(&self.hub).await {
                    Ok(verdicts) => PeerReply::Forwarded(forward::encode_answer(&verdicts)),
                    Err(_) => refused("it no longer leads"),
                }
            }
            PeerRequest::Ping => PeerReply::Done,
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

//! Requests between nodes: the newest snapshot, orders of an operator, and what the hub of a node asks of the
//! leader's.

use std::{os::unix::fs::FileExt, sync::Arc, time::Duration};

use base::clock::now;
use hub::{
    forward::{self, Forwarded, ForwardedPush, LeaderRequest},
    pipeline::{HubHandle, HubStopped},
    push::PushAnswer,
};
use log::{RecordNumber, files::SnapshotStore};
use tokio::{
    sync::{Semaphore, mpsc, oneshot},
    task::{JoinSet, spawn_blocking},
    time::{Instant, sleep},
};
use tracing::{debug, warn};

use super::digests;
use crate::{
    Beats, NodeOrder, PeerHandler, PeerReply, PeerRequest, Peers, SnapshotInfo,
    peer::{FORWARDED_BYTES_MAX, PART_BYTES},
};

/// How long the leader may take to commit a push.
const FORWARDED_WITHIN: Duration = Duration::from_secs(5);

/// How long after a leader has not taken a push the next attempt is.
const REPEAT_AFTER: Duration = Duration::from_millis(50);

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
        let (peers, hub, beats) = (peers.clone(), hub.clone(), beats.clone());
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move {
            if let Some(answer) = ask(&peers, &hub, &beats, request).await {
                // The requester may be gone.
                reply.send(answer).ok();
            }
            drop(permit);
        });
    }
}

/// The answer of the leader; `None` if there is none. A push is repeated until a leader takes it: the one that was asked
/// first may have ended.
async fn ask(
    peers: &Peers,
    hub: &HubHandle,
    beats: &Beats,
    request: Forwarded,
) -> Option<PushAnswer> {
    let deadline = Instant::now() + FORWARDED_WITHIN;
    let mut answers = PushAnswer::default();
    let mut parts = vec![request];
    while let Some(mut part) = parts.pop() {
        if part.encode().len() > FORWARDED_BYTES_MAX {
            let (first, rest) = halves(part)?;
            parts.extend([rest, first]);
            continue;
        }
        loop {
            if let Some(answer) = ask_once(peers, hub, beats, &part, deadline).await {
                answers.verdicts.extend(answer.verdicts);
                answers.deadline_us = answer.deadline_us;
                break;
            }
            let Forwarded::Push(push) = &mut part else { return None };
            sleep(REPEAT_AFTER).await;
            if Instant::now() >= deadline {
                return None;
            }
            // The source still waits: this is not older than what it has sent elsewhere.
            push.received = now();
        }
    }
    Some(answers)
}

async fn ask_once(
    peers: &Peers,
    hub: &HubHandle,
    beats: &Beats,
    part: &Forwarded,
    deadline: Instant,
) -> Option<PushAnswer> {
    if hub.leads() {
        return part.clone().run(hub).await.ok();
    }
    let leader = beats.leader()?.beat.node;
    let time = deadline.saturating_duration_since(Instant::now());
    let request = PeerRequest::Forward(part.encode());
    let answer = tokio::select! {
        answer = peers.ask_within(time, &leader, &request) => answer,
        () = other_leader(beats.clone(), &leader) => return None,
    };
    match answer {
        Ok(PeerReply::Forwarded(bytes)) => forward::decode_answer(&bytes).ok(),
        Ok(_) => None,
        Err(error) => {
            debug!(%error, "the leader does not take a request");
            None
        }
    }
}

/// Waits until another node leads.
async fn other_leader(mut beats: Beats, leader: &str) {
    while beats.leader().is_none_or(|received| received.beat.node == leader) {
        beats.changed().await;
    }
}

/// Two requests of half the size; `None` if it cannot be divided.
fn halves(request: Forwarded) -> Option<(Forwarded, Forwarded)> {
    let Forwarded::Push(ForwardedPush { source, received, deadline_us, mut lines }) = request
    else {
        return None;
    };
    let rest = lines.split_off(lines.len() / 2);
    let push = |lines| {
        Forwarded::Push(ForwardedPush { source: Arc::clone(&source), received, deadline_us, lines })
    };
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
            PeerRequest::Snapshot if has_ended(&self.orders) => refused("it joins again"),
            PeerRequest::Snapshot => self.read(newest).await,
            PeerRequest::Part { number, offset } => {
                self.read(move |store| part(store, number, offset)).await
            }
            PeerRequest::Channels { after } => {
                let names = digests::channels(&self.hub, &after).await;
                names.map_or_else(|HubStopped| refused("it stops"), PeerReply::Channels)
            }
            PeerRequest::Digests { channels } => {
                let digests = digests::digests(&self.hub, &channels).await;
                digests.map_or_else(|HubStopped| refused("it stops"), PeerReply::Digests)
            }
            PeerRequest::HandOver { to } => {
                let (reply, done) = oneshot::channel();
                self.order(NodeOrder::HandOver { to, reply }).await;
                match done.await {
                    Ok(Ok(())) => PeerReply::Done,
                    Ok(Err(reason)) => PeerReply::Refused(reason),
                    Err(_) => refused("it stops"),
                }
            }
            PeerRequest::Drain { ends } => match self.order(NodeOrder::Drain { ends }).await {
                Some(()) => PeerReply::Done,
                None => refused("it stops"),
            },
            PeerRequest::Forward(bytes) => {
                let Ok(request) = Forwarded::decode(&bytes) else {
                    return refused("it runs another version");
                };
                if !self.hub.leads() {
                    return refused("it does not lead");
                }
                match request.run(&self.hub).await {
                    Ok(answer) => PeerReply::Forwarded(forward::encode_answer(&answer)),
                    Err(_) => refused("it no longer leads"),
                }
            }
            PeerRequest::Ping => PeerReply::Done,
        }
    }
}

impl Handler {
    /// `None` if the node has ended.
    async fn order(&self, order: NodeOrder) -> Option<()> {
        self.orders.upgrade()?.send(order).await.ok()
    }

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

/// Whether the node neither leads nor follows any more. Its state need not be one that the stream had.
fn has_ended(orders: &mpsc::WeakSender<NodeOrder>) -> bool {
    orders.upgrade().is_none_or(|orders| orders.is_closed())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_that_joins_again_has_ended() {
        let (orders, waiting) = mpsc::channel(1);
        let weak = orders.downgrade();
        assert!(!has_ended(&weak));
        drop(waiting);
        assert!(has_ended(&weak), "nobody takes its orders");
        drop(orders);
        assert!(has_ended(&weak));
    }
}

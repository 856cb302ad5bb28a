//! A node that runs, as its program sees it: what it needs of the other parts, what it tells them, and how it stops. With or
//! without the feature `nats`.

use std::{sync::Arc, time::Duration};

use accounts::{Accounts, limits::Limits};
use base::supervisor;
use fanout::{Drain, Fanout};
use hub::{log_state::LogState, pipeline::HubHandle};
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::JoinHandle,
    time::{Instant, timeout},
};

use crate::{NodeHealth, Unready, ViewCluster};

/// How long a node that stops may take to hand the lead over.
const HAND_OVER_WITHIN: Duration = Duration::from_secs(5);

/// After what time the first client comes back to a node that joins again, if there is no other: that takes 3 to 7 s.
const JOINS_AGAIN_MS: u32 = 3_000;

/// The parts that a node works with. Clones share them.
#[derive(Debug, Clone)]
pub struct NodeParts {
    pub handle: HubHandle,
    pub fanout: Fanout,
    pub log_state: LogState,
    /// What the node says of itself.
    pub health: NodeHealth,
    pub accounts: Accounts,
    pub limits: Limits,
    /// Over which a node sends its clients away, in milliseconds.
    pub drain_ms: u32,
}

/// What an operator, or the end of the process, asks of a node.
#[derive(Debug)]
pub enum NodeOrder {
    /// Gives the lead to this node, or to any if it is empty. Answered with the reason if it cannot.
    HandOver { to: String, reply: oneshot::Sender<Result<(), String>> },
    /// Sends the clients to other nodes and takes no more, or takes them again.
    Drain { ends: bool },
}

/// A node at work.
#[derive(Debug)]
pub struct RunningNode {
    pub(crate) name: Arc<str>,
    pub(crate) parts: NodeParts,
    /// Whether the node leads, so that its sources run.
    pub leading: watch::Receiver<bool>,
    /// The cluster, for the operator.
    pub view: ViewCluster,
    /// Ends when the node has what the stream had after it had restored its state, or has ended.
    pub caught_up: oneshot::Receiver<()>,
    pub(crate) orders: mpsc::Sender<NodeOrder>,
    pub(crate) node: JoinHandle<()>,
    /// What nodes tell one another besides the log.
    pub(crate) talking: [JoinHandle<()>; 6],
}

impl RunningNode {
    /// Hands the lead over, if the node has it, and sends its clients to other nodes, one after the other. It serves the rest
    /// meanwhile. Returns when they are gone, or the time of the drain is over.
    async fn leave(&self, patience: Duration) {
        let began = Instant::now();
        let (reply, handed_over) = oneshot::channel();
        let to = String::new();
        if self.orders.send(NodeOrder::HandOver { to, reply }).await.is_ok() {
            // A node that follows has nothing to hand over.
            timeout(HAND_OVER_WITHIN, handed_over).await.ok();
        }
        self.parts.health.set(Unready::Drained, true);
        // What the leader's end has left. A quarter of it is for the closing handshakes of the last.
        let patience = patience.saturating_sub(began.elapsed());
        let over_ms = u32::try_from((patience / 4 * 3).as_millis()).unwrap_or(u32::MAX);
        self.parts.fanout.drain(Drain::Spread { over_ms });
        self.parts.fanout.wait_until_empty(patience).await;
    }

    fn another_takes_clients(&self) -> bool {
        let nodes = (self.view.0)().nodes;
        nodes.iter().any(|node| *node.name != *self.name && node.state.takes_clients())
    }

    /// Hands the lead over, if the node has it, sends the clients to other nodes for at most this time, and ends the node.
    pub async fn stop(self, patience: Duration) {
        // One that joins again has nothing to hand over, and so have the others at that moment.
        if !supervisor::has_failed() && !supervisor::restarts() {
            timeout(patience, self.leave(patience)).await.ok();
        } else if !self.another_takes_clients() {
            let window_ms = self.parts.drain_ms;
            self.parts.fanout.drain(Drain::AtOnce { after_ms: JOINS_AGAIN_MS, window_ms });
        }
        for task in self.talking {
            task.abort();
            task.await.ok();
        }
        if self.orders.is_closed() {
            // It neither leads nor follows, and only waits to join again.
            self.node.abort();
        }
        drop(self.orders);
        // The supervisor has reported a panic.
        timeout(HAND_OVER_WITHIN, self.node).await.ok();
    }
}

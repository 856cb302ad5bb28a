//! Writes decisions in the background, so that the hub never waits for the database.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{sync::mpsc, task::JoinHandle, time};

use super::{Decision, Identity, store::IdentityStore};
use crate::{
    clock,
    supervisor::{self, Lifetime},
};

/// Batches of decisions that may wait for the database. While the queue is full, decisions stay
/// with [`Identity`], which has its own limit.
pub const QUEUE_MAX: usize = 64;

/// The delay after a failure of the database.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Attempts per batch after the sender is dropped.
const LAST_TRIES: u32 = 3;

/// Decisions that are not queued yet, because the inputs that they follow from are not in the log yet.
#[derive(Debug)]
#[must_use]
pub struct TakenDecisions {
    room: mpsc::OwnedPermit<Vec<Decision>>,
    decisions: Vec<Decision>,
}

/// The sending side of the queue. The task ends when it is dropped and all is written.
#[derive(Debug)]
pub struct DecisionWriter {
    queue: mpsc::Sender<Vec<Decision>>,
    stored: StoredCount,
}

/// How many decisions the database has since the start. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct StoredCount(Arc<AtomicU64>);

impl StoredCount {
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    fn add(&self, decisions: usize) {
        self.0.fetch_add(decisions as u64, Ordering::AcqRel);
    }
}

impl DecisionWriter {
    #[must_use]
    pub fn start(store: IdentityStore) -> (Self, JoinHandle<()>) {
        let (queue, waiting) = mpsc::channel(QUEUE_MAX);
        let stored = StoredCount::default();
        let writing = write_all(store, waiting, stored.clone());
        (Self { queue, stored }, supervisor::spawn("identity", Lifetime::UntilStop, writing))
    }

    #[must_use]
    pub fn stored(&self) -> StoredCount {
        self.stored.clone()
    }

    /// Takes new decisions, with a place in the queue, if there is one. Free without new decisions.
    pub fn take_from(&self, identity: &mut Identity) -> Option<TakenDecisions> {
        if !identity.has_decisions() {
            return None;
        }
        let room = self.queue.clone().try_reserve_owned().ok()?;
        Some(TakenDecisions { room, decisions: identity.take_decisions() })
    }
}

impl TakenDecisions {
    /// Queues them for the database.
    pub fn write(self) {
        self.room.send(self.decisions);
    }
}

async fn write_all(
    store: IdentityStore,
    mut waiting: mpsc::Receiver<Vec<Decision>>,
    stored: StoredCount,
) {
    while let Some(decisions) = waiting.recv().await {
        let mut tries = 0;
        while let Err(error) = store.write(&decisions, clock::now()).await {
            base::log_limited!(warn, error, "cannot write identity decisions; will retry");
            tries += 1;
            if waiting.is_closed() && tries >= LAST_TRIES {
                return;
            }
            time::sleep(RETRY_AFTER).await;
        }
        stored.add(decisions.len());
    }
}

//! The state of the log, as other parts see it.

use std::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

/// Whether the log takes records. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct LogState {
    shared: Arc<SharedState>,
}

/// Why the log takes no records, and since when.
#[derive(Debug)]
struct Refusal {
    why: String,
    since: Instant,
}

#[derive(Debug, Default)]
struct SharedState {
    refusal: Mutex<Option<Refusal>>,
    is_behind: AtomicBool,
    is_drained: AtomicBool,
    is_isolated: AtomicBool,
    is_alone: AtomicBool,
    is_abandoned: Mutex<bool>,
    abandoned: Condvar,
}

impl LogState {
    /// Since when the log cannot be written, so that nothing new is published.
    #[must_use]
    pub fn refused_since(&self) -> Option<Instant> {
        self.lock_refusal().as_ref().map(|refusal| refusal.since)
    }

    /// Why it cannot be written, such as a full disk.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        self.lock_refusal().as_ref().map(|refusal| refusal.why.clone())
    }

    /// Whether this node of a cluster has heard nothing of the log for a while, so that what it shows may be old.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.shared.is_behind.load(Ordering::Relaxed)
    }

    pub fn set_behind(&self, is_behind: bool) {
        self.shared.is_behind.store(is_behind, Ordering::Relaxed);
    }

    /// Whether an operator has taken this node of a cluster out of service: it is not ready.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.shared.is_drained.load(Ordering::Relaxed)
    }

    pub fn set_drained(&self, is_drained: bool) {
        self.shared.is_drained.store(is_drained, Ordering::Relaxed);
    }

    /// Whether this node of a cluster has sent its clients to others, because it is cut off: it is not ready.
    #[must_use]
    pub fn is_isolated(&self) -> bool {
        self.shared.is_isolated.load(Ordering::Relaxed)
    }

    pub fn set_isolated(&self, is_isolated: bool) {
        self.shared.is_isolated.store(is_isolated, Ordering::Relaxed);
    }

    /// Whether this node of a cluster reaches neither the others nor the database, so that it cannot learn of revoked
    /// keys. It then accepts none, and is not ready.
    #[must_use]
    pub fn is_alone(&self) -> bool {
        self.shared.is_alone.load(Ordering::Relaxed)
    }

    pub fn set_alone(&self, is_alone: bool) {
        self.shared.is_alone.store(is_alone, Ordering::Relaxed);
    }

    pub fn set_refusal(&self, why: Option<String>) {
        let mut refusal = self.lock_refusal();
        let since = refusal.as_ref().map_or_else(Instant::now, |refusal| refusal.since);
        *refusal = why.map(|why| Refusal { why, since });
    }

    fn lock_refusal(&self) -> MutexGuard<'_, Option<Refusal>> {
        self.shared.refusal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on, records that cannot be written are dropped: the process ends.
    pub fn abandon(&self) {
        *self.shared.is_abandoned.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.shared.abandoned.notify_all();
    }

    /// Waits for [`Self::abandon`], at most for this time. Whether it was called.
    pub(crate) fn wait_for_abandon(&self, timeout: Duration) -> bool {
        let is_abandoned = self.shared.is_abandoned.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.shared.abandoned.wait_timeout_while(is_abandoned, timeout, |it| !*it);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

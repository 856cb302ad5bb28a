//! The state of the log, as other parts see it.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
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

    pub fn set_refusal(&self, why: Option<String>) {
        let mut refusal = self.lock_refusal();
        let since = refusal.as_ref().map_or_else(Instant::now, |refusal| refusal.since);
        *refusal = why.map(|why| Refusal { why, since });
    }

    fn lock_refusal(&self) -> MutexGuard<'_, Option<Refusal>> {
        self.shared.refusal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on, records that cannot be written are dropped: the hub stops.
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

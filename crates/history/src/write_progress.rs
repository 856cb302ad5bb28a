//! How much of what was queued for the database is written.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// Counts what is queued, and how much of it is written. Clones share the counts.
#[derive(Debug, Clone, Default)]
pub struct WriteProgress {
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    queued: AtomicU64,
    written: AtomicU64,
}

impl WriteProgress {
    /// The number of additions to the queue so far.
    #[must_use]
    pub fn queued(&self) -> u64 {
        self.counts.queued.load(Ordering::Acquire)
    }

    /// Whether so many additions are in the database.
    #[must_use]
    pub fn is_written(&self, queued: u64) -> bool {
        self.counts.written.load(Ordering::Acquire) >= queued
    }

    /// Counts an addition, which must be in the queue already.
    pub(crate) fn add(&self) {
        self.counts.queued.fetch_add(1, Ordering::AcqRel);
    }

    /// `queued`: what [`Self::queued`] gave before the queue was emptied.
    pub(crate) fn mark_written(&self, queued: u64) {
        self.counts.written.fetch_max(queued, Ordering::AcqRel);
    }
}

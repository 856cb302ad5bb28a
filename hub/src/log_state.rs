//! What others may know of the log's state.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Whether the log takes records. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct LogState {
    refused: Arc<AtomicBool>,
}

impl LogState {
    /// Whether the log refuses records at the moment, so that nothing new is published.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }

    pub(crate) fn set_refused(&self, refused: bool) {
        self.refused.store(refused, Ordering::Relaxed);
    }
}

//! The price list in force.

use std::sync::Arc;

use tokio::sync::watch;

use super::Catalogue;

/// The price list in force, which the operator can replace while the hub runs. Clones share it.
#[derive(Debug, Clone)]
pub struct CurrentCatalogue(watch::Sender<Arc<Catalogue>>);

impl CurrentCatalogue {
    #[must_use]
    pub fn new(catalogue: Catalogue) -> Self {
        Self(watch::Sender::new(Arc::new(catalogue)))
    }

    /// The price list as it is now: one look for all that must agree.
    #[must_use]
    pub fn now(&self) -> Arc<Catalogue> {
        Arc::clone(&self.0.borrow())
    }

    /// Replaces the price list, if it differs.
    pub fn replace(&self, catalogue: Catalogue) {
        self.0.send_if_modified(|current| {
            let differs = **current != catalogue;
            if differs {
                *current = Arc::new(catalogue);
            }
            differs
        });
    }

    /// Notices when the price list is replaced.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<Arc<Catalogue>> {
        self.0.subscribe()
    }
}

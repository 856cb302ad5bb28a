//! What tests see of a session.

use super::Session;

impl Session {
    /// Lets the next `set` of a pattern look at all subscriptions.
    pub(crate) fn forget_last_set(&mut self) {
        self.last_set = None;
    }

    pub(crate) fn has_last_set(&self) -> bool {
        self.last_set.is_some()
    }

    /// Subscriptions and entries of the queue for which memory is allocated without need.
    pub(crate) fn spare_room(&self) -> usize {
        self.subscriptions.capacity() - self.subscriptions.len() + self.behind.capacity()
    }

    /// Entries in the queue of subscriptions to be caught up.
    pub(crate) fn behind_queued(&self) -> usize {
        self.behind.len()
    }
}

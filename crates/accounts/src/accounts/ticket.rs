//! Tickets for sockets in a cluster: any node accepts a ticket of any other, once.
//!
//! A node that runs alone keeps its tickets in memory instead. Only hashes are stored.

use super::{Accounts, Caller, Micros, Result, secret::Hash};

/// Tickets of one key that have neither been used nor ended.
const OPEN_MAX: u32 = 10_000;

impl Accounts {
    /// Stores the hash of a ticket that is valid until a moment. Returns false if too many tickets of the
    /// key are open, or if the caller has an access token in place of a key.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn store_ticket(
        &self,
        hash: &Hash,
        caller: &Caller,
        until: Micros,
        now: Micros,
    ) -> Result<bool> {
        if caller.is_app() {
            return Ok(false);
        }
        Ok(self.shared.store.insert_ticket(hash, caller.key, until, (now, OPEN_MAX)).await?)
    }

    /// Redeems a ticket; `None` if it was never stored, was redeemed, has ended, or its key was revoked.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn redeem_ticket(&self, hash: &Hash, now: Micros) -> Result<Option<Caller>> {
        // Read first: a change that is noticed meanwhile causes another read.
        let generation = self.shared.cache.generation();
        let store = &self.shared.store;
        let Some((key, until)) = store.take_ticket(hash).await? else { return Ok(None) };
        let stored = if until > now { store.key_by_id(key).await? } else { None };
        Ok(stored.and_then(|stored| Caller::from_stored(&stored, generation)))
    }
}

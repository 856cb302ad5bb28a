//! Bounds how many requests of an account wait at once.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use accounts::AccountId;

/// Places for requests that stay open, by account.
#[derive(Debug, Clone)]
pub(crate) struct Slots {
    taken: Arc<Mutex<HashMap<AccountId, usize>>>,
    max_per_account: usize,
}

/// A place that is taken until it is dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    taken: Arc<Mutex<HashMap<AccountId, usize>>>,
    account: AccountId,
}

fn lock(taken: &Mutex<HashMap<AccountId, usize>>) -> MutexGuard<'_, HashMap<AccountId, usize>> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Slots {
    pub(crate) fn new(max_per_account: usize) -> Self {
        Self { taken: Arc::default(), max_per_account }
    }

    /// Takes a place; `None` if the account has all of its places.
    pub(crate) fn take(&self, account: AccountId) -> Option<Slot> {
        let mut taken = lock(&self.taken);
        let count = taken.entry(account).or_default();
        if *count >= self.max_per_account {
            return None;
        }
        *count += 1;
        Some(Slot { taken: Arc::clone(&self.taken), account })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = lock(&self.taken);
        if let Some(count) = taken.get_mut(&self.account) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.account);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn account_has_so_many_places_and_gets_them_back() {
        let slots = Slots::new(2);
        let (one, other) = (AccountId(1), AccountId(2));
        let first = slots.take(one);
        let second = slots.take(one);
        assert!(first.is_some() && second.is_some() && slots.take(one).is_none());
        assert!(slots.take(other).is_some());
        drop(first);
        assert!(slots.take(one).is_some());
    }
}

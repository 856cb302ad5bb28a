//! Finds a session's subscriptions by the name and by the number of their channel.
//!
//! Only sessions that follow many channels have an index. It stores keys only, five bytes each; names
//! and numbers are read from the subscriptions.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use slab::Slab;

use super::subscription::Subscription;

/// Up to this many subscriptions are searched linearly.
pub(super) const LINEAR_SEARCH_MAX: usize = 16;

/// Names contain text from feeds and clients, so the hash must resist provoked collisions.
static STATE: LazyLock<RandomState> = LazyLock::new(RandomState::new);

#[derive(Debug, Default)]
pub(super) struct SubscriptionIndex {
    by_name: HashTable<u32>,
    by_number: HashTable<u32>,
}

impl SubscriptionIndex {
    pub(super) fn new(subscriptions: &Slab<Subscription>) -> Self {
        let mut index = Self::default();
        subscriptions.iter().for_each(|(key, _)| index.insert(subscriptions, key));
        index
    }

    /// Adds a subscription, which must already be in `subscriptions`.
    pub(super) fn insert(&mut self, subscriptions: &Slab<Subscription>, key: usize) {
        let channel = &subscriptions[key].channel;
        let (name, number) = (hash_name(channel.name.as_str()), hash_number(channel.number));
        let key = u32::try_from(key).expect("fewer than 2^32 of anything");
        self.by_name.insert_unique(name, key, |key| {
            hash_name(subscriptions[*key as usize].channel.name.as_str())
        });
        self.by_number.insert_unique(number, key, |key| {
            hash_number(subscriptions[*key as usize].channel.number)
        });
    }

    /// Removes a subscription, which must still be in `subscriptions`.
    pub(super) fn remove(&mut self, subscriptions: &Slab<Subscription>, key: usize) {
        let channel = &subscriptions[key].channel;
        let is_own = |entry: &u32| *entry as usize == key;
        if let Ok(entry) = self.by_name.find_entry(hash_name(channel.name.as_str()), is_own) {
            entry.remove();
        }
        if let Ok(entry) = self.by_number.find_entry(hash_number(channel.number), is_own) {
            entry.remove();
        }
    }

    pub(super) fn by_name(&self, subscriptions: &Slab<Subscription>, name: &str) -> Option<usize> {
        let is_it = |key: &u32| subscriptions[*key as usize].channel.name.as_str() == name;
        self.by_name.find(hash_name(name), is_it).map(|key| *key as usize)
    }

    pub(super) fn by_number(
        &self,
        subscriptions: &Slab<Subscription>,
        number: u32,
    ) -> Option<usize> {
        let is_it = |key: &u32| subscriptions[*key as usize].channel.number == number;
        self.by_number.find(hash_number(number), is_it).map(|key| *key as usize)
    }
}

fn hash_name(name: &str) -> u64 {
    STATE.hash_one(name)
}

/// Numbers are the hub's own.
fn hash_number(number: u32) -> u64 {
    FxBuildHasher.hash_one(number)
}

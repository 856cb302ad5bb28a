//! A cache of authenticated callers, by the hash of their key.
//!
//! Guarantees that a change is never overtaken by an older answer: an answer read before a change
//! is not stored after it. Keys themselves are never stored, and neither are unknown keys: guessing
//! must not evict paying customers.

use std::{
    collections::HashSet,
    sync::atomic::{AtomicU64, Ordering},
};

use dashmap::DashMap;
use rustc_hash::FxBuildHasher;

use super::{Caller, KeyId, Micros, Networks, key::KeyHash};

/// The number of changes at some moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Generation(u64);

pub(super) struct Cache {
    /// The input is a keyed hash already, so an attacker cannot choose its bucket.
    callers: DashMap<KeyHash, CachedCaller, FxBuildHasher>,
    generation: AtomicU64,
    entries_max: usize,
    age_max: Micros,
}

struct CachedCaller {
    caller: Caller,
    networks: Networks,
    read_at: Micros,
}

impl Cache {
    pub(super) fn new(entries_max: usize, age_max: Micros) -> Self {
        Self { callers: DashMap::default(), generation: AtomicU64::new(0), entries_max, age_max }
    }

    /// Must be taken before the store is read for an answer.
    pub(super) fn generation(&self) -> Generation {
        Generation(self.generation.load(Ordering::SeqCst))
    }

    /// A caller, and the networks from which its key works.
    pub(super) fn get(&self, hash: &KeyHash, now: Micros) -> Option<(Caller, Networks)> {
        let entry = self.callers.get(hash)?;
        // Read in the future: the wall clock was set back since, so its age is unknown.
        let age = now.saturating_sub(entry.read_at);
        (0..self.age_max).contains(&age).then(|| (entry.caller, entry.networks.clone()))
    }

    /// Stores an answer, unless something has changed since its generation.
    pub(super) fn insert(&self, hash: KeyHash, caller: Caller, networks: Networks, now: Micros) {
        self.make_room();
        self.callers.insert(hash, CachedCaller { caller, networks, read_at: now });
        // Checked after the insertion: a later change removes the entry itself, an earlier one is
        // detected here.
        if self.generation() != caller.generation {
            self.callers.remove(&hash);
        }
    }

    /// Evicts the key or token with this stored hash.
    pub(super) fn remove(&self, stored: &[u8]) {
        if let Some(hash) = KeyHash::from_stored(stored) {
            self.callers.remove(&hash);
        }
    }

    /// Evicts these keys. Answers that are being read at this moment are not stored. The others are as new as the change, so
    /// that [`super::Accounts::renew`] need not read them again.
    pub(super) fn forget(&self, keys: &HashSet<KeyId>) {
        let before = self.generation.fetch_add(1, Ordering::SeqCst);
        self.callers.retain(|_, entry| {
            let generation = &mut entry.caller.generation;
            // An older one may concern a change that another thread is still applying.
            if *generation == Generation(before) {
                *generation = Generation(before + 1);
            }
            !keys.contains(&entry.caller.key)
        });
    }

    /// Evicts an arbitrary entry: the next use of its key costs one look-up. An LRU order would
    /// cost a write on every hit.
    fn make_room(&self) {
        while self.callers.len() >= self.entries_max {
            let Some(victim) = self.callers.iter().next().map(|entry| *entry.key()) else { return };
            self.callers.remove(&victim);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::{
        AccountId, Addons, Scopes,
        caller::Access,
        key::{Key, Pepper},
    };

    fn hash() -> KeyHash {
        Pepper::new("pepper".to_owned()).hash(Key::generate().unwrap().as_presented())
    }

    fn caller(cache: &Cache, key: i64) -> Caller {
        Caller {
            account: AccountId(1),
            key: KeyId(key),
            addons: Addons::default(),
            zone: None,
            access: Access { scopes: Scopes::all(), audience: None, ends: None },
            generation: cache.generation(),
        }
    }

    #[test]
    fn size_never_exceeds_its_limit() {
        let cache = Cache::new(3, 100);
        for key in 0..10 {
            cache.insert(hash(), caller(&cache, key), Networks::default(), 0);
            assert!(cache.callers.len() <= 3);
        }
        assert_eq!(cache.callers.len(), 3);
    }

    #[test]
    fn answer_read_before_a_change_is_not_cached() {
        let (cache, hash) = (Cache::new(3, 100), hash());
        let read_early = caller(&cache, 1);
        cache.forget(&HashSet::from([KeyId(1)]));
        cache.insert(hash, read_early, Networks::default(), 0);
        assert_eq!(cache.get(&hash, 0), None);
    }

    #[test]
    fn only_changed_keys_are_evicted() {
        let (cache, one, other) = (Cache::new(3, 100), hash(), hash());
        cache.insert(one, caller(&cache, 1), Networks::default(), 0);
        cache.insert(other, caller(&cache, 2), Networks::default(), 0);
        cache.forget(&HashSet::from([KeyId(1)]));
        assert_eq!(cache.get(&one, 0), None);
        assert!(cache.get(&other, 0).is_some());
    }

    #[test]
    fn caller_that_a_change_does_not_concern_is_as_new_as_the_change() {
        let (cache, hash) = (Cache::new(3, 100), hash());
        cache.insert(hash, caller(&cache, 1), Networks::default(), 0);
        for _ in 0..2 {
            cache.forget(&HashSet::from([KeyId(2)]));
            let (cached, _) = cache.get(&hash, 0).expect("it stays");
            assert_eq!(cached.generation, cache.generation());
        }
        // Two changes at once: the second is counted, and the first is not applied yet.
        cache.generation.fetch_add(1, Ordering::SeqCst);
        cache.forget(&HashSet::from([KeyId(2)]));
        let (cached, _) = cache.get(&hash, 0).expect("it stays");
        assert_ne!(cached.generation, cache.generation(), "the first may be about it");
    }

    #[test]
    fn expired_entry_is_not_returned() {
        let (cache, hash) = (Cache::new(3, 100), hash());
        cache.insert(hash, caller(&cache, 1), Networks::default(), 1_000);
        assert!(cache.get(&hash, 1_099).is_some());
        assert_eq!(cache.get(&hash, 1_100), None);
    }
}

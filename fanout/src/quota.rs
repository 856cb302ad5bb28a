//! How many channels the connections of one payer follow together, with all of its keys and in all dialects, over all shards.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use base::work::Payer;
use metrics::counter;
use rustc_hash::FxBuildHasher;

/// The quotas of all payers with connections.
#[derive(Debug)]
pub(crate) struct Quotas {
    channels_max: usize,
    followed: Mutex<HashMap<Payer, Arc<AtomicUsize>, FxBuildHasher>>,
}

/// The part of one connection in what its payer follows, until it is dropped. The default has no limit.
#[derive(Debug, Default)]
pub(crate) struct Quota {
    payer: Option<(Arc<AtomicUsize>, usize)>,
    count: usize,
}

impl Quotas {
    /// `channels_max`: what one payer may follow.
    pub(crate) fn new(channels_max: usize) -> Self {
        Self { channels_max, followed: Mutex::default() }
    }

    /// The quota of a new connection. The hub itself has no limit.
    pub(crate) fn connect(&self, payer: Payer) -> Quota {
        if payer == Payer::Hub {
            return Quota::default();
        }
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        let followed = Arc::clone(followed.entry(payer).or_default());
        Quota { payer: Some((followed, self.channels_max)), count: 0 }
    }

    /// Forgets payers without connections. Returns what all others follow together.
    pub(crate) fn sweep(&self) -> u32 {
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        followed.retain(|_, followed| Arc::strong_count(followed) > 1);
        let all: usize = followed.values().map(|followed| followed.load(Ordering::Relaxed)).sum();
        u32::try_from(all).unwrap_or(u32::MAX)
    }
}

impl Quota {
    /// What the payer may follow.
    pub(crate) fn channels_max(&self) -> usize {
        self.payer.as_ref().map_or(usize::MAX, |(_, max)| *max)
    }

    /// How many more the payer may follow.
    pub(crate) fn room(&self) -> usize {
        let room = |(followed, max): &(Arc<AtomicUsize>, usize)| {
            max.saturating_sub(followed.load(Ordering::Relaxed))
        };
        self.payer.as_ref().map_or(usize::MAX, room)
    }

    /// Whether the payer may follow so many more.
    pub(crate) fn has_room(&self, new: usize) -> bool {
        new <= self.room()
    }

    /// The same for what is about to be followed; it is counted if not.
    pub(crate) fn admits(&self, new: usize) -> bool {
        let admits = self.has_room(new);
        if !admits {
            counter!("matchwire_subscriptions_refused_total").increment(1);
        }
        admits
    }

    /// Sets what the connection follows.
    pub(crate) fn set(&mut self, count: usize) {
        let before = std::mem::replace(&mut self.count, count);
        let Some((followed, _)) = &self.payer else { return };
        if count > before {
            followed.fetch_add(count - before, Ordering::Relaxed);
        } else {
            followed.fetch_sub(before - count, Ordering::Relaxed);
        }
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_of_one_payer_share_a_quota_until_they_end() {
        let quotas = Quotas::new(10);
        let [mut one, mut two] = [(); 2].map(|()| quotas.connect(Payer::Account(1)));
        let (mut other, mut hub) = (quotas.connect(Payer::Account(2)), quotas.connect(Payer::Hub));
        one.set(6);
        two.set(3);
        other.set(10);
        hub.set(1_000);
        assert!(one.admits(1) && two.admits(1));
        assert!(!one.admits(2) && !two.admits(2) && !other.admits(1));
        assert!(hub.admits(1_000));
        assert_eq!(quotas.sweep(), 19);
        one.set(2);
        assert!(two.admits(5) && !two.admits(6));
        drop(two);
        assert!(one.admits(8) && !one.admits(9));
        drop((one, other));
        assert_eq!(quotas.sweep(), 0);
        assert!(quotas.followed.lock().expect("no panic").is_empty(), "none has a connection");
    }
}

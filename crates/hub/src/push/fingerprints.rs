//! Recent lines of a source, to detect duplicates in bounded memory.

use std::collections::{HashSet, VecDeque};

use borsh::{BorshDeserialize, BorshSerialize};
use facts::event::Batch;
use sha2::{Digest, Sha256};

/// Identifies a line or a body: 128 bits of a cryptographic digest, so that no sender can produce a
/// collision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub struct Fingerprint([u8; 16]);

impl Fingerprint {
    pub(super) fn of_id(id: &str) -> Self {
        Self::new(b"id", id.as_bytes())
    }

    pub(super) fn of_content(line: &[u8]) -> Self {
        Self::new(b"content", line)
    }

    /// Of the facts of a line and their time, as every node of a cluster has them in the log.
    pub(super) fn of_batch(batch: &Batch) -> Self {
        Self::new(b"batch", &borsh::to_vec(batch).expect("writing to memory does not fail"))
    }

    pub(super) fn of_body(body: &[u8]) -> Self {
        Self::new(b"body", body)
    }

    fn new(kind: &[u8], bytes: &[u8]) -> Self {
        let mut digest = Sha256::new();
        digest.update([kind, b":", bytes].concat());
        let digest = digest.finalize();
        Self(std::array::from_fn(|index| digest[index]))
    }
}

/// The most recent fingerprints, up to a maximum.
#[derive(Debug)]
pub(super) struct RecentFingerprints {
    fingerprints: HashSet<Fingerprint>,
    /// The oldest in front.
    order: VecDeque<Fingerprint>,
    max: usize,
}

impl RecentFingerprints {
    pub(super) fn new(max: usize) -> Self {
        Self { fingerprints: HashSet::new(), order: VecDeque::new(), max }
    }

    pub(super) fn holds(&self, fingerprint: Fingerprint) -> bool {
        self.fingerprints.contains(&fingerprint)
    }

    pub(super) fn remember(&mut self, fingerprint: Fingerprint) {
        if !self.fingerprints.insert(fingerprint) {
            return;
        }
        self.order.push_back(fingerprint);
        if self.order.len() > self.max
            && let Some(oldest) = self.order.pop_front()
        {
            self.fingerprints.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_fingerprint_is_evicted_first() {
        let mut recent = RecentFingerprints::new(2);
        let [a, b, c] = ["a", "b", "c"].map(Fingerprint::of_id);
        for fingerprint in [a, b, a, c] {
            recent.remember(fingerprint);
        }
        assert_eq!([a, b, c].map(|fingerprint| recent.holds(fingerprint)), [false, true, true]);
        assert_eq!((recent.fingerprints.len(), recent.order.len()), (2, 2));
    }

    #[test]
    fn id_and_content_fingerprints_differ() {
        assert_ne!(Fingerprint::of_id("a"), Fingerprint::of_content(b"a"));
    }
}

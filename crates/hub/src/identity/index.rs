//! Candidates for a join: matches of the same days that share a word of a name.

use std::hash::{Hash, Hasher};

use facts::event::{Id, Sport};
use rustc_hash::{FxHashMap, FxHasher};

use super::rule::Reading;

/// Days by which the starts of two candidates may differ.
const DAYS: i64 = 2;
/// Maximum number of candidates. If more share a word with a match, the name is not distinctive,
/// and the match is not joined.
const CANDIDATES_MAX: usize = 256;

#[derive(Debug, Clone, Default)]
pub(super) struct NameIndex {
    /// By a digest of sport, day and word. A collision only costs a comparison.
    places: FxHashMap<u64, Vec<Id>>,
}

impl NameIndex {
    pub(super) fn insert(&mut self, local_id: Id, reading: &Reading) {
        for word in reading.words() {
            let ids = self.places.entry(digest(reading.sport(), reading.day(), word)).or_default();
            if !ids.contains(&local_id) {
                ids.push(local_id);
            }
        }
    }

    pub(super) fn remove(&mut self, local_id: Id, reading: &Reading) {
        for word in reading.words() {
            let digest = digest(reading.sport(), reading.day(), word);
            let Some(ids) = self.places.get_mut(&digest) else { continue };
            ids.retain(|id| *id != local_id);
            if ids.is_empty() {
                self.places.remove(&digest);
            }
        }
    }

    /// The candidates, in an order independent of insertion; none if there are too many.
    pub(super) fn candidates(&self, reading: &Reading) -> Vec<Id> {
        let mut found = Vec::new();
        for word in reading.words() {
            for day in reading.day() - DAYS..=reading.day() + DAYS {
                let ids = self.places.get(&digest(reading.sport(), day, word));
                found.extend(ids.into_iter().flatten().take(CANDIDATES_MAX + 1));
            }
        }
        found.sort_unstable();
        found.dedup();
        if found.len() > CANDIDATES_MAX { Vec::new() } else { found }
    }
}

fn digest(sport: Sport, day: i64, word: &str) -> u64 {
    let mut hasher = FxHasher::default();
    (sport, day, word).hash(&mut hasher);
    hasher.finish()
}

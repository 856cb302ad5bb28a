//! Snapshots of the matches in the hub, for HTTP requests.
//!
//! The writer's thread stores changes ([`Reader::update`]); readers get shared values without
//! waiting. Records that the archive holds from before the hub was started complete the current
//! ones ([`Reader::complete`]). This module knows neither channels nor SQL.

use std::{
    collections::{HashMap, HashSet},
    mem,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use facts::event::Sport;

use crate::archive::completed;
use record::{Key, MatchRecord, Withdrawals};

/// A handle on the snapshots; clones share them.
#[derive(Debug, Clone, Default)]
pub struct Reader {
    state: Arc<ReaderState>,
    withdrawals: Withdrawals,
}

#[derive(Debug, Default)]
struct ReaderState {
    matches: RwLock<CurrentMatches>,
    /// Increases with every change.
    version: AtomicU64,
}

/// Removed matches that are remembered at least. By then the archive has been written.
const REMOVED_MAX: usize = 1 << 16;

#[derive(Debug, Default)]
struct CurrentMatches {
    records: HashMap<Key, Arc<MatchRecord>>,
    /// Matches that the hub has removed, and those before them.
    removed: [HashSet<Key>; 2],
    /// Archived records from before the hub received a match, until it is reported completely again.
    earlier: HashMap<Key, Arc<MatchRecord>>,
}

impl CurrentMatches {
    fn insert(&mut self, record: &Arc<MatchRecord>) {
        let id = record.summary.id;
        self.removed.iter_mut().for_each(|removed| _ = removed.remove(&id));
        let record_now = completed(record, self.earlier.get(&id).map(|it| &**it));
        if Arc::ptr_eq(&record_now, record) {
            self.earlier.remove(&id);
        }
        self.records.insert(id, record_now);
    }

    fn remove(&mut self, id: Key) {
        self.records.remove(&id);
        self.earlier.remove(&id);
        if self.removed[0].len() == REMOVED_MAX {
            self.removed[1] = mem::take(&mut self.removed[0]);
        }
        self.removed[0].insert(id);
    }
}

impl Reader {
    /// Snapshots without what is withdrawn.
    #[must_use]
    pub fn masked_by(withdrawals: Withdrawals) -> Self {
        Self { state: Arc::default(), withdrawals }
    }

    /// Adds or replaces records, and removes matches.
    pub fn update(&self, records: &[Arc<MatchRecord>], gone: &[Key]) {
        if records.is_empty() && gone.is_empty() {
            return;
        }
        let mut matches = self.state.matches.write().unwrap_or_else(PoisonError::into_inner);
        gone.iter().for_each(|id| matches.remove(*id));
        records.iter().for_each(|record| matches.insert(record));
        drop(matches);
        self.state.version.fetch_add(1, Ordering::Release);
    }

    /// Completes records by archived ones of the same matches.
    pub fn complete(&self, earlier: Vec<Arc<MatchRecord>>) {
        if earlier.is_empty() {
            return;
        }
        let mut matches = self.state.matches.write().unwrap_or_else(PoisonError::into_inner);
        for record in earlier {
            let id = record.summary.id;
            // The hub may have removed it again.
            if let Some(current) = matches.records.get(&id).map(Arc::clone) {
                matches.earlier.insert(id, record);
                matches.insert(&current);
            }
        }
        drop(matches);
        self.state.version.fetch_add(1, Ordering::Release);
    }

    /// The version of the snapshots: equal versions mean equal content.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.state.version.load(Ordering::Acquire) + self.withdrawals.version()
    }

    #[must_use]
    pub fn get(&self, id: Key) -> Option<Arc<MatchRecord>> {
        let matches = self.state.matches.read().unwrap_or_else(PoisonError::into_inner);
        matches.records.get(&id).map(|record| self.withdrawals.masked(record))
    }

    /// Whether the hub had the match and has removed it: none of its prices is on offer, although the archive may not know yet.
    #[must_use]
    pub fn has_removed(&self, id: Key) -> bool {
        let matches = self.state.matches.read().unwrap_or_else(PoisonError::into_inner);
        matches.removed.iter().any(|removed| removed.contains(&id))
    }

    /// All matches of a sport, in no order.
    #[must_use]
    pub fn all(&self, sport: Sport) -> Vec<Arc<MatchRecord>> {
        let matches = self.state.matches.read().unwrap_or_else(PoisonError::into_inner);
        let all = matches.records.values().filter(|it| it.summary.sport == sport);
        all.map(|record| self.withdrawals.masked(record)).collect()
    }

    /// The matches of a sport in play, by start and id; those without a start come last.
    #[must_use]
    pub fn live(&self, sport: Sport) -> Vec<Arc<MatchRecord>> {
        let matches = self.state.matches.read().unwrap_or_else(PoisonError::into_inner);
        let live = matches
            .records
            .values()
            .filter(|it| it.summary.sport == sport && it.summary.status.is_live());
        let mut live: Vec<_> = live.map(|record| self.withdrawals.masked(record)).collect();
        drop(matches);
        live.sort_by_key(|it| (it.summary.start.is_none(), it.summary.start, it.summary.id));
        live
    }
}

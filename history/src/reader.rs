//! Snapshots of the matches in the hub, for HTTP requests.
//!
//! The writer's thread stores changes ([`Reader::update`]); readers get shared values without
//! waiting. Records that the archive holds from before the hub was started complete the current
//! ones ([`Reader::complete`]). This module knows neither channels nor SQL.

use std::{
    collections::HashMap,
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

#[derive(Debug, Default)]
struct CurrentMatches {
    records: HashMap<Key, Arc<MatchRecord>>,
    /// Archived records from before the hub received a match, until it is reported completely again.
    earlier: HashMap<Key, Arc<MatchRecord>>,
}

impl CurrentMatches {
    fn insert(&mut self, record: &Arc<MatchRecord>) {
        let id = record.brief.id;
        let record_now = completed(record, self.earlier.get(&id).map(|it| &**it));
        if Arc::ptr_eq(&record_now, record) {
            self.earlier.remove(&id);
        }
        self.records.insert(id, record_now);
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
        for id in gone {
            matches.records.remove(id);
            matches.earlier.remove(id);
        }
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
            let id = record.brief.id;
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

    /// All matches of a sport, in no order.
    #[must_use]
    pub fn all(&self, sport: Sport) -> Vec<Arc<MatchRecord>> {
        let matches = self.state.matches.read().unwrap_or_else(PoisonError::into_inner);
        let all = matches.records.values().filter(|it| it.brief.sport == sport);
        all.map(|record| self.withdrawals.masked(record)).collect()
    }

    /// The matches of a sport in play, by start and id; those without a start come last.
    #[must_use]
    pub fn live(&self, sport: Sport) -> Vec<Arc<MatchRecord>> {
        let matches = self.state.matches.read().unwrap_or_else(PoisonError::into_inner);
        let live = matches
            .records
            .values()
            .filter(|it| it.brief.sport == sport && it.brief.status.is_live());
        let mut live: Vec<_> = live.map(|record| self.withdrawals.masked(record)).collect();
        drop(matches);
        live.sort_by_key(|it| (it.brief.start.is_none(), it.brief.start, it.brief.id));
        live
    }
}

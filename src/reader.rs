//! Snapshots of the hub's matches, for readers over HTTP.
//!
//! The writer's thread stores what has changed ([`Reader::update`]); readers take shared values and
//! never wait. What the archive has of a match from before the hub was started completes the
//! current record ([`Reader::complete`]). This module knows neither channels nor SQL.

use std::{
    collections::HashMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use ingest::event::Sport;

use crate::{
    archive::completed,
    record::{Key, MatchRecord},
};

/// A handle to the snapshots; clones share them.
#[derive(Debug, Clone, Default)]
pub struct Reader {
    shared: Arc<SharedMatches>,
}

#[derive(Debug, Default)]
struct SharedMatches {
    matches: RwLock<MatchTable>,
    /// Increases with every change.
    version: AtomicU64,
}

#[derive(Debug, Default)]
struct MatchTable {
    records: HashMap<Key, Arc<MatchRecord>>,
    /// Archived records from before the hub was started, until the current ones are complete.
    earlier: HashMap<Key, Arc<MatchRecord>>,
}

impl MatchTable {
    fn update(&mut self, record: &Arc<MatchRecord>) {
        let id = record.brief.id;
        let shown = completed(record, self.earlier.get(&id).map(|it| &**it));
        if Arc::ptr_eq(&shown, record) {
            self.earlier.remove(&id);
        }
        self.records.insert(id, shown);
    }
}

impl Reader {
    /// Replaces these records, and removes those.
    pub fn update(&self, records: &[Arc<MatchRecord>], gone: &[Key]) {
        if records.is_empty() && gone.is_empty() {
            return;
        }
        let mut matches = self.shared.matches.write().unwrap_or_else(PoisonError::into_inner);
        for id in gone {
            matches.records.remove(id);
            matches.earlier.remove(id);
        }
        records.iter().for_each(|record| matches.update(record));
        drop(matches);
        self.shared.version.fetch_add(1, Ordering::Release);
    }

    /// Completes current records by archived ones from before the hub was started.
    pub fn complete(&self, earlier: Vec<Arc<MatchRecord>>) {
        if earlier.is_empty() {
            return;
        }
        let mut matches = self.shared.matches.write().unwrap_or_else(PoisonError::into_inner);
        for record in earlier {
            let id = record.brief.id;
            // The hub may have evicted it meanwhile.
            if let Some(current) = matches.records.get(&id).map(Arc::clone) {
                matches.earlier.insert(id, record);
                matches.update(&current);
            }
        }
        drop(matches);
        self.shared.version.fetch_add(1, Ordering::Release);
    }

    /// The version of the state: two answers under one version reflect the same state.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.shared.version.load(Ordering::Acquire)
    }

    #[must_use]
    pub fn get(&self, id: Key) -> Option<Arc<MatchRecord>> {
        let matches = self.shared.matches.read().unwrap_or_else(PoisonError::into_inner);
        matches.records.get(&id).map(Arc::clone)
    }

    /// All matches of a sport that the hub knows, in no order.
    #[must_use]
    pub fn all(&self, sport: Sport) -> Vec<Arc<MatchRecord>> {
        let matches = self.shared.matches.read().unwrap_or_else(PoisonError::into_inner);
        let all = matches.records.values().filter(|it| it.brief.sport == sport);
        all.map(Arc::clone).collect()
    }

    /// Live matches of a sport, by start and id.
    #[must_use]
    pub fn live(&self, sport: Sport) -> Vec<Arc<MatchRecord>> {
        let matches = self.shared.matches.read().unwrap_or_else(PoisonError::into_inner);
        let live = matches
            .records
            .values()
            .filter(|it| it.brief.sport == sport && it.brief.status.is_live());
        let mut live: Vec<_> = live.map(Arc::clone).collect();
        drop(matches);
        live.sort_by_key(|it| (it.brief.start, it.brief.id));
        live
    }
}

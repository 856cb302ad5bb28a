//! The matches that the hub knows, as they stood a moment ago, for whoever answers over HTTP.
//!
//! The writer's thread puts in what has changed ([`Reader::update`]); readers take shared values out and
//! wait for nobody. What the archive has of a match from before the hub was started completes what is
//! told now ([`Reader::complete`]). It knows neither channels nor SQL.

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

/// A handle on what is shown; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Reader {
    state: Arc<ReaderState>,
}

#[derive(Debug, Default)]
struct ReaderState {
    matches: RwLock<CurrentMatches>,
    /// Grows with every change of what is shown.
    version: AtomicU64,
}

#[derive(Debug, Default)]
struct CurrentMatches {
    records: HashMap<Key, Arc<MatchRecord>>,
    /// What was kept of these before the hub was told of them, until all of it is told again.
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
    /// Shows these, in place of what was shown of them, and no longer shows those.
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

    /// Completes what is shown by what was kept of the same matches before the hub was told of them.
    pub fn complete(&self, earlier: Vec<Arc<MatchRecord>>) {
        if earlier.is_empty() {
            return;
        }
        let mut matches = self.state.matches.write().unwrap_or_else(PoisonError::into_inner);
        for record in earlier {
            let id = record.brief.id;
            // The hub may have forgotten it again.
            if let Some(current) = matches.records.get(&id).map(Arc::clone) {
                matches.earlier.insert(id, record);
                matches.insert(&current);
            }
        }
        drop(matches);
        self.state.version.fetch_add(1, Ordering::Release);
    }

    /// Which state is shown: two answers under one version were made of the same.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.state.version.load(Ordering::Acquire)
    }

    #[must_use]
    pub fn get(&self, id: Key) -> Option<Arc<MatchRecord>> {
        let matches = self.state.matches.read().unwrap_or_else(PoisonError::into_inner);
        matches.records.get(&id).map(Arc::clone)
    }

    /// All of a sport that the hub knows, in no order.
    #[must_use]
    pub fn all(&self, sport: Sport) -> Vec<Arc<MatchRecord>> {
        let matches = self.state.matches.read().unwrap_or_else(PoisonError::into_inner);
        let all = matches.records.values().filter(|it| it.brief.sport == sport);
        all.map(Arc::clone).collect()
    }

    /// Those of a sport that are in play, by start and id.
    #[must_use]
    pub fn live(&self, sport: Sport) -> Vec<Arc<MatchRecord>> {
        let matches = self.state.matches.read().unwrap_or_else(PoisonError::into_inner);
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

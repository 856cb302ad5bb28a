//! The matches that the hub knows, as they stood a moment ago, for whoever answers over HTTP.
//!
//! The writer's thread puts in what has changed ([`Reader::show`]); readers take shared values out and
//! wait for nobody. It knows neither channels nor SQL.

use std::{
    collections::HashMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use ingest::event::Sport;

use crate::record::{Key, MatchRecord};

/// A handle on what is shown; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Reader {
    shown: Arc<Shown>,
}

#[derive(Debug, Default)]
struct Shown {
    matches: RwLock<HashMap<Key, Arc<MatchRecord>>>,
    /// Grows with every change of what is shown.
    version: AtomicU64,
}

impl Reader {
    /// Shows these, in place of what was shown of them, and no longer shows those.
    pub fn show(&self, records: Vec<Arc<MatchRecord>>, gone: &[Key]) {
        if records.is_empty() && gone.is_empty() {
            return;
        }
        let mut matches = self.shown.matches.write().unwrap_or_else(PoisonError::into_inner);
        for id in gone {
            matches.remove(id);
        }
        matches.extend(records.into_iter().map(|record| (record.brief.id, record)));
        drop(matches);
        self.shown.version.fetch_add(1, Ordering::Release);
    }

    /// Which state is shown: two answers under one version were made of the same.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.shown.version.load(Ordering::Acquire)
    }

    #[must_use]
    pub fn get(&self, id: Key) -> Option<Arc<MatchRecord>> {
        let matches = self.shown.matches.read().unwrap_or_else(PoisonError::into_inner);
        matches.get(&id).map(Arc::clone)
    }

    /// All of a sport that the hub knows, in no order.
    #[must_use]
    pub fn all(&self, sport: Sport) -> Vec<Arc<MatchRecord>> {
        let matches = self.shown.matches.read().unwrap_or_else(PoisonError::into_inner);
        matches.values().filter(|it| it.brief.sport == sport).map(Arc::clone).collect()
    }

    /// Those of a sport that are in play, by start and id.
    #[must_use]
    pub fn live(&self, sport: Sport) -> Vec<Arc<MatchRecord>> {
        let matches = self.shown.matches.read().unwrap_or_else(PoisonError::into_inner);
        let live =
            matches.values().filter(|it| it.brief.sport == sport && it.brief.status.is_live());
        let mut live: Vec<_> = live.map(Arc::clone).collect();
        drop(matches);
        live.sort_by_key(|it| (it.brief.start, it.brief.id));
        live
    }
}

//! A cache of what was last written of ongoing matches, so that only changes are written.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use base::Micros;

use super::{
    appearance::Appearance,
    completed,
    odds::Tick,
    price_trail::PriceTrail,
    stored_price::{PriceChanges, StoredPrice, StoredPrices},
};
use database::WriteBudget;
use record::{Key, MatchRecord};

/// By match. A missing match is read from the tables when it is reported again.
#[derive(Debug, Default)]
pub(super) struct WriteCache {
    matches: HashMap<Key, CachedMatch>,
    /// The pace of writes.
    pace: WriteBudget,
    /// The term in which this node of a cluster leads.
    term: Option<u64>,
}

#[derive(Debug, Default)]
struct CachedMatch {
    /// The stored record from before this program received the match, until it is reported
    /// completely again.
    earlier: Option<Arc<MatchRecord>>,
    prices: StoredPrices,
    appearances: BTreeMap<Key, Appearance>,
}

/// Rows of prices and players to be written.
#[derive(Debug, Default)]
pub(super) struct PendingRows {
    pub(super) prices: Vec<StoredPrice>,
    pub(super) ticks: Vec<Tick>,
    pub(super) appearances: Vec<Appearance>,
    /// Match and player of appearances that no longer exist.
    pub(super) gone: Vec<(Key, Key)>,
}

impl WriteCache {
    pub(super) fn pace(&mut self) -> &mut WriteBudget {
        &mut self.pace
    }

    pub(super) fn is_of(&self, term: Option<u64>) -> bool {
        self.term == term
    }

    /// Forgets all matches.
    pub(super) fn begin_term(&mut self, term: Option<u64>) {
        self.matches.clear();
        self.term = term;
    }

    pub(super) fn knows(&self, id: Key) -> bool {
        self.matches.contains_key(&id)
    }

    /// Loads what the tables hold of these matches.
    pub(super) fn learn(
        &mut self,
        ids: &[Key],
        earlier: &[Arc<MatchRecord>],
        prices: Vec<StoredPrice>,
        appearances: Vec<Appearance>,
    ) {
        for id in ids {
            self.matches.insert(*id, CachedMatch::default());
        }
        for record in earlier {
            let cached = self.matches.entry(record.summary.id).or_default();
            cached.earlier = Some(Arc::clone(record));
        }
        self.put_prices(prices);
        for appearance in appearances {
            let cached = self.matches.entry(appearance.match_id).or_default();
            cached.appearances.insert(appearance.player, appearance);
        }
    }

    /// Completes these by the records stored before.
    pub(super) fn completed(&mut self, records: &[Arc<MatchRecord>]) -> Vec<Arc<MatchRecord>> {
        let completed = |record| self.complete(record);
        records.iter().map(completed).collect()
    }

    fn complete(&mut self, record: &Arc<MatchRecord>) -> Arc<MatchRecord> {
        let Some(cached) = self.matches.get_mut(&record.summary.id) else {
            return Arc::clone(record);
        };
        let whole = completed(record, cached.earlier.as_deref());
        if Arc::ptr_eq(&whole, record) {
            cached.earlier = None;
        }
        whole
    }

    /// What these records contain that is not written yet.
    pub(super) fn changes(
        &self,
        records: &[Arc<MatchRecord>],
        trail: &PriceTrail,
        now: Micros,
    ) -> PendingRows {
        let mut rows = PendingRows::default();
        let nothing = CachedMatch::default();
        for record in records {
            let cached = self.matches.get(&record.summary.id).unwrap_or(&nothing);
            let passed = trail.rows(record.summary.id);
            let PriceChanges { prices, ticks } =
                PriceChanges::new(&cached.prices, record, passed, now);
            rows.prices.extend(prices);
            rows.ticks.extend(ticks);
            let appearances = Appearance::of_record(record);
            let gone = cached.appearances.keys().filter(|player| !appearances.contains_key(player));
            rows.gone.extend(gone.map(|player| (record.summary.id, *player)));
            let changed = appearances.into_values().filter_map(|mut appearance| {
                let before = cached.appearances.get(&appearance.player);
                appearance.public_id = before.and_then(|before| before.public_id);
                (before != Some(&appearance)).then_some(appearance)
            });
            rows.appearances.extend(changed);
        }
        rows
    }

    /// Records that these rows were written.
    pub(super) fn note(&mut self, rows: PendingRows) {
        self.put_prices(rows.prices);
        for (match_id, player) in rows.gone {
            if let Some(cached) = self.matches.get_mut(&match_id) {
                cached.appearances.remove(&player);
            }
        }
        for appearance in rows.appearances {
            let cached = self.matches.entry(appearance.match_id).or_default();
            cached.appearances.insert(appearance.player, appearance);
        }
    }

    fn put_prices(&mut self, prices: Vec<StoredPrice>) {
        let mut of_matches: HashMap<Key, Vec<StoredPrice>> = HashMap::new();
        for stored in prices {
            of_matches.entry(stored.row.match_id).or_default().push(stored);
        }
        for (match_id, prices) in of_matches {
            self.matches.entry(match_id).or_default().prices.put(prices);
        }
    }

    pub(super) fn forget(&mut self, id: Key) {
        self.matches.remove(&id);
    }
}

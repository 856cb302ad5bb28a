//! The stored state of a price, and the changes of a record against it.

use std::collections::{HashMap, hash_map::Entry};

use base::Micros;

use super::{
    odds::{OddsRow, Tick},
    price_trail::RowTrails,
};
use record::{Key, MatchRecord, PriceRecord};

/// A price row as last written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StoredPrice {
    pub(super) row: OddsRow,
    /// Whether a price is on offer.
    pub(super) is_offered: bool,
    pub(super) ticked_us: Micros,
}

/// The stored prices of a match, in the order of their row ids. A match has hundreds, most of
/// which stay until its end: a slice takes half the memory of a map.
#[derive(Debug, Default)]
pub(super) struct StoredPrices(Vec<StoredPrice>);

impl StoredPrices {
    fn position(&self, id: Key) -> Result<usize, usize> {
        self.0.binary_search_by_key(&id, |stored| stored.row.id)
    }

    pub(super) fn get(&self, id: Key) -> Option<&StoredPrice> {
        self.position(id).ok().map(|index| &self.0[index])
    }

    /// Replaces the rows with these ids, and adds those that are new. No two of `rows` have the
    /// same id.
    pub(super) fn put(&mut self, rows: Vec<StoredPrice>) {
        let mut added = Vec::new();
        for stored in rows {
            match self.position(stored.row.id) {
                Ok(index) => self.0[index] = stored,
                Err(_) => added.push(stored),
            }
        }
        if !added.is_empty() {
            self.0.reserve_exact(added.len());
            self.0.append(&mut added);
            self.0.sort_unstable_by_key(|stored| stored.row.id);
        }
    }
}

/// The changes of a record that are not written yet.
#[derive(Debug, Default)]
pub(super) struct PriceChanges {
    pub(super) prices: Vec<StoredPrice>,
    pub(super) ticks: Vec<Tick>,
}

impl PriceChanges {
    /// `existing`: all stored prices of the match. `passed`: what was reported since, before the record.
    pub(super) fn new(
        existing: &StoredPrices,
        record: &MatchRecord,
        passed: Option<&RowTrails>,
        now: Micros,
    ) -> Self {
        let match_id = record.summary.id;
        let received = record.summary.updated;
        let reported = by_row(match_id, &record.prices);
        let mut changes = Self::default();
        for (id, price) in &reported {
            let stored = existing.get(*id);
            let before = changes.pass((*id, match_id), stored, passed);
            let last = before.as_ref().or(stored);
            let next = StoredPrice::next(last, (*id, match_id), price, received);
            changes.add(stored, next.or_else(|| before.map(|before| (before, None))), now);
        }
        let passed_ids = passed.into_iter().flat_map(HashMap::keys);
        let passed_ids = passed_ids.filter(|id| existing.get(**id).is_none()).copied();
        for id in existing.0.iter().map(|stored| stored.row.id).chain(passed_ids) {
            if !reported.contains_key(&id) {
                let stored = existing.get(id);
                let before = changes.pass((id, match_id), stored, passed);
                let last = before.as_ref().or(stored).map(|last| (last.unoffered(), None));
                changes.add(stored, last, now);
            }
        }
        // All writers use the same order, so that two that write the same rows never deadlock.
        changes.prices.sort_unstable_by_key(|stored| stored.row.id);
        changes.ticks.sort_unstable_by_key(|tick| (tick.odds, tick.at_us));
        changes
    }

    /// Adds the ticks of the prices that came and went, and returns the row after the last of them.
    fn pass(
        &mut self,
        ids: (Key, Key),
        stored: Option<&StoredPrice>,
        passed: Option<&RowTrails>,
    ) -> Option<StoredPrice> {
        let mut last: Option<StoredPrice> = None;
        for price in passed.and_then(|rows| rows.get(&ids.0)).into_iter().flatten() {
            let before = last.as_ref().or(stored);
            // An import that is repeated: the history has it.
            if before.is_some_and(|before| price.received < before.changed_us()) {
                continue;
            }
            if let Some((next, tick)) =
                StoredPrice::next(before, ids, &price.reported, price.received)
            {
                self.ticks.extend(tick);
                last = Some(next);
            }
        }
        last
    }

    fn add(
        &mut self,
        existing: Option<&StoredPrice>,
        next: Option<(StoredPrice, Option<Tick>)>,
        now: Micros,
    ) {
        let Some((mut stored, tick)) = next else { return };
        self.ticks.extend(tick);
        if existing != Some(&stored) {
            stored.row.updated_us = now;
            self.prices.push(stored);
        }
    }
}

/// Prices by row id. If a bookmaker reports an outcome twice, the one on offer counts, then the
/// later one.
pub(super) fn by_row<'a>(
    match_id: Key,
    prices: impl IntoIterator<Item = &'a PriceRecord>,
) -> HashMap<Key, &'a PriceRecord> {
    let prices = prices.into_iter();
    let mut reported = HashMap::with_capacity(prices.size_hint().0);
    for price in prices {
        match reported.entry(price.id(match_id)) {
            Entry::Vacant(entry) => {
                entry.insert(price);
            }
            Entry::Occupied(mut entry) => {
                let other: &&PriceRecord = entry.get();
                if (other.price.is_some(), other.at) < (price.price.is_some(), price.at) {
                    entry.insert(price);
                }
            }
        }
    }
    reported
}

impl StoredPrice {
    /// The row after a report, and its tick if the price is another one. `ids`: of the row and of the match.
    fn next(
        last: Option<&Self>,
        (id, match_id): (Key, Key),
        reported: &PriceRecord,
        received: Micros,
    ) -> Option<(Self, Option<Tick>)> {
        match last {
            Some(last) => last.moved(reported, received),
            None => Self::opened(id, match_id, reported, received),
        }
    }

    /// When the price last changed, by the later of both clocks.
    fn changed_us(&self) -> Micros {
        self.row.received_us.max(self.ticked_us)
    }

    /// A new row, once there is a price.
    fn opened(
        id: Key,
        match_id: Key,
        reported: &PriceRecord,
        received: Micros,
    ) -> Option<(Self, Option<Tick>)> {
        let price = reported.price?;
        let row = OddsRow {
            id,
            public_id: None,
            match_id,
            bookmaker: reported.bookmaker.clone(),
            market: reported.market.clone(),
            period: reported.period.clone(),
            line: reported.line.map(|line| line.normalize()),
            outcome: reported.outcome.clone(),
            opening: price,
            opening_us: reported.at,
            previous: None,
            price,
            price_us: reported.at,
            received_us: received,
            is_open: reported.open,
            in_play: reported.in_play,
            updated_us: 0,
        };
        let tick = Tick { odds: id, at_us: reported.at, received_us: received, price: Some(price) };
        Some((Self { row, is_offered: true, ticked_us: reported.at }, Some(tick)))
    }

    fn moved(&self, reported: &PriceRecord, received: Micros) -> Option<(Self, Option<Tick>)> {
        let mut next = self.clone();
        let at_us = self.after_last(reported.at, received);
        let is_other = match reported.price {
            Some(price) => !self.is_offered || price != self.row.price,
            None => self.is_offered,
        };
        if let Some(price) = reported.price
            && price != self.row.price
        {
            next.row.previous = Some(self.row.price);
            next.row.price = price;
            next.row.price_us = at_us;
            next.row.received_us = received;
        }
        next.is_offered = reported.price.is_some();
        next.row.is_open = reported.open && next.is_offered;
        next.row.in_play = reported.in_play;
        if !is_other {
            return Some((next, None));
        }
        next.ticked_us = at_us;
        let tick = Tick { odds: self.row.id, at_us, received_us: received, price: reported.price };
        Some((next, Some(tick)))
    }

    /// The price is no longer reported, or not yet since the hub started: it is not open.
    fn unoffered(&self) -> Self {
        let mut next = self.clone();
        next.row.is_open = false;
        next
    }

    /// A time after the last tick. Sources report the same time for several prices, and the
    /// consensus is as old as its oldest price.
    fn after_last(&self, reported: Micros, received: Micros) -> Micros {
        if reported > self.ticked_us { reported } else { received.max(self.ticked_us + 1) }
    }
}

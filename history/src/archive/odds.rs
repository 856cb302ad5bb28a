//! The history of prices: a bookmaker's opening, previous and current price.

use std::{cmp::Reverse, sync::Arc};

use base::Micros;
use rust_decimal::Decimal;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::ids::first_choice;
use record::{Key, MatchRecord, PriceRecord};

#[cfg(test)]
mod tests;

/// One price of one bookmaker, from its opening until now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OddsRow {
    /// The digest that identifies the row in the archive.
    pub id: Key,
    /// The id that clients see; absent until the row is written.
    pub public_id: Option<Key>,
    pub match_id: Key,
    pub bookmaker: Arc<str>,
    pub market: Arc<str>,
    /// A part of the match, `1h`; absent for all of it.
    pub period: Option<Arc<str>>,
    /// Without trailing zeros.
    pub line: Option<Decimal>,
    pub outcome: Arc<str>,
    /// The first price that the archive received, and its time.
    pub opening: Decimal,
    pub opening_us: Micros,
    /// The price before this one.
    pub previous: Option<Decimal>,
    /// The last price on offer, and its time, by the source's clock if it has one.
    pub price: Decimal,
    pub price_us: Micros,
    /// When the hub received it.
    pub received_us: Micros,
    /// Whether the price is available now.
    pub is_open: bool,
    pub in_play: bool,
    /// When any of this was last written, by the writer's clock.
    pub updated_us: Micros,
}

/// The direction of a price change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Movement {
    /// Lower than before.
    Shortening,
    /// Higher than before.
    Drifting,
}

/// Bookmaker, market, part, line and outcome, which name a price within its match.
type PriceName<'a> = (&'a str, &'a str, Option<&'a str>, Option<Decimal>, &'a str);

/// The prices of a record; of several under one name, the last on offer.
fn by_name(record: &MatchRecord) -> FxHashMap<PriceName<'_>, &PriceRecord> {
    let mut prices: FxHashMap<PriceName<'_>, &PriceRecord> = FxHashMap::default();
    for price in &record.prices {
        let PriceRecord { bookmaker, market, period, line, outcome, .. } = price;
        let line = line.map(|line| line.normalize());
        let last = prices.entry((bookmaker, market, period.as_deref(), line, outcome));
        let last = last.or_insert(price);
        if (last.price.is_some(), last.at) < (price.price.is_some(), price.at) {
            *last = price;
        }
    }
    prices
}

impl OddsRow {
    fn name(&self) -> PriceName<'_> {
        (&self.bookmaker, &self.market, self.period.as_deref(), self.line, &self.outcome)
    }

    /// Brings the row to the state of its match in the hub. `current`: its price there; without one, it is
    /// not on offer.
    pub fn bring_up_to_date(&mut self, record: &MatchRecord, current: Option<&PriceRecord>) {
        let Some(current) = current else {
            self.is_open = false;
            return;
        };
        self.is_open = current.open && current.price.is_some();
        self.in_play = current.in_play;
        if let Some(price) = current.price.filter(|price| *price != self.price) {
            self.previous = Some(self.price);
            self.price = price;
            self.price_us = current.at;
            self.received_us = record.brief.updated;
            self.updated_us = self.updated_us.max(record.brief.updated);
        }
    }

    /// The id that clients see. A row that is not written yet reports its first choice, which it
    /// then gets unless another row has it: about one in five thousand, with 400,000 rows.
    #[must_use]
    pub fn public_id(&self) -> Key {
        self.public_id.unwrap_or_else(|| first_choice(self.id))
    }

    /// From the previous price to this one; `None` if the price never changed.
    #[must_use]
    pub fn movement(&self) -> Option<Movement> {
        let previous = self.previous?;
        match self.price.cmp(&previous) {
            std::cmp::Ordering::Less => Some(Movement::Shortening),
            std::cmp::Ordering::Equal => None,
            std::cmp::Ordering::Greater => Some(Movement::Drifting),
        }
    }
}

/// The part of a match that prices refer to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Period {
    #[default]
    WholeMatch,
    Part(Arc<str>),
    Any,
}

/// A filter of rows. Absent fields match everything.
#[derive(Debug, Clone, Default)]
pub struct OddsFilter {
    /// Only rows of these matches.
    pub matches: Option<Vec<Key>>,
    /// Slugs.
    pub bookmakers: Option<Vec<String>>,
    pub market: Option<String>,
    pub period: Period,
    pub outcome: Option<String>,
    pub line: Option<Decimal>,
    /// The minimum, inclusive.
    pub min_price: Option<Decimal>,
    /// The maximum, inclusive.
    pub max_price: Option<Decimal>,
    /// Written after this time.
    pub updated_after: Option<Micros>,
    pub movement: Option<Movement>,
    /// Last written first; otherwise by match, market, line, outcome and bookmaker.
    pub newest_first: bool,
}

impl OddsFilter {
    /// Whether a row passes the filters by what changes in the course of a match.
    fn selects_values(&self, row: &OddsRow) -> bool {
        self.min_price.is_none_or(|least| row.price >= least)
            && self.max_price.is_none_or(|most| row.price <= most)
            && self.updated_after.is_none_or(|after| row.updated_us > after)
            && self.movement.is_none_or(|movement| row.movement() == Some(movement))
    }

    /// Brings rows that this filter selected in the archive, which is written later, to the state of their matches in the
    /// hub, and drops those that it no longer selects. `current`: the record of a match, if the hub has it.
    pub(crate) fn bring_up_to_date(
        &self,
        mut rows: Vec<OddsRow>,
        current: impl Fn(Key) -> Option<Arc<MatchRecord>>,
    ) -> Vec<OddsRow> {
        let ids: FxHashSet<Key> = rows.iter().map(|row| row.match_id).collect();
        let records: Vec<_> = ids.into_iter().filter_map(current).collect();
        let current = records.iter().map(|record| (record.brief.id, (record, by_name(record))));
        let current: FxHashMap<_, _> = current.collect();
        for row in &mut rows {
            if let Some((record, prices)) = current.get(&row.match_id) {
                let price = prices.get(&row.name()).copied();
                row.bring_up_to_date(record, price);
            }
        }
        rows.retain(|row| self.selects_values(row));
        if self.newest_first {
            rows.sort_by_key(|row| (Reverse(row.updated_us), row.id));
        }
        rows
    }
}

/// A price in the history of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tick {
    /// The digest of the row.
    pub odds: Key,
    /// By the source's clock if it has one; increases within a row.
    pub at_us: Micros,
    /// When the hub received it.
    pub received_us: Micros,
    /// `None`: the price was withdrawn.
    pub price: Option<Decimal>,
}

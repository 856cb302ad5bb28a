//! The history of prices: a bookmaker's opening, previous and current price.

use std::{collections::BTreeMap, error::Error, fmt, mem, sync::Arc};

use base::Micros;
use rust_decimal::Decimal;
use rustc_hash::FxHashMap;
use serde::Deserialize;

use super::stored_price::StoredPrice;
use crate::{ids::NUMBERS_MAX, match_query::Window};
use record::{CONSENSUS, Key, MatchRecord, PriceRecord};

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

/// The public ids of a match follow one another within this many, so that a price is found by its id without an index, which
/// would be written in a random place for each price.
pub(super) const PUBLIC_IDS: Key = 1 << 15;
/// The greatest id from which they follow.
pub(super) const PUBLIC_BASE_MAX: Key = NUMBERS_MAX as Key - PUBLIC_IDS;

/// The public ids of a match are greater than this, by up to [`PUBLIC_IDS`].
pub(super) fn public_base(match_id: Key) -> Key {
    match_id.min(PUBLIC_BASE_MAX)
}

/// The public ids that a row of a match may have, each once, in the order of its preference.
pub(super) fn public_choices(match_id: Key, row: Key) -> impl Iterator<Item = Key> {
    let step = (row / PUBLIC_IDS) | 1;
    let offset = move |turn: Key| row.wrapping_add(turn.wrapping_mul(step)) % PUBLIC_IDS;
    (0..PUBLIC_IDS).map(move |turn| public_base(match_id) + 1 + offset(turn))
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
            self.received_us = record.summary.updated;
            self.updated_us = self.updated_us.max(record.summary.updated);
        }
    }

    /// The id that clients see. A row that is not written yet reports its first choice, which it
    /// then gets unless another row has it: one in a thousand.
    #[must_use]
    pub fn public_id(&self) -> Key {
        let mut choices = public_choices(self.match_id, self.id);
        self.public_id.or_else(|| choices.next()).unwrap_or(1)
    }

    /// The order within a match.
    fn in_match(&self) -> (&str, Option<Decimal>, &str, &str, Key) {
        (&self.market, self.line, &self.outcome, &self.bookmaker, self.id)
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

/// A filter of rows, which are sorted by match, market, line, outcome and bookmaker. Absent fields match everything.
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
}

/// The most prices that a list reads: some seconds of processor time at most.
const READ_MAX: usize = 500_000;

/// A list would have to read more than `READ_MAX` prices, so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyPrices(pub usize);

impl fmt::Display for TooManyPrices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "These filters have to read {} prices, and {READ_MAX} are the most: ask for those of an event, a league, a season \
             or a team, or for those that were updated after a later time.",
            self.0
        )
    }
}

impl Error for TooManyPrices {}

impl TooManyPrices {
    /// The reason of a failure, if it is this.
    #[must_use]
    pub fn from_error(error: &sqlx::Error) -> Option<Self> {
        match error {
            sqlx::Error::Encode(source) => source.downcast_ref().copied(),
            _ => None,
        }
    }
}

/// How many prices a match has in the archive, and when they were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) struct PriceCounts {
    pub(super) match_id: Key,
    pub(super) total: usize,
    /// Those of the whole match.
    pub(super) whole: usize,
    /// Those of the consensus of the whole match.
    pub(super) consensus: usize,
    /// When the first and the last of them was written.
    pub(super) oldest_us: Micros,
    pub(super) updated_us: Micros,
}

impl PriceCounts {
    pub(super) fn new(match_id: Key, prices: &[StoredPrice]) -> Self {
        let updated = || prices.iter().map(|stored| stored.row.updated_us);
        let whole = || prices.iter().filter(|stored| stored.row.period.is_none());
        let consensus = whole().filter(|stored| *stored.row.bookmaker == *CONSENSUS);
        Self {
            match_id,
            total: prices.len(),
            whole: whole().count(),
            consensus: consensus.count(),
            oldest_us: updated().min().unwrap_or_default(),
            updated_us: updated().max().unwrap_or_default(),
        }
    }
}

impl OddsFilter {
    /// The prices of a match that it lets through, as they are now. `current`: the match in the hub, which is ahead of the
    /// archive.
    pub(crate) fn select(
        &self,
        mut rows: Vec<OddsRow>,
        current: Option<&MatchRecord>,
    ) -> Vec<OddsRow> {
        rows.retain(|row| self.selects_name(row));
        if let Some(record) = current.filter(|_| !rows.is_empty()) {
            let prices = by_name(record);
            for row in &mut rows {
                let price = prices.get(&row.name()).copied();
                row.bring_up_to_date(record, price);
            }
        }
        rows.retain(|row| self.selects_values(row));
        rows
    }

    /// How many prices of a match it lets through, if that is certain without reading them.
    fn count(
        &self,
        counts: &PriceCounts,
        current: impl Fn(Key) -> Option<Arc<MatchRecord>>,
    ) -> Option<usize> {
        if let Some(after) = self.updated_after {
            // Those that changed since they were written count as updated when the match was.
            let is_newer = |record: Arc<MatchRecord>| record.summary.updated > after;
            if counts.updated_us <= after && !current(counts.match_id).is_some_and(is_newer) {
                return Some(0);
            }
            if counts.oldest_us <= after {
                return None;
            }
        }
        let is_selective = self.market.is_some()
            || self.outcome.is_some()
            || self.line.is_some()
            || self.min_price.is_some()
            || self.max_price.is_some()
            || self.movement.is_some();
        match (self.bookmakers.as_deref(), &self.period) {
            _ if is_selective => None,
            (None, Period::Any) => Some(counts.total),
            (None, Period::WholeMatch) => Some(counts.whole),
            (Some([slug]), Period::WholeMatch) if *slug == *CONSENSUS => Some(counts.consensus),
            _ => None,
        }
    }

    /// Refuses to read too many prices. The counts of the other matches suffice.
    pub(super) fn check_read(
        &self,
        matches: &[PriceCounts],
        current: impl Fn(Key) -> Option<Arc<MatchRecord>> + Copy,
    ) -> Result<(), TooManyPrices> {
        let read = matches.iter().filter(|counts| self.count(counts, current).is_none());
        let read: usize = read.map(|counts| counts.total).sum();
        if read > READ_MAX { Err(TooManyPrices(read)) } else { Ok(()) }
    }

    /// Whether it lets a row through by what stays in the course of a match.
    fn selects_name(&self, row: &OddsRow) -> bool {
        let slugs = self.bookmakers.as_ref();
        slugs.is_none_or(|slugs| slugs.iter().any(|slug| **slug == *row.bookmaker))
            && self.market.as_ref().is_none_or(|market| **market == *row.market)
            && match &self.period {
                Period::WholeMatch => row.period.is_none(),
                Period::Part(part) => row.period.as_ref() == Some(part),
                Period::Any => true,
            }
            && self.outcome.as_ref().is_none_or(|outcome| **outcome == *row.outcome)
            && self.line.is_none_or(|line| row.line == Some(line))
    }

    /// Whether a row passes the filters by what changes in the course of a match.
    fn selects_values(&self, row: &OddsRow) -> bool {
        self.min_price.is_none_or(|least| row.price >= least)
            && self.max_price.is_none_or(|most| row.price <= most)
            && self.updated_after.is_none_or(|after| row.updated_us > after)
            && self.movement.is_none_or(|movement| row.movement() == Some(movement))
    }
}

/// A page of rows while it is built, from matches in the order of their ids.
#[derive(Debug)]
pub(super) struct OddsPage<'a> {
    filter: &'a OddsFilter,
    window: Window,
    count: usize,
    rows: Vec<OddsRow>,
    /// The next matches, with the number of their rows; without one, their prices have to be read.
    next: Vec<(Key, Option<usize>)>,
    /// The least and the most rows up to the last of these.
    least: usize,
    most: usize,
}

impl<'a> OddsPage<'a> {
    pub(super) fn new(filter: &'a OddsFilter, window: Window) -> Self {
        Self { filter, window, count: 0, rows: Vec::new(), next: Vec::new(), least: 0, most: 0 }
    }

    /// Adds the next match; returns whether its prices have to be read. `current`: a match in the hub.
    pub(super) fn add(
        &mut self,
        counts: &PriceCounts,
        current: impl Fn(Key) -> Option<Arc<MatchRecord>>,
    ) -> bool {
        let Window { offset, limit } = self.window;
        let exact = self.filter.count(counts, current);
        let is_after = self.least >= offset.saturating_add(limit);
        self.least += exact.unwrap_or(0);
        self.most += exact.unwrap_or(counts.total);
        let is_outside = is_after || self.most <= offset;
        let exact = exact.filter(|count| is_outside || *count == 0);
        self.next.push((counts.match_id, exact));
        exact.is_none()
    }

    /// Adds the next matches, whose prices are read in any case.
    pub(super) fn add_uncounted(&mut self, matches: impl Iterator<Item = Key>) {
        self.next.extend(matches.map(|id| (id, None)));
    }

    /// Adds the prices of the added matches that have to be read.
    pub(super) fn read(
        &mut self,
        mut prices: BTreeMap<Key, Vec<StoredPrice>>,
        current: impl Fn(Key) -> Option<Arc<MatchRecord>>,
    ) {
        for (id, count) in mem::take(&mut self.next) {
            let Some(stored) = prices.remove(&id) else {
                self.count += count.unwrap_or(0);
                continue;
            };
            let rows = stored.into_iter().map(|stored| stored.row).collect();
            let mut rows = self.filter.select(rows, current(id).as_deref());
            let skipped = self.window.offset.saturating_sub(self.count);
            self.count += rows.len();
            let room = self.window.limit - self.rows.len();
            if room > 0 && skipped < rows.len() {
                rows.sort_unstable_by(|one, other| one.in_match().cmp(&other.in_match()));
                self.rows.extend(rows.into_iter().skip(skipped).take(room));
            }
        }
        (self.least, self.most) = (self.count, self.count);
    }

    /// The total, and the rows in the window.
    pub(super) fn finish(self) -> (usize, Vec<OddsRow>) {
        (self.count, self.rows)
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

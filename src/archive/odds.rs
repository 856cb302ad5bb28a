//! The history of prices: what a bookmaker opened with, what it said before, what it says.

use std::sync::Arc;

use fanout::Micros;
use rust_decimal::Decimal;

use crate::{ids::first_choice, record::Key};

/// One price of one bookmaker, from its opening to now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OddsRow {
    /// A digest, by which the archive knows the row.
    pub id: Key,
    /// By which clients know it; absent until it is written.
    pub public_id: Option<Key>,
    pub match_id: Key,
    pub bookmaker: Arc<str>,
    pub market: Arc<str>,
    /// A part of the match, `1h`; absent for all of it.
    pub period: Option<Arc<str>>,
    /// Without needless zeros.
    pub line: Option<Decimal>,
    pub outcome: Arc<str>,
    /// The first price that the archive was told, and when that was.
    pub opening: Decimal,
    pub opening_us: Micros,
    /// The price before this one.
    pub previous: Option<Decimal>,
    /// The last price that was on offer, and since when, by the source's clock where it has one.
    pub price: Decimal,
    pub price_us: Micros,
    /// When the hub knew it.
    pub received_us: Micros,
    /// Whether it can be taken now.
    pub is_open: bool,
    pub in_play: bool,
    /// When any of this was written last, by the clock of who wrote it.
    pub updated_us: Micros,
}

/// Where a price has gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Movement {
    /// It pays less than before.
    Shortening,
    /// It pays more than before.
    Drifting,
}

impl OddsRow {
    /// By which clients know it. A row that is not written yet is told by its first choice, which it gets
    /// then unless another row has it: one of some five thousand, with 400,000 rows.
    #[must_use]
    pub fn public_id(&self) -> Key {
        self.public_id.unwrap_or_else(|| first_choice(self.id))
    }

    /// From the price before this one to this one; `None` where it has never been another.
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

/// Which part of a match prices are of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Period {
    #[default]
    WholeMatch,
    Part(Arc<str>),
    Any,
}

/// Which rows are wanted. What is absent lets everything through.
#[derive(Debug, Clone, Default)]
pub struct OddsFilter {
    /// Of one of these.
    pub matches: Option<Vec<Key>>,
    /// Slugs.
    pub bookmakers: Option<Vec<String>>,
    pub market: Option<String>,
    pub period: Period,
    pub outcome: Option<String>,
    pub line: Option<Decimal>,
    /// At least so much.
    pub min_price: Option<Decimal>,
    /// At most so much.
    pub max_price: Option<Decimal>,
    /// Written after this moment.
    pub updated_after: Option<Micros>,
    pub movement: Option<Movement>,
    /// Those written last first; else by match, market, line, outcome and bookmaker.
    pub newest_first: bool,
}

/// A price that a row has had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tick {
    /// The digest of the row.
    pub odds: Key,
    /// By the source's clock where it has one; grows within a row.
    pub at_us: Micros,
    /// When the hub knew it.
    pub received_us: Micros,
    /// `None`: it was withdrawn.
    pub price: Option<Decimal>,
}

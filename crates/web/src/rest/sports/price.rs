//! The prices of a match in the odds responses of these sports.
//!
//! They are part of the sports product: every caller sees the bookmakers by name.

use std::{cmp::Ordering, collections::BTreeMap};

use rust_decimal::Decimal;
use serde::Serialize;
use utoipa::ToSchema;

use crate::rest::{Api, ApiError, number::Number, odds::bookmaker, time};
use history::query::{self, OddsFilter, OddsRow, Period, Window};
use record::{CONSENSUS, Key, MatchRecord, PriceRecord};

/// The match-winner market.
pub(super) const WINNER: &str = "match_winner";

/// How a price last moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum Movement {
    /// It fell: the outcome has become likelier.
    Shortening,
    /// It rose.
    Drifting,
    /// It is where it opened, and has never been elsewhere.
    Stable,
}

impl Movement {
    /// From the previous price to the current one; `None` without a current price.
    pub(super) fn between(before: Option<Decimal>, now: Option<Decimal>) -> Option<Self> {
        let now = now?;
        Some(match before.map_or(Ordering::Equal, |before| now.cmp(&before)) {
            Ordering::Less => Self::Shortening,
            Ordering::Equal => Self::Stable,
            Ordering::Greater => Self::Drifting,
        })
    }
}

/// The movement of a price, given the id of its row.
pub(super) type Movements = BTreeMap<Key, Movement>;

/// The last movement of each price of a match.
pub(super) async fn movements(api: &Api, id: Key) -> Result<Movements, ApiError> {
    let filter =
        OddsFilter { matches: Some(vec![id]), period: Period::Any, ..OddsFilter::default() };
    let (_, rows) = api.history.odds(&filter, Window::ALL).await?;
    let movement = |row: &OddsRow| match row.movement() {
        Some(query::Movement::Shortening) => Movement::Shortening,
        Some(query::Movement::Drifting) => Movement::Drifting,
        None => Movement::Stable,
    };
    Ok(rows.iter().map(|row| (row.id, movement(row))).collect())
}

/// Where prices come from: several bookmakers, only the consensus, or nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Source {
    Multi,
    Consensus,
    None,
}

/// A price and where it goes.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct Price {
    pub(super) price: Number,
    pub(super) movement: Option<Movement>,
}

/// The market of a price: kind, part of the match, line.
pub(super) type MarketKey<'a> = (&'a str, Option<&'a str>, Option<Decimal>);

pub(super) fn market(price: &PriceRecord) -> MarketKey<'_> {
    (&price.market, price.period.as_deref(), price.line)
}

/// The prices that are on offer now, by bookmaker. The consensus is only used if there is no bookmaker.
pub(super) fn offered<'a>(
    prices: impl Iterator<Item = &'a PriceRecord>,
) -> (Source, BTreeMap<&'a str, Vec<&'a PriceRecord>>) {
    let mut books: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for price in prices.filter(|price| price.price.is_some()) {
        books.entry(&price.bookmaker).or_default().push(price);
    }
    if books.keys().any(|slug| *slug != CONSENSUS) {
        books.remove(CONSENSUS);
        return (Source::Multi, books);
    }
    (if books.is_empty() { Source::None } else { Source::Consensus }, books)
}

/// The prices that can be taken; of a match that is over, the last that could.
pub(super) fn on_offer(record: &MatchRecord) -> impl Iterator<Item = &PriceRecord> {
    let over = record.summary.status.is_over();
    record.prices.iter().filter(move |price| price.open || over)
}

/// The match-winner prices of all bookmakers.
pub(super) fn winner(record: &MatchRecord) -> impl Iterator<Item = &PriceRecord> {
    on_offer(record).filter(|price| market(price) == (WINNER, None, None))
}

/// The price of an outcome, under any of these names.
pub(super) fn find<'a>(
    prices: impl IntoIterator<Item = &'a PriceRecord>,
    outcomes: &[&str],
) -> Option<&'a PriceRecord> {
    prices.into_iter().find(|it| it.price.is_some() && outcomes.contains(&&*it.outcome))
}

pub(super) const FIRST: &[&str] = &["home", "p1"];
pub(super) const DRAW: &[&str] = &["draw"];
pub(super) const SECOND: &[&str] = &["away", "p2"];

/// The prices of one bookmaker for who wins a match.
#[derive(Debug, Clone, Copy)]
pub(super) struct WinnerPrices<'a> {
    pub(super) match_id: Key,
    pub(super) prices: &'a [&'a PriceRecord],
    pub(super) movements: &'a Movements,
}

impl WinnerPrices<'_> {
    /// The price of an outcome, under any of these names.
    pub(super) fn odds(&self, outcomes: &[&str]) -> Option<Number> {
        find(self.prices.iter().copied(), outcomes)?.price.map(Number)
    }

    /// How it last moved.
    pub(super) fn movement(&self, outcomes: &[&str]) -> Option<Movement> {
        let price = find(self.prices.iter().copied(), outcomes)?;
        self.movements.get(&price.id(self.match_id)).copied()
    }
}

/// The consensus on the winner: first side, draw, second side.
pub(in crate::rest) fn consensus(record: &MatchRecord) -> [Option<Decimal>; 3] {
    let winner_price = || winner(record).filter(|price| *price.bookmaker == *CONSENSUS);
    [FIRST, DRAW, SECOND].map(|outcomes| find(winner_price(), outcomes)?.price)
}

/// The time of the newest of these prices.
pub(super) fn updated(prices: &[&PriceRecord]) -> Option<String> {
    prices.iter().map(|price| price.at).max().and_then(time::zulu)
}

/// A bookmaker's display name.
pub(super) fn book_name(slug: &str) -> String {
    bookmaker::name(slug).into_owned()
}

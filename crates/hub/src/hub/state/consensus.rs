//! The consensus of all bookmakers of a match, for markets that are comparable across bookmakers.
//!
//! The best price is the highest one on offer; the median is the middle one, or the mean of the two
//! in the middle, exact to four decimal places. A bookmaker counts once, with the best price of all
//! its markets of the kind. Only open markets that the hub does not hold back, and active selections
//! with a price count.
//!
//! The overround is what the best prices add up to beyond a fair book: the sum of 1/price over all
//! outcomes, less 1, to four decimal places. Below 0 it is an arbitrage. It is present if every
//! outcome has a price.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    sync::Arc,
};

use borsh::{BorshDeserialize, BorshSerialize};
use facts::codec;
use facts::event::{MarketStatus, Outcome, SelectionStatus};
use fanout::Micros;
use rust_decimal::{Decimal, RoundingStrategy};
use rustc_hash::FxHashMap;

use super::{Book, Market};

/// Consensus markets by their key.
#[derive(Debug, Clone, Default, BorshSerialize, BorshDeserialize)]
#[borsh(init = reindex)]
pub struct Consensus {
    pub markets: BTreeMap<ConsensusKey, ConsensusEntry>,
    /// The key of each market of each book that has one.
    #[borsh(skip)]
    keys: FxHashMap<(usize, usize), ConsensusKey>,
    /// Keys that a market has left: it was redefined, or another source took over its book.
    left: BTreeSet<ConsensusKey>,
    /// How many markets are not closed, and how many of these are open.
    #[borsh(skip)]
    unclosed: usize,
    #[borsh(skip)]
    open: usize,
}

/// The key of a market across bookmakers: its kind, its part of the match, its line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub struct ConsensusKey {
    pub kind: Arc<str>,
    pub period: Option<Arc<str>>,
    #[borsh(serialize_with = "codec::decimal::write", deserialize_with = "codec::decimal::read")]
    pub line: Option<Decimal>,
}

/// The bookmakers' markets of one consensus market, and its last published state.
#[derive(Debug, Clone, Default, BorshSerialize, BorshDeserialize)]
pub struct ConsensusEntry {
    markets: Vec<(usize, usize)>,
    pub current: Option<ConsensusMarket>,
    /// The number of the change that settled it last.
    pub settled: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct ConsensusMarket {
    pub status: MarketStatus,
    pub in_play: bool,
    pub selections: BTreeMap<Outcome, ConsensusPrice>,
    #[borsh(serialize_with = "codec::decimal::write", deserialize_with = "codec::decimal::read")]
    pub overround: Option<Decimal>,
}

#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct ConsensusPrice {
    pub status: SelectionStatus,
    /// Absent while no bookmaker offers one.
    pub offer: Option<ConsensusOffer>,
}

#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct ConsensusOffer {
    #[borsh(serialize_with = "codec::decimal::write", deserialize_with = "codec::decimal::read")]
    pub price: Decimal,
    #[borsh(serialize_with = "codec::decimal::write", deserialize_with = "codec::decimal::read")]
    pub median: Decimal,
    /// Bookmakers with a price.
    pub bookmakers: u32,
    /// The bookmaker with the best price; the first by name if several have it.
    pub best: Arc<str>,
    /// When the oldest price in it was reported.
    pub oldest: Micros,
}

/// A market of the consensus that has changed, and what it was before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsensusChange {
    pub key: ConsensusKey,
    pub before: Option<ConsensusMarket>,
}

impl ConsensusKey {
    /// The key of a market, if its selections are comparable across bookmakers.
    fn for_market(market: &Market) -> Option<Self> {
        market.selections.iter().any(|selection| selection.outcome.is_some()).then(|| Self {
            kind: Arc::clone(&market.kind),
            period: market.period.clone(),
            line: market.line.map(|line| line.normalize()),
        })
    }

    /// The market's id on the consensus channel: `over_under@2.5`, `match_winner:1h`.
    #[must_use]
    pub fn id(&self) -> Arc<str> {
        if self.period.is_none() && self.line.is_none() {
            return Arc::clone(&self.kind);
        }
        let mut id = self.kind.to_string();
        if let Some(period) = &self.period {
            id.push(':');
            id.push_str(period);
        }
        if let Some(line) = self.line {
            id.push('@');
            id.push_str(&line.to_string());
        }
        id.into()
    }
}

impl Consensus {
    /// Finds the markets of bookmakers again and counts the open ones, after the consensus was restored.
    fn reindex(&mut self) {
        for entry in self.markets.values() {
            let [unclosed, open] = counts(entry.current.as_ref());
            self.unclosed += unclosed;
            self.open += open;
        }
        let members = self.markets.iter();
        let members = members.flat_map(|(key, it)| it.markets.iter().map(move |it| (*it, key)));
        self.keys = members.map(|(member, key)| (member, key.clone())).collect();
    }

    /// Whether all its markets are in these books.
    pub(super) fn is_of(&self, books: &[Book]) -> bool {
        let has = |(book, market): &(usize, usize)| {
            books.get(*book).is_some_and(|book| *market < book.markets.len())
        };
        self.keys.keys().all(has)
    }

    /// Whether every market is closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.unclosed == 0
    }

    /// Whether any market is open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.open > 0
    }

    /// Removes all markets of a book that another source has taken over.
    pub(super) fn forget_book(&mut self, book: usize) {
        for (_, key) in self.keys.extract_if(|(other, _), _| *other == book) {
            if let Some(members) = self.markets.get_mut(&key) {
                members.markets.retain(|(other, _)| *other != book);
            }
            self.left.insert(key);
        }
    }

    /// Records that a market of a book was defined, perhaps with another key than before.
    pub(super) fn note(&mut self, market: &Market, book: usize, index: usize) {
        let key = ConsensusKey::for_market(market);
        let member = (book, index);
        if self.keys.get(&member) == key.as_ref() {
            return;
        }
        if let Some(before) = self.keys.remove(&member) {
            if let Some(members) = self.markets.get_mut(&before) {
                members.markets.retain(|other| *other != member);
            }
            self.left.insert(before);
        }
        if let Some(key) = key {
            self.markets.entry(key.clone()).or_default().markets.push(member);
            self.keys.insert(member, key);
        }
    }

    /// The markets that one of `changed_markets` belongs to or has left, in their order.
    #[must_use]
    pub fn keys_touched_by(&self, changed_markets: &[(usize, usize)]) -> BTreeSet<ConsensusKey> {
        let of_changed = changed_markets.iter().filter_map(|market| self.keys.get(market));
        of_changed.chain(&self.left).cloned().collect()
    }

    /// Which markets of which books belong to it, by their places.
    #[must_use]
    pub fn members(&self, key: &ConsensusKey) -> &[(usize, usize)] {
        self.markets.get(key).map_or(&[], |members| members.markets.as_slice())
    }

    /// Recomputes the markets that were touched, and returns those that changed. One without
    /// members is removed. `number` is that of the change.
    pub fn refresh(
        &mut self,
        books: &[Book],
        touched: &BTreeSet<ConsensusKey>,
        number: u64,
    ) -> Vec<ConsensusChange> {
        self.left.clear();
        let mut changed = Vec::new();
        for key in touched {
            let Some(members) = self.markets.get_mut(key) else { continue };
            let now = (!members.markets.is_empty()).then(|| members.combine(books));
            if members.current != now {
                let before = mem::replace(&mut members.current, now);
                let [unclosed, open] = counts(members.current.as_ref());
                let [unclosed_before, open_before] = counts(before.as_ref());
                self.unclosed = self.unclosed + unclosed - unclosed_before;
                self.open = self.open + open - open_before;
                if members.is_closed() && !before.as_ref().is_some_and(ConsensusMarket::is_closed) {
                    members.settled = Some(number);
                }
                changed.push(ConsensusChange { key: key.clone(), before });
            }
            if members.markets.is_empty() {
                self.markets.remove(key);
            }
        }
        changed
    }
}

/// Whether a market counts as not closed, and as open.
fn counts(market: Option<&ConsensusMarket>) -> [usize; 2] {
    market.map_or([0, 0], |market| {
        [market.status != MarketStatus::Closed, market.status == MarketStatus::Open]
            .map(usize::from)
    })
}

impl ConsensusMarket {
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.status == MarketStatus::Closed
    }

    pub fn winners(&self) -> impl Iterator<Item = Outcome> {
        let won = self.selections.iter().filter(|(_, selection)| selection.status.has_won());
        won.map(|(outcome, _)| *outcome)
    }
}

impl ConsensusEntry {
    fn is_closed(&self) -> bool {
        self.current.as_ref().is_some_and(ConsensusMarket::is_closed)
    }

    fn combine(&self, books: &[Book]) -> ConsensusMarket {
        let markets = || self.markets.iter().map(|(book, market)| &books[*book].markets[*market]);
        let mut selections = BTreeMap::new();
        for outcome in markets().flat_map(|m| m.selections.iter().filter_map(|s| s.outcome)) {
            selections.entry(outcome).or_insert_with(|| self.price(books, outcome));
        }
        // Often only the time of a price has changed, and a sum of quotients takes long.
        let before = self.current.as_ref().filter(|it| same_prices(&it.selections, &selections));
        ConsensusMarket {
            overround: before.map_or_else(|| overround(&selections), |it| it.overround),
            status: joint_status(self.markets.iter().map(|(book, market)| {
                let book = &books[*book];
                book.status(&book.markets[*market])
            })),
            in_play: markets().any(|market| market.in_play),
            selections,
        }
    }

    fn price(&self, books: &[Book], outcome: Outcome) -> ConsensusPrice {
        let mut status = SelectionStatus::Removed;
        let mut offers: Vec<(Decimal, &Arc<str>, Micros)> = Vec::new();
        for (book, index) in &self.markets {
            let (book, market) = (&books[*book], &books[*book].markets[*index]);
            for selection in market.selections.iter().filter(|s| s.outcome == Some(outcome)) {
                status = joint_selection(status, selection.status);
                let open = book.status(market) == MarketStatus::Open
                    && selection.status == SelectionStatus::Active;
                if let Some(price) = selection.price.filter(|_| open) {
                    offers.push((price, &book.slug, selection.priced_at));
                }
            }
        }
        ConsensusPrice { status, offer: offer(&mut offers) }
    }
}

fn offer(offers: &mut Vec<(Decimal, &Arc<str>, Micros)>) -> Option<ConsensusOffer> {
    // Of each bookmaker the best price, and of the same price the older.
    offers.sort_by(|a, b| (a.1, b.0, a.2).cmp(&(b.1, a.0, b.2)));
    offers.dedup_by(|next, previous| next.1 == previous.1);
    offers.sort_by(|a, b| (a.0, b.1).cmp(&(b.0, a.1)));
    let (price, best, _) = *offers.last()?;
    Some(ConsensusOffer {
        price,
        median: median(offers),
        bookmakers: u32::try_from(offers.len()).unwrap_or(u32::MAX),
        best: Arc::clone(best),
        oldest: offers.iter().map(|offer| offer.2).min()?,
    })
}

/// Of prices in order; there is at least one.
fn median(offers: &[(Decimal, &Arc<str>, Micros)]) -> Decimal {
    let middle = offers.len() / 2;
    if offers.len() % 2 == 1 {
        return offers[middle].0;
    }
    let (low, high) = (offers[middle - 1].0, offers[middle].0);
    if low == high {
        return high;
    }
    let mean = (low + high) / Decimal::TWO;
    mean.round_dp_with_strategy(4, RoundingStrategy::MidpointNearestEven).normalize()
}

/// Whether both have the same outcomes at the same best prices.
fn same_prices(
    one: &BTreeMap<Outcome, ConsensusPrice>,
    other: &BTreeMap<Outcome, ConsensusPrice>,
) -> bool {
    let best = |price: &ConsensusPrice| price.offer.as_ref().map(|offer| offer.price);
    one.keys().eq(other.keys())
        && one.values().zip(other.values()).all(|(one, other)| best(one) == best(other))
}

fn overround(selections: &BTreeMap<Outcome, ConsensusPrice>) -> Option<Decimal> {
    Outcome::COMPLETE_SETS.iter().find(|outcomes| selections.keys().eq(outcomes.iter()))?;
    let mut sum = Decimal::ZERO;
    for price in selections.values() {
        sum += Decimal::ONE.checked_div(price.offer.as_ref()?.price)?;
    }
    let mut over =
        (sum - Decimal::ONE).round_dp_with_strategy(4, RoundingStrategy::MidpointNearestEven);
    over.rescale(4);
    if over.is_zero() {
        // What rounded American prices leave of a fair book is no minus.
        over.set_sign_positive(true);
    }
    Some(over)
}

/// Open if any market is open, closed if all are.
fn joint_status(statuses: impl Iterator<Item = MarketStatus>) -> MarketStatus {
    let rank = |status| match status {
        MarketStatus::Open => 3,
        MarketStatus::Suspended => 2,
        MarketStatus::Inactive => 1,
        MarketStatus::Closed => 0,
    };
    statuses.max_by_key(|status| rank(*status)).unwrap_or(MarketStatus::Inactive)
}

/// A result of any bookmaker counts first; else the selection is active if it is with any bookmaker.
fn joint_selection(one: SelectionStatus, other: SelectionStatus) -> SelectionStatus {
    let rank = |status| match status {
        SelectionStatus::Winner => 6,
        SelectionStatus::HalfWon => 5,
        SelectionStatus::Push => 4,
        SelectionStatus::HalfLost => 3,
        SelectionStatus::Loser => 2,
        SelectionStatus::Active => 1,
        SelectionStatus::Removed => 0,
    };
    if rank(one) >= rank(other) { one } else { other }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(prices: &[(i64, &str)], best: &str, price: &str, median: &str, bookmakers: u32) {
        let slugs: Vec<Arc<str>> = prices.iter().map(|(_, slug)| Arc::from(*slug)).collect();
        let mut offers: Vec<_> = prices
            .iter()
            .zip(&slugs)
            .map(|((cents, _), slug)| (Decimal::new(*cents, 2), slug, 5))
            .collect();
        let offer = offer(&mut offers).expect("there are prices");
        assert_eq!(&*offer.best, best);
        assert_eq!(offer.price.to_string(), price);
        assert_eq!(offer.median.to_string(), median);
        assert_eq!(offer.bookmakers, bookmakers);
    }

    #[test]
    fn best_and_median_are_exact() {
        check(&[(210, "b")], "b", "2.10", "2.10", 1);
        check(&[(210, "b"), (215, "a")], "a", "2.15", "2.125", 2);
        check(&[(210, "c"), (215, "b"), (190, "a")], "b", "2.15", "2.10", 3);
        check(&[(210, "b"), (210, "a")], "a", "2.10", "2.10", 2);
    }

    #[test]
    fn bookmaker_with_two_markets_counts_once() {
        check(&[(210, "b"), (230, "b"), (220, "a")], "b", "2.30", "2.25", 2);
        check(&[(210, "b"), (210, "b")], "b", "2.10", "2.10", 1);
    }

    #[track_caller]
    fn check_overround(prices: &[(Outcome, Option<&str>)], expected: Option<&str>) {
        let slug: Arc<str> = "a".into();
        let price = |text: &Option<&str>| ConsensusPrice {
            status: SelectionStatus::Active,
            offer: text.and_then(|text| offer(&mut vec![(text.parse().unwrap(), &slug, 5)])),
        };
        let selections = prices.iter().map(|(outcome, text)| (*outcome, price(text))).collect();
        assert_eq!(overround(&selections).map(|it| it.to_string()).as_deref(), expected);
    }

    #[test]
    fn overround_needs_a_price_for_every_outcome() {
        let (over, under) = (Outcome::Over, Outcome::Under);
        check_overround(&[(over, Some("1.90")), (under, Some("1.90"))], Some("0.0526"));
        check_overround(&[(over, Some("2.10")), (under, Some("2.10"))], Some("-0.0476"));
        check_overround(&[(over, Some("2.00")), (under, Some("2.00"))], Some("0.0000"));
        // -154 and +154.
        check_overround(&[(over, Some("1.64935065")), (under, Some("2.54"))], Some("0.0000"));
        check_overround(&[(over, Some("1.90")), (under, None)], None);
        check_overround(&[(over, Some("1.90"))], None);
        check_overround(&[(over, Some("0")), (under, Some("1.90"))], None);
    }
}

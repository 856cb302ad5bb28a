//! Records of the matches in the hub, kept up to date by what changed.
//!
//! The hub sends each change once ([`MatchChange`]); [`LiveRecords`] adds it to the record that it
//! has. A record is immutable, so a reader never sees it change.

use std::{
    collections::{BTreeMap, HashMap},
    mem,
    sync::Arc,
};

use borsh::{BorshDeserialize, BorshSerialize};
use rust_decimal::Decimal;

use super::{
    Freshness, Key, MatchRecord, MatchSummary, Names, PlayRecord, PriceRecord, RunnerPriceRecord,
};

/// A change of the matches in the hub.
#[derive(Debug, Clone, BorshSerialize, BorshDeserialize)]
pub enum MatchChange {
    Updated(Box<MatchUpdate>),
    /// The hub has removed the match.
    Gone(Key),
}

/// What has changed in a match since its previous update.
#[derive(Debug, Clone, BorshSerialize, BorshDeserialize)]
pub struct MatchUpdate {
    /// Without the expected goals, which follow from the play.
    pub summary: MatchSummary,
    pub refs: BTreeMap<Arc<str>, Arc<str>>,
    pub names: Names,
    /// The play if it has changed, without the prices of runners.
    pub play: Option<PlayRecord>,
    /// Whether this is all of the match: markets that are not in [`MatchUpdate::markets`] are gone.
    pub is_complete: bool,
    /// Each market with a change, with all its prices, in order.
    pub markets: Vec<MarketUpdate>,
    pub freshness: Option<Freshness>,
}

/// All prices of one market.
#[derive(Debug, Clone, BorshSerialize, BorshDeserialize)]
pub struct MarketUpdate {
    pub position: MarketPlace,
    pub prices: Vec<PriceRecord>,
    pub runners: Vec<RunnerPriceRecord>,
}

/// The place of a market's prices in a record: books in their order, then the consensus.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub enum MarketPlace {
    /// By the indexes of the book and of its market.
    Book(usize, usize),
    Consensus {
        kind: Arc<str>,
        period: Option<Arc<str>>,
        #[borsh(
            serialize_with = "facts::codec::decimal::write",
            deserialize_with = "facts::codec::decimal::read"
        )]
        line: Option<Decimal>,
    },
}

/// The records of all matches in the hub.
#[derive(Debug, Default)]
pub struct LiveRecords {
    matches: HashMap<Key, LiveRecord>,
}

/// The result of some changes.
#[derive(Debug, Default)]
pub struct ChangedRecords {
    /// Records of matches that the hub still has.
    pub records: Vec<Arc<MatchRecord>>,
    /// The last records of matches that changed and were then removed, without a price on offer.
    pub evicted: Vec<Arc<MatchRecord>>,
    pub gone: Vec<Key>,
}

/// A record and which of its prices belong to which market.
#[derive(Debug)]
struct LiveRecord {
    record: Arc<MatchRecord>,
    rows: BTreeMap<MarketPlace, RowCount>,
}

/// How many prices a market has in a record.
#[derive(Debug, Clone, Copy)]
struct RowCount {
    prices: usize,
    runners: usize,
}

impl LiveRecords {
    /// Applies changes in their order. Each match that changed has one record in the result, or two
    /// if it was removed in between.
    pub fn apply(&mut self, changes: Vec<MatchChange>) -> ChangedRecords {
        let mut changed = ChangedRecords::default();
        let mut latest: HashMap<Key, Arc<MatchRecord>> = HashMap::new();
        for change in changes {
            match change {
                MatchChange::Updated(update) => {
                    let id = update.summary.id;
                    let live = match self.matches.remove(&id) {
                        Some(live) => live.updated(*update),
                        None => LiveRecord::new(*update),
                    };
                    latest.insert(id, Arc::clone(&live.record));
                    self.matches.insert(id, live);
                }
                MatchChange::Gone(id) => {
                    self.matches.remove(&id);
                    if let Some(mut last) = latest.remove(&id) {
                        Arc::make_mut(&mut last).close_prices();
                        changed.evicted.push(last);
                    }
                    changed.gone.push(id);
                }
            }
        }
        changed.records = latest.into_values().collect();
        changed
    }
}

impl LiveRecord {
    fn new(update: MatchUpdate) -> Self {
        Self::merged(BTreeMap::new(), &[], PlayRecord::None, update)
    }

    fn updated(self, update: MatchUpdate) -> Self {
        if update.is_complete {
            return Self::new(update);
        }
        let play = self.record.play.clone();
        Self::merged(self.rows, &self.record.prices, play, update)
    }

    /// The record after an update, from the prices and the play before it.
    fn merged(
        mut rows: BTreeMap<MarketPlace, RowCount>,
        prices_before: &[PriceRecord],
        mut play_before: PlayRecord,
        update: MatchUpdate,
    ) -> Self {
        let MatchUpdate { mut summary, refs, names, play, markets, freshness, .. } = update;
        let runners_before = match &mut play_before {
            PlayRecord::Race(race) => mem::take(&mut race.prices),
            PlayRecord::Football(_)
            | PlayRecord::Tennis(_)
            | PlayRecord::Scoreboard(_)
            | PlayRecord::None => Vec::new(),
        };
        let mut merge = Merge {
            prices: Vec::with_capacity(prices_before.len()),
            runners: Vec::with_capacity(runners_before.len()),
        };
        let counts: Vec<_> = markets.iter().map(|it| (it.position.clone(), it.count())).collect();
        let (mut prices_before, mut runners_before) = (prices_before, &*runners_before);
        let mut markets = markets.into_iter().peekable();
        for (market, count) in &rows {
            while let Some(new) = markets.next_if(|new| new.position < *market) {
                merge.push(new);
            }
            let (prices, later_prices) = split(prices_before, count.prices);
            let (runners, later_runners) = split(runners_before, count.runners);
            (prices_before, runners_before) = (later_prices, later_runners);
            if let Some(new) = markets.next_if(|new| new.position == *market) {
                merge.push(new);
            } else {
                merge.prices.extend_from_slice(prices);
                merge.runners.extend_from_slice(runners);
            }
        }
        markets.for_each(|new| merge.push(new));
        rows.extend(counts);
        rows.retain(|_, count| count.prices + count.runners > 0);
        let mut play = play.unwrap_or(play_before);
        match &mut play {
            PlayRecord::Race(race) => race.prices = merge.runners,
            PlayRecord::Football(football) => {
                let analysis = football.analysis.as_ref();
                summary.expected_goals = analysis.and_then(|it| it.expected_goals());
            }
            PlayRecord::Tennis(_) | PlayRecord::Scoreboard(_) | PlayRecord::None => {}
        }
        let prices = merge.prices;
        let record = MatchRecord { summary: summary.into(), refs, names, play, prices, freshness };
        Self { record: Arc::new(record), rows }
    }
}

/// The prices of a record in their order.
struct Merge {
    prices: Vec<PriceRecord>,
    runners: Vec<RunnerPriceRecord>,
}

impl Merge {
    fn push(&mut self, market: MarketUpdate) {
        self.prices.extend(market.prices);
        self.runners.extend(market.runners);
    }
}

impl MarketUpdate {
    fn count(&self) -> RowCount {
        RowCount { prices: self.prices.len(), runners: self.runners.len() }
    }
}

/// Splits off the first `count` rows.
fn split<T>(rows: &[T], count: usize) -> (&[T], &[T]) {
    rows.split_at_checked(count).unwrap_or((rows, &[]))
}

//! A bookmaker's price of one outcome.

use std::sync::Arc;

use base::Micros;
use borsh::{BorshDeserialize, BorshSerialize};
use facts::{
    codec::decimal,
    event::{Id, Outcome},
};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use super::Key;

/// The slug of the consensus: the median of all bookmakers' prices.
pub const CONSENSUS: &str = "consensus";

/// One price of a bookmaker, or of the consensus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct PriceRecord {
    /// The bookmaker's slug, or [`CONSENSUS`].
    pub bookmaker: Arc<str>,
    /// As in the stream protocol: `match_winner`, `over_under`, `both_teams_to_score`, ..; with the
    /// bookmaker's own name if it has several markets of a kind.
    pub market: Arc<str>,
    /// A part of the match, `1h`; absent for all of it.
    pub period: Option<Arc<str>>,
    #[borsh(serialize_with = "decimal::write", deserialize_with = "decimal::read")]
    pub line: Option<Decimal>,
    /// `home`, `draw`, `away`, `p1`, `p2`, `over`, `under`, `yes`, `no`; otherwise the bookmaker's
    /// name of the outcome, or its id.
    pub outcome: Arc<str>,
    /// The best price to back; absent while none is on offer.
    #[borsh(serialize_with = "decimal::write", deserialize_with = "decimal::read")]
    pub price: Option<Decimal>,
    /// Whether it is available: the market is open, the selection is active, and nothing suspends
    /// it.
    pub open: bool,
    pub in_play: bool,
    /// When the price was last reported, by the source's clock if it has one.
    pub at: Micros,
}

impl PriceRecord {
    /// The name of an outcome in [`PriceRecord::outcome`].
    #[must_use]
    pub fn outcome_name(outcome: Outcome) -> &'static str {
        outcome.as_str()
    }

    /// The digest that identifies its row among all rows of all matches.
    #[must_use]
    pub fn id(&self, match_id: Key) -> Key {
        odds_id(match_id, self)
    }
}

/// The digest of an odds row. It does not change across restarts or machines.
#[must_use]
pub fn odds_id(match_id: Key, price: &PriceRecord) -> Key {
    let line = price.line.map(|line| line.normalize().to_string()).unwrap_or_default();
    let period = price.period.as_deref().unwrap_or_default();
    let key = format!(
        "{match_id}|{}|{}|{period}|{line}|{}",
        price.bookmaker, price.market, price.outcome
    );
    Id::derive("matchwire", "odds", &key).0
}

//! Signals.

use std::collections::BTreeMap;

use schemars::JsonSchema;

use super::Header;
use crate::words::{Decimal, Direction, Id, Outcome, Timestamp};

/// All active signals: the document of `signals`.
#[derive(Debug, JsonSchema)]
pub struct Signals {
    #[serde(flatten)]
    pub header: Header,
    /// The active signals by id. Signals that end are deleted.
    pub signals: BTreeMap<String, Signal>,
}

/// A signal: a finding from odds and play. `kind` tells which.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum Signal {
    Arbitrage(ArbitrageSignal),
    PriceGap(PriceGapSignal),
    Value(ValueSignal),
    Steam(SteamSignal),
    Suspended(SuspendedSignal),
    Momentum(MomentumSignal),
}

/// The fields of every signal.
#[derive(Debug, JsonSchema)]
pub struct Topic {
    /// The sport of the match.
    pub sport: String,
    /// The id of the match.
    pub r#match: Id,
    /// The name of the first side.
    pub home: Option<String>,
    /// The name of the second side.
    pub away: Option<String>,
    /// How strong it is, from 0 to 100.
    #[schemars(range(min = 0, max = 100))]
    pub strength: u8,
    /// When it began.
    pub began: Timestamp,
    /// When its numbers changed last.
    pub updated: Timestamp,
}

/// The best prices of all outcomes of a market form less than a fair book.
#[derive(Debug, JsonSchema)]
pub struct ArbitrageSignal {
    /// Always `arbitrage`.
    #[schemars(extend("const" = "arbitrage"))]
    pub kind: String,
    #[serde(flatten)]
    pub topic: Topic,
    /// The id of the market, as on the consensus.
    pub market: String,
    /// The profit after commission as a share of the total stake, for every outcome: `"0.0123"` is 1.23 %.
    pub profit: Decimal,
    /// One bet for each outcome.
    pub legs: Vec<ArbitrageLeg>,
}

/// One bet of an arbitrage.
#[derive(Debug, JsonSchema)]
pub struct ArbitrageLeg {
    /// The outcome to bet on.
    pub outcome: Outcome,
    /// The bookmaker.
    pub bookmaker: String,
    /// The price: decimal odds.
    pub price: Decimal,
    /// The share of winnings that the bookmaker takes as commission; absent if none.
    pub commission: Option<Decimal>,
    /// The share of all that is staked, from 0 to 1.
    pub stake: Decimal,
}

/// One bookmaker's price is well above the best of all others.
#[derive(Debug, JsonSchema)]
pub struct PriceGapSignal {
    /// Always `price_gap`.
    #[schemars(extend("const" = "price_gap"))]
    pub kind: String,
    #[serde(flatten)]
    pub topic: Topic,
    /// The id of the market, as on the consensus.
    pub market: String,
    /// The outcome that it is about.
    pub outcome: Outcome,
    /// The bookmaker that it is about.
    pub bookmaker: String,
    /// The price: decimal odds.
    pub price: Decimal,
    /// The best price of the others.
    pub next_price: Decimal,
    /// The bookmaker with the best price of the others.
    pub next_bookmaker: String,
    /// The share of winnings that the bookmaker takes as commission; absent if none.
    pub commission: Option<Decimal>,
    /// The same of the bookmaker with the best price of the others.
    pub next_commission: Option<Decimal>,
    /// `price` / `next_price` - 1, both after commission: `"0.0712"` is 7.12 %.
    pub gap: Decimal,
}

/// The best price is above the fair one.
#[derive(Debug, JsonSchema)]
pub struct ValueSignal {
    /// Always `value`.
    #[schemars(extend("const" = "value"))]
    pub kind: String,
    #[serde(flatten)]
    pub topic: Topic,
    /// The id of the market, as on the consensus.
    pub market: String,
    /// The outcome that it is about.
    pub outcome: Outcome,
    /// The bookmaker that it is about.
    pub bookmaker: String,
    /// The price: decimal odds.
    pub price: Decimal,
    /// The price implied by the medians, without their margin.
    pub fair_price: Decimal,
    /// The probability implied by the medians, without their margin: from 0 to 1.
    pub probability: Decimal,
    /// The share of winnings that the bookmaker takes as commission; absent if none.
    pub commission: Option<Decimal>,
    /// `price` × `probability` - 1, the price after commission: `"0.0531"` is 5.31 %.
    pub value: Decimal,
    /// The number of bookmakers that quote the outcome.
    pub bookmakers: u32,
}

/// Several bookmakers have moved a price in one direction within a short time.
#[derive(Debug, JsonSchema)]
pub struct SteamSignal {
    /// Always `steam`.
    #[schemars(extend("const" = "steam"))]
    pub kind: String,
    #[serde(flatten)]
    pub topic: Topic,
    /// The id of the market, as on the consensus.
    pub market: String,
    /// The outcome that it is about.
    pub outcome: Outcome,
    /// The direction.
    pub direction: Direction,
    /// The mean of the moves: `"-0.0312"` if prices fell by 3.12 %.
    pub change: Decimal,
    /// The bookmakers that moved.
    pub moved: Vec<String>,
}

/// One bookmaker has suspended a market in which others trade.
#[derive(Debug, JsonSchema)]
pub struct SuspendedSignal {
    /// Always `suspended`.
    #[schemars(extend("const" = "suspended"))]
    pub kind: String,
    #[serde(flatten)]
    pub topic: Topic,
    /// The id of the market, as on the consensus.
    pub market: String,
    /// The bookmaker that it is about.
    pub bookmaker: String,
    /// The number of bookmakers that trade.
    pub open_bookmakers: u32,
    /// The number of bookmakers that have suspended it.
    pub suspended_bookmakers: u32,
}

/// One side has most of the attacks of the last minutes, or of the last points.
#[derive(Debug, JsonSchema)]
pub struct MomentumSignal {
    /// Always `momentum`.
    #[schemars(extend("const" = "momentum"))]
    pub kind: String,
    #[serde(flatten)]
    pub topic: Topic,
    /// The side.
    pub side: MomentumSide,
    /// Its share of all attacks or points, from 0 to 1.
    pub share: Decimal,
}

/// The first or the second side.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MomentumSide {
    First,
    Second,
}

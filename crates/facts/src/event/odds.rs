//! Events of the markets of a match.

use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use super::{
    Micros,
    number::{self, Number},
    words::words,
};
use crate::codec;

/// What one bookmaker says of one market of the match.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Odds"))]
pub struct OddsFact {
    /// The bookmaker's slug, part of a channel's name: lower-case letters, digits, `-`, `_`, `.`.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"^[a-z0-9._-]{1,64}$")))]
    pub book: Arc<str>,
    /// The bookmaker's own id of the market, opaque.
    pub market: Arc<str>,
    pub change: MarketChange,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Change"))]
pub enum MarketChange {
    /// The whole definition; it replaces the one before. Prices stay.
    Define(MarketDefinition),
    /// Forget every price, ladder and volume of the market: an image follows.
    Clear,
    /// What changed; what is omitted did not.
    Prices {
        #[serde(default)]
        selections: Vec<SelectionChange>,
        /// Matched on the whole market so far.
        #[serde(default, with = "number::optional", skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<Number>"))]
        #[borsh(
            serialize_with = "codec::decimal::write",
            deserialize_with = "codec::decimal::read"
        )]
        volume: Option<Decimal>,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Definition"))]
pub struct MarketDefinition {
    /// `match_winner`, `over_under`, `both_teams_to_score`, `asian_handicap`, or the provider's own
    /// name of the kind, in lower case.
    pub kind: Arc<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Arc<str>>,
    /// The line of a market that has one: `"2.5"` goals.
    #[serde(default, with = "number::optional", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Number>"))]
    #[borsh(serialize_with = "codec::decimal::write", deserialize_with = "codec::decimal::read")]
    pub line: Option<Decimal>,
    /// The part of the match that it is about; absent means the whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<Arc<str>>,
    pub status: MarketStatus,
    #[serde(default)]
    pub in_play: bool,
    pub selections: Vec<SelectionDefinition>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<Box<MarketTerms>>,
}

/// The terms of a market, as an exchange states them; what it does not state is absent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct MarketTerms {
    /// How many selections win; 0 where it depends on the result, as in handicaps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number_of_winners: Option<u32>,
    /// The part of the odds that a place pays: 4 is a quarter.
    #[serde(with = "number::optional", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Number>"))]
    #[borsh(serialize_with = "codec::decimal::write", deserialize_with = "codec::decimal::read")]
    pub each_way_divisor: Option<Decimal>,
    /// How long a bet waits before it is accepted, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bet_delay: Option<u32>,
    /// `PASSIVE`, `DYNAMIC`: the source's own words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bet_delay_models: Vec<Arc<str>>,
    /// The commission on winnings, in percent.
    #[serde(with = "number::optional", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Number>"))]
    #[borsh(serialize_with = "codec::decimal::write", deserialize_with = "codec::decimal::read")]
    pub market_base_rate: Option<Decimal>,
    /// Why it is suspended, in the source's own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend_reason: Option<Arc<str>>,
}

words! {
    pub enum MarketStatus {
        Inactive = "inactive",
        Open = "open",
        Suspended = "suspended",
        Closed = "closed",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Selection"))]
pub struct SelectionDefinition {
    /// The provider's id; `id@handicap` where it exists once for each handicap.
    pub id: Arc<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Arc<str>>,
    pub status: SelectionStatus,
    /// What it stands for, where all bookmakers have the same: then it is part of the consensus.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<Box<SelectionTerms>>,
}

/// What decides how a selection is paid beside its status; what the source does not state is absent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct SelectionTerms {
    /// By how much the prices of the others are reduced if it is removed, in percent.
    #[serde(with = "number::optional", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Number>"))]
    #[borsh(serialize_with = "codec::decimal::write", deserialize_with = "codec::decimal::read")]
    pub adjustment_factor: Option<Decimal>,
    /// When it was removed, in microseconds since the Unix epoch, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removal_date: Option<Micros>,
    /// The starting price of the exchange, once it is settled: decimal odds.
    #[serde(with = "number::optional", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Number>"))]
    #[borsh(serialize_with = "codec::decimal::write", deserialize_with = "codec::decimal::read")]
    pub bsp: Option<Decimal>,
    /// The part of the stake that wins in a dead heat: `"0.5"` of two.
    #[serde(with = "number::optional", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Number>"))]
    #[borsh(serialize_with = "codec::decimal::write", deserialize_with = "codec::decimal::read")]
    pub dead_heat_factor: Option<Decimal>,
}

words! {
    pub enum SelectionStatus {
        Active = "active",
        Winner = "winner",
        Loser = "loser",
        Removed = "removed",
        /// Half of the stake won, and half is returned: a quarter line.
        HalfWon = "half_won",
        /// Half of the stake lost, and half is returned.
        HalfLost = "half_lost",
        /// The stake is returned, because the result is on the line.
        Push = "push",
    }
}

impl SelectionStatus {
    /// Whether at least half of the stake won.
    #[must_use]
    pub fn has_won(self) -> bool {
        matches!(self, Self::Winner | Self::HalfWon)
    }
}

words! {
    /// A selection that means the same with every bookmaker.
    pub enum Outcome {
        Home = "home",
        Draw = "draw",
        Away = "away",
        Player1 = "p1",
        Player2 = "p2",
        Over = "over",
        Under = "under",
        Yes = "yes",
        No = "no",
    }
}

impl Outcome {
    /// The sets of outcomes of which exactly one comes true.
    pub const COMPLETE_SETS: [&[Self]; 5] = [
        &[Self::Home, Self::Draw, Self::Away],
        &[Self::Home, Self::Away],
        &[Self::Player1, Self::Player2],
        &[Self::Over, Self::Under],
        &[Self::Yes, Self::No],
    ];
}

/// What changed on one selection; what is omitted did not.
#[derive(Debug, Clone, PartialEq, Default)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "SelectionPrices"))]
pub struct SelectionChange {
    pub id: Arc<str>,
    /// A bookmaker's one price. Exchanges have ladders instead, and the best of them is the price.
    #[serde(default, with = "number::optional", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Number>"))]
    #[borsh(serialize_with = "codec::decimal::write", deserialize_with = "codec::decimal::read")]
    pub price: Option<Decimal>,
    /// Last traded price.
    #[serde(default, with = "number::optional", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Number>"))]
    #[borsh(serialize_with = "codec::decimal::write", deserialize_with = "codec::decimal::read")]
    pub last: Option<Decimal>,
    /// Matched on this selection so far.
    #[serde(default, with = "number::optional", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Number>"))]
    #[borsh(serialize_with = "codec::decimal::write", deserialize_with = "codec::decimal::read")]
    pub volume: Option<Decimal>,
    /// The projected starting price of all bets, those at a price too; 0 if there is none any more.
    #[serde(default, with = "number::optional", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Number>"))]
    #[borsh(serialize_with = "codec::decimal::write", deserialize_with = "codec::decimal::read")]
    pub near_price: Option<Decimal>,
    /// The projected starting price of the bets at starting price alone; 0 if there is none any more.
    #[serde(default, with = "number::optional", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Number>"))]
    #[borsh(serialize_with = "codec::decimal::write", deserialize_with = "codec::decimal::read")]
    pub far_price: Option<Decimal>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub back: Vec<Level>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lay: Vec<Level>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traded: Vec<Level>,
}

/// One rung of a ladder: price and the whole size at it, `["1.90", "250"]`. Size `"0"` removes the
/// rung.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(from = "line::Rung", into = "line::Rung")]
pub struct Level {
    #[borsh(serialize_with = "codec::decimal::write", deserialize_with = "codec::decimal::read")]
    pub price: Decimal,
    #[borsh(serialize_with = "codec::decimal::write", deserialize_with = "codec::decimal::read")]
    pub size: Decimal,
}

/// How lines write a rung.
mod line {
    use serde::{Deserialize, Serialize};

    use super::Number;

    #[derive(Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[cfg_attr(feature = "schema", schemars(rename = "Level"))]
    pub(super) struct Rung(pub Number, pub Number);

    impl From<Rung> for super::Level {
        fn from(Rung(Number(price), Number(size)): Rung) -> Self {
            Self { price, size }
        }
    }

    impl From<super::Level> for Rung {
        fn from(super::Level { price, size }: super::Level) -> Self {
            Self(Number(price), Number(size))
        }
    }
}

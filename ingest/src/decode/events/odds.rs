//! What a line can tell of a bookmaker's market.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Number;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Odds {
    /// The bookmaker's slug, part of a channel's name: lower-case letters, digits, `-`, `_`, `.`.
    #[schemars(regex(pattern = r"^[a-z0-9._-]{1,64}$"))]
    pub book: String,
    /// The bookmaker's own id of the market, opaque.
    pub market: String,
    pub change: Change,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Change {
    /// The whole definition; it replaces the one before. Prices stay.
    Define(Definition),
    /// Forget every price, ladder and volume of the market.
    Clear,
    /// What changed; what is left out did not.
    Prices {
        #[serde(default)]
        selections: Vec<SelectionPrices>,
        /// Matched on the whole market so far.
        #[serde(skip_serializing_if = "Option::is_none")]
        volume: Option<Number>,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// `match_winner`, `over_under`, `both_teams_to_score`, `asian_handicap`, or a name of your own.
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The line of a market that has one: `"2.5"` goals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<Number>,
    /// The part of the match that it is about; absent means the whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<String>,
    pub status: MarketStatus,
    #[serde(default)]
    pub in_play: bool,
    pub selections: Vec<Selection>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Selection {
    pub id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub status: SelectionStatus,
    /// What it stands for, where all bookmakers have the same: then it is part of the consensus.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SelectionPrices {
    pub id: String,
    /// A bookmaker's one price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<Number>,
    /// Last traded price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<Number>,
    /// Matched on this selection so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume: Option<Number>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub back: Vec<Level>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lay: Vec<Level>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traded: Vec<Level>,
}

/// One rung of a ladder: price and the whole size at it, `["1.90", "250"]`. Size `"0"` takes the
/// rung away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Level(pub Number, pub Number);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MarketStatus {
    Inactive,
    Open,
    Suspended,
    Closed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SelectionStatus {
    Active,
    Winner,
    Loser,
    Removed,
}

/// A selection that means the same with every bookmaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Home,
    Draw,
    Away,
    P1,
    P2,
    Over,
    Under,
    Yes,
    No,
}

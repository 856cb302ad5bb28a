//! What a bookmaker can tell of the markets of a match.

use std::sync::Arc;

use rust_decimal::Decimal;

/// What one bookmaker says of one market of the match.
#[derive(Debug, Clone, PartialEq)]
pub struct OddsFact {
    /// The bookmaker's slug: `betfair`, `pinnacle`.
    pub book: Arc<str>,
    /// The bookmaker's own id of the market, opaque.
    pub market: Arc<str>,
    pub change: MarketChange,
}

#[derive(Debug, Clone, PartialEq)]
pub enum MarketChange {
    /// The whole definition; it replaces the one before. Prices stay.
    Define(MarketDefinition),
    /// Forget every price, ladder and volume of the market: an image follows.
    Clear,
    Prices {
        selections: Vec<SelectionChange>,
        /// Matched on the whole market so far.
        volume: Option<Decimal>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct MarketDefinition {
    /// Our name for the kind of market where we know it (`match_winner`, `over_under`,
    /// `both_teams_to_score`, `asian_handicap`), else the provider's own in lower case.
    pub kind: Arc<str>,
    pub name: Option<Arc<str>>,
    /// The line of a market that has one: 2.5 goals.
    pub line: Option<Decimal>,
    /// The part of the match that it is about; absent means the whole.
    pub period: Option<Arc<str>>,
    pub status: MarketStatus,
    pub in_play: bool,
    pub selections: Vec<SelectionDefinition>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MarketStatus {
    Inactive,
    Open,
    Suspended,
    Closed,
}

impl MarketStatus {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Inactive => "inactive",
            Self::Open => "open",
            Self::Suspended => "suspended",
            Self::Closed => "closed",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectionDefinition {
    /// The provider's id; `id@handicap` where it exists once for each handicap.
    pub id: Arc<str>,
    pub name: Option<Arc<str>>,
    pub status: SelectionStatus,
    /// What it stands for, where all bookmakers have the same: then it is part of the consensus.
    pub outcome: Option<Outcome>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SelectionStatus {
    Active,
    Winner,
    Loser,
    Removed,
}

impl SelectionStatus {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Winner => "winner",
            Self::Loser => "loser",
            Self::Removed => "removed",
        }
    }
}

/// A selection that means the same with every bookmaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    Home,
    Draw,
    Away,
    Player1,
    Player2,
    Over,
    Under,
    Yes,
    No,
}

impl Outcome {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Home => "home",
            Self::Draw => "draw",
            Self::Away => "away",
            Self::Player1 => "p1",
            Self::Player2 => "p2",
            Self::Over => "over",
            Self::Under => "under",
            Self::Yes => "yes",
            Self::No => "no",
        }
    }
}

/// What changed on one selection; what is `None` or empty did not.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SelectionChange {
    pub id: Arc<str>,
    /// A bookmaker's one price. Exchanges have ladders instead, and the best of them is the price.
    pub price: Option<Decimal>,
    /// Last traded price.
    pub last: Option<Decimal>,
    /// Matched on this selection so far.
    pub volume: Option<Decimal>,
    pub back: Vec<Level>,
    pub lay: Vec<Level>,
    pub traded: Vec<Level>,
}

/// One rung of a ladder: the whole size at a price. Size 0 takes the rung away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    pub price: Decimal,
    pub size: Decimal,
}

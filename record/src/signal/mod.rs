//! Signals: findings from the odds of all bookmakers and the state of play.
//!
//! In: the quotes of one market whenever one of them changes, where the ball is, who won a point. Out:
//! [`SignalChange`]s, by which signals begin, change and end. Pure state, a [`SignalTracker`] for each match; time is
//! passed in, so that a recording gives the same signals at whatever speed it is played.
//!
//! | kind | it is so while | source |
//! |---|---|---|
//! | [`SignalKind::Arbitrage`] | the best prices of all outcomes, of whatever bookmakers, add up to less than a fair book: the sum of 1/price is below 1, exactly | definition of a sure bet; stakes in proportion to 1/price pay the same whatever comes true |
//! | [`SignalKind::PriceGap`] | one bookmaker's price is higher than the next best one's by `gap_percent` | |
//! | [`SignalKind::Value`] | the best price times the fair probability is 1 + `value_percent` or more; fair are the medians' 1/price, divided by their sum | multiplicative removal of the margin, as in Clarke, Kovalchik and Ingram, *Adjusting bookmaker's odds to allow for overround*, 2017 |
//! | [`SignalKind::Steam`] | within `steam_ms` so many bookmakers have moved the price of an outcome one way by `steam_percent`, and none has moved it the other way | |
//! | [`SignalKind::Suspended`] | one bookmaker has suspended a market in which several others trade | |
//! | [`SignalKind::Momentum`] | one side has most of the attacks of the last minutes, or of the last points | see [`momentum`] |

mod board;
mod market;
pub mod momentum;
mod names;
mod record;
mod steam;
mod watch;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use fanout::Micros;
use ingest::event::{Id, Outcome};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

pub use self::{
    board::SignalBoard,
    record::SignalRecord,
    watch::{SignalChange, SignalTracker},
};

/// The thresholds of signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignalSettings {
    /// Bookmakers that must quote an outcome for gaps, values and suspensions.
    pub bookmakers_min: usize,
    /// In hundredths of a percent, as all shares here.
    pub gap: u32,
    pub value: u32,
    pub steam: u32,
    pub steam_bookmakers_min: usize,
    /// In microseconds.
    pub steam_window_us: Micros,
}

impl Default for SignalSettings {
    fn default() -> Self {
        Self {
            bookmakers_min: 3,
            gap: 500,
            value: 500,
            steam: 200,
            steam_bookmakers_min: 3,
            steam_window_us: 60_000_000,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalKind {
    Arbitrage,
    PriceGap,
    Value,
    Steam,
    Suspended,
    Momentum,
}

impl SignalKind {
    pub const ALL: [Self; 6] = [
        Self::Arbitrage,
        Self::PriceGap,
        Self::Value,
        Self::Steam,
        Self::Suspended,
        Self::Momentum,
    ];

    /// Its name in answers, on the channel and in the archive.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Arbitrage => "arbitrage",
            Self::PriceGap => "price_gap",
            Self::Value => "value",
            Self::Steam => "steam",
            Self::Suspended => "suspended",
            Self::Momentum => "momentum",
        }
    }
}

/// The key of a market across bookmakers: its kind, its part of the match, its line.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MarketKey {
    pub kind: Arc<str>,
    pub period: Option<Arc<str>>,
    pub line: Option<Decimal>,
}

/// One bookmaker's quote of one outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote {
    pub bookmaker: Arc<str>,
    pub outcome: Outcome,
    /// Absent while none is on offer; the outcome itself is known.
    pub price: Option<Decimal>,
    pub state: QuoteState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuoteState {
    /// It can be taken.
    Open,
    /// The bookmaker itself has suspended the market.
    Suspended,
    /// Neither: closed, not open yet, or suspended by the hub.
    Unknown,
}

/// The topic of a signal; each has at most one active signal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Topic {
    pub kind: SignalKind,
    pub market: Option<MarketKey>,
    #[serde(with = "names::optional_outcome")]
    pub outcome: Option<Outcome>,
    pub bookmaker: Option<Arc<str>>,
}

/// An active signal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signal {
    pub topic: Topic,
    /// 0 to 100.
    pub strength: u8,
    pub finding: Finding,
}

/// The numbers of it. Shares are fractions of 1, rounded to four decimal places, towards zero where
/// they are a gain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    Arbitrage {
        /// What is won of all that is staked, whatever comes true.
        profit: Decimal,
        legs: Vec<Leg>,
    },
    PriceGap {
        price: Decimal,
        /// The best price of the other bookmakers, and its bookmaker.
        next: Decimal,
        next_bookmaker: Arc<str>,
        /// `price / next - 1`.
        gap: Decimal,
    },
    Value {
        price: Decimal,
        /// The price implied by the medians without their margin.
        fair_price: Decimal,
        probability: Decimal,
        /// `price * probability - 1`.
        value: Decimal,
        bookmakers: u32,
    },
    Steam {
        direction: Direction,
        /// The bookmakers that moved, ordered by name.
        bookmakers: Vec<Arc<str>>,
        /// The mean of their moves: below 0 where prices fell.
        change: Decimal,
    },
    Suspended {
        /// How many others trade.
        open: u32,
        suspended: u32,
    },
    Momentum {
        /// 0 or 1.
        side: u8,
        /// Of all attacks, or points.
        share: Decimal,
    },
}

/// One bet of an arbitrage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leg {
    #[serde(with = "names::outcome")]
    pub outcome: Outcome,
    pub bookmaker: Arc<str>,
    pub price: Decimal,
    /// The share of all that is staked; those of all legs add up to 1.
    pub stake: Decimal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Prices fall: it has become likelier.
    Shortening,
    Drifting,
}

impl Direction {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Shortening => "shortening",
            Self::Drifting => "drifting",
        }
    }
}

impl Topic {
    fn of_market(kind: SignalKind, market: &MarketKey) -> Self {
        Self { kind, market: Some(market.clone()), outcome: None, bookmaker: None }
    }

    /// The digest of the signal of this match that began then.
    #[must_use]
    pub fn id(&self, of: Id, began: Micros) -> Id {
        let Self { kind, market, outcome, bookmaker } = self;
        let market = market.as_ref().map(MarketKey::to_string).unwrap_or_default();
        let outcome = outcome.map(Outcome::as_str).unwrap_or_default();
        let bookmaker = bookmaker.as_deref().unwrap_or_default();
        let kind = kind.as_str();
        let key = format!("{of}|{kind}|{market}|{outcome}|{bookmaker}|{began}");
        Id::derive("matchwire", "signal", &key)
    }
}

impl std::fmt::Display for MarketKey {
    /// As on the consensus channel: `over_under@2.5`, `match_winner:1h`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.kind)?;
        if let Some(period) = &self.period {
            write!(f, ":{period}")?;
        }
        if let Some(line) = self.line {
            write!(f, "@{line}")?;
        }
        Ok(())
    }
}

/// A fraction of 1 as hundredths of a percent.
fn basis_points(share: Decimal) -> Decimal {
    share * Decimal::from(10_000)
}

/// Full strength at `full`, a fraction of 1.
fn strength(share: Decimal, full: Decimal) -> u8 {
    use rust_decimal::prelude::ToPrimitive;
    let hundredths = share.abs() / full * Decimal::ONE_HUNDRED;
    hundredths.min(Decimal::ONE_HUNDRED).to_u8().unwrap_or(100)
}

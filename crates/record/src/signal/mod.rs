//! A signal as published on the channel, over HTTP, and in the archive.

use std::sync::Arc;

use base::Micros;
use borsh::{BorshDeserialize, BorshSerialize};
use facts::{
    codec::decimal,
    event::{Id, Outcome, Sport},
};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use crate::{EntityRef, Key, ids::first_choice};

/// A signal of a match, from its begin to its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct SignalRecord {
    pub id: Key,
    pub match_id: Key,
    pub sport: Sport,
    /// Home and away; absent if unknown.
    pub sides: Option<[EntityRef; 2]>,
    pub began: Micros,
    /// When its numbers changed last.
    pub updated: Micros,
    /// Absent while it is active.
    pub ended: Option<Micros>,
    pub signal: Signal,
}

impl SignalRecord {
    /// A signal that has begun, under the first number that it may have; see [`Self::digest`].
    #[must_use]
    pub fn new(
        match_id: Id,
        sport: Sport,
        sides: Option<[EntityRef; 2]>,
        began: Micros,
        signal: Signal,
    ) -> Arc<Self> {
        Arc::new(Self {
            id: first_choice(signal.topic.id(match_id, began).0),
            match_id: match_id.0,
            sport,
            sides,
            began,
            updated: began,
            ended: None,
            signal,
        })
    }

    /// Identifies the signal by match, topic and begin.
    #[must_use]
    pub fn digest(&self) -> Id {
        self.signal.topic.id(Id(self.match_id), self.began)
    }
}

base::words! {
    /// The kind of a signal, with its name in answers, on the channel and in the archive.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum SignalKind {
        Arbitrage = "arbitrage",
        PriceGap = "price_gap",
        Value = "value",
        Steam = "steam",
        Suspended = "suspended",
        Momentum = "momentum",
    }
}

/// The key of a market across bookmakers: its kind, its part of the match, its line.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct MarketKey {
    pub kind: Arc<str>,
    pub period: Option<Arc<str>>,
    #[borsh(serialize_with = "decimal::write", deserialize_with = "decimal::read")]
    pub line: Option<Decimal>,
}

/// The topic of a signal; each has at most one active signal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct Topic {
    pub kind: SignalKind,
    pub market: Option<MarketKey>,
    pub outcome: Option<Outcome>,
    pub bookmaker: Option<Arc<str>>,
}

/// An active signal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct Signal {
    pub topic: Topic,
    /// 0 to 100.
    pub strength: u8,
    pub finding: Finding,
}

/// The numbers of it. Shares are fractions of 1, rounded to four decimal places, towards zero where
/// they are a gain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    Arbitrage {
        /// The profit as a share of the total stake, for every outcome, after commission.
        #[borsh(serialize_with = "decimal::write", deserialize_with = "decimal::read")]
        profit: Decimal,
        legs: Vec<Leg>,
    },
    PriceGap {
        #[borsh(serialize_with = "decimal::write", deserialize_with = "decimal::read")]
        price: Decimal,
        /// The best price of the other bookmakers, and its bookmaker.
        #[borsh(serialize_with = "decimal::write", deserialize_with = "decimal::read")]
        next: Decimal,
        next_bookmaker: Arc<str>,
        /// `price / next - 1`, both after commission.
        #[borsh(serialize_with = "decimal::write", deserialize_with = "decimal::read")]
        gap: Decimal,
        /// What the bookmaker takes of what a bet wins, as a fraction; 0 of most.
        #[serde(default, skip_serializing_if = "Decimal::is_zero")]
        #[borsh(serialize_with = "decimal::write", deserialize_with = "decimal::read")]
        commission: Decimal,
        /// The same of the next best.
        #[serde(default, skip_serializing_if = "Decimal::is_zero")]
        #[borsh(serialize_with = "decimal::write", deserialize_with = "decimal::read")]
        next_commission: Decimal,
    },
    Value {
        #[borsh(serialize_with = "decimal::write", deserialize_with = "decimal::read")]
        price: Decimal,
        /// The price implied by the medians without their margin.
        #[borsh(serialize_with = "decimal::write", deserialize_with = "decimal::read")]
        fair_price: Decimal,
        #[borsh(serialize_with = "decimal::write", deserialize_with = "decimal::read")]
        probability: Decimal,
        /// `price * probability - 1`, the price after commission.
        #[borsh(serialize_with = "decimal::write", deserialize_with = "decimal::read")]
        value: Decimal,
        /// As of a price gap.
        #[serde(default, skip_serializing_if = "Decimal::is_zero")]
        #[borsh(serialize_with = "decimal::write", deserialize_with = "decimal::read")]
        commission: Decimal,
        bookmakers: u32,
    },
    Steam {
        direction: Direction,
        /// The bookmakers that moved, ordered by name.
        bookmakers: Vec<Arc<str>>,
        /// The mean of their moves: below 0 where prices fell.
        #[borsh(serialize_with = "decimal::write", deserialize_with = "decimal::read")]
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
        #[borsh(serialize_with = "decimal::write", deserialize_with = "decimal::read")]
        share: Decimal,
    },
}

/// One bet of an arbitrage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct Leg {
    pub outcome: Outcome,
    pub bookmaker: Arc<str>,
    #[borsh(serialize_with = "decimal::write", deserialize_with = "decimal::read")]
    pub price: Decimal,
    /// What the bookmaker takes of what the bet wins, as a fraction; 0 of most.
    #[serde(default, skip_serializing_if = "Decimal::is_zero")]
    #[borsh(serialize_with = "decimal::write", deserialize_with = "decimal::read")]
    pub commission: Decimal,
    /// The share of all that is staked; those of all legs add up to 1.
    #[borsh(serialize_with = "decimal::write", deserialize_with = "decimal::read")]
    pub stake: Decimal,
}

base::words! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Direction {
        /// Prices fall: it has become likelier.
        Shortening = "shortening",
        Drifting = "drifting",
    }
}

impl Topic {
    /// The topic of a whole market.
    #[must_use]
    pub fn of_market(kind: SignalKind, market: &MarketKey) -> Self {
        Self { kind, market: Some(market.clone()), outcome: None, bookmaker: None }
    }

    /// The topic of one bookmaker's price of one outcome.
    #[must_use]
    pub fn of_price(
        kind: SignalKind,
        market: &MarketKey,
        outcome: Outcome,
        bookmaker: &Arc<str>,
    ) -> Self {
        let (outcome, bookmaker) = (Some(outcome), Some(Arc::clone(bookmaker)));
        Self { outcome, bookmaker, ..Self::of_market(kind, market) }
    }

    /// The digest of the signal of this match that began then.
    #[must_use]
    pub fn id(&self, match_id: Id, began: Micros) -> Id {
        let Self { kind, market, outcome, bookmaker } = self;
        let market = market.as_ref().map(MarketKey::to_string).unwrap_or_default();
        let outcome = outcome.map(Outcome::as_str).unwrap_or_default();
        let bookmaker = bookmaker.as_deref().unwrap_or_default();
        let kind = kind.as_str();
        let key = format!("{match_id}|{kind}|{market}|{outcome}|{bookmaker}|{began}");
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

//! `[signals]`: the thresholds of signals from odds.

use std::collections::BTreeMap;

use rust_decimal::{Decimal, prelude::ToPrimitive};
use serde::{Deserialize, Serialize};

use crate::signals::SignalSettings;
use base::config::{BoundExceeded, at_most, micros};

/// `[signals]`: thresholds of signals (docs/SIGNALS.md). Settings that end with `_bp` are in basis points, hundredths
/// of a percent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SignalsConfig {
    /// Bookmakers that must quote an outcome before price gaps and values are reported, or trade in a market before
    /// suspensions are. Default 3, at most 1000.
    pub bookmakers_min: usize,
    /// How far the best price must be above the next best, in basis points. Default 500: 5 %; at most 100000.
    pub price_gap_bp: u32,
    /// The expected profit of a bet at the best price, by the medians' fair probability, in basis points. Default
    /// 500: 5 %; at most 100000.
    pub value_bp: u32,
    /// How far each bookmaker has to move a price in one direction, in basis points of it. Default 200: 2 %; at most
    /// 10000.
    pub steam_bp: u32,
    /// Bookmakers that have to move the price. Default 3.
    pub steam_bookmakers_min: usize,
    /// Milliseconds within which they have to. Default 60000, at most an hour. The changes within
    /// that time are kept in memory: about 30 bytes each, up to 64 per price.
    pub steam_ms: u64,
    /// The least profit of an arbitrage after commission, as a fraction of all that is staked, to four places. A number or
    /// text. Default 0.001: 0.1 %.
    pub profit_min: Decimal,
    /// What bookmakers take of what a bet wins, as a fraction by slug. Without an entry: the rate that the feed
    /// states for the market, else the published base rate of an exchange (`betfair`, `betfair_ex_au`,
    /// `betfair_ex_eu`, `betfair_ex_uk` 0.05, `matchbook` 0.04, `betdaq`, `smarkets` 0.02), else 0.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub commission: BTreeMap<String, Decimal>,
}

impl Default for SignalsConfig {
    fn default() -> Self {
        Self {
            bookmakers_min: 3,
            price_gap_bp: 500,
            value_bp: 500,
            steam_bp: 200,
            steam_bookmakers_min: 3,
            steam_ms: 60_000,
            profit_min: Decimal::new(1, 3),
            commission: BTreeMap::new(),
        }
    }
}

impl SignalsConfig {
    /// Checks that each threshold can be reached.
    pub fn check(&self) -> Result<(), BoundExceeded> {
        // A price may exceed 1000, but is never ten times as high as the next best of the same
        // match.
        at_most(("signals.price_gap_bp", self.price_gap_bp.into()), ("ten times", 100_000))?;
        at_most(("signals.value_bp", self.value_bp.into()), ("ten times", 100_000))?;
        // No price falls by more than its whole value.
        at_most(("signals.steam_bp", self.steam_bp.into()), ("the whole price", 10_000))?;
        at_most(("signals.bookmakers_min", self.bookmakers_min as u64), ("a thousand", 1_000))?;
        let steam_bookmakers = ("signals.steam_bookmakers_min", self.steam_bookmakers_min as u64);
        at_most(steam_bookmakers, ("a thousand", 1_000))?;
        at_most(("signals.steam_ms", self.steam_ms), ("an hour", 3_600_000))
    }

    /// A fraction that cannot be one: the name of its setting, and what it must be.
    #[must_use]
    pub fn problem(&self) -> Option<(&'static str, &'static str)> {
        if parts(self.profit_min, 4).is_none() {
            return Some(("signals.profit_min", "a fraction from 0 to 1 with at most four places"));
        }
        let is_wrong = |share: &Decimal| parts(*share, 6).is_none() || *share == Decimal::ONE;
        let expected = "fractions of at least 0 and less than 1 with at most six places";
        self.commission.values().any(is_wrong).then_some(("signals.commission", expected))
    }

    /// The thresholds in the form that the signal engine takes.
    #[must_use]
    pub fn settings(&self) -> SignalSettings {
        SignalSettings {
            bookmakers_min: self.bookmakers_min,
            gap: self.price_gap_bp,
            value: self.value_bp,
            steam: self.steam_bp,
            steam_bookmakers_min: self.steam_bookmakers_min,
            steam_window_us: micros(self.steam_ms),
            profit_min: parts(self.profit_min, 4).unwrap_or_default(),
            commissions: { self.commission.iter() }
                .filter_map(|(slug, share)| Some((slug.as_str().into(), parts(*share, 6)?)))
                .collect(),
        }
    }
}

/// A fraction from 0 to 1 in parts of ten to the power of `places`; `None` of others, and of more places.
fn parts(share: Decimal, places: u32) -> Option<u32> {
    let parts = share.checked_mul(Decimal::from(10_u32.pow(places)))?;
    let fits = share <= Decimal::ONE && parts.is_integer();
    parts.to_u32().filter(|_| fits)
}

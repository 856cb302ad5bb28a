//! Signals: findings from the odds of all bookmakers and the state of play.
//!
//! In: the quotes of one market whenever one of them changes, where the ball is, who won a point. Out:
//! [`SignalChange`]s, by which signals begin, change and end. Pure state, a [`SignalTracker`] for each match; time is
//! passed in, so that a recording gives the same signals at any playback speed.
//!
//! | kind | it is so while | source |
//! |---|---|---|
//! | [`SignalKind::Arbitrage`] | the best prices of all outcomes, from any bookmakers, add up to less than a fair book, after commission: 1 divided by the sum of 1/price is 1 + `profit_min` or more, by whole numbers | definition of a sure bet; stakes in proportion to 1/price pay the same for every outcome |
//! | [`SignalKind::PriceGap`] | one bookmaker's price is higher than the next best one's by `gap_percent`, after commission | |
//! | [`SignalKind::Value`] | the best price after commission times the fair probability is 1 + `value_percent` or more; fair are the medians' 1/price, divided by their sum | multiplicative removal of the margin, as in Clarke, Kovalchik and Ingram, *Adjusting bookmaker's odds to allow for overround*, 2017 |
//! | [`SignalKind::Steam`] | within `steam_ms` so many bookmakers have moved the price of an outcome one way by `steam_percent`, and none has moved it the other way | |
//! | [`SignalKind::Suspended`] | one bookmaker has suspended a market in which several others trade | |
//! | [`SignalKind::Momentum`] | one side has most of the attacks of the last minutes, or of the last points | see [`momentum`] |
//!
//! A commission is taken of what a bet wins: of a price `p` and a commission `c` a bet gets 1 + (p - 1)(1 - c).

mod market;
pub mod momentum;
mod steam;
mod watch;

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, sync::Arc};

use borsh::{BorshDeserialize, BorshSerialize};
use facts::event::Outcome;
use fanout::Micros;
use rust_decimal::Decimal;

use crate::config::SignalsConfig;

pub use self::watch::{SignalChange, SignalTracker};
pub use record::signal::{
    Direction, Finding, Leg, MarketKey, Signal, SignalKind, SignalRecord, Topic,
};

/// The thresholds of signals.
#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
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
    /// The least profit of an arbitrage. One of less than a hundredth of a percent is never reported: rounded American
    /// prices could make up some ten-thousandth of that.
    pub profit_min: u32,
    /// The commissions that the operator has set, by the bookmaker's slug, in millionths of what a bet wins.
    pub commissions: BTreeMap<Arc<str>, u32>,
}

/// The published base rates of exchanges, by the bookmaker's slug, in percent of what is won in a market. Matchbook
/// takes 2 % in some countries: the higher rate makes no false profit.
const BASE_RATES: [(&str, i64); 7] = [
    ("betdaq", 2),
    ("betfair", 5),
    ("betfair_ex_au", 5),
    ("betfair_ex_eu", 5),
    ("betfair_ex_uk", 5),
    ("matchbook", 4),
    ("smarkets", 2),
];

impl SignalSettings {
    /// The part of what a bet wins that the bookmaker takes, as a fraction: as set, else as the feed says of the market
    /// (`market_base_rate`, in percent), else the published base rate, else 0.
    #[must_use]
    pub fn commission(&self, bookmaker: &str, market_base_rate: Option<Decimal>) -> Decimal {
        if let Some(millionths) = self.commissions.get(bookmaker) {
            return Decimal::new((*millionths).into(), 6).normalize();
        }
        let published = BASE_RATES.iter().find(|(slug, _)| *slug == bookmaker);
        let percent =
            market_base_rate.filter(|rate| (Decimal::ZERO..Decimal::ONE_HUNDRED).contains(rate));
        let percent = percent.or_else(|| published.map(|(_, percent)| (*percent).into()));
        percent.unwrap_or_default() / Decimal::ONE_HUNDRED
    }
}

impl Default for SignalSettings {
    fn default() -> Self {
        SignalsConfig::default().settings()
    }
}

/// One bookmaker's quote of one outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote {
    pub bookmaker: Arc<str>,
    pub outcome: Outcome,
    /// Absent while none is on offer; the outcome itself is known.
    pub price: Option<Decimal>,
    /// What the bookmaker takes of what a bet wins, as a fraction; see [`SignalSettings::commission`].
    pub commission: Decimal,
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

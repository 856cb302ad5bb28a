//! Signals: findings from the odds of all bookmakers and the state of play.
//!
//! In: the quotes of one market whenever one of them changes, where the ball is, who won a point. Out:
//! [`SignalChange`]s, by which signals begin, change and end. Pure state, a [`SignalTracker`] for each match; time is
//! passed in, so that a recording gives the same signals at any playback speed.
//!
//! | kind | it is so while | source |
//! |---|---|---|
//! | [`SignalKind::Arbitrage`] | the best prices of all outcomes, from any bookmakers, add up to less than a fair book: the sum of 1/price is below 1, exactly | definition of a sure bet; stakes in proportion to 1/price pay the same for every outcome |
//! | [`SignalKind::PriceGap`] | one bookmaker's price is higher than the next best one's by `gap_percent` | |
//! | [`SignalKind::Value`] | the best price times the fair probability is 1 + `value_percent` or more; fair are the medians' 1/price, divided by their sum | multiplicative removal of the margin, as in Clarke, Kovalchik and Ingram, *Adjusting bookmaker's odds to allow for overround*, 2017 |
//! | [`SignalKind::Steam`] | within `steam_ms` so many bookmakers have moved the price of an outcome one way by `steam_percent`, and none has moved it the other way | |
//! | [`SignalKind::Suspended`] | one bookmaker has suspended a market in which several others trade | |
//! | [`SignalKind::Momentum`] | one side has most of the attacks of the last minutes, or of the last points | see [`momentum`] |

mod market;
pub mod momentum;
mod steam;
mod watch;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use facts::event::Outcome;
use fanout::Micros;
use rust_decimal::Decimal;

pub use self::watch::{SignalChange, SignalTracker};
pub use record::signal::{
    Direction, Finding, Leg, MarketKey, Signal, SignalKind, SignalRecord, Topic,
};

/// The thresholds of signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
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

//! The messages of the Betfair Exchange Stream, in Betfair's own words.
//!
//! Strings are borrowed from the line. What a message does not say is `None` or empty, which means
//! "unchanged", never "zero".

use std::borrow::Cow;

use facts::decimal::is_equal;
use rust_decimal::Decimal;

use crate::error::DecodeError;

/// One market change message (`op: mcm`).
#[derive(Debug, Default)]
pub struct MarketMessage<'a> {
    /// Echo of the subscription's request id; live streams only.
    pub id: Option<u64>,
    /// Opaque resume tokens, to be given back with a new subscription.
    pub initial_clk: Option<Cow<'a, str>>,
    pub clk: Option<Cow<'a, str>>,
    /// When Betfair published it, in milliseconds since the Unix epoch, UTC.
    pub pt: Option<i64>,
    pub ct: ChangeType,
    pub heartbeat_ms: Option<u64>,
    pub conflate_ms: Option<u64>,
    pub segment: Option<Segment>,
    /// 503 while Betfair's own source lags behind.
    pub status: Option<u64>,
    pub mc: Vec<StreamMarketChange<'a>>,
    /// Elements of the six ladders of offers and last traded prices, those refused included.
    pub price_changes: u32,
    /// What could not be used; the rest of the message can. Never more than
    /// [`super::REFUSED_MAX`].
    pub refused: Vec<DecodeError>,
}

/// What a message is to what the receiver holds (`ct`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChangeType {
    /// Absent, or `UPDATE`.
    #[default]
    Update,
    /// The first image of a subscription.
    SubImage,
    /// What was missed, after a resume.
    ResubDelta,
    /// Nothing happened.
    Heartbeat,
}

/// The place of a message in one that was cut in pieces (`segmentType`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segment {
    Start,
    Middle,
    End,
}

/// What changed on one market.
#[derive(Debug, Default)]
pub struct StreamMarketChange<'a> {
    pub id: Cow<'a, str>,
    /// The whole market follows: forget what was known of it.
    pub img: bool,
    /// Several changes were merged into this one.
    pub con: bool,
    /// Matched on the whole market so far.
    pub tv: Option<Decimal>,
    /// Boxed, because few changes have one and every change is moved.
    pub definition: Option<Box<StreamMarketDefinition<'a>>>,
    pub rc: Vec<RunnerChange>,
}

/// Everything about a market except its prices; always complete.
#[derive(Debug, Clone, Default)]
pub struct StreamMarketDefinition<'a> {
    pub event_id: Option<Cow<'a, str>>,
    pub event_type_id: Option<Cow<'a, str>>,
    pub market_type: Option<Cow<'a, str>>,
    pub betting_type: Option<Cow<'a, str>>,
    pub status: Option<Cow<'a, str>>,
    pub in_play: bool,
    /// Grows with each definition: of two copies of a market, the one with the higher version holds.
    pub version: Option<u64>,
    /// ISO 8601, UTC.
    pub open_date: Option<Cow<'a, str>>,
    pub market_time: Option<Cow<'a, str>>,
    pub number_of_winners: Option<u32>,
    pub each_way_divisor: Option<Decimal>,
    /// Seconds.
    pub bet_delay: Option<u32>,
    pub bet_delay_models: Vec<Cow<'a, str>>,
    /// The commission, in percent.
    pub market_base_rate: Option<Decimal>,
    pub suspend_reason: Option<Cow<'a, str>>,
    /// Of racing: the course, and the id of the race where it is stated.
    pub venue: Option<Cow<'a, str>>,
    pub race_id: Option<Cow<'a, str>>,
    /// Names exist in historic files, and where the [catalogue](super::catalogue) has them.
    pub name: Option<Cow<'a, str>>,
    pub event_name: Option<Cow<'a, str>>,
    /// Two letters; `GB` where none is known.
    pub country_code: Option<Cow<'a, str>>,
    /// Id and name, from the catalogue.
    pub competition: Option<[Cow<'a, str>; 2]>,
    pub runners: Vec<RunnerDefinition<'a>>,
}

impl StreamMarketDefinition<'_> {
    /// The same without the line that it was read from.
    #[must_use]
    pub fn into_owned(self) -> StreamMarketDefinition<'static> {
        let owned = |text: Option<Cow<'_, str>>| text.map(into_owned);
        StreamMarketDefinition {
            event_id: owned(self.event_id),
            event_type_id: owned(self.event_type_id),
            market_type: owned(self.market_type),
            betting_type: owned(self.betting_type),
            status: owned(self.status),
            in_play: self.in_play,
            version: self.version,
            number_of_winners: self.number_of_winners,
            each_way_divisor: self.each_way_divisor,
            bet_delay: self.bet_delay,
            bet_delay_models: self.bet_delay_models.into_iter().map(into_owned).collect(),
            market_base_rate: self.market_base_rate,
            suspend_reason: owned(self.suspend_reason),
            venue: owned(self.venue),
            race_id: owned(self.race_id),
            open_date: owned(self.open_date),
            market_time: owned(self.market_time),
            name: owned(self.name),
            event_name: owned(self.event_name),
            country_code: owned(self.country_code),
            competition: self.competition.map(|parts| parts.map(into_owned)),
            runners: self.runners.into_iter().map(RunnerDefinition::into_owned).collect(),
        }
    }
}

impl RunnerDefinition<'_> {
    fn into_owned(self) -> RunnerDefinition<'static> {
        let owned = |text: Option<Cow<'_, str>>| text.map(into_owned);
        RunnerDefinition {
            key: self.key,
            name: owned(self.name),
            status: owned(self.status),
            sort_priority: self.sort_priority,
            adjustment_factor: self.adjustment_factor,
            removal_date: owned(self.removal_date),
            bsp: self.bsp,
        }
    }
}

#[derive(Debug, Clone, Default)]
pub struct RunnerDefinition<'a> {
    pub key: RunnerKey,
    pub name: Option<Cow<'a, str>>,
    pub status: Option<Cow<'a, str>>,
    pub sort_priority: Option<u64>,
    /// The reduction factor, in percent.
    pub adjustment_factor: Option<Decimal>,
    /// ISO 8601, UTC.
    pub removal_date: Option<Cow<'a, str>>,
    /// Betfair's starting price; 0 where there is none.
    pub bsp: Option<Decimal>,
}

fn into_owned(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}

/// A runner exists once for each handicap (`hc`); without one that is 0.
#[derive(Debug, Clone, Copy, Eq, Default)]
pub struct RunnerKey {
    pub id: u64,
    pub hc: Decimal,
}

impl PartialEq for RunnerKey {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && is_equal(self.hc, other.hc)
    }
}

/// What changed on one runner.
#[derive(Debug, Default)]
pub struct RunnerChange {
    pub key: RunnerKey,
    /// Last traded price.
    pub ltp: Option<Decimal>,
    /// Matched on this runner.
    pub tv: Option<Decimal>,
    /// The projected starting prices, near and far; 0 where there is none.
    pub spn: Option<Decimal>,
    pub spf: Option<Decimal>,
    /// Whole ladders by price: available to back, available to lay, traded.
    pub atb: Vec<PriceSize>,
    pub atl: Vec<PriceSize>,
    pub trd: Vec<PriceSize>,
    /// The best few offers by level, and the same with virtual bets as the website displays them.
    pub batb: Vec<LevelPriceSize>,
    pub batl: Vec<LevelPriceSize>,
    pub bdatb: Vec<LevelPriceSize>,
    pub bdatl: Vec<LevelPriceSize>,
}

/// The whole size at a price; 0 removes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriceSize {
    pub price: Decimal,
    pub size: Decimal,
}

/// What stands at a level, 0 being the best; size 0 removes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LevelPriceSize {
    /// Below [`super::LEVELS_MAX`].
    pub level: usize,
    pub price: Decimal,
    pub size: Decimal,
}

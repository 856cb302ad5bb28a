//! Betfair Exchange Stream API: one line to one [`MarketMessage`].
//!
//! The format is that of Betfair's stream specification (`ESASwaggerSchema.json` in
//! betfair/stream-api-sample-code). Unknown fields are skipped, absent ones and nulls mean
//! "unchanged". Numbers go from their text to a [`Decimal`] without rounding. A value that cannot
//! be used is noted and left out, and the rest of the message is used; only what is not JSON, or
//! has no known `op`, is refused whole.
//!
//! Ignored: orders (`ocm`), the bets at starting price (`spb`, `spl`), and what else there is of a
//! definition that [`StreamMarketDefinition`] does not name. The connection's own messages
//! (`connection`, `status`), which recordings do not have, are read by [`control`].

pub mod book;
pub mod catalogue;
pub mod control;
mod json;
mod message;
mod number;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, str::FromStr};

use rust_decimal::{Decimal, prelude::ToPrimitive};

use self::json::{BoxedDecodeError, Json};
pub use self::message::{
    ChangeType, LevelPriceSize, MarketMessage, PriceSize, RunnerChange, RunnerDefinition,
    RunnerKey, Segment, StreamMarketChange, StreamMarketDefinition,
};
use crate::error::{DecodeError, RefusalKind, Result};

/// Levels of a ladder by level. Betfair sends at most 10; a recorder's own may be deeper. A table
/// costs 36 bytes a level in use.
pub const LEVELS_MAX: usize = 100;

/// The most refused values reported for one message: enough to see what is wrong with it. Without a
/// limit a line of a thousand bad prices would become a thousand lines of log.
pub const REFUSED_MAX: usize = 16;

/// Bytes of an offending value that are quoted in a reason.
const QUOTED_MAX: usize = 40;

/// Reads one line; `None` for a blank one and for messages that are not about markets.
///
/// # Errors
///
/// When the line is not JSON, or its `op` or `ct` is not one of the format.
pub fn decode(line: &[u8]) -> Result<Option<MarketMessage<'_>>> {
    read(line).map_err(|fault| *fault)
}

fn read(line: &[u8]) -> Read<Option<MarketMessage<'_>>> {
    let mut decoder = Decoder::new(line)?;
    if decoder.json.peek().is_none() {
        return Ok(None);
    }
    let message = decoder.message()?;
    decoder.json.end()?;
    Ok(message)
}

struct Decoder<'a> {
    json: Json<'a>,
    price_changes: u32,
    refused: Vec<DecodeError>,
}

type Read<T> = Result<T, BoxedDecodeError>;

impl<'a> Decoder<'a> {
    fn new(line: &'a [u8]) -> Read<Self> {
        Ok(Self { json: Json::new(line)?, price_changes: 0, refused: Vec::new() })
    }

    fn message(&mut self) -> Read<Option<MarketMessage<'a>>> {
        let mut op = None;
        let mut message = MarketMessage::default();
        self.json.open(b'{')?;
        while let Some(key) = self.json.key()? {
            match key {
                "op" => op = self.text("op")?,
                "id" => message.id = self.integer("id")?,
                "initialClk" => message.initial_clk = self.text("initialClk")?,
                "clk" => message.clk = self.text("clk")?,
                "pt" => message.pt = self.integer("pt")?,
                "ct" => message.ct = self.change_type()?,
                "heartbeatMs" => message.heartbeat_ms = self.integer("heartbeatMs")?,
                "conflateMs" => message.conflate_ms = self.integer("conflateMs")?,
                "segmentType" => message.segment = self.segment()?,
                "status" => message.status = self.integer("status")?,
                "mc" => message.mc = self.list("mc", Self::market_change)?,
                _ => self.json.skip()?,
            }
        }
        message.price_changes = self.price_changes;
        message.refused = std::mem::take(&mut self.refused);
        Ok(speaks_of_markets(op.as_deref())?.then_some(message))
    }

    fn change_type(&mut self) -> Read<ChangeType> {
        match self.text("ct")?.as_deref() {
            None | Some("UPDATE") => Ok(ChangeType::Update),
            Some("SUB_IMAGE") => Ok(ChangeType::SubImage),
            Some("RESUB_DELTA") => Ok(ChangeType::ResubDelta),
            Some("HEARTBEAT") => Ok(ChangeType::Heartbeat),
            Some(other) => Err(Box::new(value(format!("ct {} is not known", quoted(other))))),
        }
    }

    fn segment(&mut self) -> Read<Option<Segment>> {
        Ok(match self.text("segmentType")?.as_deref() {
            Some("SEG_START") => Some(Segment::Start),
            Some("SEG") => Some(Segment::Middle),
            Some("SEG_END") => Some(Segment::End),
            Some(_) | None => None,
        })
    }

    fn market_change(&mut self) -> Read<Option<StreamMarketChange<'a>>> {
        let mut id = None;
        let mut change = StreamMarketChange::default();
        self.json.open(b'{')?;
        while let Some(key) = self.json.key()? {
            match key {
                "id" => id = self.text("market id")?,
                "img" => change.img = self.flag("img")?,
                "con" => change.con = self.flag("con")?,
                "tv" => change.tv = self.amount("market tv")?,
                "marketDefinition" => change.definition = self.definition()?,
                "rc" => change.rc = self.list("rc", Self::runner_change)?,
                _ => self.json.skip()?,
            }
        }
        let Some(id) = self.or_refuse(id, "a market change has no id") else { return Ok(None) };
        change.id = id;
        Ok(Some(change))
    }

    fn definition(&mut self) -> Read<Option<Box<StreamMarketDefinition<'a>>>> {
        if !self.is(b'{', "marketDefinition")? {
            return Ok(None);
        }
        let mut definition = Box::<StreamMarketDefinition<'a>>::default();
        self.json.open(b'{')?;
        while let Some(key) = self.json.key()? {
            match key {
                "eventId" => definition.event_id = self.text("eventId")?,
                "eventTypeId" => definition.event_type_id = self.text("eventTypeId")?,
                "marketType" => definition.market_type = self.text("marketType")?,
                "bettingType" => definition.betting_type = self.text("bettingType")?,
                "status" => definition.status = self.text("market status")?,
                "version" => definition.version = self.integer("version")?,
                "inPlay" => definition.in_play = self.flag("inPlay")?,
                "numberOfWinners" => {
                    definition.number_of_winners = self.integer("numberOfWinners")?;
                }
                "eachWayDivisor" => definition.each_way_divisor = self.amount("eachWayDivisor")?,
                "betDelay" => definition.bet_delay = self.integer("betDelay")?,
                "betDelayModels" => {
                    let model = |decoder: &mut Self| decoder.text("betDelayModels");
                    definition.bet_delay_models = self.list("betDelayModels", model)?;
                }
                "marketBaseRate" => definition.market_base_rate = self.amount("marketBaseRate")?,
                "suspendReason" => definition.suspend_reason = self.text("suspendReason")?,
                "venue" => definition.venue = self.text("venue")?,
                "raceId" => definition.race_id = self.text("raceId")?,
                "openDate" => definition.open_date = self.text("openDate")?,
                "marketTime" => definition.market_time = self.text("marketTime")?,
                "name" => definition.name = self.text("market name")?,
                "countryCode" => definition.country_code = self.text("countryCode")?,
                "eventName" => definition.event_name = self.text("eventName")?,
                "runners" => definition.runners = self.list("runners", Self::runner_definition)?,
                _ => self.json.skip()?,
            }
        }
        Ok(Some(definition))
    }

    fn runner_definition(&mut self) -> Read<Option<RunnerDefinition<'a>>> {
        let (mut id, mut hc) = (None, Some(Decimal::ZERO));
        let mut runner = RunnerDefinition::default();
        self.json.open(b'{')?;
        while let Some(key) = self.json.key()? {
            match key {
                "id" => id = self.integer("runner id")?,
                "hc" => hc = self.handicap("hc")?,
                "name" => runner.name = self.text("runner name")?,
                "status" => runner.status = self.text("runner status")?,
                "sortPriority" => runner.sort_priority = self.integer("sortPriority")?,
                "adjustmentFactor" => {
                    runner.adjustment_factor = self.amount("adjustmentFactor")?;
                }
                "removalDate" => runner.removal_date = self.text("removalDate")?,
                "bsp" => runner.bsp = self.starting_price("bsp")?,
                _ => self.json.skip()?,
            }
        }
        let Some(id) = self.or_refuse(id, "a defined runner has no id") else { return Ok(None) };
        Ok(hc.map(|hc| RunnerDefinition { key: RunnerKey { id, hc }, ..runner }))
    }

    /// The handicap of a runner, which a null leaves at 0; `None` if it is refused: then nobody knows which runner is meant.
    fn handicap(&mut self, what: &str) -> Read<Option<Decimal>> {
        let is_null = self.json.peek() == Some(b'n');
        let handicap = self.decimal(what)?;
        Ok(if is_null { Some(Decimal::ZERO) } else { handicap })
    }

    fn runner_change(&mut self) -> Read<Option<RunnerChange>> {
        let (mut id, mut hc) = (None, Some(Decimal::ZERO));
        let mut change = RunnerChange::default();
        self.json.open(b'{')?;
        while let Some(key) = self.json.key()? {
            match key {
                "id" => id = self.integer("runner id")?,
                "hc" => hc = self.handicap("hc")?,
                "ltp" => change.ltp = self.last_price()?,
                "tv" => change.tv = self.amount("tv")?,
                "spn" => change.spn = self.starting_price("spn")?,
                "spf" => change.spf = self.starting_price("spf")?,
                "atb" => change.atb = self.offers("atb", Self::price_size)?,
                "atl" => change.atl = self.offers("atl", Self::price_size)?,
                "trd" => change.trd = self.list("trd", Self::price_size)?,
                "batb" => change.batb = self.offers("batb", Self::level_price_size)?,
                "batl" => change.batl = self.offers("batl", Self::level_price_size)?,
                "bdatb" => change.bdatb = self.offers("bdatb", Self::level_price_size)?,
                "bdatl" => change.bdatl = self.offers("bdatl", Self::level_price_size)?,
                _ => self.json.skip()?,
            }
        }
        let Some(id) = self.or_refuse(id, "a runner change has no id") else { return Ok(None) };
        let Some(hc) = hc else { return Ok(None) };
        change.key = RunnerKey { id, hc };
        Ok(Some(change))
    }

    fn last_price(&mut self) -> Read<Option<Decimal>> {
        self.price_changes += u32::from(self.json.peek() != Some(b'n'));
        self.amount("ltp")
    }

    /// A price, or 0 for `"NaN"` and `"Infinity"`, which mean that there is none.
    fn starting_price(&mut self, what: &str) -> Read<Option<Decimal>> {
        let is_none = ["\"NaN\"", "\"Infinity\""].iter().any(|text| self.json.comes(text));
        if !is_none {
            return self.amount(what);
        }
        self.json.skip()?;
        Ok(Some(Decimal::ZERO))
    }

    /// A list of offers, each element of which is a price change.
    fn offers<T>(
        &mut self,
        what: &str,
        mut element: impl FnMut(&mut Self) -> Read<Option<T>>,
    ) -> Read<Vec<T>> {
        self.list(what, |decoder| {
            decoder.price_changes += 1;
            element(decoder)
        })
    }

    #[inline]
    fn price_size(&mut self) -> Read<Option<PriceSize>> {
        let row = self.row::<2>("[price, size]")?;
        Ok(row.map(|[price, size]| PriceSize { price, size }))
    }

    fn level_price_size(&mut self) -> Read<Option<LevelPriceSize>> {
        let Some([level, price, size]) = self.row::<3>("[level, price, size]")? else {
            return Ok(None);
        };
        let index = level.to_usize().filter(|&index| index < LEVELS_MAX && level.is_integer());
        let rung = index.map(|level| LevelPriceSize { level, price, size });
        Ok(self.or_refuse(rung, "a level is not a small whole number"))
    }

    /// An array of exactly `N` numbers, none of them negative.
    #[inline]
    fn row<const N: usize>(&mut self, what: &'static str) -> Read<Option<[Decimal; N]>> {
        let mut row = [Decimal::ZERO; N];
        let mut length = 0;
        let refused_before = self.refused.len();
        let mut usable = true;
        self.json.open(b'[')?;
        while self.json.element()? {
            match self.decimal(what)? {
                Some(number) if length < N && !number.is_sign_negative() => row[length] = number,
                _ => usable = false,
            }
            length += 1;
        }
        if usable && length == N {
            return Ok(Some(row));
        }
        if self.refused.len() == refused_before {
            self.refuse(value(format!("{what} with {length} numbers, or negative ones")));
        }
        Ok(None)
    }

    /// An array of anything; elements that cannot be used are left out.
    fn list<T>(
        &mut self,
        what: &str,
        mut element: impl FnMut(&mut Self) -> Read<Option<T>>,
    ) -> Read<Vec<T>> {
        let mut list = Vec::new();
        if !self.is(b'[', what)? {
            return Ok(list);
        }
        self.json.open(b'[')?;
        while self.json.element()? {
            if let Some(element) = element(self)? {
                list.push(element);
            }
        }
        Ok(list)
    }

    /// A text, or a number as it is written: some programs write ids so.
    fn text(&mut self, what: &str) -> Read<Option<Cow<'a, str>>> {
        match self.json.peek() {
            Some(b'"') => self.json.string().map(Some),
            Some(b'-' | b'0'..=b'9') => Ok(Some(Cow::Borrowed(self.json.number()?))),
            _ => {
                self.is(b'"', what)?;
                Ok(None)
            }
        }
    }

    fn flag(&mut self, what: &str) -> Read<bool> {
        match self.json.peek() {
            Some(b't' | b'f' | b'n') => Ok(self.json.word()? == "true"),
            _ => self.is(b't', what),
        }
    }

    #[inline]
    fn decimal(&mut self, what: &str) -> Read<Option<Decimal>> {
        if !matches!(self.json.peek(), Some(b'-' | b'0'..=b'9')) {
            let Some(text) = self.quoted_number(what)? else { return Ok(None) };
            return Ok(number::long(&text).or_else(|| self.unfit(what, &text)));
        }
        match self.json.decimal()? {
            Ok(number) => Ok(Some(number)),
            Err(text) => Ok(self.unfit(what, text)),
        }
    }

    /// The text of a number in quotes, as some programs that record the stream write it. Anything else is passed over.
    #[cold]
    fn quoted_number(&mut self, what: &str) -> Read<Option<Cow<'a, str>>> {
        if self.json.peek() != Some(b'"') {
            self.is(b'0', what)?;
            return Ok(None);
        }
        let text = self.json.string()?;
        let is_number = number::length(text.as_bytes()) == Some(text.len());
        if !is_number {
            self.refuse(value(format!("{what} is of another type")));
        }
        Ok(is_number.then_some(text))
    }

    /// A price, or an amount of money: neither is below zero.
    fn amount(&mut self, what: &str) -> Read<Option<Decimal>> {
        let number = self.decimal(what)?;
        let amount = number.filter(|number| !number.is_sign_negative());
        if let (Some(number), None) = (number, amount) {
            self.refuse(value(format!("{what} {number} is negative")));
        }
        Ok(amount)
    }

    #[cold]
    fn unfit(&mut self, what: &str, text: &str) -> Option<Decimal> {
        self.refuse(value(format!("{what} {} does not fit a decimal", quoted(text))));
        None
    }

    fn integer<T: FromStr>(&mut self, what: &str) -> Read<Option<T>> {
        if !matches!(self.json.peek(), Some(b'-' | b'0'..=b'9')) {
            let Some(text) = self.quoted_number(what)? else { return Ok(None) };
            return Ok(self.parsed(what, &text));
        }
        let text = self.json.number()?;
        Ok(self.parsed(what, text))
    }

    fn parsed<T: FromStr>(&mut self, what: &str, text: &str) -> Option<T> {
        let number = text.parse().ok();
        if number.is_none() {
            self.refuse(value(format!("{what} {} is out of its range", quoted(text))));
        }
        number
    }

    /// Whether a value that begins with `first` comes next. Another is passed over, and refused
    /// unless it is null.
    fn is(&mut self, first: u8, what: &str) -> Read<bool> {
        match self.json.peek() {
            Some(byte) if byte == first => return Ok(true),
            Some(b'n') => {}
            _ => self.refuse(value(format!("{what} is of another type"))),
        }
        self.json.skip()?;
        Ok(false)
    }

    fn or_refuse<T>(&mut self, found: Option<T>, reason: &str) -> Option<T> {
        if found.is_none() {
            self.refuse(value(reason.to_owned()));
        }
        found
    }

    fn refuse(&mut self, error: DecodeError) {
        if self.refused.len() < REFUSED_MAX {
            self.refused.push(error);
        }
    }
}

fn speaks_of_markets(op: Option<&str>) -> Read<bool> {
    match op {
        Some("mcm") => Ok(true),
        Some("ocm" | "connection" | "status") => Ok(false),
        Some(other) => Err(Box::new(value(format!("op {} is not known", quoted(other))))),
        None => Err(Box::new(value("op is missing".to_owned()))),
    }
}

fn value(reason: String) -> DecodeError {
    DecodeError::new(RefusalKind::Value, reason)
}

/// The start of a text that came from outside, short enough for a log.
#[must_use]
pub fn quoted(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(QUOTED_MAX) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}...", &text[..end])),
    }
}

//! Conditions on prices, and where they are met.
//!
//! A webhook with conditions gets an event when a price meets one that the price before did not meet. So it must be known, for
//! each condition and channel, whether it is met. That is stored in the transaction of the deliveries, so that a crash neither
//! loses an event nor repeats one. While a price is withheld, because its market is suspended or its source is not live, the
//! one before counts: it mostly comes back as it was.

use std::{
    collections::{HashMap, HashSet},
    fmt,
};

use base::Micros;
use fanout::{ChannelId, Epoch};
use rust_decimal::Decimal;
use serde::Serialize;
use serde_json::value::to_raw_value;

use crate::{Event, EventKind, InvalidWebhook, webhook::Subscription};

/// The most conditions of a webhook.
pub(crate) const CONDITIONS_MAX: usize = 20;
/// The longest key of a market or a selection, in characters.
const KEY_CHARS_MAX: usize = 100;

/// A condition on the price of a selection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceCondition {
    /// The key of the market in the document of the channel: `match_winner`, `over_under@2.5`.
    pub market: String,
    /// The key of the selection in the market: `home`.
    pub selection: String,
    pub bound: PriceBound,
}

/// What a price must reach. Prices are decimal odds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PriceBound {
    AtLeast(Decimal),
    AtMost(Decimal),
}

impl PriceCondition {
    /// The condition, if it can be one.
    ///
    /// # Errors
    ///
    /// If a key is empty or too long, or has other characters than keys have, or if the price is not above 0.
    pub fn new(market: &str, selection: &str, bound: PriceBound) -> Result<Self, InvalidWebhook> {
        let is_key = |text: &str| {
            (1..=KEY_CHARS_MAX).contains(&text.chars().count())
                && !text.chars().any(|c| c.is_control() || c.is_whitespace() && c != ' ')
                && text.trim() == text
        };
        if !is_key(market) {
            return Err(InvalidWebhook("prices must have the key of a market as `market`"));
        }
        if !is_key(selection) || selection.contains('"') {
            return Err(InvalidWebhook("prices must have the key of a selection as `selection`"));
        }
        let (PriceBound::AtLeast(price) | PriceBound::AtMost(price)) = bound;
        if price <= Decimal::ZERO {
            return Err(InvalidWebhook("prices must have a price above 0"));
        }
        Ok(Self { market: market.to_owned(), selection: selection.to_owned(), bound })
    }

    /// Parses a line such as `match_winner home >= 2.5`. The key of a selection that contains blanks is in quotation marks.
    ///
    /// # Errors
    ///
    /// If it is no such line, or as [`Self::new`].
    pub fn parse(line: &str) -> Result<Self, InvalidWebhook> {
        const FORM: InvalidWebhook =
            InvalidWebhook("a price must be written as `match_winner home >= 2.5`");
        // From the end, because the key of a market may contain blanks.
        let mut words = line.trim().rsplitn(3, ' ');
        let (price, sign) = (words.next().ok_or(FORM)?, words.next().ok_or(FORM)?);
        let keys = words.next().ok_or(FORM)?;
        let keys = match keys.strip_suffix('"') {
            Some(keys) => keys.rsplit_once(" \""),
            None => keys.rsplit_once(' '),
        };
        let (market, selection) = keys.ok_or(FORM)?;
        let price = price.parse().map_err(|_| FORM)?;
        let bound = match sign {
            ">=" => PriceBound::AtLeast(price),
            "<=" => PriceBound::AtMost(price),
            _ => return Err(FORM),
        };
        Self::new(market, selection, bound)
    }

    fn is_met(&self, price: Decimal) -> bool {
        match self.bound {
            PriceBound::AtLeast(bound) => price >= bound,
            PriceBound::AtMost(bound) => price <= bound,
        }
    }

    fn is_about(&self, price: &SelectionPrice) -> bool {
        self.market == price.market && self.selection == price.selection
    }
}

/// As [`PriceCondition::parse`] reads it.
impl fmt::Display for PriceCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, price) = match self.bound {
            PriceBound::AtLeast(price) => (">=", price),
            PriceBound::AtMost(price) => ("<=", price),
        };
        let quote = if self.selection.contains(' ') { "\"" } else { "" };
        write!(f, "{} {quote}{}{quote} {sign} {price}", self.market, self.selection)
    }
}

/// The prices in an image or an update of a channel with odds.
#[derive(Debug, Clone)]
pub struct PriceUpdate {
    pub channel: ChannelId,
    pub epoch: Epoch,
    pub seq: u64,
    /// When the hub published it.
    pub at: Micros,
    /// `None`: the channel has closed.
    pub book: Option<BookPrices>,
}

/// What an image or an update of a book says about prices.
#[derive(Debug, Clone, Default)]
pub struct BookPrices {
    /// Whether it is the whole book: what it does not name is gone.
    pub is_whole: bool,
    pub selections: Vec<SelectionPrice>,
    /// The keys of what is gone: of a market, or of one of its selections.
    pub removed: Vec<(String, Option<String>)>,
}

/// The price of a selection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectionPrice {
    pub market: String,
    pub selection: String,
    /// `None` if it is withheld.
    pub price: Option<Decimal>,
    /// Whose price it is, in a channel of several bookmakers.
    pub bookmaker: Option<String>,
}

/// A condition of a webhook, by its place among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ConditionId {
    pub(crate) webhook: i64,
    pub(crate) index: usize,
}

/// The conditions that are met, in each channel.
#[derive(Debug, Default)]
pub struct MetConditions(HashMap<ChannelId, HashSet<ConditionId>>);

/// That a condition is met now, or no longer.
#[derive(Debug)]
pub struct PriceCrossing {
    pub(crate) condition: ConditionId,
    pub(crate) channel: ChannelId,
    /// The event, if it is met.
    pub(crate) event: Option<Event>,
}

impl BookPrices {
    /// Whether the selection of a condition is gone.
    fn lacks(&self, condition: &PriceCondition) -> bool {
        let PriceCondition { market, selection, .. } = condition;
        let is_removed = |(key, other): &(String, Option<String>)| {
            key == market && other.as_ref().is_none_or(|other| other == selection)
        };
        self.is_whole && !self.selections.iter().any(|price| condition.is_about(price))
            || self.removed.iter().any(is_removed)
    }
}

impl MetConditions {
    pub(crate) fn insert(&mut self, channel: ChannelId, condition: ConditionId) -> bool {
        self.0.entry(channel).or_default().insert(condition)
    }

    fn remove(&mut self, channel: &ChannelId, condition: ConditionId) -> bool {
        self.0.get_mut(channel).is_some_and(|met| met.remove(&condition))
    }

    /// The channels that have any.
    pub(crate) fn channels(&self) -> impl Iterator<Item = ChannelId> {
        let met = self.0.iter().filter(|(_, met)| !met.is_empty());
        met.map(|(channel, _)| channel.clone())
    }
}

/// A price that meets a condition, in the form of an event.
#[derive(Debug, Serialize)]
struct PriceEvent<'a> {
    kind: &'static str,
    eid: &'a str,
    market: &'a str,
    selection: &'a str,
    price: Decimal,
    #[serde(skip_serializing_if = "Option::is_none")]
    bookmaker: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_least: Option<Decimal>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_most: Option<Decimal>,
}

/// Adds what an update changes, for the conditions of these webhooks.
pub(crate) fn check(
    subscriptions: &[Subscription],
    update: &PriceUpdate,
    met: &mut MetConditions,
    crossings: &mut Vec<PriceCrossing>,
) {
    let Some(book) = &update.book else {
        end(&update.channel, met, crossings);
        return;
    };
    let follows = |subscription: &&Subscription| {
        subscription.follows_prices(&update.channel) && update.at >= subscription.webhook.active
    };
    for Subscription { webhook, .. } in subscriptions.iter().filter(follows) {
        for (index, condition) in (0..).zip(&webhook.terms.prices) {
            let id = ConditionId { webhook: webhook.id, index };
            let mut cross = |event| {
                let channel = update.channel.clone();
                crossings.push(PriceCrossing { condition: id, channel, event });
            };
            if book.lacks(condition) && met.remove(&update.channel, id) {
                cross(None);
            }
            for selection in book.selections.iter().filter(|price| condition.is_about(price)) {
                let Some(price) = selection.price else { continue };
                if !condition.is_met(price) {
                    if met.remove(&update.channel, id) {
                        cross(None);
                    }
                } else if met.insert(update.channel.clone(), id) {
                    cross(Some(event(update, condition, selection, price)));
                }
            }
        }
    }
}

/// Adds that no condition is met any more in a channel.
pub(crate) fn end(
    channel: &ChannelId,
    met: &mut MetConditions,
    crossings: &mut Vec<PriceCrossing>,
) {
    let ended = met.0.remove(channel).unwrap_or_default();
    crossings.extend(ended.into_iter().map(|condition| PriceCrossing {
        condition,
        channel: channel.clone(),
        event: None,
    }));
}

fn event(
    update: &PriceUpdate,
    condition: &PriceCondition,
    selection: &SelectionPrice,
    price: Decimal,
) -> Event {
    let eid = format!("price-{}-{condition}", update.seq).replace(' ', "_");
    let (at_least, at_most) = match condition.bound {
        PriceBound::AtLeast(bound) => (Some(bound), None),
        PriceBound::AtMost(bound) => (None, Some(bound)),
    };
    let json = PriceEvent {
        kind: EventKind::Price.as_str(),
        eid: &eid,
        market: &selection.market,
        selection: &selection.selection,
        price,
        bookmaker: selection.bookmaker.as_deref(),
        at_least,
        at_most,
    };
    let json = to_raw_value(&json).expect("words and numbers can be written");
    Event {
        kind: EventKind::Price,
        channel: update.channel.clone(),
        epoch: update.epoch,
        eid,
        at: update.at,
        json,
    }
}

#[cfg(test)]
mod tests;

//! A book's document to facts: the difference from the reported state, for the markets that an
//! update touches.
//!
//! While the hub does not guarantee the book (`feed` is not `live`, or the book is `suspended`), open
//! markets are reported as suspended.

use std::{collections::BTreeMap, sync::Arc};

use facts::event::{
    Level, MarketChange, MarketDefinition, MarketStatus, Outcome, SelectionChange,
    SelectionDefinition, SelectionStatus,
};
use rust_decimal::Decimal;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::field::{self, decimal, flag, shared, text};

type Rungs = BTreeMap<Decimal, Decimal>;

/// The reported state of a book.
#[derive(Debug, Default)]
pub(super) struct Book {
    markets: BTreeMap<Arc<str>, Market>,
}

#[derive(Debug, Clone, PartialEq)]
struct Market {
    definition: MarketDefinition,
    volume: Option<Decimal>,
    selections: BTreeMap<Arc<str>, Selection>,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct Selection {
    price: Option<Decimal>,
    last: Option<Decimal>,
    volume: Option<Decimal>,
    /// The projected starting prices, near and far.
    projected: [Option<Decimal>; 2],
    /// Back, lay, traded.
    ladders: [Rungs; 3],
}

/// A market and its change.
pub(super) type BookChange = (Arc<str>, MarketChange);

impl Book {
    /// `patch`: what changed in the document; `None`: it is an image. What cannot be read is skipped and
    /// added to `wrong`.
    pub(super) fn diff(
        &mut self,
        document: &Value,
        patch: Option<&Value>,
        wrong: &mut Vec<String>,
    ) -> Vec<BookChange> {
        let trusted = text(document, "feed") == Some("live") && !flag(document, "suspended");
        let empty = Map::new();
        let markets = document.get("markets").and_then(Value::as_object).unwrap_or(&empty);
        let mut out = Vec::new();
        for id in self.touched(markets, patch) {
            match markets.get(&*id) {
                Some(node) => self.market(&id, node, trusted, &mut out, wrong),
                None => self.vanished(&id, &mut out),
            }
        }
        out
    }

    pub(super) fn is_empty(&self) -> bool {
        self.markets.is_empty()
    }

    /// Ends the book: closes all its markets.
    pub(super) fn ended(&mut self) -> Vec<BookChange> {
        let mut out = Vec::new();
        for id in self.markets.keys().cloned().collect::<Vec<_>>() {
            self.vanished(&id, &mut out);
        }
        out
    }

    /// The markets that may differ. `feed` and `suspended` are about all of them.
    fn touched(&self, markets: &Map<String, Value>, patch: Option<&Value>) -> Vec<Arc<str>> {
        let all = patch.is_none_or(|it| it.get("feed").is_some() || it.get("suspended").is_some());
        let existing = self.markets.keys().filter(|id| !markets.contains_key(&***id)).cloned();
        if all {
            return markets.keys().map(|id| Arc::from(id.as_str())).chain(existing).collect();
        }
        let touched = patch.and_then(|it| it.get("markets")).and_then(Value::as_object);
        touched.into_iter().flatten().map(|(id, _)| Arc::from(id.as_str())).collect()
    }

    fn market(
        &mut self,
        id: &Arc<str>,
        node: &Value,
        trusted: bool,
        out: &mut Vec<BookChange>,
        wrong: &mut Vec<String>,
    ) {
        let mut reader = Reader { market: id, wrong };
        let Some(now) = reader.market(node, trusted) else { return };
        let before = self.markets.insert(Arc::clone(id), now.clone());
        let change = |change| (Arc::clone(id), change);
        if before.as_ref().map(|it| &it.definition) != Some(&now.definition) {
            out.push(change(MarketChange::Define(now.definition.clone())));
        }
        let mut before = before.unwrap_or_else(|| now.without_prices());
        if before.has_lost_a_value(&now) {
            out.push(change(MarketChange::Clear));
            before = now.without_prices();
        }
        let volume = now.volume.filter(|volume| before.volume != Some(*volume));
        let selections = now.changes(&before);
        if volume.is_some() || !selections.is_empty() {
            out.push(change(MarketChange::Prices { selections, volume }));
        }
    }

    /// There is no word for a market that is no longer there; it can at least not be relied on.
    fn vanished(&mut self, id: &Arc<str>, out: &mut Vec<BookChange>) {
        let Some(mut market) = self.markets.remove(id) else { return };
        if market.definition.status == MarketStatus::Open {
            market.definition.status = MarketStatus::Suspended;
            out.push((Arc::clone(id), MarketChange::Define(market.definition)));
        }
    }
}

impl Market {
    fn without_prices(&self) -> Self {
        let Self { definition, .. } = self.clone();
        Self { definition, volume: None, selections: BTreeMap::new() }
    }

    /// Facts have no word for a price that is no longer there, but for an empty market.
    fn has_lost_a_value(&self, now: &Self) -> bool {
        let lost =
            |before: Option<Decimal>, now: Option<Decimal>| before.is_some() && now.is_none();
        let none = Selection::default();
        lost(self.volume, now.volume)
            || self.selections.iter().any(|(id, before)| {
                let now = now.selections.get(id).unwrap_or(&none);
                lost(before.price, now.price)
                    || lost(before.last, now.last)
                    || lost(before.volume, now.volume)
            })
    }

    fn changes(&self, before: &Self) -> Vec<SelectionChange> {
        let none = Selection::default();
        let changes = self.selections.iter().filter_map(|(id, now)| {
            let change = now.change(id, before.selections.get(id).unwrap_or(&none));
            (change != SelectionChange { id: Arc::clone(id), ..SelectionChange::default() })
                .then_some(change)
        });
        changes.collect()
    }
}

impl Selection {
    fn change(&self, id: &Arc<str>, before: &Self) -> SelectionChange {
        let renewed =
            |before: Option<Decimal>, now: Option<Decimal>| now.filter(|now| before != Some(*now));
        let [back, lay, traded] =
            [0, 1, 2].map(|index| rungs(&before.ladders[index], &self.ladders[index]));
        let projected = |index: usize| match (before.projected[index], self.projected[index]) {
            (Some(_), None) => Some(Decimal::ZERO),
            (before, now) => renewed(before, now),
        };
        SelectionChange {
            id: Arc::clone(id),
            price: renewed(before.price, self.price),
            last: renewed(before.last, self.last),
            volume: renewed(before.volume, self.volume),
            near_price: projected(0),
            far_price: projected(1),
            back,
            lay,
            traded,
        }
    }
}

/// Rungs that are another size now; 0 where there is none any more.
fn rungs(before: &Rungs, now: &Rungs) -> Vec<Level> {
    let gone = before.keys().filter(|price| !now.contains_key(price));
    let gone = gone.map(|price| Level { price: *price, size: Decimal::ZERO });
    let changed = now.iter().filter(|(price, size)| before.get(price) != Some(*size));
    gone.chain(changed.map(|(price, size)| Level { price: *price, size: *size })).collect()
}

/// Reads one market, and says what is wrong with it.
struct Reader<'a> {
    market: &'a str,
    wrong: &'a mut Vec<String>,
}

impl Reader<'_> {
    fn market(&mut self, node: &Value, trusted: bool) -> Option<Market> {
        let Some(status) = MarketStatus::from_word(text(node, "status")?) else {
            self.wrong.push(format!("market {}: unknown status {}", self.market, node["status"]));
            return None;
        };
        let empty = Map::new();
        let selections = node.get("selections").and_then(Value::as_object).unwrap_or(&empty);
        let definition = MarketDefinition {
            kind: shared(node, "kind")?,
            name: shared(node, "name"),
            line: self.decimal(node, "line"),
            period: shared(node, "period"),
            status: if trusted || status != MarketStatus::Open {
                status
            } else {
                MarketStatus::Suspended
            },
            in_play: flag(node, "in_play"),
            selections: selections.iter().map(|(id, node)| self.definition(id, node)).collect(),
            terms: self.terms(node, &MARKET_TERMS),
        };
        let prices = selections.iter().map(|(id, node)| (Arc::from(id.as_str()), node));
        let volume = self.amount(node, "volume");
        let selections = prices.map(|(id, node)| (id, self.selection(node))).collect();
        Some(Market { definition, volume, selections })
    }

    /// The best prices of an exchange follow from its ladders, and are not reported with them.
    fn selection(&mut self, node: &Value) -> Selection {
        let is_exchange = ["back", "lays", "traded"].iter().any(|name| node.get(name).is_some());
        Selection {
            price: if is_exchange { None } else { self.amount(node, "price") },
            last: self.amount(node, "last"),
            volume: self.amount(node, "volume"),
            projected: ["near_price", "far_price"].map(|name| self.amount(node, name)),
            ladders: ["back", "lays", "traded"].map(|name| self.ladder(node, name)),
        }
    }

    fn definition(&mut self, id: &str, node: &Value) -> SelectionDefinition {
        let status = text(node, "status").and_then(SelectionStatus::from_word);
        let outcome = text(node, "outcome").and_then(Outcome::from_word);
        SelectionDefinition {
            id: id.into(),
            name: shared(node, "name"),
            status: status.unwrap_or(SelectionStatus::Active),
            outcome,
            terms: self.terms(node, &SELECTION_TERMS),
        }
    }

    /// The terms among the fields of a market or a selection: documents write them as facts do.
    fn terms<T: DeserializeOwned>(&mut self, node: &Value, names: &[&str]) -> Option<Box<T>> {
        let stated = |name: &&str| Some((name.to_string(), node.get(*name)?.clone()));
        let stated: Map<_, _> =
            names.iter().filter_map(stated).filter(|it| !it.1.is_null()).collect();
        if stated.is_empty() {
            return None;
        }
        let terms = serde_json::from_value(Value::Object(stated));
        let terms =
            terms.map_err(|error| self.wrong.push(format!("market {}: {error}", self.market)));
        terms.ok().map(Box::new)
    }

    fn ladder(&mut self, node: &Value, name: &str) -> Rungs {
        let Some(rungs) = node.get(name).and_then(Value::as_object) else { return Rungs::new() };
        let rungs = rungs.iter().filter_map(|(price, size)| {
            let price = Decimal::from_str_exact(price).map_err(|_| price.clone());
            let rung = price.and_then(|price| Ok((price, field::exact(size)?)));
            let rung = rung.map_err(|what| self.note(name, &what)).ok()?;
            Some((self.not_below_zero(name, rung.0)?, self.not_below_zero(name, rung.1)?))
        });
        rungs.collect()
    }

    fn decimal(&mut self, node: &Value, name: &str) -> Option<Decimal> {
        decimal(node, name).unwrap_or_else(|what| {
            self.note(name, &what);
            None
        })
    }

    /// A price, or an amount of money.
    fn amount(&mut self, node: &Value, name: &str) -> Option<Decimal> {
        self.decimal(node, name).and_then(|number| self.not_below_zero(name, number))
    }

    fn not_below_zero(&mut self, name: &str, number: Decimal) -> Option<Decimal> {
        let is_negative = number.is_sign_negative() && !number.is_zero();
        if is_negative {
            self.wrong.push(format!("market {}: {name} {number} is negative", self.market));
        }
        (!is_negative).then_some(number)
    }

    fn note(&mut self, name: &str, what: &str) {
        let shown: String = what.chars().take(60).collect();
        self.wrong.push(format!("market {}: {name} {shown} is no decimal", self.market));
    }
}

/// Fields of documents that are terms in facts, under the same names.
const MARKET_TERMS: [&str; 6] = [
    "number_of_winners",
    "each_way_divisor",
    "bet_delay",
    "bet_delay_models",
    "market_base_rate",
    "suspend_reason",
];
const SELECTION_TERMS: [&str; 4] = ["adjustment_factor", "removal_date", "bsp", "dead_heat_factor"];

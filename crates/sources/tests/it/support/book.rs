//! The markets that a receiver of facts builds, as any receiver would.

use std::{collections::BTreeMap, sync::Arc};

use facts::event::{
    Event, Fact, Level, MarketChange, MarketDefinition, MarketStatus, SelectionChange,
};
use rust_decimal::Decimal;

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Book(pub BTreeMap<Arc<str>, Market>);

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Market {
    pub definition: Option<MarketDefinition>,
    volume: Option<Decimal>,
    selections: BTreeMap<Arc<str>, Selection>,
}

#[derive(Debug, Default, PartialEq)]
struct Selection {
    last: Option<Decimal>,
    volume: Option<Decimal>,
    back: Ladder,
    lay: Ladder,
    traded: Ladder,
}

type Ladder = BTreeMap<Decimal, Decimal>;

impl Book {
    pub(crate) fn from_events<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut book = Self::default();
        for event in events {
            let Fact::Odds(odds) = &event.fact else { continue };
            book.0.entry(odds.market.clone()).or_default().apply(&odds.change);
        }
        book
    }

    /// The first difference between two books, with both values.
    pub(crate) fn difference(&self, other: &Self) -> Option<String> {
        if !self.0.keys().eq(other.0.keys()) {
            return Some(format!("markets {:?} and {:?}", self.0.keys(), other.0.keys()));
        }
        let mut markets = self.0.iter().zip(other.0.values());
        let ((id, ours), theirs) = markets.find(|((_, ours), theirs)| ours != theirs)?;
        let mut selections = ours.selections.iter().zip(&theirs.selections);
        let text = match selections.find(|(ours, theirs)| ours != theirs) {
            Some((ours, theirs)) => format!("{ours:?} and {theirs:?}"),
            None => [ours, theirs].map(|market| format!("{:?}", market.definition)).join(" and "),
        };
        Some(format!("{id}: {text}"))
    }

    pub(crate) fn status(&self, market: &str) -> Option<MarketStatus> {
        Some(self.0.get(market)?.definition.as_ref()?.status)
    }
}

impl Market {
    fn apply(&mut self, change: &MarketChange) {
        match change {
            MarketChange::Clear => (self.volume, self.selections) = Default::default(),
            MarketChange::Define(definition) => self.definition = Some(definition.clone()),
            MarketChange::Prices { selections, volume } => {
                self.volume = volume.or(self.volume);
                for change in selections {
                    self.selections.entry(change.id.clone()).or_default().apply(change);
                }
                // An empty runner is the same as one without facts.
                self.selections.retain(|_, selection| *selection != Selection::default());
            }
        }
    }
}

impl Selection {
    fn apply(&mut self, change: &SelectionChange) {
        self.last = change.last.or(self.last);
        self.volume = change.volume.or(self.volume);
        for (ladder, changes) in [
            (&mut self.back, &change.back),
            (&mut self.lay, &change.lay),
            (&mut self.traded, &change.traded),
        ] {
            for &Level { price, size } in changes {
                match size.is_zero() {
                    true => ladder.remove(&price),
                    false => ladder.insert(price, size),
                };
            }
        }
    }
}

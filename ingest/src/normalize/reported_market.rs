//! The last reported state of a bookmaker's market, so that an image only produces facts that changed.

use std::{collections::HashMap, sync::Arc};

use facts::event::{
    Fact, MarketChange, MarketDefinition, MarketStatus, OddsFact, SelectionChange, SelectionStatus,
};
use rust_decimal::Decimal;

/// The last reported state of a bookmaker's market.
#[derive(Debug, Default)]
pub(super) struct MarketState {
    definition: Option<MarketDefinition>,
    prices: HashMap<Arc<str>, Decimal>,
}

/// The market and the bookmaker that facts are about.
#[derive(Debug, Clone)]
pub(super) struct MarketRef {
    pub(super) book: Arc<str>,
    pub(super) market: Arc<str>,
}

impl MarketState {
    /// A market that was reported before a restart.
    pub(super) fn resumed(definition: MarketDefinition) -> Self {
        Self { definition: Some(definition), prices: HashMap::new() }
    }

    pub(super) fn definition(&self) -> Option<&MarketDefinition> {
        self.definition.as_ref()
    }

    pub(super) fn is_open(&self) -> bool {
        self.definition.as_ref().is_some_and(|it| it.status == MarketStatus::Open)
    }

    /// Emits the definition and the prices that changed. The price of a selection that became
    /// inactive is emitted again when it is active again. Returns the number of prices.
    pub(super) fn update(
        &mut self,
        market: &MarketRef,
        definition: MarketDefinition,
        prices: impl IntoIterator<Item = (Arc<str>, Decimal)>,
        facts: &mut Vec<Fact>,
    ) -> u32 {
        self.define(market, definition, facts);
        let new = |(id, price): (Arc<str>, Decimal)| {
            let unchanged = self.prices.insert(id.clone(), price) == Some(price);
            (!unchanged).then(|| SelectionChange { id, price: Some(price), ..Default::default() })
        };
        let selections: Vec<_> = prices.into_iter().filter_map(new).collect();
        let count = u32::try_from(selections.len()).unwrap_or(u32::MAX);
        if count > 0 {
            facts.push(market.fact(MarketChange::Prices { selections, volume: None }));
        }
        count
    }

    /// Emits the definition if it changed.
    pub(super) fn define(
        &mut self,
        market: &MarketRef,
        definition: MarketDefinition,
        facts: &mut Vec<Fact>,
    ) {
        if self.definition.as_ref() == Some(&definition) {
            return;
        }
        let active = definition.selections.iter().filter(|it| it.status == SelectionStatus::Active);
        let mut remaining = HashMap::new();
        remaining.extend(active.filter_map(|it| self.prices.remove_entry(&it.id)));
        self.prices = remaining;
        self.definition = Some(definition.clone());
        facts.push(market.fact(MarketChange::Define(definition)));
    }

    /// Suspends the market: it is not offered now, but it may return.
    pub(super) fn suspend(&mut self, market: &MarketRef, facts: &mut Vec<Fact>) {
        let open = self.definition.clone().filter(|it| it.status == MarketStatus::Open);
        if let Some(definition) = open {
            let definition = MarketDefinition { status: MarketStatus::Suspended, ..definition };
            self.define(market, definition, facts);
        }
    }
}

impl MarketRef {
    fn fact(&self, change: MarketChange) -> Fact {
        let (book, market) = (self.book.clone(), self.market.clone());
        Fact::Odds(OddsFact { book, market, change })
    }
}

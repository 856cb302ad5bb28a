//! What was last told of a market of a bookmaker, so that of a whole image only the news are told.

use std::{collections::HashMap, sync::Arc};

use rust_decimal::Decimal;

use crate::event::{
    Fact, MarketChange, MarketDefinition, MarketStatus, OddsFact, SelectionChange, SelectionStatus,
};

/// A bookmaker's market as it was last told.
#[derive(Debug, Default)]
pub(super) struct Told {
    definition: Option<MarketDefinition>,
    prices: HashMap<Arc<str>, Decimal>,
}

/// Which market of which bookmaker facts are about.
#[derive(Debug, Clone)]
pub(super) struct MarketOf {
    pub(super) book: Arc<str>,
    pub(super) market: Arc<str>,
}

impl Told {
    pub(super) fn definition(&self) -> Option<&MarketDefinition> {
        self.definition.as_ref()
    }

    pub(super) fn is_open(&self) -> bool {
        self.definition.as_ref().is_some_and(|it| it.status == MarketStatus::Open)
    }

    /// Tells the definition if it is another, and those prices that are. A selection that can no
    /// longer be backed has its price told again when it comes back. Returns how many prices.
    pub(super) fn tell(
        &mut self,
        of: &MarketOf,
        definition: MarketDefinition,
        prices: impl IntoIterator<Item = (Arc<str>, Decimal)>,
        facts: &mut Vec<Fact>,
    ) -> u32 {
        self.define(of, definition, facts);
        let new = |(id, price): (Arc<str>, Decimal)| {
            let known = self.prices.insert(id.clone(), price) == Some(price);
            (!known).then(|| SelectionChange { id, price: Some(price), ..Default::default() })
        };
        let selections: Vec<_> = prices.into_iter().filter_map(new).collect();
        let count = u32::try_from(selections.len()).unwrap_or(u32::MAX);
        if count > 0 {
            facts.push(of.fact(MarketChange::Prices { selections, volume: None }));
        }
        count
    }

    /// Tells the definition if it is another.
    pub(super) fn define(
        &mut self,
        of: &MarketOf,
        definition: MarketDefinition,
        facts: &mut Vec<Fact>,
    ) {
        if self.definition.as_ref() == Some(&definition) {
            return;
        }
        let active = definition.selections.iter().filter(|it| it.status == SelectionStatus::Active);
        let mut kept = HashMap::new();
        kept.extend(active.filter_map(|it| self.prices.remove_entry(&it.id)));
        self.prices = kept;
        self.definition = Some(definition.clone());
        facts.push(of.fact(MarketChange::Define(definition)));
    }

    /// The market is not offered now, which is not to say that it is over.
    pub(super) fn suspend(&mut self, of: &MarketOf, facts: &mut Vec<Fact>) {
        let open = self.definition.clone().filter(|it| it.status == MarketStatus::Open);
        if let Some(definition) = open {
            let definition = MarketDefinition { status: MarketStatus::Suspended, ..definition };
            self.define(of, definition, facts);
        }
    }
}

impl MarketOf {
    fn fact(&self, change: MarketChange) -> Fact {
        let (book, market) = (self.book.clone(), self.market.clone());
        Fact::Odds(OddsFact { book, market, change })
    }
}

//! The names of the markets of a live stream, from Betfair's catalogue.

use std::{collections::HashMap, sync::Arc};

use facts::event::Micros;

use crate::decode::betfair::{StreamMarketDefinition, catalogue::CatalogueMarket};

/// How long the names of a market are awaited before they are requested again.
const REQUEST_AGAIN_US: Micros = 60_000_000;

/// The names that are known, and the markets whose names have been requested.
#[derive(Debug, Default)]
pub(super) struct Names {
    markets: HashMap<Arc<str>, CatalogueMarket>,
    requested: HashMap<Arc<str>, Micros>,
}

impl Names {
    pub(super) fn insert(&mut self, names: CatalogueMarket) {
        self.requested.remove(&names.market_id);
        self.markets.insert(Arc::clone(&names.market_id), names);
    }

    /// Adds the names of this market to its definition, if they are known.
    pub(super) fn apply(&self, id: &str, definition: &mut StreamMarketDefinition<'_>) {
        if let Some(names) = self.markets.get(id) {
            names.name(definition);
        }
    }

    /// Whether the names of this market are to be requested now. They are then taken as requested.
    pub(super) fn request(&mut self, id: &Arc<str>, now: Micros) -> bool {
        if self.markets.contains_key(id) {
            return false;
        }
        let requested = self.requested.entry(Arc::clone(id)).or_insert(Micros::MIN);
        let is_due = now.saturating_sub(*requested) >= REQUEST_AGAIN_US;
        if is_due {
            *requested = now;
        }
        is_due
    }

    /// The market is gone.
    pub(super) fn remove(&mut self, id: &str) {
        self.markets.remove(id);
        self.requested.remove(id);
    }
}

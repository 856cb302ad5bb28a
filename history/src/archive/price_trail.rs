//! The prices that came and went between two writes.

use std::collections::HashMap;

use base::Micros;

use record::{Key, MatchChange, PriceRecord};

const SECOND_US: Micros = 1_000_000;
/// Prices kept between two writes, about 150 bytes each. Beyond it, prices that came and went are left out.
const PRICES_MAX: usize = 200_000;

/// The changes of prices between two writes: the first of each price, then the last of each second by the source's clock.
#[derive(Debug, Clone, Default)]
pub struct PriceTrail {
    /// By match, then by row.
    matches: HashMap<Key, RowTrails>,
    len: usize,
}

/// The prices of each row, oldest first.
pub(super) type RowTrails = HashMap<Key, Vec<PassedPrice>>;

/// A price as it was reported.
#[derive(Debug, Clone)]
pub(super) struct PassedPrice {
    pub(super) reported: PriceRecord,
    pub(super) received: Micros,
}

impl PriceTrail {
    /// Adds the prices of these changes, which are later than those before.
    pub fn add(&mut self, changes: &[MatchChange]) {
        for change in changes {
            let MatchChange::Updated(update) = change else { continue };
            let (id, received) = (update.summary.id, update.summary.updated);
            for price in update.markets.iter().flat_map(|market| &market.prices) {
                self.push(id, PassedPrice { reported: price.clone(), received });
            }
        }
    }

    /// Appends a trail that is later than this one.
    pub(super) fn append(&mut self, later: Self) {
        for (id, rows) in later.matches {
            for price in rows.into_values().flatten() {
                self.push(id, price);
            }
        }
    }

    /// What was reported of a match.
    pub(super) fn rows(&self, id: Key) -> Option<&RowTrails> {
        self.matches.get(&id)
    }

    fn push(&mut self, id: Key, price: PassedPrice) {
        let row = price.reported.id(id);
        let passed = self.matches.entry(id).or_default().entry(row).or_default();
        let only_one = passed.len() == 1;
        match passed.last_mut() {
            Some(last) if last.reported.price == price.reported.price => {}
            // An outcome that is reported twice at once: the one on offer counts, then the later one.
            Some(last) if last.received == price.received => {
                if last.preference() <= price.preference() {
                    *last = price;
                }
            }
            Some(last) if !only_one && last.second() == price.second() => *last = price,
            _ if self.len < PRICES_MAX => {
                self.len += 1;
                passed.push(price);
            }
            _ => {}
        }
    }
}

impl PassedPrice {
    fn preference(&self) -> (bool, Micros) {
        (self.reported.price.is_some(), self.reported.at)
    }

    /// By both clocks: a consensus is as old as its oldest price, and a replay is received at once.
    fn second(&self) -> (Micros, Micros) {
        (self.reported.at.div_euclid(SECOND_US), self.received.div_euclid(SECOND_US))
    }
}

//! Prices that readers over HTTP may still see although sockets have lost them.

use std::{
    collections::HashMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::{Key, MatchRecord, PlayRecord};

/// The withdrawals that sockets may know before the records do; clones share them.
///
/// The committer notes them before it publishes, and the follower settles them once its export has them. In
/// between, readers treat the prices of the match, or those of one bookmaker for it, as suspended, however far the
/// follower is behind.
#[derive(Debug, Clone, Default)]
pub struct Withdrawals {
    shared: Arc<Shared>,
}

/// The last record that withdraws a price, by bookmaker.
type LastWithdrawals = HashMap<Option<Arc<str>>, u64>;

#[derive(Debug, Default)]
struct Shared {
    /// By match.
    pending: RwLock<HashMap<Key, LastWithdrawals>>,
    version: AtomicU64,
}

/// Whose prices of a match are withdrawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Withdrawal {
    pub match_id: Key,
    /// The bookmaker's slug, or [`CONSENSUS`](crate::CONSENSUS); `None` of all.
    pub bookmaker: Option<Arc<str>>,
}

impl Withdrawals {
    /// These are withdrawn by the records up to this number.
    pub fn note(&self, withdrawals: impl IntoIterator<Item = Withdrawal>, record: u64) {
        let mut withdrawals = withdrawals.into_iter().peekable();
        if withdrawals.peek().is_none() {
            return;
        }
        let mut pending = self.shared.pending.write().unwrap_or_else(PoisonError::into_inner);
        for Withdrawal { match_id, bookmaker } in withdrawals {
            pending.entry(match_id).or_default().insert(bookmaker, record);
        }
        drop(pending);
        self.shared.version.fetch_add(1, Ordering::Release);
    }

    /// Readers have what the records up to this number contain.
    pub fn settle(&self, record: u64) {
        let pending = self.shared.pending.read().unwrap_or_else(PoisonError::into_inner);
        let is_late = pending.values().flat_map(HashMap::values).any(|last| *last <= record);
        drop(pending);
        if !is_late {
            return;
        }
        let mut pending = self.shared.pending.write().unwrap_or_else(PoisonError::into_inner);
        pending.retain(|_, bookmakers| {
            bookmakers.retain(|_, last| *last > record);
            !bookmakers.is_empty()
        });
        drop(pending);
        self.shared.version.fetch_add(1, Ordering::Release);
    }

    /// The record as readers may see it.
    #[must_use]
    pub fn masked(&self, record: &Arc<MatchRecord>) -> Arc<MatchRecord> {
        let pending = self.shared.pending.read().unwrap_or_else(PoisonError::into_inner);
        match pending.get(&record.summary.id) {
            Some(bookmakers) => Arc::new(record.without_offers(|bookmaker| {
                bookmakers.contains_key(&None)
                    || bookmakers.contains_key(&Some(Arc::clone(bookmaker)))
            })),
            None => Arc::clone(record),
        }
    }

    /// Increases with every change.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.shared.version.load(Ordering::Acquire)
    }
}

impl MatchRecord {
    /// Nothing is on offer any more. The last prices stay.
    pub fn close_prices(&mut self) {
        self.prices.iter_mut().for_each(|price| price.open = false);
        if let PlayRecord::Race(race) = &mut self.play {
            race.prices.iter_mut().for_each(|price| price.open = false);
        }
    }

    /// This record with the prices of some bookmakers withdrawn.
    fn without_offers(&self, is_withdrawn: impl Fn(&Arc<str>) -> bool) -> Self {
        let mut record = self.clone();
        for price in record.prices.iter_mut().filter(|price| is_withdrawn(&price.bookmaker)) {
            (price.price, price.open) = (None, false);
        }
        if let PlayRecord::Race(race) = &mut record.play {
            for price in race.prices.iter_mut().filter(|price| is_withdrawn(&price.bookmaker)) {
                (price.price, price.open) = (None, false);
            }
        }
        record
    }
}

#[cfg(test)]
mod tests {
    use rust_decimal::dec;

    use super::*;
    use crate::testing::{MATCH, football, price, record};

    /// The bookmakers that readers see with a price of the match.
    fn offering(withdrawals: &Withdrawals) -> Vec<String> {
        let record = record(MATCH, football());
        let prices = ["a", "b"].map(|slug| price(slug, "home", Some(dec!(2)))).into();
        let masked = withdrawals.masked(&Arc::new(MatchRecord { prices, ..record }));
        let offered = masked.prices.iter().filter(|it| it.open && it.price.is_some());
        offered.map(|it| it.bookmaker.to_string()).collect()
    }

    fn withdrawal(bookmaker: Option<&str>) -> Withdrawal {
        Withdrawal { match_id: MATCH, bookmaker: bookmaker.map(Into::into) }
    }

    #[test]
    fn withdrawal_is_pending_until_readers_have_its_last_record() {
        let withdrawals = Withdrawals::default();
        assert_eq!(offering(&withdrawals), ["a", "b"]);
        withdrawals
            .note([withdrawal(None), Withdrawal { match_id: MATCH + 1, bookmaker: None }], 10);
        withdrawals.note([withdrawal(None)], 12);
        let version = withdrawals.version();
        withdrawals.settle(9);
        assert_eq!(withdrawals.version(), version, "nothing was settled");
        withdrawals.settle(11);
        assert_eq!(offering(&withdrawals), [""; 0]);
        withdrawals.settle(12);
        assert_eq!(offering(&withdrawals), ["a", "b"]);
        assert!(withdrawals.version() > version);
    }

    #[test]
    fn withdrawn_price_of_a_bookmaker_leaves_those_of_others() {
        let withdrawals = Withdrawals::default();
        withdrawals.note([withdrawal(Some("a"))], 10);
        withdrawals.note([Withdrawal { match_id: MATCH + 1, bookmaker: None }], 11);
        assert_eq!(offering(&withdrawals), ["b"]);
        withdrawals.note([withdrawal(Some("b"))], 12);
        assert_eq!(offering(&withdrawals), [""; 0]);
        withdrawals.settle(11);
        assert_eq!(offering(&withdrawals), ["a"]);
        withdrawals.settle(12);
        assert_eq!(offering(&withdrawals), ["a", "b"]);
    }
}

//! Sums of ledger entries. Pure: entries in, sums out, exact to the last digit.

use std::collections::BTreeMap;

use rust_decimal::Decimal;

use crate::{Addon, LedgerEntry, LedgerKind};

/// The sum of the entries of one add-on, kind and currency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerSum {
    pub addon: Addon,
    pub kind: LedgerKind,
    /// ISO 4217; empty for grants without payment.
    pub currency: String,
    pub entries: i64,
    pub days: i64,
    pub amount: Decimal,
}

/// The revenue in a currency: payments less refunds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrencyTotal {
    pub currency: String,
    pub entries: i64,
    pub amount: Decimal,
}

/// Sums by add-on, kind and currency.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sums(BTreeMap<(Addon, &'static str, String), LedgerSum>);

impl LedgerSum {
    /// The currency, or `-` if no money was involved.
    pub fn currency(&self) -> &str {
        if self.currency.is_empty() { "-" } else { &self.currency }
    }

    fn add(&mut self, more: &Self) {
        self.entries += more.entries;
        self.days += more.days;
        self.amount += more.amount;
    }
}

impl Sums {
    /// Adds an entry.
    pub fn enter(&mut self, entry: &LedgerEntry) {
        self.add(LedgerSum {
            addon: entry.addon,
            kind: entry.kind,
            currency: entry.currency.clone(),
            entries: 1,
            days: entry.days,
            amount: entry.amount,
        });
    }

    /// Adds a sum.
    pub fn add(&mut self, more: LedgerSum) {
        let key = (more.addon, more.kind.as_str(), more.currency.clone());
        match self.0.get_mut(&key) {
            Some(sum) => sum.add(&more),
            None => drop(self.0.insert(key, more)),
        }
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &LedgerSum> {
        self.0.values()
    }

    /// The revenue, by currency.
    pub fn totals(&self) -> Vec<CurrencyTotal> {
        let mut totals = BTreeMap::<&str, CurrencyTotal>::new();
        for sum in self.iter().filter(|sum| !sum.currency.is_empty()) {
            let none = || CurrencyTotal {
                currency: sum.currency.clone(),
                entries: 0,
                amount: Decimal::ZERO,
            };
            let total = totals.entry(&sum.currency).or_insert_with(none);
            total.entries += sum.entries;
            total.amount += sum.amount;
        }
        totals.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::AccountId;

    prop_compose! {
        fn entry()(
            addon in 0..3_usize,
            kind in 0..3_usize,
            days in -400_i64..400,
            cents in -10_000_i64..10_000,
            euro in any::<bool>(),
        ) -> LedgerEntry {
            let kind = [LedgerKind::Purchase, LedgerKind::Refund, LedgerKind::Grant][kind];
            let is_gift = kind == LedgerKind::Grant;
            let amount = if is_gift { Decimal::ZERO } else { Decimal::new(cents, 2) };
            let currency = match (is_gift, euro) { (true, _) => "", (_, true) => "EUR", _ => "USD" };
            LedgerEntry {
                number: 1, account: AccountId(1), addon: Addon::ALL[addon], order: None, kind, days,
                amount, currency: currency.to_owned(), expires: 0, note: String::new(), at: 0,
            }
        }
    }

    proptest! {
        /// For any entries in any order, the sums account for every entry.
        #[test]
        fn sums_and_totals_add_up(entries in proptest::collection::vec(entry(), 0..200)) {
            let mut sums = Sums::default();
            entries.iter().for_each(|entry| sums.enter(entry));
            let days: i64 = entries.iter().map(|it| it.days).sum();
            prop_assert_eq!(sums.iter().map(|it| it.days).sum::<i64>(), days);
            prop_assert_eq!(sums.iter().map(|it| it.entries).sum::<i64>(), entries.len() as i64);
            let amount: Decimal = entries.iter().map(|it| it.amount).sum();
            prop_assert_eq!(sums.totals().iter().map(|it| it.amount).sum::<Decimal>(), amount);
            let mut backwards = Sums::default();
            entries.iter().rev().for_each(|entry| backwards.enter(entry));
            prop_assert_eq!(backwards, sums);
        }
    }
}

//! Usage reports, by day and product.

use std::collections::BTreeMap;

use super::{Counts, Day};
use crate::products::Product;

/// The usage of a product on a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsageDay {
    pub day: Day,
    pub product: Product,
    pub counts: Counts,
}

impl UsageDay {
    /// The total of all days.
    #[must_use]
    pub fn sum(days: &[Self]) -> Counts {
        days.iter().fold(Counts::default(), |sum, day| sum.plus(day.counts))
    }

    /// The usage of each product, in display order, without unused ones.
    #[must_use]
    pub fn by_product(days: &[Self]) -> Vec<(Product, Counts)> {
        let mut products = BTreeMap::<Product, Counts>::new();
        for day in days {
            let sum = products.entry(day.product).or_default();
            *sum = sum.plus(day.counts);
        }
        products.into_iter().collect()
    }
}

/// One entry for each day and product, the latest day first, without unused ones.
pub(super) fn merged(days: impl IntoIterator<Item = UsageDay>) -> Vec<UsageDay> {
    let mut sums = BTreeMap::<_, Counts>::new();
    for UsageDay { day, product, counts } in days {
        let sum = sums.entry((std::cmp::Reverse(day), product)).or_default();
        *sum = sum.plus(counts);
    }
    let used = sums.into_iter().filter(|(_, counts)| !counts.is_zero());
    used.map(|((day, product), counts)| UsageDay { day: day.0, product, counts }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(day: i64, product: Product, calls: u64) -> UsageDay {
        UsageDay { day: Day(day), product, counts: Counts { calls, ..Counts::default() } }
    }

    #[test]
    fn same_day_and_product_are_one_entry() {
        let days = merged([
            used(1, Product::TENNIS, 2),
            used(2, Product::Football, 1),
            used(1, Product::TENNIS, 3),
            used(2, Product::Odds, 0),
        ]);
        assert_eq!(days, [used(2, Product::Football, 1), used(1, Product::TENNIS, 5)]);
        assert_eq!(UsageDay::sum(&days).calls, 6);
        let products: Vec<Product> =
            UsageDay::by_product(&days).into_iter().map(|(product, _)| product).collect();
        assert_eq!(products, [Product::Football, Product::TENNIS]);
    }
}

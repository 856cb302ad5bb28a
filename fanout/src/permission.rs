//! What a connection may follow.
//!
//! Each channel needs some [`Classes`], and a connection has some. Only the host knows what they stand
//! for, what they cost and when they change: this crate compares bits and passes names on. All
//! connections of a key share one permission, which costs each of them a pointer.

use std::sync::Arc;

use serde_json::Value;

use crate::Micros;

/// A set of classes of channels, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Classes(pub u8);

impl Classes {
    pub const NONE: Self = Self(0);
    pub const ALL: Self = Self(u8::MAX);

    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether it contains all of `needed`.
    #[must_use]
    pub const fn cover(self, needed: Self) -> bool {
        needed.0 & !self.0 == 0
    }
}

/// What opens a class of channels, as presented to a client that lacks it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    pub class: Classes,
    /// As a text with its price.
    pub title: String,
    /// As JSON, for programs.
    pub offer: Value,
}

/// What a connection may follow from a point in time until the next period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionPeriod {
    pub from: Micros,
    pub classes: Classes,
    /// The host's names of what the client has in this period.
    pub names: Vec<&'static str>,
}

/// What a connection may follow, now and in the future.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Permission(Option<Arc<Schedule>>);

#[derive(Debug, PartialEq, Eq)]
struct Schedule {
    /// Sorted by time; the first also applies before its start.
    periods: Vec<PermissionPeriod>,
    products: Arc<[Product]>,
    /// What the prices of one bookmaker need on the older sockets.
    book: Classes,
}

impl Permission {
    /// Everything, forever: for hosts without permissions.
    pub const EVERYTHING: Self = Self(None);

    /// `periods`: at least one, sorted by time. `book`: what the prices of one bookmaker need on the older
    /// sockets.
    #[must_use]
    pub fn new(periods: Vec<PermissionPeriod>, products: Arc<[Product]>, book: Classes) -> Self {
        Self(Some(Arc::new(Schedule { periods, products, book })))
    }

    fn period(&self, now: Micros) -> Option<&PermissionPeriod> {
        let periods = &self.0.as_ref()?.periods;
        periods.iter().rfind(|period| period.from <= now).or_else(|| periods.first())
    }

    #[must_use]
    pub fn classes(&self, now: Micros) -> Classes {
        self.period(now).map_or(Classes::ALL, |period| period.classes)
    }

    /// The host's names of what the client has now.
    #[must_use]
    pub fn names(&self, now: Micros) -> &[&'static str] {
        self.period(now).map_or(&[], |period| &period.names)
    }

    #[must_use]
    pub fn book(&self) -> Classes {
        self.0.as_ref().map_or(Classes::NONE, |schedule| schedule.book)
    }

    /// The products that a client with `classes` lacks for `needed`.
    pub fn lacking(&self, classes: Classes, needed: Classes) -> impl Iterator<Item = &Product> {
        let products = self.0.as_ref().map_or(&[][..], |schedule| &schedule.products);
        let lacks =
            move |product: &&Product| !classes.cover(product.class) && needed.cover(product.class);
        products.iter().filter(lacks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPORTS: Classes = Classes(1);
    const BOOKS: Classes = Classes(2);

    #[test]
    fn classes_change_with_time_and_missing_products_are_named() {
        let product =
            |class, title: &str| Product { class, title: title.to_owned(), offer: Value::Null };
        let products = [product(SPORTS, "sports"), product(BOOKS, "books")];
        let period = |from, classes| PermissionPeriod { from, classes, names: Vec::new() };
        let periods = vec![period(10, BOOKS), period(20, Classes::NONE)];
        let permission = Permission::new(periods, products.into(), BOOKS);
        assert_eq!(permission.classes(5), BOOKS);
        assert_eq!(permission.classes(19), BOOKS);
        assert_eq!(permission.classes(20), Classes::NONE);
        let both = SPORTS.and(BOOKS);
        let lacking = |classes, needed| {
            permission.lacking(classes, needed).map(|it| &*it.title).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(lacking(BOOKS, both), "sports");
        assert_eq!(lacking(Classes::NONE, both), "sports books");
        assert_eq!(lacking(both, both), "");
        assert!(Permission::EVERYTHING.classes(0).cover(both));
    }
}

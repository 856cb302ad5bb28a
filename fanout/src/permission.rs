//! What a connection may follow, in terms that mean something to the host alone.
//!
//! Each channel needs some [`Classes`], and a connection has some. What they stand for, what they cost and
//! when they change is the host's to say: this crate compares bits and passes on names. A permission is
//! shared by all connections of a key, and costs each of them a pointer.

use std::sync::Arc;

use serde_json::Value;

use crate::Micros;

/// A set of classes of channels, a bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Classes(pub u8);

impl Classes {
    pub const NONE: Self = Self(0);
    pub const ALL: Self = Self(u8::MAX);

    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `needed` are among them.
    #[must_use]
    pub const fn cover(self, needed: Self) -> bool {
        needed.0 & !self.0 == 0
    }
}

/// What opens a class of channels, as it is shown to a client who lacks it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    pub class: Classes,
    /// In words, with its price.
    pub title: String,
    /// The same for programs.
    pub offer: Value,
}

/// What a connection may follow from a moment on, up to the next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub from: Micros,
    pub classes: Classes,
    /// What the client has then, by the host's names.
    pub names: Vec<&'static str>,
}

/// What a connection may follow, now and as time goes on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Permission(Option<Arc<Plan>>);

#[derive(Debug, PartialEq, Eq)]
struct Plan {
    /// By time; the first holds from the beginning.
    steps: Vec<Step>,
    products: Arc<[Product]>,
    /// What prices of one bookmaker beside a match of the older sockets need.
    book: Classes,
}

impl Permission {
    /// Everything, for ever: for hosts that tell nothing apart.
    pub const EVERYTHING: Self = Self(None);

    /// `steps`: at least one, by time. `book`: what prices of one bookmaker beside a match of the older
    /// sockets need.
    #[must_use]
    pub fn new(steps: Vec<Step>, products: Arc<[Product]>, book: Classes) -> Self {
        Self(Some(Arc::new(Plan { steps, products, book })))
    }

    fn step(&self, now: Micros) -> Option<&Step> {
        let steps = &self.0.as_ref()?.steps;
        steps.iter().rfind(|step| step.from <= now).or_else(|| steps.first())
    }

    #[must_use]
    pub fn classes(&self, now: Micros) -> Classes {
        self.step(now).map_or(Classes::ALL, |step| step.classes)
    }

    /// The host's names of what the client has now.
    #[must_use]
    pub fn names(&self, now: Micros) -> &[&'static str] {
        self.step(now).map_or(&[], |step| &step.names)
    }

    #[must_use]
    pub fn book(&self) -> Classes {
        self.0.as_ref().map_or(Classes::NONE, |plan| plan.book)
    }

    /// What a client who has `classes` lacks of `needed`.
    pub fn lacking(&self, classes: Classes, needed: Classes) -> impl Iterator<Item = &Product> {
        let products = self.0.as_ref().map_or(&[][..], |plan| &plan.products);
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
    fn classes_change_with_time_and_what_is_lacking_is_named() {
        let product =
            |class, title: &str| Product { class, title: title.to_owned(), offer: Value::Null };
        let products = [product(SPORTS, "sports"), product(BOOKS, "books")];
        let step = |from, classes| Step { from, classes, names: Vec::new() };
        let steps = vec![step(10, BOOKS), step(20, Classes::NONE)];
        let permission = Permission::new(steps, products.into(), BOOKS);
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

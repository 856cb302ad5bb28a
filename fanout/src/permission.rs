//! What a connection may follow.
//!
//! Each channel needs some [`Classes`], and a connection has some. Only the host knows what they stand
//! for and when they change: this crate compares bits and passes names on. All
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

/// What opens a class of channels, as the host presents it to a client that lacks the class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    pub class: Classes,
    /// As a text.
    pub title: String,
    /// As JSON, for programs; `None` for what cannot be bought.
    pub document: Option<Value>,
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
    offers: Arc<[Offer]>,
}

impl Permission {
    /// Everything, forever: for hosts without permissions.
    pub const EVERYTHING: Self = Self(None);

    /// `periods`: at least one, sorted by time.
    #[must_use]
    pub fn new(periods: Vec<PermissionPeriod>, offers: Arc<[Offer]>) -> Self {
        Self(Some(Arc::new(Schedule { periods, offers })))
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

    /// The offers that a client with `classes` lacks for `needed`.
    pub fn lacking(&self, classes: Classes, needed: Classes) -> impl Iterator<Item = &Offer> {
        let offers = self.0.as_ref().map_or(&[][..], |schedule| &schedule.offers);
        let lacks = move |offer: &&Offer| !classes.cover(offer.class) && needed.cover(offer.class);
        offers.iter().filter(lacks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RED: Classes = Classes(1);
    const BLUE: Classes = Classes(2);

    #[test]
    fn classes_change_with_time_and_missing_offers_are_named() {
        let offer = |class, title: &str| Offer { class, title: title.to_owned(), document: None };
        let offers = [offer(RED, "red"), offer(BLUE, "blue")];
        let period = |from, classes| PermissionPeriod { from, classes, names: Vec::new() };
        let periods = vec![period(10, BLUE), period(20, Classes::NONE)];
        let permission = Permission::new(periods, offers.into());
        assert_eq!(permission.classes(5), BLUE);
        assert_eq!(permission.classes(19), BLUE);
        assert_eq!(permission.classes(20), Classes::NONE);
        let both = RED.and(BLUE);
        let lacking = |classes, needed| {
            permission.lacking(classes, needed).map(|it| &*it.title).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(lacking(BLUE, both), "red");
        assert_eq!(lacking(Classes::NONE, both), "red blue");
        assert_eq!(lacking(both, both), "");
        assert!(Permission::EVERYTHING.classes(0).cover(both));
    }
}

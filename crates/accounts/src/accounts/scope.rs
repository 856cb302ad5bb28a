//! Scopes: the parts of an account's access, for connected applications and named keys.

use std::{fmt, str::FromStr};

use crate::{accounts::Addon, products::Product};

base::words! {
    /// A part of an account's access, with its name in requests, in answers and in the database. In display order.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Scope {
        /// Football and signals; over MCP also the account's own usage.
        Football = "football",
        /// All other sports.
        Sports = "sports",
        /// Prices by bookmaker.
        Odds = "odds",
        /// Live sockets and streams: football, tennis and the state of feeds. Channels of other sports and with prices of
        /// bookmakers need those scopes too.
        Stream = "stream",
        /// The account itself: its add-ons, usage and webhooks.
        Account = "account",
    }
}

impl Scope {
    /// Those that an application can get.
    pub const OF_APPS: [Self; 3] = [Self::Football, Self::Sports, Self::Odds];

    /// The scope that a request to this product needs, over REST or MCP.
    #[must_use]
    pub fn for_product(product: Product) -> Self {
        match product {
            Product::Football | Product::Signals => Self::Football,
            Product::Sport(_) => Self::Sports,
            Product::Odds => Self::Odds,
            Product::Websocket => Self::Stream,
        }
    }

    /// The scope that covers an add-on; `None` if it has no scope.
    #[must_use]
    pub fn for_addon(addon: Addon) -> Option<Self> {
        match addon {
            // What opens a socket checks the scope itself.
            Addon::Websocket => None,
            Addon::Sports => Some(Self::Sports),
            Addon::Odds => Some(Self::Odds),
        }
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Scope {
    type Err = UnknownScope;

    fn from_str(name: &str) -> Result<Self, UnknownScope> {
        Self::from_word(name).ok_or_else(|| UnknownScope { name: name.to_owned() })
    }
}

/// The name does not denote a scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown scope `{name}`, expected football, sports, odds, stream or account")]
pub struct UnknownScope {
    pub name: String,
}

/// A set of scopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scopes(u8);

impl Scopes {
    /// All of them.
    #[must_use]
    pub fn all() -> Self {
        Scope::ALL.into_iter().collect()
    }

    /// Parses names that an application requests. It gets no other scopes than [`Scope::OF_APPS`].
    #[must_use]
    pub fn parse_of_app(text: &str) -> Self {
        Self::parse(text).iter().filter(|scope| Scope::OF_APPS.contains(scope)).collect()
    }

    /// Parses names separated by spaces. Unknown names are ignored, as RFC 6749 section 3.3 allows:
    /// clients request `offline_access` and the like from every server.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        text.split(' ').filter_map(|name| name.parse().ok()).collect()
    }

    #[must_use]
    pub fn contains(self, scope: Scope) -> bool {
        self.0 & scope.bit() != 0
    }

    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether all of them are among `others`.
    #[must_use]
    pub fn is_within(self, others: Self) -> bool {
        self.0 & !others.0 == 0
    }

    /// Whether they include what an add-on pays for.
    #[must_use]
    pub fn cover(self, addon: Addon) -> bool {
        Scope::for_addon(addon).is_none_or(|scope| self.contains(scope))
    }

    /// In display order.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.into_iter().filter(move |scope| self.contains(*scope))
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().fold(0, |bits, scope| bits | scope.bit()))
    }
}

/// The names, separated by spaces.
impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, scope) in self.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            write!(f, "{space}{scope}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_unknown_ones_are_ignored() {
        let check = |text: &str, expected: &str| {
            assert_eq!(Scopes::parse(text).to_string(), expected, "{text}");
        };
        check("football", "football");
        check("odds football odds", "football odds");
        check("offline_access sports openid", "sports");
        check("account stream", "stream account");
        check("Football", "");
        check("", "");
        let of_app = Scopes::parse_of_app("football stream account").to_string();
        assert_eq!(of_app, "football", "no application opens sockets or changes the account");
    }

    #[test]
    fn addon_is_covered_by_its_scope() {
        let football = Scopes::parse("football");
        assert!(!football.cover(Addon::Sports) && !football.cover(Addon::Odds));
        assert!(Scopes::parse("sports odds").cover(Addon::Odds));
        assert!(football.is_within(Scopes::parse("football odds")));
        assert!(!Scopes::parse("football odds").is_within(football));
    }
}

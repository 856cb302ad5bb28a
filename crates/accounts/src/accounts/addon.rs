//! The paid add-ons, and how long an account has each.

use std::{fmt, str::FromStr};

use super::Micros;

base::words! {
    /// A product that is paid for monthly, with its name in commands, in answers and in the database. In display order.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Addon {
        /// Live WebSockets.
        Websocket = "websocket",
        /// Every sport but football over REST and MCP.
        Sports = "sports",
        /// The odds of all bookmakers.
        Odds = "odds",
    }
}

impl fmt::Display for Addon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Addon {
    type Err = UnknownAddon;

    fn from_str(name: &str) -> Result<Self, UnknownAddon> {
        Self::from_word(name).ok_or_else(|| UnknownAddon { name: name.to_owned() })
    }
}

/// The name does not denote an add-on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown add-on `{name}`, expected websocket, sports or odds")]
pub struct UnknownAddon {
    pub name: String,
}

/// When each add-on of an account ends. Small and `Copy`, because every socket holds one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Addons {
    expires: [Option<Micros>; Addon::ALL.len()],
}

impl Addons {
    /// The moment the add-on expires or expired; `None` if it was never bought.
    #[must_use]
    pub fn expiry(&self, addon: Addon) -> Option<Micros> {
        self.expires[addon as usize]
    }

    /// Whether the add-on has time left.
    #[must_use]
    pub fn has(&self, addon: Addon, now: Micros) -> bool {
        self.expiry(addon).is_some_and(|expiry| now < expiry)
    }

    /// All add-ons ever bought, expired or not.
    pub fn iter(&self) -> impl Iterator<Item = (Addon, Micros)> + '_ {
        Addon::ALL.into_iter().filter_map(|addon| Some((addon, self.expiry(addon)?)))
    }

    pub(super) fn set(&mut self, addon: Addon, expiry: Micros) {
        self.expires[addon as usize] = Some(expiry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for addon in Addon::ALL {
            assert_eq!(addon.to_string().parse(), Ok(addon));
        }
        let error = "tv".parse::<Addon>().unwrap_err();
        assert_eq!(error.to_string(), "unknown add-on `tv`, expected websocket, sports or odds");
    }

    #[test]
    fn addon_ends_at_its_expiry() {
        let mut addons = Addons::default();
        addons.set(Addon::Odds, 100);
        assert!(addons.has(Addon::Odds, 99));
        assert!(!addons.has(Addon::Odds, 100));
        assert!(!addons.has(Addon::Sports, 0));
        assert_eq!(addons.iter().collect::<Vec<_>>(), [(Addon::Odds, 100)]);
    }
}

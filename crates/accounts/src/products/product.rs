//! The products of the service.

use std::{fmt, iter};

use facts::event::Sport;

use crate::accounts::Addon;

/// A product, by which calls are gated and counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Product {
    Football,
    /// One of the sports of the Sports add-on.
    Sport(Sport),
    Odds,
    Signals,
    /// Live sockets, and images of their channels.
    Websocket,
}

impl Product {
    /// Tennis, of which the operator may allow some requests without its add-on.
    pub const TENNIS: Self = Self::Sport(Sport::Tennis);

    /// Every product, in display order.
    pub fn all() -> impl Iterator<Item = Self> {
        let sports = Self::sports().map(Self::Sport);
        iter::once(Self::Football).chain(sports).chain([Self::Odds, Self::Signals, Self::Websocket])
    }

    /// The sports of the Sports add-on, in display order.
    pub fn sports() -> impl Iterator<Item = Sport> {
        let is_sold = |sport: &Sport| *sport != Sport::Football && sport.profile().is_product;
        Sport::ALL.into_iter().filter(is_sold)
    }

    /// The sports of the Sports add-on in a sentence: `tennis, CS2 and darts`.
    #[must_use]
    pub fn sports_text() -> String {
        let names: Vec<_> = Self::sports().map(|sport| sport.profile().in_text).collect();
        match names.split_last() {
            Some((last, others)) => format!("{} and {last}", others.join(", ")),
            None => String::new(),
        }
    }

    /// The name in paths, in answers and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Football => Sport::Football.as_str(),
            Self::Sport(sport) => sport.as_str(),
            Self::Odds => "odds",
            Self::Signals => "signals",
            Self::Websocket => "websocket",
        }
    }

    /// The product with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|product| product.as_str() == name)
    }

    /// The display name.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Football => Sport::Football.profile().title,
            Self::Sport(sport) => sport.profile().title,
            Self::Odds => "Odds",
            Self::Signals => "Signals",
            Self::Websocket => "Live sockets",
        }
    }

    /// The product that a path belongs to, whether the path exists or not: `/api/` is football's,
    /// `/tennis/` is tennis's, `/odds/api/` is that of the odds; `None` for pages, images and
    /// operators' paths. Paths that need no key (`/api/v2/coverage/`, `/api/schema/`,
    /// `/api/asyncapi/`, `/api/docs/`) are `None` too.
    #[must_use]
    pub fn from_path(path: &str) -> Option<Self> {
        let mut parts = path.split('/').filter(|part| !part.is_empty());
        let first = parts.next()?;
        let [second, third] = [parts.next(), parts.next()].map(Option::unwrap_or_default);
        match (first, second, third) {
            ("api", "v2", "coverage") | ("api", "schema" | "asyncapi" | "docs" | "redoc", _) => {
                None
            }
            ("api" | "mcp", ..) => Some(Self::Football),
            ("stream", "v1", "channels" | "replays" | "sse") => Some(Self::Websocket),
            (name, "api" | "mcp", _) => {
                Self::named(name).filter(|it| !matches!(it, Self::Football | Self::Websocket))
            }
            _ => None,
        }
    }

    /// The product whose MCP server has this path, with or without a slash at its end. Unlike
    /// [`Self::from_path`] it knows only the servers themselves, and no other product has one.
    #[must_use]
    pub fn from_mcp_path(path: &str) -> Option<Self> {
        let path = path.strip_prefix('/')?;
        match path.strip_suffix('/').unwrap_or(path) {
            "mcp" | "api/mcp" => Some(Self::Football),
            path => {
                let sport = Self::named(path.strip_suffix("/mcp")?)?;
                (sport.addon() == Some(Addon::Sports)).then_some(sport)
            }
        }
    }

    /// The add-on it requires; `None` if every account has it. The odds may be free for a time: see
    /// [`super::Catalogue::is_free`].
    #[must_use]
    pub fn addon(self) -> Option<Addon> {
        match self {
            Self::Football | Self::Signals => None,
            Self::Sport(_) => Some(Addon::Sports),
            Self::Odds => Some(Addon::Odds),
            Self::Websocket => Some(Addon::Websocket),
        }
    }
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expected: Option<Product>) {
        assert_eq!(Product::from_path(path), expected, "{path}");
    }

    #[test]
    fn api_paths_belong_to_products() {
        for path in ["/api/", "/api/events/", "/api/v2/events/", "/api/v2/none/", "/mcp", "/mcp/"] {
            check(path, Some(Product::Football));
        }
        check("/tennis/api/v2/matches/", Some(Product::TENNIS));
        check("/csgo/mcp/", Some(Product::Sport(Sport::Cs2)));
        check("/odds/api/", Some(Product::Odds));
        check("/odds/api", Some(Product::Odds));
        check("/odds/api/sports/", Some(Product::Odds));
        check("/signals/api/", Some(Product::Signals));
        check("/stream/v1/channels/football/1", Some(Product::Websocket));
        check("/stream/v1/replays/", Some(Product::Websocket));
        check("/stream/v1/sse", Some(Product::Websocket));
    }

    #[test]
    fn pages_and_keyless_paths_belong_to_no_product() {
        for path in [
            "/",
            "",
            "/dashboard/",
            "/odds/",
            "/tennis/docs/",
            "/img/team/1/",
            "/healthz",
            "/api/v2/coverage/",
            "/api/schema/",
            "/api/asyncapi/",
            "/api/docs/",
            "/websocket/api/",
            "/football/api/v2/",
            "/stream/v1",
        ] {
            check(path, None);
        }
    }

    #[test]
    fn mcp_servers_are_known_by_their_exact_path() {
        let check = |path: &str, expected| {
            assert_eq!(Product::from_mcp_path(path), expected, "{path}");
        };
        for path in ["/mcp", "/mcp/", "/api/mcp", "/api/mcp/"] {
            check(path, Some(Product::Football));
        }
        check("/tennis/mcp", Some(Product::TENNIS));
        check("/horseracing/mcp/", Some(Product::Sport(Sport::HorseRacing)));
        for path in [
            "",
            "/",
            "mcp",
            "/mcp//",
            "//mcp",
            "/mcp/x",
            "/football/mcp",
            "/odds/mcp",
            "/websocket/mcp",
            "/tennis/mcp/x",
            "/tennis/api/mcp",
        ] {
            check(path, None);
        }
    }

    #[test]
    fn names_round_trip() {
        for product in Product::all() {
            assert_eq!(Product::named(product.as_str()), Some(product));
        }
        for name in ["chess", "cricket", "other"] {
            assert_eq!(Product::named(name), None);
        }
    }

    #[test]
    fn products_are_in_display_order() {
        let names: Vec<_> = Product::all().map(Product::as_str).collect();
        let names = names.join(" ");
        assert!(names.starts_with("football tennis csgo darts hockey basketball horseracing "));
        assert!(names.ends_with(" odds signals websocket"), "{names}");
        let text = Product::sports_text();
        assert!(text.starts_with("tennis, CS2, darts, hockey, basketball"), "{text}");
        assert_eq!(text.matches(" and ").count(), 1, "{text}");
    }
}

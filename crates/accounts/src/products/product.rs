//! The products of the service.

use std::fmt;

use crate::accounts::Addon;

/// A product, by which calls are gated and counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Product {
    Football,
    Tennis,
    /// Counter-Strike 2; `csgo` in paths, as clients know it.
    Csgo,
    Darts,
    Hockey,
    Basketball,
    Horseracing,
    Odds,
    Signals,
    /// Live sockets, and images of their channels.
    Websocket,
}

impl Product {
    /// Every product, in display order.
    pub const ALL: [Self; 10] = [
        Self::Football,
        Self::Tennis,
        Self::Csgo,
        Self::Darts,
        Self::Hockey,
        Self::Basketball,
        Self::Horseracing,
        Self::Odds,
        Self::Signals,
        Self::Websocket,
    ];

    /// The name in paths, in answers and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Football => "football",
            Self::Tennis => "tennis",
            Self::Csgo => "csgo",
            Self::Darts => "darts",
            Self::Hockey => "hockey",
            Self::Basketball => "basketball",
            Self::Horseracing => "horseracing",
            Self::Odds => "odds",
            Self::Signals => "signals",
            Self::Websocket => "websocket",
        }
    }

    /// The product with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|product| product.as_str() == name)
    }

    /// The display name.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Football => "Football",
            Self::Tennis => "Tennis",
            Self::Csgo => "CS2",
            Self::Darts => "Darts",
            Self::Hockey => "Hockey",
            Self::Basketball => "Basketball",
            Self::Horseracing => "Horse racing",
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
    pub fn of_path(path: &str) -> Option<Self> {
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
    /// [`Self::of_path`] it knows only the servers themselves, and no other product has one.
    #[must_use]
    pub fn of_mcp_path(path: &str) -> Option<Self> {
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
    /// [`super::Catalogue::needs`].
    #[must_use]
    pub fn addon(self) -> Option<Addon> {
        match self {
            Self::Football | Self::Signals => None,
            Self::Tennis
            | Self::Csgo
            | Self::Darts
            | Self::Hockey
            | Self::Basketball
            | Self::Horseracing => Some(Addon::Sports),
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
        assert_eq!(Product::of_path(path), expected, "{path}");
    }

    #[test]
    fn api_paths_belong_to_products() {
        for path in ["/api/", "/api/events/", "/api/v2/events/", "/api/v2/none/", "/mcp", "/mcp/"] {
            check(path, Some(Product::Football));
        }
        check("/tennis/api/v2/matches/", Some(Product::Tennis));
        check("/csgo/mcp/", Some(Product::Csgo));
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
            assert_eq!(Product::of_mcp_path(path), expected, "{path}");
        };
        for path in ["/mcp", "/mcp/", "/api/mcp", "/api/mcp/"] {
            check(path, Some(Product::Football));
        }
        check("/tennis/mcp", Some(Product::Tennis));
        check("/horseracing/mcp/", Some(Product::Horseracing));
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
        for product in Product::ALL {
            assert_eq!(Product::named(product.as_str()), Some(product));
        }
        assert_eq!(Product::named("chess"), None);
    }
}

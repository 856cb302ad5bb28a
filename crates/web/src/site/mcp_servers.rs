//! The MCP servers of the hub: one for football, signals and the account, and one for each other sport.
//!
//! `/mcp-info/`, the server cards and `llms.txt` list them from here.

use std::{iter, sync::LazyLock};

use accounts::Addon;
use facts::event::Sport;

use crate::products::Product;

/// One MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct McpServer {
    pub(super) product: Product,
    /// What its tools cover, as part of a sentence.
    pub(super) covers: &'static str,
    /// What it does, for lists of servers: at most 100 characters, the limit of server cards.
    pub(super) description: &'static str,
}

/// Every server, in display order.
pub(super) static ALL: LazyLock<Vec<McpServer>> = LazyLock::new(|| {
    let football = McpServer {
        product: Product::Football,
        covers: "Football, signals and your account",
        description: Sport::Football.profile().mcp,
    };
    let others = Product::sports().map(|sport| McpServer {
        product: Product::Sport(sport),
        covers: sport.profile().title,
        description: sport.profile().mcp,
    });
    iter::once(football).chain(others).collect()
});

impl McpServer {
    /// The server of a sport, by its name in paths.
    pub(super) fn named(sport: &str) -> Option<&'static Self> {
        ALL.iter().find(|server| server.sport() == sport)
    }

    /// The sport's name in paths.
    pub(super) fn sport(&self) -> &'static str {
        self.product.as_str()
    }

    /// Whether it is the server at `/mcp`.
    pub(super) fn is_main(&self) -> bool {
        self.product == Product::Football
    }

    /// The name under which hosts list it.
    pub(super) fn name(&self) -> String {
        match self.is_main() {
            true => "matchwire".to_owned(),
            false => format!("matchwire-{}", self.sport()),
        }
    }

    /// The display name.
    pub(super) fn title(&self) -> String {
        match self.is_main() {
            true => "Matchwire".to_owned(),
            false => format!("Matchwire {}", self.product.title()),
        }
    }

    /// Its path.
    pub(super) fn path(&self) -> String {
        match self.is_main() {
            true => "/mcp".to_owned(),
            false => format!("/{}/mcp", self.sport()),
        }
    }

    /// The add-on that it requires.
    pub(super) fn addon(&self) -> Option<Addon> {
        self.product.addon()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_belong_to_the_product() {
        for server in ALL.iter() {
            assert_eq!(Product::from_path(&server.path()), Some(server.product));
            assert_eq!(McpServer::named(server.sport()), Some(server));
        }
        assert_eq!(McpServer::named("chess"), None);
    }

    #[test]
    fn descriptions_fit_into_a_server_card() {
        for server in ALL.iter() {
            assert!((1..=100).contains(&server.description.len()), "{}", server.description);
            assert!(server.title().len() <= 100);
        }
    }
}

//! The MCP servers as protected resources (RFC 9728).

use axum::response::Response;
use hyper::{
    StatusCode,
    header::{HeaderValue, WWW_AUTHENTICATE},
};

use crate::products::Product;
use accounts::Scope;

/// Where the metadata of a protected resource is; its own path is appended.
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// An MCP server, by the path that the client used: with or without a slash at its end, or an alias. A
/// request to it, or for its metadata, has this value in its extensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::http) struct McpResource {
    pub(super) product: Product,
    path: String,
}

impl McpResource {
    /// The MCP server at this path, or the one whose metadata is at this path.
    pub(in crate::http) fn from_path(path: &str) -> Option<Self> {
        let path = match path.strip_prefix(WELL_KNOWN) {
            // Clients that do not append the path mean the first server.
            Some("" | "/") => "/mcp",
            Some(path) => path,
            None => path,
        };
        let product = Product::from_mcp_path(path)?;
        Some(Self { product, path: path.to_owned() })
    }

    /// The product that a resource indicator (RFC 8707) denotes. Clients that send only the address of the
    /// hub mean the first server: older releases of the Rust SDK do (modelcontextprotocol/rust-sdk#961).
    pub(in crate::http) fn audience(indicator: &str, base: &str) -> Option<Product> {
        let (start, path) = indicator.split_at_checked(base.len())?;
        if !start.eq_ignore_ascii_case(base) {
            return None;
        }
        match path {
            "" | "/" => Some(Product::Football),
            path => Product::from_mcp_path(path),
        }
    }

    /// Its URL, which identifies it.
    pub(super) fn url(&self, base: &str) -> String {
        format!("{base}{}", self.path)
    }

    /// Adds the challenge of RFC 6750 to a refusal: next to `Token` on a 401, alone on a 403.
    /// `has_credential`: whether the request had a key or a token.
    pub(in crate::http) fn challenge(
        &self,
        base: &str,
        has_credential: bool,
        response: &mut Response,
    ) {
        let error = match response.status() {
            StatusCode::UNAUTHORIZED if has_credential => "error=\"invalid_token\", ",
            StatusCode::UNAUTHORIZED => "",
            StatusCode::FORBIDDEN => "error=\"insufficient_scope\", ",
            _ => return,
        };
        let (scope, path) = (Scope::for_product(self.product), &self.path);
        let challenge = format!(
            "Bearer {error}resource_metadata=\"{base}{WELL_KNOWN}{path}\", scope=\"{scope}\""
        );
        if let Ok(challenge) = HeaderValue::try_from(challenge) {
            response.headers_mut().append(WWW_AUTHENTICATE, challenge);
        }
    }
}

#[cfg(test)]
mod tests {
    use facts::event::Sport;

    use super::*;

    #[test]
    fn resource_is_found_by_its_path_and_that_of_its_metadata() {
        let check = |path: &str, expected: Option<(Product, &str)>| {
            let found = McpResource::from_path(path);
            let found = found.as_ref().map(|it| (it.product, &*it.path));
            assert_eq!(found, expected, "{path}");
        };
        check("/mcp", Some((Product::Football, "/mcp")));
        check("/tennis/mcp/", Some((Product::TENNIS, "/tennis/mcp/")));
        check("/.well-known/oauth-protected-resource", Some((Product::Football, "/mcp")));
        check(
            "/.well-known/oauth-protected-resource/api/mcp",
            Some((Product::Football, "/api/mcp")),
        );
        check(
            "/.well-known/oauth-protected-resource/darts/mcp/",
            Some((Product::Sport(Sport::Darts), "/darts/mcp/")),
        );
        check("/.well-known/oauth-protected-resource/odds/mcp", None);
        check("/.well-known/oauth-protected-resourcex", None);
        check("/api/v2/events/", None);
    }

    #[test]
    fn resource_indicator_denotes_a_product_of_this_hub() {
        let check = |indicator: &str, expected| {
            let found = McpResource::audience(indicator, "https://hub.test");
            assert_eq!(found, expected, "{indicator}");
        };
        check("https://hub.test/mcp", Some(Product::Football));
        check("https://HUB.test/api/mcp/", Some(Product::Football));
        check("https://hub.test/tennis/mcp", Some(Product::TENNIS));
        check("https://hub.test", Some(Product::Football));
        check("https://hub.test/", Some(Product::Football));
        check("https://hub.test.evil/mcp", None);
        check("https://hub.test/mcp#a", None);
        check("https://hub.test/odds/mcp", None);
        check("http://hub.test/mcp", None);
        check("", None);
        check("é", None);
    }
}

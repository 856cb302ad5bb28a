//! Mounts the MCP servers: which paths are theirs, and what they answer from.

use axum::Router;
use mcp::{DocsPage, McpParts};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{Shared, docs};

/// The routes of the servers, which ask the hub's other routes. `stop` ends calls that wait, and streams.
pub(super) fn routes(
    shared: &Shared,
    rest: Router,
    openapi: &Value,
    stop: CancellationToken,
) -> Router {
    let parts = &shared.parts;
    let parts = McpParts {
        config: parts.mcp.clone(),
        rest,
        history: parts.history.clone(),
        hub: parts.hub_handle.clone(),
        accounts: parts.accounts.clone(),
        prices: parts.prices.clone(),
        limits: parts.limits.clone(),
        meter: parts.meter.clone(),
        public_url: parts.public_url.as_str().into(),
        stale_after_ms: parts.stale_after_ms,
        docs: docs::CONTENTS.iter().map(docs_page).collect(),
        stop,
    };
    mcp::routes(parts, openapi)
}

/// `/docs/rest/` is `rest`, `/mcp-info/` is `mcp-info`, and `/docs/` itself is `overview`.
fn docs_page(entry: &docs::Entry) -> DocsPage {
    let path = entry.path.trim_matches('/');
    let name = if path == "docs" { "overview" } else { path.trim_start_matches("docs/") };
    DocsPage { name: name.to_owned(), title: entry.title.to_owned(), path: entry.markdown() }
}

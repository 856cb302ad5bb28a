//! What agents read before they connect: MCP server cards and their catalog, entries for the MCP registry, and
//! `llms.txt`.
//!
//! A server card follows the extension `io.modelcontextprotocol/server-card` (SEP-2127) and describes one
//! server. `/.well-known/mcp/server-card.json` is that of the server at `/mcp`; the others are below it, and the
//! catalog lists all. `server.json` is the same data in the format of the MCP registry.

use std::{fmt::Write as _, net::IpAddr, sync::Arc};

use axum::{
    Router,
    extract::{Path, State},
    response::{IntoResponse, Response},
    routing::get,
};
use hyper::{
    HeaderMap, Uri,
    header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, VARY},
};
use serde_json::{Value, json};

use super::{
    docs,
    mcp_servers::{self, McpServer},
};
use crate::http::{Shared, cors, error::HttpError};
use crate::products::Product;

const CARD_SCHEMA: &str =
    "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json";
const REGISTRY_SCHEMA: &str =
    "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";

const CARD_TYPE: &str = "application/mcp-server-card+json";

/// The protocol versions of the streamable HTTP transport that the servers speak, the newest first.
const PROTOCOL_VERSIONS: [&str; 4] = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"];

/// The documents change only with the program and its settings.
const CACHING: &str = "public, max-age=3600";

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/.well-known/mcp/server-card.json", get(main_card))
        .route("/.well-known/mcp/{sport}/server-card.json", get(sport_card))
        .route("/.well-known/mcp/server.json", get(main_registry_entry))
        .route("/.well-known/mcp/{sport}/server.json", get(sport_registry_entry))
        .route("/.well-known/mcp/catalog.json", get(catalog))
        .route("/.well-known/llms.txt", get(llms))
        .route("/llms.txt", get(llms))
}

async fn main_card(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    card(&shared, &mcp_servers::ALL[0], &headers)
}

async fn sport_card(
    State(shared): State<Arc<Shared>>,
    Path(sport): Path<String>,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    let server = McpServer::named(&sport).ok_or(HttpError::NotFound)?;
    Ok(card(&shared, server, &headers))
}

/// The card, with the media type that the client requests: many know only that of JSON.
fn card(shared: &Shared, server: &McpServer, headers: &HeaderMap) -> Response {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|line| line.to_str().ok());
    let is_requested = accepted.into_iter().any(|line| line.contains(CARD_TYPE));
    let kind = if is_requested { CARD_TYPE } else { "application/json" };
    let mut response =
        answer(kind, pretty(&server_card(&shared.parts.settings.public_url, server)));
    response.headers_mut().append(VARY, HeaderValue::from_static("accept"));
    response
}

async fn main_registry_entry(State(shared): State<Arc<Shared>>) -> Response {
    registry_answer(&shared, &mcp_servers::ALL[0])
}

async fn sport_registry_entry(
    State(shared): State<Arc<Shared>>,
    Path(sport): Path<String>,
) -> Result<Response, HttpError> {
    let server = McpServer::named(&sport).ok_or(HttpError::NotFound)?;
    Ok(registry_answer(&shared, server))
}

fn registry_answer(shared: &Shared, server: &McpServer) -> Response {
    answer("application/json", pretty(&registry_entry(&shared.parts.settings.public_url, server)))
}

async fn catalog(State(shared): State<Arc<Shared>>) -> Response {
    answer("application/json", pretty(&catalog_of(&shared.parts.settings.public_url)))
}

/// `/llms.txt`, in the format of llmstxt.org.
async fn llms(State(shared): State<Arc<Shared>>) -> Response {
    answer("text/plain; charset=utf-8", llms_text(&shared.parts.settings.public_url))
}

fn answer(kind: &'static str, body: String) -> Response {
    let kind = HeaderValue::from_static(kind);
    let mut response = ([(CONTENT_TYPE, kind)], body).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static(CACHING));
    cors::allow(response.headers_mut());
    response
}

fn pretty(document: &Value) -> String {
    format!("{document:#}\n")
}

/// What the card and the registry's entry have in common.
fn identity(base: &str, server: &McpServer) -> Value {
    json!({
        "name": qualified_name(base, server),
        "title": server.title(),
        "description": server.description,
        "version": env!("CARGO_PKG_VERSION"),
        "websiteUrl": website(base, server),
        "icons": [
            {"src": format!("{base}/static/icon.svg"), "mimeType": "image/svg+xml", "sizes": ["any"]}
        ],
        "remotes": [{
            "type": "streamable-http",
            "url": format!("{base}{}", server.path()),
            "headers": [{
                "name": "Authorization",
                "description": "Your API key, from the dashboard, or an OAuth access token",
                "isRequired": true,
                "isSecret": true,
                "value": "Bearer {key}",
                "variables": {
                    "key": {
                        "description": format!("API key; register at {base}/register/ for a free one"),
                        "isRequired": true,
                        "isSecret": true,
                        "placeholder": "mw_…",
                    },
                },
            }],
        }],
    })
}

fn server_card(base: &str, server: &McpServer) -> Value {
    let mut card = identity(base, server);
    card["$schema"] = CARD_SCHEMA.into();
    card["remotes"][0]["supportedProtocolVersions"] = PROTOCOL_VERSIONS.as_slice().into();
    let others = mcp_servers::ALL.iter().filter(|it| *it != server);
    let others: Vec<Value> = others
        .map(|listed| {
            json!({
                "title": listed.title(),
                "url": format!("{base}{}", listed.path()),
                "card": card_url(base, listed),
                "addon": listed.addon().map(|addon| addon.as_str()),
            })
        })
        .collect();
    card["_meta"] = json!({
        "org.matchwire/addon": server.addon().map(|addon| addon.as_str()),
        "org.matchwire/pricing": format!("{base}/pricing/"),
        "org.matchwire/servers": others,
    });
    card
}

fn registry_entry(base: &str, server: &McpServer) -> Value {
    let mut entry = identity(base, server);
    entry["$schema"] = REGISTRY_SCHEMA.into();
    entry
}

fn catalog_of(base: &str) -> Value {
    let publisher = host(base);
    let entries: Vec<Value> = mcp_servers::ALL
        .iter()
        .map(|server| {
            json!({
                "identifier": format!("urn:air:{publisher}:{}", server.name()),
                "displayName": server.title(),
                "type": CARD_TYPE,
                "url": card_url(base, server),
            })
        })
        .collect();
    json!({"specVersion": "draft", "entries": entries})
}

fn card_url(base: &str, server: &McpServer) -> String {
    match server.is_main() {
        true => format!("{base}/.well-known/mcp/server-card.json"),
        false => format!("{base}/.well-known/mcp/{}/server-card.json", server.sport()),
    }
}

fn website(base: &str, server: &McpServer) -> String {
    match server.is_main() {
        true => format!("{base}/mcp-info/"),
        false => format!("{base}/mcp-info/?server={}", server.sport()),
    }
}

/// The name in reverse-DNS form, such as `org.example.api/matchwire-tennis`.
fn qualified_name(base: &str, server: &McpServer) -> String {
    let host = host(base);
    let namespace = if host.parse::<IpAddr>().is_ok() {
        // A colon is not allowed in a name.
        host.replace(':', "-")
    } else {
        host.rsplit('.').collect::<Vec<_>>().join(".")
    };
    format!("{namespace}/{}", server.name())
}

/// The host of the hub's URL.
fn host(base: &str) -> String {
    let uri: Option<Uri> = base.parse().ok();
    let host = uri.as_ref().and_then(Uri::host).unwrap_or("localhost");
    host.trim_matches(['[', ']']).to_owned()
}

fn llms_text(base: &str) -> String {
    let sports = Product::sports_text();
    let mut text = format!(
        "\
# Matchwire

> Live sports data for programs: football, {sports}, with odds of many \
bookmakers, over REST, WebSocket and MCP.

One API key works for every product: send it as `Authorization: Bearer <key>`. A free account covers football; add-ons \
unlock the other sports, live sockets and odds.
"
    );
    text += "\n## Documentation\n\n";
    let mut link = |title: &str, path: &str, about: &str| {
        // Writing to a string cannot fail.
        writeln!(text, "- [{title}]({base}{path}): {about}").ok();
    };
    for entry in docs::CONTENTS {
        link(entry.title, &entry.markdown(), entry.about);
    }
    link("API reference", "/api/schema/", "OpenAPI document of every REST endpoint.");
    link("Sockets, for tools", "/api/asyncapi/", "AsyncAPI document of the sockets.");
    let about = "JSON Schema of every document, event, frame and command of `/stream/v1`.";
    link("Types of the stream protocol", "/api/schema/documents/", about);
    text += "\n## MCP servers\n\n";
    for server in mcp_servers::ALL.iter() {
        let needs = if server.addon().is_some() { " Needs the Sports add-on." } else { "" };
        let (title, path) = (server.title(), server.path());
        writeln!(text, "- [{title}]({base}{path}): {}.{needs}", server.description).ok();
    }
    let catalog = "server cards of all MCP servers.";
    writeln!(text, "- [Catalog]({base}/.well-known/mcp/catalog.json): {catalog}").ok();
    text += "\n## Optional\n\n";
    writeln!(text, "- [Pricing]({base}/pricing/): add-ons and their prices.").ok();
    writeln!(text, "- [Register]({base}/register/): create a free account and its key.").ok();
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_reverse_dns_form() {
        let check = |base: &str, expected: &str| {
            let tennis = McpServer::named("tennis").unwrap();
            assert_eq!(qualified_name(base, tennis), expected, "{base}");
        };
        check("https://api.example.org", "org.example.api/matchwire-tennis");
        check("http://127.0.0.1:8080", "127.0.0.1/matchwire-tennis");
        check("http://[::1]:8080", "--1/matchwire-tennis");
        check("http://localhost:8080", "localhost/matchwire-tennis");
    }

    #[test]
    fn card_describes_one_server_and_names_the_others() {
        let base = "https://api.example.org";
        let card = server_card(base, McpServer::named("tennis").unwrap());
        assert_eq!(card["remotes"][0]["url"], "https://api.example.org/tennis/mcp");
        assert_eq!(card["remotes"][0]["headers"][0]["name"], "Authorization");
        assert_eq!(card["remotes"].as_array().map(Vec::len), Some(1));
        assert_eq!(card["_meta"]["org.matchwire/addon"], "sports");
        assert_eq!(card["_meta"]["org.matchwire/servers"].as_array().map(Vec::len), Some(6));
        let main = server_card(base, &mcp_servers::ALL[0]);
        assert_eq!(main["remotes"][0]["url"], "https://api.example.org/mcp");
        assert_eq!(main["_meta"]["org.matchwire/addon"], Value::Null);
    }

    #[test]
    fn registry_entry_has_only_fields_of_its_schema() {
        let entry = registry_entry("https://api.example.org", &mcp_servers::ALL[0]);
        let mut names: Vec<_> = entry.as_object().unwrap().keys().map(String::as_str).collect();
        names.sort_unstable();
        let expected = [
            "$schema",
            "description",
            "icons",
            "name",
            "remotes",
            "title",
            "version",
            "websiteUrl",
        ];
        assert_eq!(names, expected);
        assert_eq!(entry["remotes"][0]["supportedProtocolVersions"], Value::Null);
    }

    #[test]
    fn llms_text_begins_with_title_and_summary() {
        let text = llms_text("https://api.example.org");
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("# Matchwire"));
        assert!(lines.nth(1).unwrap().starts_with("> "));
        assert!(text.contains("- [REST](https://api.example.org/docs/rest.md): "), "{text}");
        assert!(
            text.contains("- [Matchwire Tennis](https://api.example.org/tennis/mcp): "),
            "{text}"
        );
    }
}

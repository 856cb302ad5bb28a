//! `/mcp-info/`: the MCP servers, and how to connect each usual host to them.

use askama::Template;
use axum::response::Response;
use hyper::HeaderMap;

use super::{
    Facts, Format,
    hosts::{self, Host, KEY},
    markdown, show as show_page,
};
use crate::site::{
    Shell, SiteError, Visit, live,
    mcp_servers::{self, McpServer},
};

const PAGE: &str = "/mcp-info/";

#[derive(Debug, Template)]
#[template(path = "docs/mcp_info.html", blocks = ["body"])]
struct McpInfo<'a> {
    shell: Shell<'a>,
    facts: Facts<'a>,
    servers: Vec<ServerRow>,
    hosts: Vec<Host>,
    /// The key in the snippets: that of a demo, or a placeholder.
    key: &'a str,
    is_demo: bool,
}

/// A row of the table of servers.
#[derive(Debug)]
struct ServerRow {
    covers: &'static str,
    title: &'static str,
    url: String,
    sport: &'static str,
    needs_addon: bool,
    is_chosen: bool,
}

/// `/mcp-info/`, and with `?server=` the snippets for the server of a sport.
pub(super) async fn show(
    visit: Visit,
    format: Format,
    headers: HeaderMap,
) -> Result<Response, SiteError> {
    let base = &*visit.shared.parts.settings.public_url;
    let chosen = McpServer::named(visit.query.text("server")).unwrap_or(&mcp_servers::ALL[0]);
    let demo_key = live::demo_key(&visit, &headers);
    let rows = mcp_servers::ALL.iter().map(|server| ServerRow {
        covers: server.covers,
        title: server.product.title(),
        url: format!("{base}{}", server.path()),
        sport: server.sport(),
        needs_addon: server.addon().is_some(),
        is_chosen: server == chosen,
    });
    let page = McpInfo {
        shell: visit.shell(PAGE),
        facts: Facts::new(&visit, PAGE),
        servers: rows.collect(),
        hosts: hosts::all(base, chosen),
        key: demo_key.unwrap_or(KEY),
        is_demo: demo_key.is_some(),
    };
    match format {
        Format::Html => show_page(&visit, &page),
        Format::Markdown => markdown(&visit, &page.as_body()),
    }
}

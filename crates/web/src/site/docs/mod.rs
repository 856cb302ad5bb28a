//! `/docs/`: how to use the service, with the limits and URLs of this hub.
//!
//! It documents only what is served today. The reader's browser fills in the key of the examples, since the
//! hub does not know any key in full. Each page is also available as Markdown, converted from the same
//! template.

mod closes;
mod format;
mod hosts;
mod markdown;
mod mcp_info;
mod numbers;

use std::sync::Arc;

use askama::Template;
use axum::{
    Router,
    response::{IntoResponse, Response},
    routing::get,
};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, VARY};
use mcp::DocsPage;
use tracing::error;

use self::{closes::CloseCodeRow, format::Format, numbers::Numbers};
use super::{client, error::SiteError, page::Shell, visit::Visit};
use crate::{http::Shared, products::Product};
use accounts::Addon;

/// Where the pages are. Each is also at its address with `.md` instead of the last slash.
pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/docs/", get(overview))
        .route("/docs.md", get(overview))
        .route("/docs/authentication/", get(authentication))
        .route("/docs/authentication.md", get(authentication))
        .route("/docs/rest/", get(rest))
        .route("/docs/rest.md", get(rest))
        .route("/docs/websocket/", get(websocket))
        .route("/docs/websocket.md", get(websocket))
        .route("/docs/examples/", get(examples))
        .route("/docs/examples.md", get(examples))
        .route("/mcp-info/", get(mcp_info::show))
        .route("/mcp-info.md", get(mcp_info::show))
}

/// A page of the documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) path: &'static str,
    pub(super) title: &'static str,
    /// What it is about, as a sentence.
    pub(super) about: &'static str,
}

impl Entry {
    /// The path of the page as Markdown.
    pub(super) fn markdown(&self) -> String {
        markdown_path(self.path)
    }
}

/// Every page, in display order.
pub(super) const CONTENTS: [Entry; 6] = [
    Entry {
        path: "/docs/",
        title: "Overview",
        about: "The first request in three steps, and where to find what.",
    },
    Entry {
        path: "/docs/authentication/",
        title: "Authentication",
        about: "How to send the key, what happens without one, and what to do if it leaks.",
    },
    Entry {
        path: "/docs/rest/",
        title: "REST",
        about: "Endpoints, errors, rate limits and caching.",
    },
    Entry {
        path: "/docs/websocket/",
        title: "Sockets",
        about: "Live football, tennis and odds: channels, commands, frames and close codes.",
    },
    Entry {
        path: "/mcp-info/",
        title: "MCP servers",
        about: "The same data as tools for Claude, Cursor, VS Code and other AI agents.",
    },
    Entry {
        path: "/docs/examples/",
        title: "Examples",
        about: "Complete programs to copy: shell, Python, browser, websocat.",
    },
];

/// The pages for the MCP servers: `/docs/rest/` is `rest`, `/mcp-info/` is `mcp-info`, and `/docs/` itself is `overview`.
pub(crate) fn mcp_pages() -> Vec<DocsPage> {
    CONTENTS.iter().map(mcp_page).collect()
}

fn mcp_page(entry: &Entry) -> DocsPage {
    let path = entry.path.trim_matches('/');
    let name = if path == "docs" { "overview" } else { path.trim_start_matches("docs/") };
    DocsPage { name: name.to_owned(), title: entry.title.to_owned(), path: entry.markdown() }
}

fn markdown_path(page: &str) -> String {
    format!("{}.md", page.trim_end_matches('/'))
}

/// What every page shows.
#[derive(Debug)]
struct Facts<'a> {
    /// The page's own path.
    page: &'static str,
    /// Where clients reach the hub, without a trailing slash.
    base: &'a str,
    /// The URL of the socket.
    socket: String,
    /// The public part of the reader's own key.
    prefix: Option<&'a str>,
    numbers: Numbers,
    /// The regular monthly price of the Sports add-on.
    sports: String,
    /// What it covers, in a sentence.
    of_sports: String,
}

impl<'a> Facts<'a> {
    fn new(visit: &'a Visit, page: &'static str) -> Self {
        let parts = &visit.shared.parts;
        let base = &*parts.settings.public_url;
        let prefix = visit.customer().and_then(|customer| customer.key_prefix.as_deref());
        let socket = format!("{}/stream/v1", base.replacen("http", "ws", 1));
        let sports = parts.customers.prices.now().price(Addon::Sports, false).to_string();
        let numbers = Numbers::new(
            &parts.settings.server,
            &parts.settings.fanout,
            &parts.settings.hub,
            &parts.admission.limits.config(),
        );
        let of_sports = Product::sports_text();
        Self { page, sports, of_sports, base, socket, prefix, numbers }
    }

    fn contents(&self) -> &'static [Entry] {
        &CONTENTS
    }

    /// The path of the page as Markdown.
    fn markdown(&self) -> String {
        markdown_path(self.page)
    }

    /// The hash of the JavaScript client.
    fn client_integrity(&self) -> &'static str {
        client::integrity()
    }

    fn closes(&self) -> Vec<CloseCodeRow> {
        closes::all().into()
    }
}

macro_rules! pages {
    ($($name:ident: $page:ident, $path:literal, $template:literal;)*) => {$(
        #[derive(Debug, Template)]
        #[template(path = $template, blocks = ["body"])]
        struct $page<'a> {
            shell: Shell<'a>,
            facts: Facts<'a>,
        }

        async fn $name(visit: Visit, format: Format) -> Result<Response, SiteError> {
            let facts = Facts::new(&visit, $path);
            let page = $page { shell: visit.shell("/docs/"), facts };
            match format {
                Format::Html => show(&visit, &page),
                Format::Markdown => markdown(&visit, &page.as_body()),
            }
        }
    )*};
}

pages! {
    overview: Overview, "/docs/", "docs/overview.html";
    authentication: Authentication, "/docs/authentication/", "docs/authentication.html";
    rest: Rest, "/docs/rest/", "docs/rest.html";
    websocket: Websocket, "/docs/websocket/", "docs/websocket.html";
    examples: Examples, "/docs/examples/", "docs/examples.html";
}

/// The page for people.
fn show(visit: &Visit, page: &impl Template) -> Result<Response, SiteError> {
    let mut response = visit.show(page)?;
    response.headers_mut().append(VARY, HeaderValue::from_static("accept"));
    Ok(response)
}

/// The body of a page as Markdown.
fn markdown(visit: &Visit, body: &impl Template) -> Result<Response, SiteError> {
    let base = &visit.shared.parts.settings.public_url;
    let html = body.render().map_err(|error| {
        error!(%error, "cannot render a page");
        SiteError::Internal
    })?;
    let text = markdown::convert(&html, base).map_err(|error| {
        error!(%error, "cannot convert a page to Markdown");
        SiteError::Internal
    })?;
    let kind = HeaderValue::from_static("text/markdown; charset=utf-8");
    let mut response = ([(CONTENT_TYPE, kind)], text).into_response();
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.append(VARY, HeaderValue::from_static("accept"));
    Ok(response)
}

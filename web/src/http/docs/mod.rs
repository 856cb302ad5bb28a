//! `/docs/`: how to use the service, with the limits and URLs of this hub.
//!
//! It documents only what is served today. The reader's browser fills in the key of the examples, since the
//! hub does not know any key in full.

mod closes;
mod numbers;

use std::sync::Arc;

use askama::Template;
use axum::{Router, response::Response, routing::get};

use self::closes::CloseCodeRow;
pub use self::numbers::Numbers;
use super::{
    Shared,
    site::{Shell, SiteError, Visit},
};
use accounts::Addon;

/// Where the pages are.
pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/docs/", get(overview))
        .route("/docs/authentication/", get(authentication))
        .route("/docs/rest/", get(rest))
        .route("/docs/websocket/", get(websocket))
        .route("/docs/examples/", get(examples))
}

/// A page of the documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    path: &'static str,
    title: &'static str,
}

const CONTENTS: [Entry; 5] = [
    Entry { path: "/docs/", title: "Overview" },
    Entry { path: "/docs/authentication/", title: "Authentication" },
    Entry { path: "/docs/rest/", title: "REST" },
    Entry { path: "/docs/websocket/", title: "Sockets" },
    Entry { path: "/docs/examples/", title: "Examples" },
];

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
    numbers: &'a Numbers,
    /// The regular monthly price of the Sports add-on.
    sports: String,
}

impl<'a> Facts<'a> {
    fn of(visit: &'a Visit, page: &'static str) -> Self {
        let parts = &visit.shared.parts;
        let base = &*parts.public_url;
        let prefix = visit.customer().and_then(|customer| customer.key_prefix.as_deref());
        let socket = format!("{}/stream/v1", base.replacen("http", "ws", 1));
        let sports = parts.catalogue.price(Addon::Sports, false).to_string();
        Self { page, sports, base, socket, prefix, numbers: &parts.numbers }
    }

    fn contents(&self) -> &'static [Entry] {
        &CONTENTS
    }

    fn closes(&self) -> Vec<CloseCodeRow> {
        closes::all().into()
    }
}

macro_rules! pages {
    ($($name:ident: $page:ident, $path:literal, $template:literal;)*) => {$(
        #[derive(Debug, Template)]
        #[template(path = $template)]
        struct $page<'a> {
            shell: Shell<'a>,
            facts: Facts<'a>,
        }

        async fn $name(visit: Visit) -> Result<Response, SiteError> {
            let facts = Facts::of(&visit, $path);
            visit.show(&$page { shell: visit.shell("/docs/"), facts })
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

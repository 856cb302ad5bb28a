//! Connections and everything around a request: one listener for pages, REST and the upgrade to sockets.
//!
//! `acceptor` accepts connections, and `service` applies the steps around the router, which the crate's `routes` makes. The
//! endpoints here are those of the stream, of pushes and of protocols: OAuth, payments, MCP. Nothing here knows the hub's
//! internals: answers come from the writer's images, and sockets go to the fan-out.
//!
//! `rest` and `site` use what is here; nothing here uses them.

mod acceptor;
mod activity;
mod address;
pub(crate) mod asset;
mod authorize;
pub(crate) mod base_url;
mod body;
mod body_deadline;
pub(crate) mod channel;
pub(crate) mod close;
mod compression;
mod connections;
pub(crate) mod cors;
mod credential;
pub(crate) mod csrf;
pub(crate) mod error;
mod error_page;
pub(crate) mod form;
mod forwarded;
mod handshake;
mod head;
pub(crate) mod health;
mod holders;
pub(crate) mod ingest;
pub(crate) mod known_paths;
#[cfg_attr(not(feature = "legacy-sockets"), path = "no_legacy_sockets.rs")]
pub(crate) mod legacy_sockets;
pub(crate) mod mcp;
pub(crate) mod oauth;
mod parts;
pub(crate) mod payment_reports;
mod peer;
mod push_limits;
mod registry;
#[cfg(feature = "films")]
pub(crate) mod replays;
mod request_context;
mod service;
pub(crate) mod sse;
pub(crate) mod ticket;
pub mod tls;
mod transport;
mod uri;
pub(crate) mod ws;

use std::{
    io, net,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::Router;
use base::work::PollTurns;
use hyper::HeaderMap;
use tokio::{sync::watch, task::JoinSet};
use tokio_util::sync::CancellationToken;

use self::{
    acceptor::Acceptor, asset::OpenBodies, connections::Connections, csrf::FormKey,
    error::HttpError, error_page::ErrorPage, known_paths::KnownPaths, push_limits::PushLimits,
    service::HttpService, ticket::Tickets,
};
pub use self::{
    body::SharedBody,
    connections::ConnectionLimits,
    parts::{
        AdmissionParts, ConnectionParts, CustomerParts, DemoParts, HubParts, MatchParts,
        ServerParts, ServerSettings,
    },
    peer::{Peer, Proxies},
    registry::{Registry, SocketPermit},
};
use crate::push::PushSources;
use accounts::access::Denial;

/// Shared by all requests.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) parts: ServerParts,
    connections: Connections,
    /// The paths below the products.
    paths: KnownPaths,
    /// The API documents; and the outputs of the test channels, which addresses that clients make up do not displace.
    pub(crate) documents: OpenBodies,
    pub(crate) test_outputs: OpenBodies,
    pub(crate) tickets: Tickets,
    /// What the event streams of an account may hold.
    frame_rooms: sse::FrameRooms,
    /// Signs the tokens of forms.
    pub(crate) forms: FormKey,
    ready: AtomicBool,
    /// The sources that push.
    pushing: PushSources,
    push_limits: PushLimits,
    /// Turns true when the hub is to stop.
    stop: watch::Receiver<bool>,
}

impl Shared {
    /// `paths` are those below the products; `stop` turns true when the hub is to stop.
    pub(crate) fn new(parts: ServerParts, paths: KnownPaths, stop: watch::Receiver<bool>) -> Self {
        Self {
            connections: Connections::new(parts.connections.limits),
            paths,
            documents: OpenBodies::default(),
            test_outputs: OpenBodies::default(),
            tickets: Tickets::new(&parts.customers.accounts, parts.hub.handle.has_peers()),
            frame_rooms: sse::FrameRooms::default(),
            forms: FormKey::new(parts.customers.accounts.derived_secret("forms")),
            ready: AtomicBool::new(true),
            pushing: PushSources::new(
                parts.settings.ingest.clone(),
                parts.hub.handle.clone(),
                parts.hub.fanout.clone(),
            ),
            push_limits: PushLimits::new(
                parts.settings.ingest.sockets_max,
                parts.settings.ingest.sockets_max_per_source,
            ),
            stop,
            parts,
        }
    }

    /// The address of the hub as the client of a request with these headers knows it, without a trailing
    /// slash. It is also the issuer of OAuth.
    pub(crate) fn base_url(&self, headers: &HeaderMap) -> String {
        let ServerSettings { public_url, server, .. } = &self.parts.settings;
        base_url::base_url(headers, public_url, !server.public_url.is_empty())
    }

    /// The refusal of a request.
    pub(crate) fn denied(&self, denial: Denial) -> HttpError {
        let prices = self.parts.customers.prices.now();
        HttpError::Denied { denial, prices, public_url: self.parts.settings.public_url.clone() }
    }

    /// Whether browsers reach the hub over TLS, its own or a proxy's.
    pub(crate) fn is_https(&self) -> bool {
        self.parts.settings.public_url.starts_with("https://")
    }
}

/// Serves with this router until `stop` turns true, then stops accepting. Returns the requests that are still being
/// answered, to be awaited. `streams` ends what does not end by itself; `error_page` renders errors for browsers.
///
/// # Errors
///
/// If the listener cannot be registered with the poll.
pub(crate) async fn serve(
    listener: net::TcpListener,
    shared: Arc<Shared>,
    router: Router,
    error_page: ErrorPage,
    streams: CancellationToken,
) -> io::Result<JoinSet<()>> {
    let service = HttpService::new(Arc::clone(&shared), router, error_page);
    let stop = shared.stop.clone();
    let acceptor = Arc::new(Acceptor {
        shared: Arc::clone(&shared),
        service,
        turns: PollTurns::by_cores(),
        stop,
    });
    let answering = acceptor.serve(listener).await;
    // Those of MCP clients do not end by themselves.
    streams.cancel();
    shared.ready.store(false, Ordering::Relaxed);
    answering
}

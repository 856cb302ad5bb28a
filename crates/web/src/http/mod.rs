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
pub(crate) mod mcp;
pub(crate) mod oauth;
mod peer;
mod push_limits;
mod registry;
pub(crate) mod replays;
mod request_context;
mod service;
pub(crate) mod sse;
pub(crate) mod ticket;
pub mod tls;
mod transport;
mod uri;
pub(crate) mod webhooks;
pub(crate) mod ws;

use std::{
    io, net,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::Router;
use fanout::{Fanout, socket::SocketOptions};
use hyper::HeaderMap;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::{sync::watch, task::JoinSet};
use tokio_util::sync::CancellationToken;

use self::{
    acceptor::Acceptor, asset::OpenBodies, connections::Connections, csrf::FormKey,
    error_page::ErrorPage, known_paths::KnownPaths, push_limits::PushLimits, service::HttpService,
    ticket::Tickets,
};
pub use self::{
    body::SharedBody,
    connections::ConnectionLimits,
    peer::{Peer, Proxies},
    registry::{Registry, SocketPermit},
};
use crate::{
    config::{FanoutConfig, ServerConfig},
    entitlement::Entitlement,
    images::Images,
    limits::Limits,
    log_state::LogState,
    payments::Payments,
    pipeline::HubHandle,
    predict::Predictor,
    products::Prices,
    push::PushSources,
    usage::Meter,
};
use ::mcp::McpConfig;
use accounts::{Accounts, OAuth, clients::ClientDocuments};
use cluster::{NodeHealth, ViewCluster};
use history::{query::History, signal_board::SignalBoard};
use hub::{
    config::{HubConfig, IngestConfig},
    sources::PlaybackControl,
    test_channels::TestTruth,
};
use log::film::Films;

/// What requests are answered from.
#[derive(Debug)]
pub struct ServerParts {
    pub accounts: Accounts,
    pub prices: Prices,
    /// What an account may follow on sockets.
    pub entitlement: Entitlement,
    pub payments: Payments,
    /// Webhooks of customers.
    #[cfg(feature = "webhooks")]
    pub webhooks: ::webhooks::Webhooks,
    /// Applications that customers have connected.
    pub oauth: OAuth,
    /// What applications publish of themselves.
    pub clients: ClientDocuments,
    pub limits: Limits,
    pub proxies: Proxies,
    pub fanout: Fanout,
    pub hub_handle: HubHandle,
    /// The cluster, for the operator.
    pub cluster: Option<ViewCluster>,
    /// Whether the log takes records.
    pub log_state: LogState,
    /// Whether a node of a cluster is ready.
    pub health: NodeHealth,
    pub registry: Registry,
    pub meter: Meter,
    pub metrics: PrometheusHandle,
    /// Predicts the results of football matches.
    pub predictor: Predictor,
    /// All matches: current ones from the hub, others from the archive.
    pub history: History,
    /// Signals from odds and play.
    pub signals: SignalBoard,
    /// Recordings of matches that can be replayed, if they are kept.
    pub films: Option<Films>,
    /// Where clients reach the hub, without a trailing slash: `server.public_url`, or derived from the listen address.
    pub public_url: String,
    /// Shown on the page of a demo, to requests for a loopback host only.
    pub demo_key: Option<String>,
    /// Interrupts the source of a demo, on request of a page on this machine.
    pub demo_feed: Option<PlaybackControl>,
    /// What the test channels publish, if there are any.
    pub test_truth: Option<TestTruth>,
    /// TLS, if the hub itself terminates it.
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// Settings for requests.
    pub server: ServerConfig,
    /// The number of connections of which nothing has been read yet.
    pub handshakes_max: usize,
    /// Whether sockets may agree to compressed messages.
    pub deflate: bool,
    /// Connections whose file descriptor is not below this are closed: the others are for the log and the database.
    pub descriptors_max: usize,
    /// How many connections there may be, and how many bytes may wait for them.
    pub connections: ConnectionLimits,
    /// Limits on what the kernel buffers for a reader.
    pub socket_options: SocketOptions,
    /// The file of refused messages.
    pub quarantine: PathBuf,
    /// Settings for pushed messages.
    pub ingest: IngestConfig,
    /// Settings that the documentation shows.
    pub fanout_settings: FanoutConfig,
    pub hub_settings: HubConfig,
    /// Images of teams, people and competitions.
    pub images: Images,
    /// Settings for the MCP servers.
    pub mcp: McpConfig,
    /// Milliseconds after which a document without news is stale.
    pub stale_after_ms: u32,
}

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
            connections: Connections::new(parts.connections),
            paths,
            documents: OpenBodies::default(),
            test_outputs: OpenBodies::default(),
            tickets: Tickets::new(&parts.accounts, parts.hub_handle.has_peers()),
            frame_rooms: sse::FrameRooms::default(),
            forms: FormKey::new(parts.accounts.derived_secret("forms")),
            ready: AtomicBool::new(true),
            pushing: PushSources::new(
                parts.ingest.clone(),
                parts.hub_handle.clone(),
                parts.fanout.clone(),
            ),
            push_limits: PushLimits::new(
                parts.ingest.sockets_max,
                parts.ingest.sockets_max_per_source,
            ),
            stop,
            parts,
        }
    }

    /// The address of the hub as the client of a request with these headers knows it, without a trailing
    /// slash. It is also the issuer of OAuth.
    pub(crate) fn base_url(&self, headers: &HeaderMap) -> String {
        let ServerParts { public_url, server, .. } = &self.parts;
        base_url::base_url(headers, public_url, !server.public_url.is_empty())
    }

    /// Whether browsers reach the hub over TLS, its own or a proxy's.
    pub(crate) fn is_https(&self) -> bool {
        self.parts.public_url.starts_with("https://")
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
    let acceptor = Arc::new(Acceptor { shared: Arc::clone(&shared), service, stop });
    let answering = acceptor.serve(listener).await;
    // Those of MCP clients do not end by themselves.
    streams.cancel();
    shared.ready.store(false, Ordering::Relaxed);
    answering
}

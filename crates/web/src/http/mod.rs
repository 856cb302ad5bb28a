//! One listener for pages, REST and the upgrade to sockets.
//!
//! `acceptor` accepts connections; the router lists every route. Nothing here knows the hub's internals:
//! answers come from the writer's images, and sockets go to the fan-out.

mod acceptor;
mod account;
mod activity;
mod address;
mod admin;
mod asset;
mod authorize;
mod body_deadline;
mod client;
pub(crate) mod close;
mod compression;
mod connections;
mod cors;
mod credential;
#[cfg(feature = "webhooks")]
mod customer_webhooks;
mod discovery;
mod docs;
mod error;
mod error_page;
mod forwarded;
mod handshake;
mod head;
mod holders;
mod images;
mod ingest;
mod known_paths;
#[cfg_attr(not(feature = "legacy-sockets"), path = "no_legacy_sockets.rs")]
mod legacy_sockets;
mod mcp;
mod mcp_servers;
mod oauth;
mod pages;
mod peer;
mod pricing;
mod push_limits;
mod registry;
#[cfg(feature = "films")]
mod replays;
mod request_context;
mod rest;
mod schema;
mod service;
mod site;
mod sse;
mod test_channels;
mod ticket;
pub mod tls;
mod trade;
mod transport;
mod truth;
mod uri;
mod webhooks;
mod ws;

use std::{
    io, net,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::{
    Router,
    routing::{any, get, post},
};
use fanout::{Fanout, socket::SocketOptions};
use hyper::HeaderMap;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::{sync::watch, task::JoinSet};
use tokio_util::sync::CancellationToken;

use self::{
    acceptor::Acceptor, admin::FigureHistory, asset::OpenBodies, connections::Connections,
    known_paths::KnownPaths, push_limits::PushLimits, service::HttpService, site::FormKey,
    ticket::Tickets,
};
pub use self::{
    connections::ConnectionLimits,
    docs::Numbers,
    peer::{Peer, Proxies},
    registry::{Registry, SocketPermit},
};
use crate::{
    api::{self, ApiParts},
    clock,
    config::ServerConfig,
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
use hub::{config::IngestConfig, sources::PlaybackControl, test_channels::TestTruth};

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
    #[cfg(feature = "films")]
    pub films: Option<log::film::Films>,
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
    /// The values of settings that the documentation shows.
    pub numbers: Numbers,
    /// Images of teams, people and competitions.
    pub images: Images,
    /// Settings for the MCP servers.
    pub mcp: McpConfig,
    /// Milliseconds after which a document without news is stale.
    pub stale_after_ms: u32,
}

/// Shared by all requests.
#[derive(Debug)]
struct Shared {
    parts: ServerParts,
    connections: Connections,
    /// The paths below the products.
    paths: KnownPaths,
    /// The API documents; and the outputs of the test channels, which addresses that clients make up do not displace.
    documents: OpenBodies,
    test_outputs: OpenBodies,
    tickets: Tickets,
    /// What the event streams of an account may hold.
    frame_rooms: sse::FrameRooms,
    /// Signs the tokens of forms.
    forms: FormKey,
    /// State between two readings of the operator's figures.
    figure_history: FigureHistory,
    ready: AtomicBool,
    /// The sources that push.
    pushing: PushSources,
    push_limits: PushLimits,
    /// Turns true when the hub is to stop.
    stop: watch::Receiver<bool>,
}

impl Shared {
    /// The address of the hub as the client of a request with these headers knows it, without a trailing
    /// slash. It is also the issuer of OAuth.
    fn base_url(&self, headers: &HeaderMap) -> String {
        let ServerParts { public_url, server, .. } = &self.parts;
        api::base::base_url(headers, public_url, !server.public_url.is_empty())
    }

    /// Whether browsers reach the hub over TLS, its own or a proxy's.
    fn is_https(&self) -> bool {
        self.parts.public_url.starts_with("https://")
    }
}

/// Serves until `stop` turns true, then stops accepting. Returns the requests that are still being answered,
/// to be awaited.
///
/// # Errors
///
/// If the listener cannot be registered with the poll.
pub async fn serve(
    listener: net::TcpListener,
    parts: ServerParts,
    stop: watch::Receiver<bool>,
) -> io::Result<JoinSet<()>> {
    let openapi = schema::openapi();
    let shared = Arc::new(Shared {
        connections: Connections::new(parts.connections),
        paths: schema::known_paths(&openapi),
        documents: OpenBodies::default(),
        test_outputs: OpenBodies::default(),
        tickets: Tickets::new(&parts.accounts, parts.hub_handle.has_peers()),
        frame_rooms: sse::FrameRooms::default(),
        forms: FormKey::new(parts.accounts.derived_secret("forms")),
        figure_history: FigureHistory::new(clock::wall()),
        ready: AtomicBool::new(true),
        pushing: PushSources::new(
            parts.ingest.clone(),
            parts.hub_handle.clone(),
            parts.fanout.clone(),
        ),
        push_limits: PushLimits::new(parts.ingest.sockets_max, parts.ingest.sockets_max_per_source),
        stop: stop.clone(),
        parts,
    });
    let streams = CancellationToken::new();
    let router = router(Arc::clone(&shared));
    let router = router.clone().merge(mcp::routes(&shared, router, &openapi, streams.clone()));
    // Some MB, which nothing reads while the hub serves.
    drop(openapi);
    let service = HttpService::new(Arc::clone(&shared), router);
    let acceptor = Arc::new(Acceptor { shared: Arc::clone(&shared), service, stop });
    let answering = acceptor.serve(listener).await;
    // Those of MCP clients do not end by themselves.
    streams.cancel();
    shared.ready.store(false, Ordering::Relaxed);
    answering
}

fn router(shared: Arc<Shared>) -> Router {
    let router = Router::new();
    #[cfg(feature = "webhooks")]
    let router = router.merge(customer_webhooks::routes());
    #[cfg(feature = "films")]
    let router = router.route("/stream/v1/replays/", get(replays::list));
    router
        .route("/", get(pages::home))
        .route("/watch/", get(pages::watch))
        .route("/watch/ticket/", post(pages::ticket))
        .route("/board/", get(pages::live_board))
        .route("/match/{sport}/{id}/", get(pages::match_page))
        .route("/watch/boards/{sport}/", get(pages::board))
        .route("/trade/", get(trade::show))
        .route("/trade/{sport}/{id}/", get(trade::show_match))
        .route("/truth/", get(truth::show))
        .route("/truth/feed/", post(truth::interrupt))
        .route("/static/{file}", get(pages::file))
        .route("/test/", get(test_channels::rounds))
        .route("/test/{epoch}/", get(test_channels::output))
        .route("/client/v1/", get(client::index))
        .route("/client/v1/matchwire.js", get(client::file))
        .route("/favicon.ico", get(pages::favicon))
        .route("/robots.txt", get(pages::robots))
        .route("/healthz", get(rest::healthz))
        .route("/readyz", get(rest::readyz))
        .route("/metrics", get(rest::metrics))
        .route("/stream/v1", any(ws::socket))
        .route("/stream/v1/", any(ws::socket))
        .merge(legacy_sockets::routes())
        .route("/stream/v1/channels/{*channel}", get(rest::channel))
        .route("/stream/v1/sse/", get(sse::events))
        .route("/api/v2/account/", get(account::show))
        .route("/api/v2/stream/ticket/", post(rest::ticket))
        .route("/ingest/v1/{source}", post(ingest::post).get(ingest::socket))
        .route("/ingest/v1/{source}/", post(ingest::post).get(ingest::socket))
        .route("/img/{*path}", get(images::show))
        .route("/pricing/", get(pricing::show))
        .merge(docs::routes())
        .merge(discovery::routes())
        .merge(schema::routes())
        .merge(admin::routes())
        .route("/webhooks/stripe/", post(webhooks::stripe))
        .route("/webhooks/paypal/", post(webhooks::paypal))
        .merge(oauth::routes())
        .merge(site::routes())
        .merge(api::routes(
            ApiParts {
                history: shared.parts.history.clone(),
                signals: shared.parts.signals.clone(),
                predictor: shared.parts.predictor.clone(),
                public_url: shared.parts.public_url.as_str().into(),
                configured_url: !shared.parts.server.public_url.is_empty(),
                prices: shared.parts.prices.clone(),
            }
            .into(),
        ))
        .fallback(ws::unknown)
        .method_not_allowed_fallback(error::method_not_allowed)
        .with_state(shared)
}

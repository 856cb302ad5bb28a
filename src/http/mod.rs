//! One listener for pages, REST and the upgrade to sockets.
//!
//! `door` takes connections in; the router reads as a table of contents. Nothing here knows the hub's internals: answers come
//! from the writer's images, sockets go to the fan-out.

mod account;
mod address;
mod admin;
mod arrival;
mod asset;
mod bench;
mod compression;
mod connections;
mod cors;
mod cpu_time;
mod credential;
mod docs;
mod door;
mod error;
mod error_page;
mod forwarded;
mod front;
mod gate;
mod head;
mod images;
mod ingest;
mod known_paths;
mod line;
mod pages;
mod peer;
mod pricing;
mod push_limits;
mod registry;
mod rest;
mod schema;
mod site;
mod ticket;
pub mod tls;
mod uri;
mod webhooks;
mod ws;

use std::{
    io, net,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    routing::{any, get, post},
};
use fanout::{Fanout, socket::SocketOptions};
use metrics_exporter_prometheus::PrometheusHandle;
use rustls::ServerConfig;
use tokio::{sync::watch, task::JoinSet};

use self::{
    admin::Desk, connections::Connections, door::Door, front::Front, ingest::SeenKeys,
    known_paths::KnownPaths, push_limits::PushLimits, schema::Documents, site::FormKey,
    ticket::Tickets,
};
pub use self::{
    bench::BenchDoor,
    connections::ConnectionLimits,
    docs::Numbers,
    peer::{Peer, Proxies},
    registry::{Place, Registry},
};
use crate::{
    accounts::Accounts,
    api::{self, ApiParts},
    archive::Archive,
    clock,
    config::IngestConfig,
    entitlement::Entitlement,
    images::Images,
    limits::Limits,
    payments::Payments,
    pipeline::HubHandle,
    predict::Predictor,
    products::Catalogue,
    push::PushSources,
    reader::Reader,
    signals::SignalBoard,
    usage::Meter,
};

/// What the answers are made from.
#[derive(Debug)]
pub struct Parts {
    pub accounts: Accounts,
    pub catalogue: Arc<Catalogue>,
    /// What an account may follow on sockets.
    pub entitlement: Entitlement,
    pub payments: Payments,
    pub limits: Limits,
    pub proxies: Proxies,
    pub fanout: Fanout,
    pub hub_handle: HubHandle,
    pub registry: Registry,
    pub meter: Meter,
    pub metrics: PrometheusHandle,
    pub archive: Archive,
    /// What football matches may end like.
    pub predictor: Predictor,
    /// What the hub knows of matches now.
    pub reader: Reader,
    /// What odds and play say.
    pub signals: SignalBoard,
    /// Where clients reach the hub, without a slash at the end.
    pub public_url: String,
    /// Whether that was set, and not made of the address that is listened on.
    pub configured_url: bool,
    /// Shown on the page of a demo, to requests for a loopback host only.
    pub demo_key: Option<String>,
    /// Whether visitors without a key see the boards of the day on the front page.
    pub public_boards: bool,
    /// TLS, where the hub speaks it itself.
    pub tls: Option<Arc<ServerConfig>>,
    /// Connections at a time of which nothing was read yet, and the time each has for the head of a request.
    pub arrivals_max: usize,
    pub handshake_timeout: Duration,
    /// How many connections there may be, and how much may wait for them.
    pub connections: ConnectionLimits,
    /// What the kernel may hold for the reader of an answer.
    pub socket_options: SocketOptions,
    /// Days for which browsers are to use TLS alone; 0 where they are not told.
    pub hsts_days: u32,
    /// What may be pushed.
    pub ingest: IngestConfig,
    /// What the documentation tells of the settings.
    pub numbers: Numbers,
    /// What is shown of whom matches are of.
    pub images: Images,
}

/// Shared by all requests.
#[derive(Debug)]
struct Shared {
    parts: Parts,
    connections: Connections,
    /// The paths below the products.
    paths: KnownPaths,
    /// The documents of the interface, where they are the same for everybody.
    documents: Documents,
    tickets: Tickets,
    /// Makes the tokens of forms.
    forms: FormKey,
    /// What the operator's figures remember.
    desk: Desk,
    ready: AtomicBool,
    /// The sources that push, and how many sockets of theirs there may be yet.
    pushing: PushSources,
    push_limits: PushLimits,
    feed_keys: SeenKeys,
    /// Turns true when the hub is to stop.
    stop: watch::Receiver<bool>,
}

impl Shared {
    /// Whether browsers reach the hub over TLS, its own or a proxy's.
    fn is_https(&self) -> bool {
        self.parts.public_url.starts_with("https://")
    }
}

/// Serves until `stop` turns true, and then closes the door; the requests that are being answered
/// then are returned, to be waited for.
///
/// # Errors
///
/// If the listener cannot be watched.
pub async fn serve(
    listener: net::TcpListener,
    parts: Parts,
    stop: watch::Receiver<bool>,
) -> io::Result<JoinSet<()>> {
    let shared = Arc::new(Shared {
        connections: Connections::new(parts.connections),
        paths: schema::known_paths(),
        documents: Documents::default(),
        tickets: Tickets::default(),
        forms: FormKey::new(parts.accounts.derived_secret("forms")),
        desk: Desk::new(clock::wall()),
        ready: AtomicBool::new(true),
        pushing: PushSources::new(
            parts.ingest.clone(),
            parts.hub_handle.clone(),
            parts.fanout.clone(),
        ),
        push_limits: PushLimits::new(parts.ingest.sockets_max, parts.ingest.sockets_max_per_source),
        feed_keys: SeenKeys::default(),
        stop: stop.clone(),
        parts,
    });
    let front = Front::new(Arc::clone(&shared), router(Arc::clone(&shared)));
    let door = Arc::new(Door { shared: Arc::clone(&shared), front, stop });
    let answering = door.serve(listener).await;
    shared.ready.store(false, Ordering::Relaxed);
    answering
}

fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/", get(pages::home))
        .route("/watch/", get(pages::watch))
        .route("/watch/ticket/", post(pages::ticket))
        .route("/watch/boards/{sport}/", get(pages::board))
        .route("/static/{file}", get(pages::file))
        .route("/favicon.ico", get(pages::favicon))
        .route("/robots.txt", get(pages::robots))
        .route("/healthz", get(rest::healthz))
        .route("/readyz", get(rest::readyz))
        .route("/metrics", get(rest::metrics))
        .route("/stream/v1", any(ws::socket))
        .route("/stream/v1/", any(ws::socket))
        .route("/live/football", any(ws::socket))
        .route("/live/football/", any(ws::socket))
        .route("/ws/live", any(ws::socket))
        .route("/ws/live/", any(ws::socket))
        .route("/stream/v1/channels/{*channel}", get(rest::channel))
        .route("/api/v2/account/", get(account::show))
        .route("/api/v2/stream/ticket/", post(rest::ticket))
        .route("/ingest/v1/{source}", post(ingest::post).get(ingest::socket))
        .route("/ingest/v1/{source}/", post(ingest::post).get(ingest::socket))
        .route("/img/{*path}", get(images::show))
        .route("/pricing/", get(pricing::show))
        .merge(docs::routes())
        .merge(schema::routes())
        .merge(admin::routes())
        .route("/webhooks/stripe/", post(webhooks::stripe))
        .route("/webhooks/paypal/", post(webhooks::paypal))
        .merge(site::routes())
        .merge(api::routes(
            ApiParts {
                reader: shared.parts.reader.clone(),
                archive: shared.parts.archive.clone(),
                signals: shared.parts.signals.clone(),
                predictor: shared.parts.predictor.clone(),
                public_url: shared.parts.public_url.as_str().into(),
                configured_url: shared.parts.configured_url,
                catalogue: Arc::clone(&shared.parts.catalogue),
            }
            .into(),
        ))
        .fallback(ws::unknown)
        .method_not_allowed_fallback(error::method_not_allowed)
        .with_state(shared)
}

//! The door: one listener for pages, REST and the upgrade to sockets.
//!
//! The router reads as a table of contents. Nothing here knows the hub's internals: answers come
//! from the writer's images, sockets go to the fan-out.

mod credential;
mod error;
mod pages;
mod registry;
mod rest;
mod ticket;
mod ws;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    extract::Request,
    middleware::{self, Next},
    response::Response,
    routing::{any, get, post},
};
use fanout::Fanout;
use hyper::header::{HeaderName, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
    task::JoinSet,
};
use tracing::{debug, warn};

pub use self::registry::{Place, Registry};
use self::ticket::Tickets;
use crate::{accounts::Accounts, pipeline::Doors};

/// What the answers are made from.
#[derive(Debug)]
pub struct Parts {
    pub accounts: Accounts,
    pub fanout: Fanout,
    pub doors: Doors,
    pub registry: Registry,
    pub metrics: PrometheusHandle,
    /// Where clients reach the hub, without a slash at the end.
    pub public_url: String,
    /// Shown on the page of a demo, to requests for a loopback host only.
    pub demo_key: Option<String>,
    /// Connections at a time, and the time each has for the head of a request.
    pub connections_max: usize,
    pub handshake_timeout: Duration,
}

/// Shared by all requests.
#[derive(Debug)]
struct Shared {
    parts: Parts,
    tickets: Tickets,
    ready: AtomicBool,
}

/// Serves until `stop` turns true, and then closes the door; the requests that are being answered
/// then are returned, to be waited for.
pub async fn serve(
    listener: TcpListener,
    parts: Parts,
    mut stop: watch::Receiver<bool>,
) -> JoinSet<()> {
    let connections = Arc::new(Semaphore::new(parts.connections_max));
    let timeout = parts.handshake_timeout;
    let shared =
        Arc::new(Shared { parts, tickets: Tickets::default(), ready: AtomicBool::new(true) });
    let router = router(Arc::clone(&shared));
    let mut answering = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &connections) => accepted,
            _ = stop.changed() => break,
        };
        let Some((stream, permit)) = accepted else { continue };
        let service = TowerToHyperService::new(router.clone());
        let stop = stop.clone();
        while answering.try_join_next().is_some() {}
        answering.spawn(async move {
            answer(stream, service, timeout, stop).await;
            drop(permit);
        });
    }
    shared.ready.store(false, Ordering::Relaxed);
    answering
}

async fn accept(
    listener: &TcpListener,
    connections: &Arc<Semaphore>,
) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let permit = Arc::clone(connections).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => Some((stream, permit)),
        Err(error) => {
            warn!(%error, "a connection could not be accepted");
            // Out of descriptors, as a rule: others have to go first.
            tokio::time::sleep(Duration::from_millis(50)).await;
            None
        }
    }
}

async fn answer(
    stream: TcpStream,
    service: TowerToHyperService<Router>,
    timeout: Duration,
    mut stop: watch::Receiver<bool>,
) {
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(timeout)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let mut connection = std::pin::pin!(connection);
    let mut stopping = false;
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    debug!(%error, "connection ended");
                }
                return;
            }
            _ = stop.changed(), if !stopping => {
                stopping = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/", get(pages::home))
        .route("/static/{file}", get(pages::file))
        .route("/healthz", get(rest::healthz))
        .route("/readyz", get(rest::readyz))
        .route("/metrics", get(rest::metrics))
        .route("/stream/v1", any(ws::stream))
        .route("/stream/v1/", any(ws::stream))
        .route("/stream/v1/channels/{*channel}", get(rest::channel))
        .route("/api/v2/stream/ticket/", post(rest::ticket))
        .route("/api/v2/stream/ticket", post(rest::ticket))
        .fallback(ws::unknown)
        .method_not_allowed_fallback(error::method_not_allowed)
        .layer(middleware::from_fn(secure))
        .with_state(shared)
}

/// What every answer carries: no address of ours goes to others, no body is guessed at.
async fn secure(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(HeaderName::from_static("x-frame-options"), HeaderValue::from_static("DENY"));
    response
}

//! The HTTP server: starts it with all that requests are answered from, and stops it with all sockets.

use std::{future, io, time::Duration};

use fanout::{Drain, Fanout};
use tokio::{
    sync::watch,
    task::{JoinError, JoinHandle, JoinSet},
    time::timeout,
};
use tracing::info;

use super::{
    AppError, StartContext, customers,
    demo::test_match,
    listening::Listener,
    milliseconds,
    part_settings::{connection_limits, proxies, socket_options},
    running_hub::StartedHub,
    service_manager,
    stopping::{RunningPart, StopDeadline},
    stores::Stores,
};
use crate::config::ServerConfig;
use accounts::{OAuth, payments::Payments, usage::Meter};
use base::supervisor::{self, Lifetime, fault};
use history::query::History;
use hub::{quarantine, test_channels::TestTruth};
use web::{
    http::{
        AdmissionParts, ConnectionParts, CustomerParts, DemoParts, HubParts, MatchParts,
        ServerParts, ServerSettings,
    },
    images::Images,
};

/// How the HTTP server ended. If it stopped as it should, it leaves the requests that are not answered yet.
type Served = io::Result<JoinSet<()>>;

/// What requests are answered from.
pub(super) fn parts(
    StartContext { config, metrics, open_files, .. }: StartContext<'_>,
    listener: &Listener,
    stores: &Stores,
    started: &StartedHub,
    payments: &Payments,
    meter: &Meter,
) -> ServerParts {
    let hub = &started.services;
    let history = History::new(stores.history.reader.clone(), stores.history.archive.clone());
    ServerParts {
        customers: CustomerParts {
            accounts: stores.accounts.clone(),
            prices: stores.prices.clone(),
            payments: payments.clone(),
            meter: meter.clone(),
            oauth: OAuth::new(stores.accounts.clone(), config.oauth.clone()),
            clients: customers::client_documents(config),
            #[cfg(feature = "webhooks")]
            webhooks: stores.webhooks.clone(),
        },
        admission: AdmissionParts {
            limits: hub.limits.clone(),
            entitlement: stores.entitlement.clone(),
            registry: hub.registry.clone(),
        },
        hub: HubParts {
            handle: hub.handle.clone(),
            fanout: hub.fanout.clone(),
            cluster: started.node.as_ref().map(|node| node.view.clone()),
            health: hub.health.clone(),
            log_state: hub.log_state.clone(),
            #[cfg(feature = "films")]
            films: hub.films.clone(),
            test_truth: config.server.test_channels.then(|| TestTruth::new(test_match())),
            quarantine: quarantine::path_beside(config.server.db.beside()),
        },
        matches: MatchParts {
            history: history.with_competitions(stores.history.competitions.clone()),
            predictor: stores.history.predictor.clone(),
            signals: stores.history.signals.clone(),
            images: Images::new(&config.images),
        },
        connections: ConnectionParts {
            tls: listener.tls.clone(),
            proxies: proxies(config),
            handshakes_max: config.fanout.sockets_max,
            descriptors_max: open_files.for_connections(),
            limits: connection_limits(&config.server, open_files),
            socket_options: socket_options(&config.fanout),
            deflate: config.fanout.deflate,
        },
        settings: ServerSettings {
            public_url: listener.address.public_url.clone(),
            server: config.server.clone(),
            fanout: config.fanout.clone(),
            hub: config.hub.clone(),
            ingest: config.ingest.clone(),
            mcp: config.mcp.clone(),
            stale_after_ms: milliseconds(config.feeds.stale_after_ms),
        },
        demo: DemoParts { key: stores.demo_key.clone(), feed: started.sources.demo_control() },
        metrics: metrics.clone(),
    }
}

/// The HTTP server with the open sockets.
pub(super) struct RunningServer {
    fanout: Fanout,
    /// `None` once it has ended.
    serving: Option<JoinHandle<Served>>,
    settings: ServerConfig,
    /// Tells all parts to stop.
    stop: watch::Sender<bool>,
}

impl RunningServer {
    /// Starts to accept connections, until [`RunningPart::stop`] makes `stop` true.
    ///
    /// # Errors
    ///
    /// If the system refuses to listen.
    pub(super) fn start(
        StartContext { config, stopped, .. }: StartContext<'_>,
        listener: Listener,
        parts: ServerParts,
        stop: watch::Sender<bool>,
    ) -> Result<Self, AppError> {
        let fanout = parts.hub.fanout.clone();
        let Listener { socket, address, .. } = listener;
        let serving = web::serve(socket.listen(address.address)?, parts, stopped.clone());
        let serving = Some(supervisor::spawn("http", Lifetime::Finite, serving));
        Ok(Self { fanout, serving, settings: config.server.clone(), stop })
    }

    /// Waits until the server ends although nobody has stopped it.
    pub(super) async fn ended(&mut self) -> AppError {
        let served = match &mut self.serving {
            Some(serving) => serving.await,
            None => future::pending().await,
        };
        self.serving = None;
        supervisor::stopping();
        AppError::Listener(flatten(served).err())
    }
}

impl RunningPart for RunningServer {
    /// Closes the acceptor and all sockets, and waits until open requests are answered, up to the configured time.
    async fn stop(self, deadline: StopDeadline) {
        let Self { fanout, serving, settings, stop } = self;
        supervisor::stopping();
        if !supervisor::restarts() {
            service_manager::is_stopping();
        }
        let drain_ms = if supervisor::has_failed() {
            fault::hang_if_wanted().await;
            // The acceptor stays meanwhile, so that probes learn from `/readyz` why they should not
            // connect.
            drain(&fanout, settings.drain_ms.min(settings.failure_exit_ms / 2)).await;
            0
        } else {
            settings.drain_ms
        };
        stop.send_replace(true);
        // The acceptor is closed first, so that closed clients do not reconnect to this process.
        let serving = async { flatten(serving?.await).ok() };
        let answering = deadline.step("http", serving).await;
        let mut answering = answering.flatten().unwrap_or_default();
        deadline.step("sockets", drain(&fanout, drain_ms)).await;
        let answered = async { while answering.join_next().await.is_some() {} };
        if timeout(deadline.patience(), answered).await.is_err() {
            info!("open requests were dropped at the drain deadline");
        }
    }
}

/// Treats a panic of the HTTP server as a failure like others.
fn flatten(served: Result<Served, JoinError>) -> Served {
    served.unwrap_or_else(|panic| Err(io::Error::other(panic)))
}

/// Closes all sockets and waits until they are gone, up to the configured time.
async fn drain(fanout: &Fanout, drain_ms: u64) {
    fanout.drain(Drain::AtOnce { after_ms: 0, window_ms: milliseconds(drain_ms) });
    fanout.wait_until_empty(Duration::from_millis(drain_ms)).await;
    let fanout = fanout.clone();
    tokio::task::spawn_blocking(move || fanout.stop()).await.ok();
}

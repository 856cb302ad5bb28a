//! Builds the parts, connects them and stops them. The only file that knows every part.
//!
//! A part has `start(context, dependencies)`, and `stopping::RunningPart` if the stop waits for it. `run`
//! lists the running parts, each behind those that must outlive it, and stops them in reverse. A node of a cluster that
//! must join again does both in one process, each time on a runtime of its own, so that nothing of before is left.

mod control;
mod customers;
#[cfg_attr(not(feature = "demo"), path = "app/no_demo.rs")]
mod demo;
mod error;
mod exports;
#[cfg_attr(not(feature = "films"), path = "app/no_films.rs")]
pub(crate) mod films;
mod listening;
pub(crate) mod log_files;
mod orders;
mod part_settings;
mod playing;
mod reload;
mod resolved;
mod running_hub;
mod service_manager;
mod serving;
mod signals;
mod sockets;
mod stopping;
mod stores;
mod upkeep;
#[cfg(feature = "webhooks")]
mod webhooks;

use std::{io, net, num::NonZeroU32, time::Duration};

use metrics_exporter_prometheus::PrometheusHandle;
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};
use tracing::{info, warn};

use self::{
    control::CommandServer,
    customers::{RunningCustomers, mail_folder},
    listening::{HubAddress, Listener},
    part_settings::milliseconds,
    playing::SourcePlayer,
    reload::{ReloadedParts, Reloader},
    resolved::ResolvedSettings,
    running_hub::StartedHub,
    service_manager::StartFeed,
    serving::RunningServer,
    signals::Signals,
    stopping::{RunningParts, StopDeadline},
    stores::Stores,
    upkeep::{RunningUpkeep, RunningUsage, watch_process},
};
pub use self::{
    error::{AppError, FAILED, INVALID_SETTINGS},
    resolved::{SettingProblem, check},
};
use crate::{
    banner,
    cli::ReplayArgs,
    config::{BenchConfig, Config, ConfigOrigin},
    control::SOCKET_SUFFIX,
    telemetry::{self, LogFilter},
};
use base::{
    process::OpenFiles,
    supervisor::{self, Lifetime},
};
use hub::load_source::Load;

/// What the hub plays.
#[derive(Debug)]
pub enum RunMode {
    /// Simulated days without end.
    Demo,
    /// A load for measurements.
    Load(Load),
    /// Nothing of its own.
    Nothing,
    Recordings(ReplayArgs),
}

impl RunMode {
    /// The mode that the settings select.
    #[must_use]
    pub fn from_config(config: &Config) -> Self {
        let BenchConfig { rate, channels } = config.bench;
        match (NonZeroU32::new(rate), NonZeroU32::new(channels)) {
            (Some(rate), Some(channels)) => Self::Load(Load { rate, channels }),
            _ if config.plays_demo() => Self::Demo,
            _ => Self::Nothing,
        }
    }
}

/// What a process has once, however often its hub starts.
#[derive(Debug)]
pub struct HubProcess {
    origin: ConfigOrigin,
    filter: LogFilter,
    mode: RunMode,
    metrics: PrometheusHandle,
    /// The socket that the service manager passed.
    passed: Option<net::TcpListener>,
    /// Where the first run listened, once it has served.
    address: Option<net::SocketAddr>,
    /// Of the run before. They hold what came since.
    signals: Option<Signals>,
    /// Before the next run.
    pause: Duration,
    /// The settings in force.
    config: Config,
}

/// The pause after the first run that was short.
const PAUSE_MIN: Duration = Duration::from_secs(2);

/// The longest pause. A run that lasted for this long was not short.
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// The pause after a run that lasted for this time, and was itself behind a pause.
fn next_pause(pause: Duration, lasted: Duration) -> Duration {
    if lasted < PAUSE_MAX { (pause * 2).clamp(PAUSE_MIN, PAUSE_MAX) } else { Duration::ZERO }
}

impl HubProcess {
    /// Starts metrics. `origin`: where `config` is read again. `filter`: of the log lines.
    ///
    /// # Errors
    ///
    /// If the service manager passed something else than a socket.
    pub fn start(
        origin: ConfigOrigin,
        config: Config,
        filter: LogFilter,
        mode: RunMode,
    ) -> Result<Self, AppError> {
        let (metrics, passed) = (telemetry::start_metrics()?, service_manager::listener()?);
        let (address, signals, pause) = (None, None, Duration::ZERO);
        Ok(Self { origin, filter, mode, metrics, passed, address, signals, pause, config })
    }
}

/// What every part starts with.
#[derive(Debug, Clone, Copy)]
struct StartContext<'a> {
    config: &'a Config,
    mode: &'a RunMode,
    metrics: &'a PrometheusHandle,
    open_files: OpenFiles,
    /// Turns true when the parts must stop. Closed if a start is given up.
    stopped: &'a watch::Receiver<bool>,
}

/// Runs the hub until it is stopped. Whether its parts must start again.
///
/// # Errors
///
/// If a part cannot start.
pub async fn run(process: &mut HubProcess) -> Result<bool, AppError> {
    // First of all: a signal without a handler would end the process at once.
    let mut signals = process.signals.take().map_or_else(Signals::listen, Ok)?;
    supervisor::starting();
    let feed = service_manager::feed_at_restart();
    if signals.unless_stopped(sleep(process.pause)).await.is_none() {
        return Ok(false);
    }
    let began = Instant::now();
    let ended = Box::pin(run_parts(process, &mut signals, feed)).await;
    process.pause = next_pause(process.pause, began.elapsed());
    process.signals = Some(signals);
    match ended {
        Err(error) if supervisor::restarts() && !supervisor::has_failed() => {
            warn!(error = &error as &dyn std::error::Error, "the hub starts again");
            Ok(true)
        }
        ended => ended,
    }
}

type RunEnd = Result<bool, AppError>;

/// Starts the parts, and stops them at the end. Whether they must start again. `feed`: until the start is over.
async fn run_parts(process: &mut HubProcess, signals: &mut Signals, feed: StartFeed) -> RunEnd {
    let (config, mode) = (&process.config, &process.mode);
    let (stop, stopped) = watch::channel(false);
    let context = StartContext {
        config,
        mode,
        metrics: &process.metrics,
        open_files: OpenFiles::raised(),
        stopped: &stopped,
    };
    let recordings = playing::open_recordings(config, mode)?;
    let resolved = resolved::resolve_for_start(config, mode)?;
    // Before the database: if the address is taken, no new file is left behind.
    let listener = Listener::open(config, &resolved, process.passed.as_ref(), process.address)?;
    let ResolvedSettings { certificate, acme, live, traces } = resolved;
    let (tracer, traces) = traces.unzip();
    let address = listener.address.clone();
    let stores = Stores::open(context).await?;
    // A node may wait for its cluster without end.
    let started = Box::pin(StartedHub::start(context, &stores, recordings, live, tracer));
    let Some(started) = signals.unless_stopped(started).await else { return Ok(false) };
    let mut started = started?;
    let usage = RunningUsage::start(config, &stores).await?;
    watch_process(context, traces, certificate.clone());
    let upkeep = RunningUpkeep::start(context, &stores, &started.services);
    let customers = RunningCustomers::start(context, &stores, &address).await?;
    let connecting = stores.accounts.database().open_connections();
    tokio::join!(started.caught_up(&stores.history.archive), connecting);
    let (payments, meter) = (&customers.payments, &usage.meter);
    let parts = serving::parts(context, &listener, &stores, &started, payments, meter);
    let mut server = RunningServer::start(context, listener, parts, stop)?;
    let StartedHub { services: hub, running, node, sources, .. } = started;
    #[cfg(feature = "webhooks")]
    let webhooks = webhooks::RunningWebhooks::start(context, &stores, &hub)?;
    let reloaded = ReloadedParts {
        filter: process.filter.clone(),
        certificate,
        limits: hub.limits.clone(),
        prices: stores.prices.clone(),
        competitions: stores.history.competitions.clone(),
    };
    let (mut reloader, reloads) =
        Reloader::new(signals, process.origin.clone(), config.clone(), reloaded);
    // Before anybody is told that the hub runs.
    let (fanout, registry) = (hub.fanout.clone(), hub.registry.clone());
    CommandServer { fanout, registry, reloads }.start(&config.beside(SOCKET_SUFFIX), &stopped);
    let (key, mails) = (stores.demo_key.as_deref(), mail_folder(config));
    let HubAddress { address, secure, .. } = address;
    // Later, nobody may read the standard output any more.
    if process.address.replace(address).is_none() {
        banner::print(&mut io::stdout(), address, secure, mode, key, mails.as_deref())?;
    }
    banner::log(config, mode);
    supervisor::started();
    service_manager::is_serving(&hub.handle, &hub.log_state, address);
    drop(feed);
    if let Some(acme) = acme {
        // The authority reaches the hub from now on.
        supervisor::spawn("acme", Lifetime::UntilStop, acme.keep(stopped.clone()));
    }
    let configured = reloader.sources();
    let player = SourcePlayer { context, hub: &hub, stores: &stores, configured };
    let leading = node.as_ref().map(|node| node.leading.clone());
    let ended = tokio::select! {
        biased;
        () = reloader.reload_until_stop() => Ok(false),
        () = supervisor::interrupted() => Ok(true),
        error = player.play(sources, leading) => Err(error),
        error = server.ended() => Err(error),
    };
    process.config = reloader.into_config();
    let mut parts = RunningParts::default();
    parts.add(stores);
    parts.add(usage);
    #[cfg(feature = "webhooks")]
    parts.add(webhooks);
    parts.add(customers);
    parts.add(upkeep);
    parts.add(running);
    parts.add(server);
    parts.add(node);
    parts.stop(StopDeadline::begin(&process.config.server, Instant::now())).await;
    info!("stopped");
    // A part that failed during the stop did not finish.
    if supervisor::has_failed() {
        return Err(AppError::Part);
    }
    ended
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_after_short_runs_double_up_to_half_a_minute() {
        let mut pause = Duration::ZERO;
        for (lasted, expected) in [(29, 2), (1, 4), (0, 8), (0, 16), (0, 30), (29, 30), (30, 0)] {
            pause = next_pause(pause, Duration::from_secs(lasted));
            assert_eq!(pause.as_secs(), expected, "after {lasted} s");
        }
    }
}

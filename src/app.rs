//! Builds the parts, wires them and stops them. The only file that knows every part.

#[cfg_attr(not(feature = "cluster"), path = "app/no_cluster.rs")]
mod cluster;
mod control;
mod customers;
mod error;
mod exports;
mod listening;
mod mail;
mod orders;
mod part_settings;
mod playing;
mod reload;
mod resolved;
pub(crate) mod restart;
mod service_manager;
mod signals;
mod stopping;
mod webhooks;

use std::{io, num::NonZeroU32, sync::Arc, time::Duration};

use fanout::{ChannelId, Epoch, Fanout, catch_up::Host};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, timeout},
};
use tracing::info;

#[cfg(feature = "cluster")]
pub use self::cluster::HistoryError;
pub use self::{
    cluster::ClusterFailure,
    error::{AppError, FAILED, INVALID_SETTINGS},
    reload::Reloadable,
    resolved::{SettingProblem, check},
};
use self::{
    cluster::{Cluster, RunningNode},
    control::{ControlParts, ControlSocket},
    listening::{Socket, bench_listener},
    orders::OrderParts,
    part_settings::{
        connection_limits, limits, micros, milliseconds, proxies, push_deadlines,
        quarantine_limits, settings, socket_options,
    },
    reload::{ReloadedParts, Reloader},
    resolved::ResolvedSettings,
    signals::Signals,
    stopping::StopDeadline,
    webhooks::{RunningWebhooks, WebhookParts},
};
use crate::{
    banner,
    cli::ReplayArgs,
    config::{BenchConfig, Config, FanoutConfig},
    control::SOCKET_SUFFIX,
    demo::DemoRun,
    telemetry,
    test_match::test_match,
};
use accounts::{
    Accounts, AccountsError, OAuth, limits,
    products::Prices,
    usage::{self, Flushes, Meter, Quotas},
};
use base::{
    clock::{now, wall},
    disk,
    process::OpenFiles,
    supervisor::{self, Lifetime},
    work::WorkLimits,
};
use database::{Database, Fence};
use history::{
    archive::{self, Archive, Inbox},
    predict::Predictor,
    query::{Competitions, History},
    reader::Reader,
    signal_board::SignalBoard,
};
use hub::{
    Epochs, Hub,
    identity::{DecisionWriter, Identity, store::IdentityStore},
    load_source::Load,
    pipeline::{self, HubStopped},
    quarantine::Quarantine,
    sources::{
        positions::Positions,
        states::{StateHistory, StateStore},
    },
    test_channels::{self, TestChannels, TestHost, TestTruth},
};
use log::film::{ReplayHost, ReplayService, ReplaySettings};
use record::{
    Withdrawals,
    ids::{self, PublicIds},
};
use web::{
    entitlement::{Entitlement, needs_of_name},
    http::{self, BenchListener, Registry},
    images::Images,
    revocation::{self, Revoker},
};

/// How long a node of a cluster may take, after it has restored its state, to apply what was made meanwhile, before it serves
/// clients all the same.
const CATCH_UP_WITHIN: Duration = Duration::from_secs(30);

/// How long clients wait for a complete past of the demo. Answers before that say that they are partial.
const PAST_WITHIN: Duration = Duration::from_secs(5);

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
    pub fn of(config: &Config) -> Self {
        let BenchConfig { rate, channels, .. } = config.bench;
        match (NonZeroU32::new(rate), NonZeroU32::new(channels)) {
            (Some(rate), Some(channels)) => Self::Load(Load { rate, channels }),
            _ if config.plays_demo() => Self::Demo,
            _ => Self::Nothing,
        }
    }
}

/// Runs the hub until it is stopped.
///
/// # Errors
///
/// If a part cannot start.
pub async fn run(config: Config, reloadable: Reloadable, mode: RunMode) -> Result<(), AppError> {
    // First of all: a signal without a handler would end the process at once.
    let mut signals = Signals::listen()?;
    let Reloadable { origin, filter } = reloadable;
    let metrics = telemetry::start_metrics()?;
    let open_files = OpenFiles::raised();
    let recordings = playing::recordings(&config, &mode)?;
    let ResolvedSettings { certificate, acme, live, traces } =
        resolved::resolve_for_start(&config, &mode)?;
    let shown = certificate.clone().or_else(|| Some(acme.as_ref()?.certificate()));
    let tls = shown.map(http::tls::server_config).transpose()?;
    let secure = if tls.is_some() { "s" } else { "" };
    // Before the database: if the address is taken, no new file is left behind.
    let (socket, address) = Socket::open(&config)?;
    config.check_address(address)?;
    let bench_listener = bench_listener(&config.bench)?;
    let database = Database::open_with(&config.server.db, &config.database);
    let database = service_manager::extending_start(database).await;
    let accounts = Accounts::of(database.map_err(AccountsError::from)?, &config.accounts).await?;
    let prices = Prices::new(config.products.catalogue().expect("the settings were checked"));
    let demo_key = demo_key(&accounts, &mode).await?;
    let demo = match &mode {
        RunMode::Demo => Some(demo_run(&accounts, &config).await?),
        RunMode::Load(_) | RunMode::Nothing | RunMode::Recordings(_) => None,
    };
    let journal = ids::path_beside(config.server.db.beside());
    let ids =
        PublicIds::open_with_journal(accounts.database(), config.hub.ids_max, &journal).await?;
    let sockets_max = config.fanout.sockets_max;
    let (hub_handle, mut receivers) =
        pipeline::channel(config.hub.inbox_batches, sockets_max + 1024, ids.clone());
    archive::adopt(accounts.database(), &ids, now()).await?;
    let fence = Fence::default();
    let archived = accounts.database().fenced(&fence);
    let archive = Archive::open(&archived).await.map_err(AppError::Archive)?;
    let withdrawals = Withdrawals::default();
    let reader = Reader::masked_by(withdrawals.clone());
    let board = SignalBoard::default();
    let restored = archive::signals::restore(accounts.database(), &board).await;
    restored.map_err(AppError::Archive)?;
    let (inbox, worker) = Inbox::new(archive.clone(), reader.clone(), &config.archive);
    let identities = IdentityStore::new(accounts.database());
    let remembered = identities.load().await.map_err(AppError::Identity)?;
    let hub_start = restart::HubStart {
        ids: &ids,
        settings: settings(&config),
        signals: config.signals.settings(),
        database: restart::database_name(&accounts).await?,
        // A new run of the demo is of other matches.
        restores: demo.as_ref().is_none_or(|run| run.is_resumed),
    };
    let epochs = Epochs { matches: random_epoch()?, feeds: random_epoch()? };
    let fresh = || {
        let mut hub = Hub::new(hub_start.settings, epochs, Identity::new(remembered))
            .with_ids(ids.clone())
            .with_signals(hub_start.signals.clone());
        hub.remember_signals(&board.find(|_| true));
        hub
    };
    let cluster = Cluster::connect(&config, fence, accounts.database()).await?;
    let (opened, place, leads) = match &cluster {
        None => (restart::open(&config, &hub_start, fresh)?, None, true),
        Some(cluster) => {
            let joined = cluster::join(&config, cluster, &hub_start, fresh).await?;
            (joined.opened, Some(joined.place), joined.leads)
        }
    };
    let restart::OpenedLog { mut startup, followed, snapshot, snapshots } = opened;
    let (decisions, deciding) = DecisionWriter::start(identities.clone());
    if leads {
        board.end_all_but(&startup.hub().active_signals());
    }
    let films = restart::films(&config, &startup, followed.1.number);
    let replays = films.as_ref().map(|films| {
        let settings = ReplaySettings {
            replays_max: config.log.replays_max,
            replays_max_per_account: config.log.replays_max_per_account,
            ..ReplaySettings::default()
        };
        let needs = |channel: &ChannelId| needs_of_name(channel.as_str());
        ReplayService::new(films.films().clone(), settings, needs)
    });
    let (tests, test_requests) = test_channels::channel(sockets_max);
    let tests = config.server.test_channels.then_some(tests);
    let host = TestHost { host: hub_handle.clone(), tests };
    let host: Box<dyn Host> = match replays.clone() {
        Some(replays) => Box::new(ReplayHost { host, replays }),
        None => Box::new(host),
    };
    let key = match &cluster {
        None => limits::LimitsKey::random(),
        Some(_) => limits::LimitsKey::shared(accounts.derived_secret("limits of all nodes")),
    };
    let rate_limits = limits::Limits::new(&config.limits, key);
    rate_limits.work().add_queue(&accounts.database().pool().turns);
    let mut fanout_limits = limits(&config, rate_limits.work().clone());
    if matches!(mode, RunMode::Load(_)) {
        // Its one key stands for many customers, unless the settings say otherwise.
        rate_limits.work().set_limits(WorkLimits::UNLIMITED);
        if config.fanout.catch_up_burst == FanoutConfig::default().catch_up_burst {
            fanout_limits.catch_up_burst = u32::MAX;
        }
    }
    let fanout = Fanout::start_on(
        fanout_limits,
        concat!("matchwire/", env!("CARGO_PKG_VERSION")),
        host,
        |name, run| supervisor::thread(name, Lifetime::UntilStop, run),
    )?;
    if let Some(replays) = &replays {
        let fanout = fanout.clone();
        replays.start(move |to, response| fanout.respond_replay(to, response))?;
    }
    let film_list = films.as_ref().map(|films| films.films().clone());
    // In a cluster they run on the node that leads.
    let sources = match &cluster {
        None => playing::announce(&mut startup, demo.clone(), &mode, recordings)?,
        Some(_) => Vec::new(),
    };
    let demo_feed = sources.iter().find_map(playing::PlayedSource::demo_control);
    let records = startup.records();
    let quarantine = Quarantine::beside(config.server.db.beside(), quarantine_limits(&config));
    let timing = exports::SnapshotTiming {
        every_us: micros(config.log.snapshot_ms),
        idle_us: exports::IDLE_EVERY_US.min(micros(config.cluster.log_age_ms) / 3 * 2),
        work_us: micros(config.log.snapshot_work_ms),
    };
    let writes_snapshots =
        snapshots.clone().map(|store| exports::SnapshotWriter::start(store, timing, snapshot));
    let (feed, is_caught_up) = exports::HistoryFeed::new(
        reader.clone(),
        inbox,
        board.clone(),
        films,
        writes_snapshots.transpose()?,
        decisions.stored(),
        hub_handle.clone(),
    );
    let requests = receivers.take_leader_requests();
    let (tracer, trace_exporter) = traces.unzip();
    let parts = pipeline::WriterParts {
        fanout: fanout.clone(),
        receivers,
        quarantine,
        decisions,
        states: StateHistory::start(StateStore::new(accounts.database())),
        push_deadlines: push_deadlines(&config),
        tracer,
        withdrawals,
        follower_is_awaited: snapshots.is_none(),
        leads,
    };
    let running = pipeline::start(startup, parts, followed, feed)?;
    let per_account = match mode {
        // A load tool opens all its sockets with the one printed key.
        RunMode::Load(_) => config.fanout.sockets_max,
        RunMode::Demo | RunMode::Nothing | RunMode::Recordings(_) => {
            config.fanout.sockets_max_per_account
        }
    };
    let registry = Registry::new(per_account, config.fanout.sockets_max);
    let listed = registry.clone();
    let (mut node, numbers) = match cluster.zip(place) {
        None => {
            // Nobody is asked: this hub sees all pushes itself.
            drop(requests);
            let announced = playing::announce_live(&live, &hub_handle).await;
            let numbers = announced.map_err(|HubStopped| AppError::Part)?;
            let played = sources.iter().map(|source| source.number);
            let retired =
                playing::retire_others(played.chain(numbers.iter().copied()), &hub_handle);
            retired.await.map_err(|HubStopped| AppError::Part)?;
            (None, numbers)
        }
        Some((cluster, place)) => {
            let parts = cluster::NodeParts {
                hub: hub_handle.clone(),
                fanout: fanout.clone(),
                state: running.state.clone(),
                records: Arc::clone(&records),
                snapshots: snapshots.clone(),
                registry: registry.clone(),
                limits: rate_limits.clone(),
                accounts: accounts.clone(),
                drain_ms: milliseconds(config.server.drain_ms),
                settings: (hub_start.settings, hub_start.signals.clone()),
            };
            let requests = requests.expect("they are taken once");
            (Some(RunningNode::start(cluster, (place, leads), parts, requests)), Vec::new())
        }
    };
    let fenced = archived.clone();
    let archiving = supervisor::spawn("archive", Lifetime::UntilStop, worker.run());
    let (written, is_written) = watch::channel(false);
    let signalling = archive::signals::keep(archived, board.clone(), is_written);
    let signalling = supervisor::spawn("signals", Lifetime::UntilStop, signalling);
    let numbering = ids.clone().keep(written.subscribe());
    let numbering = supervisor::spawn("ids", Lifetime::UntilStop, numbering);

    let (stop, stopped) = watch::channel(false);
    let upkeep = telemetry::keep(metrics.clone(), stopped.clone());
    supervisor::spawn("metrics", Lifetime::UntilStop, upkeep);
    let watermark = config.log.disk_free_min_bytes;
    let sampling = disk::watch(part_settings::folders(&config), watermark, stopped.clone());
    supervisor::spawn("disk", Lifetime::UntilStop, sampling);
    if let Some(exporter) = trace_exporter {
        supervisor::spawn("traces", Lifetime::UntilStop, exporter.run(stopped.clone()));
    }
    if let Some(certificate) = certificate.clone()
        && config.tls.watch_ms > 0
    {
        let every = Duration::from_millis(config.tls.watch_ms);
        let following = certificate.follow_files(every, stopped.clone());
        supervisor::spawn("certificate", Lifetime::UntilStop, following);
    }
    if config.server.test_channels {
        let tests = TestChannels::new(test_match(), hub_handle.clone(), fanout.clone());
        let playing = tests.run(test_requests, stopped.clone());
        supervisor::spawn("test channels", Lifetime::UntilStop, playing);
    }
    let (meter, flushes) = start_counting(&accounts, &config).await?;
    let entitlement = Entitlement::new(prices.clone());
    let revoking = revocation::start(
        Revoker {
            accounts: accounts.clone(),
            registry: registry.clone(),
            fanout: fanout.clone(),
            entitlement: entitlement.clone(),
        },
        Duration::from_millis(config.accounts.watch_ms),
        &stopped,
    );
    let probe = Duration::from_millis(config.database.probe_ms);
    let probing = accounts.database().clone().watch_writes(probe, wall, stopped.clone());
    let probing = supervisor::spawn("database", Lifetime::UntilStop, probing);
    let sweeping = accounts.sweep_always(stopped.clone());
    let competitions = Competitions::new(config.competitions.clone());
    let predictor = Predictor::default();
    let fitting = predictor.refit_always(archive.clone(), &config.predictions, stopped.clone());
    let orders = OrderParts { store: identities, config: &config, hub_handle: &hub_handle };
    let ordering = match &node {
        None => orders.take(&stopped, Lifetime::UntilStop).into(),
        Some(_) => Vec::new(),
    };
    let served_archive = archive.clone();
    let chronicle =
        playing::chronicle(demo, &config, &accounts, (&archive, &reader, &ids), &stopped);
    let webhooks = WebhookParts {
        webhooks: webhooks::open(&accounts, &config),
        work: rate_limits.work().clone(),
        accounts: accounts.clone(),
        entitlement: entitlement.clone(),
        hub_handle: hub_handle.clone(),
        records,
        fenced,
    };
    let public_url = match config.server.public_url.trim_end_matches('/') {
        "" => format!("http{secure}://{address}"),
        url => url.to_owned(),
    };
    let place = customers::Place { address, secure, public_url: &public_url };
    let customers = customers::start(&accounts, &prices, place, (&config, &mode), &stopped).await?;
    let parts = http::ServerParts {
        accounts: accounts.clone(),
        prices: prices.clone(),
        entitlement,
        payments: customers.payments,
        webhooks: webhooks.webhooks.clone(),
        oauth: OAuth::new(accounts.clone(), config.oauth.clone()),
        clients: customers::client_documents(&config),
        limits: rate_limits.clone(),
        proxies: proxies(&config),
        fanout: fanout.clone(),
        hub_handle: hub_handle.clone(),
        cluster: node.as_ref().map(RunningNode::view),
        log_state: running.state.clone(),
        registry,
        meter,
        metrics,
        history: History::new(reader, archive).with_competitions(competitions.clone()),
        predictor,
        signals: board,
        films: film_list,
        public_url,
        configured_url: !config.server.public_url.is_empty(),
        demo_key: demo_key.clone(),
        demo_feed,
        test_truth: config.server.test_channels.then(|| TestTruth::new(test_match())),
        quarantine: hub::quarantine::path_beside(config.server.db.beside()),
        public_boards: config.server.public_boards,
        tls,
        handshakes_max: config.fanout.sockets_max,
        descriptors_max: open_files.for_connections(),
        connections: connection_limits(&config.server, open_files),
        socket_options: socket_options(&config.fanout),
        hsts_days: config.server.hsts_days,
        deflate: config.fanout.deflate,
        handshake_timeout: Duration::from_millis(config.server.handshake_timeout_ms),
        body_timeout: Duration::from_millis(config.server.body_timeout_ms),
        ingest: config.ingest.clone(),
        numbers: http::Numbers::of(&config.server, &config.fanout, &config.hub, &config.limits),
        images: Images::new(&config.images),
        mcp: config.mcp.clone(),
        stale_after_ms: milliseconds(config.feeds.stale_after_ms),
    };
    // Readers over HTTP see what sockets see. If the history has failed, that is reported below.
    is_caught_up.await.ok();
    // Later answers say that they are partial.
    timeout(PAST_WITHIN, served_archive.complete()).await.ok();
    if let Some(node) = &mut node {
        // If the stream does not answer, clients get `stale` frames.
        timeout(CATCH_UP_WITHIN, node.caught_up()).await.ok();
    }
    let serving = http::serve(socket.listen(address)?, parts, stopped.clone());
    let mut serving = supervisor::spawn("http", Lifetime::Finite, serving);
    if let Some(listener) = bench_listener {
        let door = BenchListener {
            fanout: fanout.clone(),
            batch_bytes_max: config.fanout.outbox_bytes / 2,
            handshake_timeout: Duration::from_millis(config.server.handshake_timeout_ms),
        };
        let serving = door.serve(listener, stopped.clone());
        supervisor::spawn("bench-listener", Lifetime::UntilStop, serving);
    }
    let webhooks = RunningWebhooks::start(webhooks, &stopped)?;
    // Before anybody is told that the hub runs.
    let control = ControlSocket::open(&config.beside(SOCKET_SUFFIX));
    let (key, mails) = (demo_key.as_deref(), mail::demo_folder(&config));
    banner::print(&mut io::stdout(), address, secure, &mode, key, mails.as_deref())?;
    banner::log(&config, &mode);
    supervisor::started();
    service_manager::is_serving(&hub_handle, &running.state, address);

    let reloaded = ReloadedParts { filter, certificate, limits: rate_limits, prices, competitions };
    let mut reloader = Reloader::new(origin, config.clone(), reloaded);
    let configured = reloader.sources();
    let positions = Positions::start(accounts.database());
    let (reloads, mut reload_requests) = mpsc::channel(1);
    if let Some(socket) = control {
        let parts = ControlParts { fanout: fanout.clone(), registry: listed, reloads };
        let answering = parts.serve(socket, stopped.clone());
        supervisor::spawn("control", Lifetime::UntilStop, answering);
    }
    let stop_requested = async {
        reloader.reload_until_stop(&mut signals, &mut reload_requests).await;
        // Before the playback is dropped below.
        supervisor::stopping();
        service_manager::is_stopping();
        info!("stopping");
    };
    if let Some(acme) = acme {
        // The authority reaches the hub from now on.
        supervisor::spawn("acme", Lifetime::UntilStop, acme.keep(stopped.clone()));
    }
    let mut served = None;
    let playing = async {
        match &node {
            None => {
                let live = playing::LiveSources { live, numbers, configured, positions };
                playing::play_all(sources, live, &mode, &config, &hub_handle, &fanout).await
            }
            Some(node) => {
                let leading = node.leading();
                playing::play_while_leading(leading, configured, &orders, &mode, &positions).await
            }
        }
    };
    tokio::select! {
        () = stop_requested => {}
        () = supervisor::failed() => {}
        Err(error) = playing => {
            // Its parts end because it gives up.
            supervisor::stopping();
            return Err(error);
        }
        it = &mut serving => served = Some(it),
    }
    let deadline = StopDeadline::begin(&config.server, Instant::now());
    if let Some(node) = node {
        // Clients find another leader at work.
        if !supervisor::has_failed() {
            timeout(deadline.patience(), node.leave(deadline)).await.ok();
        }
        deadline.step("cluster", node.stop()).await;
    }
    if let Some(served) = served.take_if(|_| !supervisor::has_failed()) {
        return Err(AppError::Door(stopping::ended(served).err()));
    }
    let serving = async {
        match served {
            Some(served) => served,
            None => serving.await,
        }
    };
    stopping::stop_serving(&fanout, serving, &stop, &config.server, deadline).await;
    if let Some(replays) = replays {
        replays.stop();
    }
    let log = stopping::stop_writer(&hub_handle, running, snapshots, deadline).await;
    // The history has seen the last record. What is not archived in time is in the log.
    deadline.archive().task("archive", archiving).await;
    written.send_replace(true);
    deadline.task("signals", signalling).await;
    if let Some(log) = log {
        deadline.step("log", stopping::close_log(log)).await;
    }
    deadline.task("ids", numbering).await;
    let ours = revoking.into_iter().chain(ordering).chain(chronicle);
    for task in ours.chain([deciding, probing, sweeping, fitting]) {
        deadline.task("upkeep", task).await;
    }
    customers::stop(customers.tasks, deadline.patience()).await;
    deadline.step("webhooks", webhooks.end(deadline.patience())).await;
    // All users of the meter have ended.
    deadline.step("usage", flushes.finish()).await;
    deadline.step("database", accounts.close()).await;
    info!("stopped");
    // A part that failed during the stop did not finish.
    if supervisor::has_failed() { Err(AppError::Part) } else { Ok(()) }
}

async fn demo_key(accounts: &Accounts, mode: &RunMode) -> Result<Option<String>, AppError> {
    match mode {
        RunMode::Demo | RunMode::Load(_) => {
            Ok(Some(accounts.ensure_demo_key(wall()).await?.expose().to_owned()))
        }
        // The key is stored in clear, which is acceptable in a demo only.
        RunMode::Nothing | RunMode::Recordings(_) => {
            accounts.forget_demo_key(wall()).await?;
            Ok(None)
        }
    }
}

async fn demo_run(accounts: &Accounts, config: &Config) -> Result<DemoRun, AppError> {
    // The settings that affect which changes the same facts produce.
    let settings = format!("{:?} {}", config.hub, config.feeds.stale_after_ms);
    Ok(DemoRun::resume_or_start(accounts, &config.demo, &settings, now()).await?)
}

/// Starts counting what accounts use, and storing the counts periodically.
async fn start_counting(
    accounts: &Accounts,
    config: &Config,
) -> Result<(Meter, Flushes), AppError> {
    let own = getrandom::u64()?.cast_signed();
    let journal = usage::path_beside(config.server.db.beside());
    let database = accounts.database().clone();
    let quotas = if config.cluster.is_enabled() { Quotas::WithOtherNodes } else { Quotas::Alone };
    let meter = Meter::with_journal(database, &config.usage, quotas, own, &journal).await?;
    let flushes = usage::start(meter.clone(), Duration::from_millis(config.usage.flush_ms));
    Ok((meter, flushes))
}

fn random_epoch() -> Result<Epoch, AppError> {
    Ok(Epoch(getrandom::u32()?))
}

//! The hub with its log, history and archive: restores it, starts it, and stops it once no client is served any more.

use std::{error::Error, sync::Arc, time::Duration};

use fanout::Fanout;
use tokio::{
    sync::{oneshot, watch},
    task::JoinHandle,
    time::timeout,
};
use tracing::warn;

use super::{
    AppError, StartContext,
    demo::DemoRun,
    exports::{self, FeedConsumers, HistoryFeed, SnapshotTiming, SnapshotWriter},
    films::{FilmList, FilmRecorder, Replays},
    log_files, milliseconds,
    part_settings::{push_deadlines, quarantine_limits, settings},
    playing::{self, LiveSource, OpenRecording, Sources},
    sockets::Sockets,
    stopping::{RunningPart, StopDeadline},
    stores::Stores,
};
use crate::config::{Config, LogEngine};
use accounts::limits::Limits;
use base::{
    config::micros,
    supervisor::{self, Lifetime},
};
use cluster::{
    NodeHealth, NodeParts, RunningNode,
    node::{self, JoinedNode},
};
use history::archive::{self, Archive, Inbox};
use hub::{
    Hub,
    follower::FollowerEnd,
    identity::{DecisionWriter, Identity},
    log_state::LogState,
    pipeline::{self, EndedLog, HubHandle, Request, Running, WriterParts},
    quarantine::Quarantine,
    restart::{self, HubStart, OpenedLog},
    sources::states::{StateHistory, StateStore},
    trace::Tracer,
};
use log::{RecordSource, files::SnapshotStore};
use web::http::Registry;

/// How long a node of a cluster may take, after it has restored its state, to apply what was made meanwhile, before it serves
/// clients all the same.
const CATCH_UP_WITHIN: Duration = Duration::from_secs(30);

/// How long clients wait for a complete past of the demo. Answers before that say that they are partial.
const PAST_WITHIN: Duration = Duration::from_secs(5);

/// The least time in which a log that refuses records may take them yet.
const LOG_MIN: Duration = Duration::from_secs(1);

/// What other parts use of the hub. Clones share it.
#[derive(Clone)]
pub(super) struct HubServices {
    pub handle: HubHandle,
    pub fanout: Fanout,
    pub log_state: LogState,
    /// Of a node of a cluster.
    pub health: NodeHealth,
    /// In a cluster, the node's copy of the log.
    #[cfg_attr(not(feature = "webhooks"), expect(dead_code, reason = "only webhooks read it"))]
    pub records: Arc<dyn RecordSource>,
    #[cfg_attr(not(feature = "films"), expect(dead_code, reason = "there are none"))]
    pub films: FilmList,
    pub limits: Limits,
    /// The open sockets.
    pub registry: Registry,
}

/// A hub that has started. No client is served yet.
pub(super) struct StartedHub {
    pub services: HubServices,
    pub running: RunningHub,
    /// `None` without a cluster.
    pub node: Option<RunningNode>,
    /// To be played.
    pub sources: Sources,
    is_exported: oneshot::Receiver<()>,
}

impl StartedHub {
    /// Restores the hub from its log, or from the cluster's, and starts its threads.
    pub(super) async fn start(
        context: StartContext<'_>,
        stores: &Stores,
        recordings: Vec<OpenRecording>,
        live: Vec<LiveSource>,
        tracer: Option<Tracer>,
    ) -> Result<Self, AppError> {
        let StartContext { config, .. } = context;
        let requests_max = config.fanout.sockets_max + 1024;
        let (handle, mut receivers) =
            pipeline::channel(config.hub.inbox_batches, requests_max, stores.ids.clone());
        let (opened, joined) = open_log(config, stores).await?;
        let OpenedLog { mut startup, followed, snapshots, snapshot, leads } = opened;
        if leads {
            stores.history.signals.end_all_but(&startup.hub().active_signals());
        }
        let films = FilmRecorder::open(config, &startup, followed.1.number);
        let film_list = films.list();
        let replays = Replays::new(config, film_list.clone());
        let sockets = Sockets::start(context, stores, &handle, &replays)?;
        let Sockets { fanout, limits, registry } = sockets;
        // In a cluster they run on the node that leads.
        let played = match &joined {
            None => playing::announce(&mut startup, context, stores.demo.as_ref(), recordings)?,
            Some(_) => Vec::new(),
        };
        let records = startup.records();
        let (decisions, deciding) = DecisionWriter::start(stores.identities.clone());
        let (inbox, worker) = Inbox::new(
            stores.history.archive.clone(),
            stores.history.reader.clone(),
            &config.archive,
        );
        let timing = snapshot_timing(config);
        let writer = snapshots.clone().map(|store| SnapshotWriter::start(store, timing, snapshot));
        let (feed, is_exported) = HistoryFeed::new(FeedConsumers {
            reader: stores.history.reader.clone(),
            inbox,
            signals: stores.history.signals.clone(),
            films,
            snapshots: writer.transpose()?,
            decisions: decisions.stored(),
            hub_handle: handle.clone(),
        });
        let requests = receivers.take_leader_requests();
        let parts = WriterParts {
            fanout: fanout.clone(),
            receivers,
            quarantine: Quarantine::beside(config.server.db.beside(), quarantine_limits(config)),
            decisions,
            states: StateHistory::start(StateStore::new(stores.accounts.database())),
            push_deadlines: push_deadlines(config),
            tracer,
            withdrawals: stores.history.withdrawals.clone(),
            follower_is_awaited: snapshots.is_none(),
            leads,
        };
        let threads = pipeline::start(startup, parts, followed, feed)?;
        let log_state = threads.state.clone();
        let (films, health) = (film_list, NodeHealth::default());
        let services =
            HubServices { handle, fanout, log_state, health, records, films, limits, registry };
        let handle = &services.handle;
        // Without a node, nobody answers requests to a leader: this hub sees all pushes itself.
        let node = joined.zip(requests).map(|(joined, requests)| {
            let parts = NodeParts {
                handle: handle.clone(),
                fanout: services.fanout.clone(),
                log_state: services.log_state.clone(),
                health: services.health.clone(),
                accounts: stores.accounts.clone(),
                limits: services.limits.clone(),
                drain_ms: milliseconds(config.server.drain_ms),
            };
            let (local, others) = (services.registry.clone(), services.registry.clone());
            let local = move || local.accounts_with_many();
            let others = move |sockets| others.set_at_others(sockets);
            node::start(joined, parts, snapshots.clone(), requests, local, others)
        });
        let sources = match &node {
            None => Sources::announce(played, live, handle).await?,
            Some(_) => Sources::default(),
        };
        let (is_complete, completed) = watch::channel(false);
        let ids = stores.ids.clone().keep(completed.clone());
        let (fenced, signals) = (stores.fenced.clone(), stores.history.signals.clone());
        let signals = archive::signals::keep(fenced, signals, completed);
        let running = RunningHub {
            handle: handle.clone(),
            threads,
            snapshots,
            replays,
            archive: supervisor::spawn("archive", Lifetime::UntilStop, worker.run()),
            signals: supervisor::spawn("signals", Lifetime::UntilStop, signals),
            ids: supervisor::spawn("ids", Lifetime::UntilStop, ids),
            decisions: deciding,
            is_complete,
        };
        Ok(Self { services, running, node, sources, is_exported })
    }

    /// Waits until readers over HTTP see what sockets see, and for a while until all of it is there.
    pub(super) async fn caught_up(&mut self, archive: &Archive) {
        // If the history has failed, the supervisor reports that.
        (&mut self.is_exported).await.ok();
        // Later answers say that they are partial.
        timeout(PAST_WITHIN, archive.complete()).await.ok();
        if let Some(node) = &mut self.node {
            // If the stream does not answer, clients get `stale` frames.
            timeout(CATCH_UP_WITHIN, &mut node.caught_up).await.ok();
        }
    }
}

/// Opens the log, and restores the hub from it. In a cluster the node joins first.
async fn open_log(
    config: &Config,
    stores: &Stores,
) -> Result<(OpenedLog, Option<JoinedNode>), AppError> {
    let remembered = stores.identities.load().await.map_err(AppError::Identity)?;
    let start = HubStart {
        ids: &stores.ids,
        settings: settings(config),
        signals: config.signals.settings(),
        database: log_files::database_name(&stores.accounts).await?,
        // A new run of the demo is of other matches.
        restores: stores.demo.as_ref().is_none_or(DemoRun::is_resumed),
    };
    let epochs = restart::random_epochs()?;
    let fresh = || {
        let mut hub = Hub::new(start.settings, epochs, Identity::new(remembered))
            .with_ids(stores.ids.clone())
            .with_signals(start.signals.clone());
        hub.remember_signals(&stores.history.signals.find(|_| true));
        hub
    };
    let files = log_files::settings(config);
    if config.cluster.is_enabled() {
        let (database, fence) = (stores.accounts.database(), stores.fence.clone());
        let joined = node::join(&config.cluster, fence, database, &files, &start, fresh).await?;
        return Ok((joined.0, Some(joined.1)));
    }
    let files = (config.log.engine == LogEngine::Files).then_some(&files);
    Ok((restart::open(files, &start, fresh)?, None))
}

fn snapshot_timing(config: &Config) -> SnapshotTiming {
    SnapshotTiming {
        every_us: micros(config.log.snapshot_ms),
        idle_us: exports::IDLE_EVERY_US.min(micros(config.cluster.log_age_ms) / 3 * 2),
        work_us: micros(config.log.snapshot_work_ms),
    }
}

/// The threads of the hub, and the tasks that write what it makes to the database.
pub(super) struct RunningHub {
    handle: HubHandle,
    threads: Running<HistoryFeed>,
    snapshots: Option<SnapshotStore>,
    replays: Replays,
    archive: JoinHandle<()>,
    signals: JoinHandle<()>,
    ids: JoinHandle<()>,
    decisions: JoinHandle<()>,
    /// Whether the history has seen all records of the log.
    is_complete: watch::Sender<bool>,
}

impl RunningPart for RunningHub {
    async fn stop(self, deadline: StopDeadline) {
        self.replays.stop();
        let log = stop_writer(&self.handle, self.threads, self.snapshots, deadline).await;
        // What is not archived in time is in the log.
        deadline.archive().task("archive", self.archive).await;
        self.is_complete.send_replace(true);
        deadline.task("signals", self.signals).await;
        // Until now it was locked: another process must not write to the archive before this one is done.
        if let Some(log) = log {
            deadline.step("log", close_log(log)).await;
        }
        deadline.task("ids", self.ids).await;
        deadline.task("identity", self.decisions).await;
    }
}

/// Stops the writer, and with it the history. A last snapshot makes the next start short. A log that cannot be written
/// holds it up until the drain ends. Returns the log, which stays locked until [`close_log`]. `None` if a part failed.
async fn stop_writer(
    handle: &HubHandle,
    threads: Running<HistoryFeed>,
    snapshots: Option<SnapshotStore>,
    deadline: StopDeadline,
) -> Option<EndedLog> {
    let log_state = threads.state.clone();
    let ending = move || {
        // The supervisor has reported a part that failed.
        let (EndedLog(log), FollowerEnd { consumer, applied, state }) = threads.join()?;
        consumer.end();
        let is_whole = applied == log.end().number;
        if let (Some(store), Some(state), true) = (snapshots, state, is_whole) {
            exports::write_snapshot(&store, log.end(), &state);
        }
        Some(EndedLog(log))
    };
    let stopping = async {
        handle.requests.send(Request::Stop).await.ok();
        // The supervisor has reported a panic.
        tokio::task::spawn_blocking(ending).await.ok().flatten()
    };
    tokio::pin!(stopping);
    let patience = deadline.patience().max(LOG_MIN);
    if let Ok(log) = timeout(patience, &mut stopping).await {
        return log;
    }
    log_state.abandon();
    deadline.step("writer", stopping).await.flatten()
}

/// Closes the log, so that the next start finds continuity proven.
async fn close_log(EndedLog(log): EndedLog) {
    let closing = move || {
        if let Err(error) = log.close() {
            let error = &error as &dyn Error;
            warn!(error, "the log could not be closed cleanly");
        }
    };
    // The supervisor has reported a panic.
    tokio::task::spawn_blocking(closing).await.ok();
}

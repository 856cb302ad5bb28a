//! Registers sources with the hub and runs them: the demo, a synthetic load, recordings, live
//! sources.

use std::{
    convert::Infallible,
    future,
    iter::Peekable,
    mem,
    path::{Path, PathBuf},
    sync::{
        Arc, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::Duration,
};

use fanout::{Fanout, Micros};
use ingest::{
    recording::{self, OpenError, Recording},
    source::{ReportSender, Resume, ResumeSlot, SourceMessage},
};
use tokio::{
    sync::watch,
    task::{JoinHandle, JoinSet},
};
use tracing::{error, warn};

use super::{AppError, OrderParts, RunMode};
use crate::{
    config::Config,
    demo::{self, Chronicle, DemoDays, DemoRun},
};
use accounts::Accounts;
use base::{
    clock::now,
    supervisor::{self, Lifetime},
};
use history::{archive::Archive, reader::Reader};
use hub::{
    HubInput, SourceFacts,
    config::sources::SourceConfig,
    feeds::{FeedState, Health, NOT_CONFIGURED, SourceNumber, SourcePolicy},
    load_source::{Load, LoadSource},
    pipeline::{HubHandle, HubStopped, Input, Request, Startup},
    sources::{
        Playback, PlaybackControl, PlaybackHandle, PlaybackOrders, PlaybackPace,
        follow::{self, SourceFuture},
        live,
        positions::{Positions, StoredPosition},
    },
};
use record::ids::PublicIds;

/// An open recording, and its path to reopen it.
pub(super) struct OpenRecording {
    recording: Recording,
    path: PathBuf,
}

/// Opens every recording before anything else starts: a wrong name ends the program at once.
pub(super) fn recordings(config: &Config, mode: &RunMode) -> Result<Vec<OpenRecording>, AppError> {
    let RunMode::Recordings(args) = mode else { return Ok(Vec::new()) };
    let mut recordings = Vec::new();
    for path in recording::plan(&args.files)? {
        let recording = open(&path, &args.files, config)?;
        recordings.push(OpenRecording { recording, path });
    }
    Ok(recordings)
}

fn open(path: &Path, named: &[PathBuf], config: &Config) -> Result<Recording, OpenError> {
    let limits = recording::Limits {
        message_bytes_max: config.feeds.message_bytes_max,
        ..recording::Limits::default()
    };
    Recording::open(path, named, now(), &limits)
}

/// A source with its number in the hub.
pub(super) struct PlayedSource {
    pub(super) number: SourceNumber,
    steps: SourceSteps,
}

enum SourceSteps {
    Demo(Peekable<DemoDays>, PlaybackHandle, PlaybackOrders),
    Steady(LoadSource),
    Recording(Box<OpenRecording>),
}

impl PlayedSource {
    /// What interrupts the demo; `None` for any other source.
    pub(super) fn demo_control(&self) -> Option<PlaybackControl> {
        match &self.steps {
            SourceSteps::Demo(_, handle, _) => Some(handle.control()),
            SourceSteps::Steady(_) | SourceSteps::Recording(_) => None,
        }
    }
}

pub(super) fn announce(
    startup: &mut Startup,
    demo: Option<DemoRun>,
    mode: &RunMode,
    recordings: Vec<OpenRecording>,
) -> Result<Vec<PlayedSource>, AppError> {
    let (policy, mut sources) = (SourcePolicy::default(), Vec::new());
    if let Some(run) = demo {
        let number = startup.source(&"simulator".into(), "simulator", policy, Micros::MIN)?;
        // What the log has of these days is not played again.
        let played = startup.hub().sources()[number.0].messages;
        // The earlier process may have ended during an interruption.
        let health = Health { feed: FeedState::Live, why: None };
        startup.take(HubInput::Health { source: number, health, now: now() }, now())?;
        let mut days = run.days().peekable();
        for _ in 0..played {
            days.next();
        }
        if played == 0 {
            demo::play_past(&mut days, startup, number, now())?;
        }
        let (handle, orders) = PlaybackHandle::new();
        sources.push(PlayedSource { number, steps: SourceSteps::Demo(days, handle, orders) });
    }
    if let RunMode::Load(load) = mode {
        let (steady, now) = (LoadSource::new(*load), now());
        let source = startup.source(&"steady".into(), "steady", policy, now)?;
        for mut batch in steady.introductions(now) {
            startup.hub().ids().number_batch(&mut batch);
            let errors =
                startup.take(HubInput::Batch { source, batch, received: now, now }, now)?;
            debug_assert_eq!(errors, [], "every match is introduced, and there is room for it");
        }
        sources.push(PlayedSource { number: source, steps: SourceSteps::Steady(steady) });
    }
    for recording in recordings {
        let (name, now) = (recording.recording.name().clone(), now());
        let kind = recording.recording.format().as_str();
        let is_known = startup.hub().source_number(&name, kind).is_some();
        let number = startup.source(&name, kind, policy, now)?;
        if is_known {
            // It is played from its beginning again.
            startup.take(HubInput::Restarted { source: number, now }, now)?;
            let health = Health { feed: FeedState::Live, why: None };
            startup.take(HubInput::Health { source: number, health, now }, now)?;
        }
        sources.push(PlayedSource { number, steps: SourceSteps::Recording(Box::new(recording)) });
    }
    Ok(sources)
}

/// Starts to archive the demo's past and programme, if the settings enable it.
pub(super) fn chronicle(
    demo: Option<DemoRun>,
    config: &Config,
    accounts: &Accounts,
    (archive, reader, ids): (&Archive, &Reader, &PublicIds),
    stopped: &watch::Receiver<bool>,
) -> Option<JoinHandle<()>> {
    let run = demo.filter(|_| config.demo.past)?;
    let settings = super::settings(config);
    let chronicle = Chronicle::new(run, accounts, (archive, reader, ids), settings, stopped);
    // It ends early where the database fails; the next start tries again.
    Some(supervisor::spawn("chronicle", Lifetime::Finite, chronicle.keep()))
}

/// A live source that is not started yet.
pub(super) struct LiveSource {
    config: SourceConfig,
    name: Arc<str>,
    resume: ResumeSlot,
    following: SourceFuture,
    messages: tokio::sync::mpsc::Receiver<SourceMessage>,
}

impl LiveSource {
    /// Sets it up. It does nothing before it runs.
    pub(super) fn new(config: &SourceConfig) -> Result<Self, AppError> {
        let name: Arc<str> = config.name.as_str().into();
        let (tx, messages) = tokio::sync::mpsc::channel(live::REPORTS_MAX);
        let outlet = ReportSender::new(Arc::clone(&name), tx, now);
        let resume = outlet.resume_slot();
        let following = follow::follow(config, outlet)
            .map_err(|error| AppError::Source { name: config.name.clone(), source: error })?;
        Ok(Self { config: config.clone(), name, resume, following, messages })
    }
}

/// Whether the sources of the settings are followed in this mode.
pub(super) fn follows_live(mode: &RunMode) -> bool {
    matches!(mode, RunMode::Nothing)
}

/// Whether each of these sources could be started.
pub(super) fn check_sources(sources: &[SourceConfig]) -> Result<(), AppError> {
    sources.iter().try_for_each(|source| LiveSource::new(source).map(drop))
}

/// Registers live sources, each as not yet connected.
pub(super) async fn announce_live(
    live: &[LiveSource],
    hub_handle: &HubHandle,
) -> Result<Vec<SourceNumber>, HubStopped> {
    let mut numbers = Vec::new();
    for LiveSource { config, name, .. } in live {
        let health = Health { feed: FeedState::Recovering, why: Some("it connects".into()) };
        let (kind, policy) = (config.kind.as_str(), follow::source_policy(config));
        numbers.push(hub_handle.source(name, kind, policy, Some(health)).await?);
    }
    Ok(numbers)
}

/// Withdraws the facts of sources that only an earlier process had: of all but these.
pub(super) async fn retire_others(
    ours: impl IntoIterator<Item = SourceNumber>,
    hub_handle: &HubHandle,
) -> Result<(), HubStopped> {
    let retire = Request::RetireOthers(ours.into_iter().collect());
    hub_handle.requests.send(retire).await.map_err(|_| HubStopped)
}

/// A live source that runs until this is dropped.
#[derive(Debug)]
struct RunningSource {
    config: SourceConfig,
    number: SourceNumber,
    /// From then on neither task ends by itself: each ends when the other one is gone, which would count as a failure.
    is_stopping: Arc<AtomicBool>,
    tasks: JoinSet<()>,
}

impl Drop for RunningSource {
    fn drop(&mut self) {
        self.is_stopping.store(true, Ordering::Release);
    }
}

/// Runs a task of a source, which does not end once the source is stopping.
async fn unless_stopping(task: impl Future<Output = ()>, is_stopping: Arc<AtomicBool>) {
    task.await;
    if is_stopping.load(Ordering::Acquire) {
        future::pending::<()>().await;
    }
}

/// The live sources that run.
#[derive(Debug)]
struct RunningSources {
    running: Vec<RunningSource>,
    positions: Positions,
}

impl RunningSources {
    fn new(positions: &Positions) -> Self {
        Self { running: Vec::new(), positions: positions.clone() }
    }

    fn numbers(&self) -> impl Iterator<Item = SourceNumber> {
        self.running.iter().map(|source| source.number)
    }

    /// What a source goes on from: its position, with what the hub has if that is all that came before. `go_on`: see
    /// [`Self::start`].
    async fn resume_of(
        &self,
        name: &str,
        number: SourceNumber,
        hub_handle: &HubHandle,
        go_on: bool,
    ) -> Result<Option<Resume>, HubStopped> {
        let stored = match self.positions.load(name).await {
            Ok(Some(stored)) => stored,
            Ok(None) => return Ok(None),
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                warn!(error, source = name, "cannot read how far a source has read");
                return Ok(None);
            }
        };
        let StoredPosition { position, last: stored_at } = stored;
        let SourceFacts { last, matches } = hub_handle.source_facts(number).await?;
        let matches = (go_on && last >= Some(stored_at)).then_some(matches);
        Ok(Some(Resume { position, matches }))
    }

    /// Starts sources that are registered under these numbers. `go_on`: from their positions, since the hub has just
    /// started or taken the lead.
    async fn start(
        &mut self,
        sources: Vec<LiveSource>,
        numbers: Vec<SourceNumber>,
        hub_handle: &HubHandle,
        go_on: bool,
    ) -> Result<(), HubStopped> {
        if go_on {
            let names = sources.iter().map(|source| Arc::clone(&source.name));
            self.positions.keep_only(names.collect()).await;
        }
        for (source, number) in sources.into_iter().zip(numbers) {
            let LiveSource { config, name, resume, following, messages } = source;
            let found = self.resume_of(&name, number, hub_handle, go_on).await?;
            *resume.lock().unwrap_or_else(PoisonError::into_inner) = found;
            let (mut tasks, is_stopping) = (JoinSet::new(), Arc::new(AtomicBool::new(false)));
            // A source reconnects by itself, so it must not end.
            let part = format!("source {name}");
            let following = unless_stopping(following, Arc::clone(&is_stopping));
            tasks.spawn(supervisor::watch(part, Lifetime::UntilStop, following));
            let part = format!("source {name} queue");
            let (inputs, positions) = (hub_handle.inputs.clone(), self.positions.clone());
            let forwarding = live::forward((number, name), messages, inputs, positions);
            let forwarding = unless_stopping(forwarding, Arc::clone(&is_stopping));
            tasks.spawn(supervisor::watch(part, Lifetime::UntilStop, forwarding));
            self.running.push(RunningSource { config, number, is_stopping, tasks });
        }
        Ok(())
    }

    /// Runs these sources from now on. Sources that are gone or have other settings stop, and their facts are withdrawn. New
    /// ones and those with other settings start. Those that have other ranks alone get them, and the others are not touched.
    /// If one of them cannot be set up, nothing changes. `go_on`: see [`Self::start`].
    async fn change(
        &mut self,
        wanted: &[SourceConfig],
        mode: &RunMode,
        hub_handle: &HubHandle,
        go_on: bool,
    ) -> Result<(), SourceChangeError> {
        let is_new = |source: &&SourceConfig| {
            !self.running.iter().any(|running| running.config.connects_like(source))
        };
        let wanted_now = wanted.iter().filter(|_| follows_live(mode)).filter(is_new);
        let live = wanted_now.map(LiveSource::new).collect::<Result<Vec<_>, AppError>>()?;
        let (staying, stopping): (Vec<_>, Vec<_>) =
            mem::take(&mut self.running).into_iter().partition(|running: &RunningSource| {
                wanted.iter().any(|source| source.connects_like(&running.config))
            });
        self.running = staying;
        for RunningSource { config, .. } in &mut self.running {
            let changed =
                |source: &&SourceConfig| source.connects_like(config) && **source != *config;
            let Some(other) = wanted.iter().find(changed) else { continue };
            let (name, policy) = (other.name.as_str().into(), follow::source_policy(other));
            hub_handle.source(&name, other.kind.as_str(), policy, None).await?;
            config.clone_from(other);
        }
        for mut source in stopping {
            source.is_stopping.store(true, Ordering::Release);
            source.tasks.shutdown().await;
            // Behind what it has sent, in the same queue.
            let RunningSource { number, ref config, .. } = source;
            self.positions.withdraw(&config.name.as_str().into()).await;
            hub_handle.inputs.send(Input::Restarted { source: number }).await?;
            // The number stays that of a source with this name and kind, whose new state is sent below, in another queue.
            let is_same = |it: &SourceConfig| {
                (&it.name, it.kind.as_str()) == (&config.name, config.kind.as_str())
            };
            if !wanted.iter().any(is_same) {
                let health = Health { feed: FeedState::Down, why: Some(NOT_CONFIGURED.into()) };
                hub_handle.inputs.send(Input::Health { source: number, health }).await?;
            }
        }
        let numbers = announce_live(&live, hub_handle).await?;
        self.start(live, numbers, hub_handle, go_on).await?;
        Ok(())
    }
}

/// Why sources could not be changed.
enum SourceChangeError {
    Stopped,
    Source(AppError),
}

impl From<HubStopped> for SourceChangeError {
    fn from(_: HubStopped) -> Self {
        Self::Stopped
    }
}

impl From<AppError> for SourceChangeError {
    fn from(error: AppError) -> Self {
        Self::Source(error)
    }
}

/// The live sources of a hub without a cluster.
pub(super) struct LiveSources {
    /// Those of the start, and their numbers.
    pub live: Vec<LiveSource>,
    pub numbers: Vec<SourceNumber>,
    /// Those of the settings in force.
    pub configured: watch::Receiver<Arc<[SourceConfig]>>,
    pub positions: Positions,
}

/// Waits for other sources in the settings. Never ends if none can come.
async fn other_sources(
    configured: &mut watch::Receiver<Arc<[SourceConfig]>>,
) -> Arc<[SourceConfig]> {
    if configured.changed().await.is_err() {
        future::pending::<()>().await;
    }
    Arc::clone(&configured.borrow_and_update())
}

/// Plays all sources for as long as this is polled.
pub(super) async fn play_all(
    sources: Vec<PlayedSource>,
    LiveSources { live, numbers, mut configured, positions }: LiveSources,
    mode: &RunMode,
    config: &Config,
    hub_handle: &HubHandle,
    fanout: &Fanout,
) -> Result<Infallible, AppError> {
    if matches!(mode, RunMode::Recordings(args) if args.hold) {
        wait_for_first_subscription(fanout).await;
    }
    let _players = start_sources(sources, mode, config, hub_handle, fanout)?;
    let mut running = RunningSources::new(&positions);
    let started = running.start(live, numbers, hub_handle, true).await;
    started.map_err(|HubStopped| AppError::Part)?;
    loop {
        let wanted = other_sources(&mut configured).await;
        match running.change(&wanted, mode, hub_handle, false).await {
            Ok(()) => {}
            Err(SourceChangeError::Stopped) => return Err(AppError::Part),
            Err(SourceChangeError::Source(error)) => report_unchanged(&error),
        }
    }
}

/// The settings were checked, but a file that they name has changed since.
fn report_unchanged(error: &AppError) {
    let error = error as &dyn std::error::Error;
    error!(error, "the sources stay as they are; reload the settings to try again");
}

/// Runs the sources of the settings, and takes orders, whenever this node of a cluster leads.
pub(super) async fn play_while_leading(
    mut leading: watch::Receiver<bool>,
    mut configured: watch::Receiver<Arc<[SourceConfig]>>,
    orders: &OrderParts<'_>,
    mode: &RunMode,
    positions: &Positions,
) -> Result<Infallible, AppError> {
    let hub_handle = orders.hub_handle;
    loop {
        until_leads(&mut leading, true).await;
        let (stop, stopped) = watch::channel(false);
        let mut running = RunningSources::new(positions);
        let mut loads = Vec::new();
        let mut played = None;
        let wanted = Arc::clone(&configured.borrow_and_update());
        let begun = async {
            if let RunMode::Load(load) = mode {
                let (number, stop) = start_load(*load, hub_handle).await?;
                played = Some(number);
                loads.push(stop);
            }
            running.change(&wanted, mode, hub_handle, true).await?;
            let ours = running.numbers().chain(played);
            retire_others(ours, hub_handle).await?;
            Ok(())
        };
        match begun.await {
            Ok(()) => {}
            // The node has given up the lead meanwhile.
            Err(SourceChangeError::Stopped) => continue,
            Err(SourceChangeError::Source(error)) => return Err(error),
        }
        let ordering = orders.take(&stopped, Lifetime::Finite);
        loop {
            let wanted = tokio::select! {
                () = until_leads(&mut leading, false) => break,
                wanted = other_sources(&mut configured) => wanted,
            };
            match running.change(&wanted, mode, hub_handle, false).await {
                // If the node has given up the lead meanwhile, `leading` says so next.
                Ok(()) | Err(SourceChangeError::Stopped) => {}
                Err(SourceChangeError::Source(error)) => report_unchanged(&error),
            }
        }
        // The next leader connects to the same providers.
        drop(running);
        drop(loads);
        stop.send_replace(true);
        for task in ordering {
            task.await.ok();
        }
    }
}

/// Waits until the node leads, or no longer does. If the node cannot go on, this waits for ever: its part reports why, and
/// the process stops in order.
async fn until_leads(leading: &mut watch::Receiver<bool>, leads: bool) {
    if leading.wait_for(|it| *it == leads).await.is_err() {
        future::pending::<()>().await;
    }
}

/// Starts the steady load. It ends when the returned sender is dropped.
async fn start_load(
    load: Load,
    hub_handle: &HubHandle,
) -> Result<(SourceNumber, mpsc::SyncSender<()>), HubStopped> {
    let steady = LoadSource::new(load);
    let health = Health { feed: FeedState::Live, why: None };
    let policy = SourcePolicy::default();
    let source = hub_handle.source(&"steady".into(), "steady", policy, Some(health)).await?;
    for batch in steady.introductions(now()) {
        hub_handle.inputs.send(Input::Batch { source, batch, received: now() }).await?;
    }
    let (stop, stopped) = mpsc::sync_channel(0);
    let inputs = hub_handle.inputs.clone();
    steady.start(source, inputs, stopped, Lifetime::Finite).map_err(|_| HubStopped)?;
    Ok((source, stop))
}

/// Sources that play: they stop when this is dropped.
#[derive(Debug, Default)]
struct Players {
    playbacks: Vec<PlaybackHandle>,
    loads: Vec<mpsc::SyncSender<()>>,
}

/// Plays every source on its own thread until the returned value is dropped.
fn start_sources(
    sources: Vec<PlayedSource>,
    mode: &RunMode,
    config: &Config,
    hub_handle: &HubHandle,
    fanout: &Fanout,
) -> Result<Players, AppError> {
    let mut players = Players::default();
    for PlayedSource { number, steps } in sources {
        let player = |pace, orders| Playback {
            source: number,
            inputs: hub_handle.inputs.clone(),
            fanout: fanout.clone(),
            runtime: tokio::runtime::Handle::current(),
            pace,
            orders,
        };
        match (steps, mode) {
            (SourceSteps::Demo(days, handle, orders), _) => {
                player(PlaybackPace::OnTime, orders).start(days, || None)?;
                players.playbacks.push(handle);
            }
            (SourceSteps::Steady(steady), _) => {
                let (stop, stopped) = mpsc::sync_channel(0);
                players.loads.push(stop);
                let inputs = hub_handle.inputs.clone();
                steady.start(number, inputs, stopped, Lifetime::UntilStop)?;
            }
            (SourceSteps::Recording(recording), RunMode::Recordings(args)) => {
                let OpenRecording { recording, path } = *recording;
                let (named, repeat, config) = (args.files.clone(), args.repeat, config.clone());
                let again = move || {
                    let opened = repeat.then(|| open(&path, &named, &config))?;
                    opened
                        .inspect_err(|error| error!(%error, "cannot play the recordings again"))
                        .ok()
                };
                let (handle, orders) = PlaybackHandle::new();
                player(PlaybackPace::FromStart(args.speed), orders).start(recording, again)?;
                players.playbacks.push(handle);
            }
            (SourceSteps::Recording(_), RunMode::Demo | RunMode::Load(_) | RunMode::Nothing) => {}
        }
    }
    Ok(players)
}

/// How long a recording that is held waits after the first subscription.
const HOLD_ON: Duration = Duration::from_millis(300);

async fn wait_for_first_subscription(fanout: &Fanout) {
    let mut look = tokio::time::interval(Duration::from_millis(10));
    while !fanout.was_followed() {
        look.tick().await;
    }
    // A client subscribes to several channels one by one and should miss nothing of any.
    tokio::time::sleep(HOLD_ON).await;
}

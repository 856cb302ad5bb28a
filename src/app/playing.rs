//! Registers sources with the hub and runs them: the demo, a synthetic load, recordings, live
//! sources.

use std::{
    convert::Infallible,
    future,
    iter::Peekable,
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    time::Duration,
};

use fanout::{Fanout, Micros};
use ingest::{
    recording::{self, OpenError, Recording},
    source::{ReportSender, SourceMessage},
};
use tokio::{
    sync::watch,
    task::{JoinHandle, JoinSet},
};
use tracing::error;

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
    HubInput,
    feeds::{FeedState, Health, SourceNumber, SourcePolicy},
    load_source::{Load, LoadSource},
    pipeline::{HubHandle, HubStopped, Input, Request, Startup},
    sources::{
        Playback, PlaybackControl, PlaybackHandle, PlaybackOrders, PlaybackPace,
        follow::{self, SourceFuture},
        live,
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
    name: Arc<str>,
    kind: &'static str,
    policy: SourcePolicy,
    following: SourceFuture,
    messages: tokio::sync::mpsc::Receiver<SourceMessage>,
}

/// The live sources of the settings.
pub(super) fn live_sources(config: &Config, mode: &RunMode) -> Result<Vec<LiveSource>, AppError> {
    if !matches!(mode, RunMode::Nothing) {
        return Ok(Vec::new());
    }
    let mut live = Vec::new();
    for source in &config.sources {
        let name: Arc<str> = source.name.as_str().into();
        let (tx, messages) = tokio::sync::mpsc::channel(live::REPORTS_MAX);
        let outlet = ReportSender::new(Arc::clone(&name), tx, now);
        let following = follow::follow(source, outlet)
            .map_err(|error| AppError::Source { name: source.name.clone(), source: error })?;
        let (kind, policy) = (source.kind.as_str(), follow::source_policy(source));
        live.push(LiveSource { name, kind, policy, following, messages });
    }
    Ok(live)
}

/// Registers live sources, each as not yet connected. What other sources of an earlier process told is void, but for
/// those with these numbers.
pub(super) async fn announce_live(
    live: &[LiveSource],
    hub_handle: &HubHandle,
    mut ours: Vec<SourceNumber>,
) -> Result<Vec<SourceNumber>, HubStopped> {
    let mut numbers = Vec::new();
    for LiveSource { name, kind, policy, .. } in live {
        let health = Health { feed: FeedState::Recovering, why: Some("it connects".into()) };
        numbers.push(hub_handle.source(name, kind, *policy, health).await?);
    }
    ours.extend(&numbers);
    let retire = Request::RetireOthers(ours);
    hub_handle.requests.send(retire).await.map_err(|_| HubStopped)?;
    Ok(numbers)
}

/// Runs every live source until the returned set is dropped.
fn start_live(
    sources: Vec<LiveSource>,
    numbers: Vec<SourceNumber>,
    hub_handle: &HubHandle,
) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    for (LiveSource { name, following, messages, .. }, number) in sources.into_iter().zip(numbers) {
        // A source reconnects by itself, so an end is a bug.
        let part = format!("source {name}");
        tasks.spawn(supervisor::watch(part, Lifetime::UntilStop, following));
        let forwarding = live::forward(number, messages, hub_handle.inputs.clone());
        let part = format!("source {name} queue");
        tasks.spawn(supervisor::watch(part, Lifetime::UntilStop, forwarding));
    }
    tasks
}

/// Plays all sources for as long as this is polled.
pub(super) async fn play_all(
    sources: Vec<PlayedSource>,
    (live, numbers): (Vec<LiveSource>, Vec<SourceNumber>),
    mode: &RunMode,
    config: &Config,
    hub_handle: &HubHandle,
    fanout: &Fanout,
) -> Result<Infallible, AppError> {
    if matches!(mode, RunMode::Recordings(args) if args.hold) {
        wait_for_first_subscription(fanout).await;
    }
    let _players = start_sources(sources, mode, config, hub_handle, fanout)?;
    let _live = start_live(live, numbers, hub_handle);
    future::pending().await
}

/// Runs the sources of the settings, and takes orders, whenever this node of a cluster leads.
pub(super) async fn play_while_leading(
    mut leading: watch::Receiver<bool>,
    orders: &OrderParts<'_>,
    mode: &RunMode,
) -> Result<Infallible, AppError> {
    let OrderParts { config, hub_handle, .. } = orders;
    loop {
        until_leads(&mut leading, true).await;
        let live = live_sources(config, mode)?;
        let (stop, stopped) = watch::channel(false);
        let mut playing = JoinSet::new();
        let mut loads = Vec::new();
        let begun = async {
            let mut ours = Vec::new();
            if let RunMode::Load(load) = mode {
                let (number, stop) = start_load(*load, hub_handle).await?;
                ours.push(number);
                loads.push(stop);
            }
            let numbers = announce_live(&live, hub_handle, ours).await?;
            playing = start_live(live, numbers, hub_handle);
            Ok::<_, HubStopped>(())
        };
        // Otherwise the node has given up the lead meanwhile.
        if begun.await.is_ok() {
            let ordering = orders.take(&stopped, Lifetime::Finite);
            until_leads(&mut leading, false).await;
            stop.send_replace(true);
            for task in ordering {
                task.await.ok();
            }
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
    let source = hub_handle.source(&"steady".into(), "steady", policy, health).await?;
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

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

use fanout::Fanout;
use ingest::{
    recording::{self, OpenError, Recording},
    source::{ReportSender, SourceMessage},
};
use tokio::{
    sync::watch,
    task::{JoinHandle, JoinSet},
};
use tracing::error;

use super::{AppError, RunMode};
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
    Hub,
    feeds::{FeedState, Health, SourceNumber, SourcePolicy},
    load_source::LoadSource,
    pipeline::HubHandle,
    sources::{
        Playback, PlaybackPace,
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
    number: SourceNumber,
    steps: SourceSteps,
}

enum SourceSteps {
    Demo(Peekable<DemoDays>),
    Steady(LoadSource),
    Recording(Box<OpenRecording>),
}

pub(super) fn announce(
    hub: &mut Hub,
    demo: Option<DemoRun>,
    mode: &RunMode,
    recordings: Vec<OpenRecording>,
) -> Vec<PlayedSource> {
    let demo = demo.map(|run| {
        let number = hub.source("simulator".into(), "simulator", SourcePolicy::default());
        let mut days = run.days().peekable();
        demo::play_past(&mut days, hub, number, now());
        PlayedSource { number, steps: SourceSteps::Demo(days) }
    });
    let steady = if let RunMode::Load(load) = mode { Some(LoadSource::new(*load)) } else { None };
    let steady = steady.map(|steady| {
        let number = hub.source("steady".into(), "steady", SourcePolicy::default());
        steady.introduce(hub, number, now());
        PlayedSource { number, steps: SourceSteps::Steady(steady) }
    });
    let recordings: Vec<PlayedSource> = recordings
        .into_iter()
        .map(|recording| {
            let name = recording.recording.name().clone();
            let number =
                hub.source(name, recording.recording.format().as_str(), SourcePolicy::default());
            PlayedSource { number, steps: SourceSteps::Recording(Box::new(recording)) }
        })
        .collect();
    demo.into_iter().chain(steady).chain(recordings).collect()
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

/// A live source with its number in the hub, not started yet.
pub(super) struct LiveSource {
    name: Arc<str>,
    number: SourceNumber,
    following: SourceFuture,
    messages: tokio::sync::mpsc::Receiver<SourceMessage>,
}

/// Registers the live sources of the settings. Each begins as not yet connected.
pub(super) fn announce_live(
    hub: &mut Hub,
    config: &Config,
    mode: &RunMode,
) -> Result<Vec<LiveSource>, AppError> {
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
        let number =
            hub.source(Arc::clone(&name), source.kind.as_str(), follow::source_policy(source));
        let connecting = Health { feed: FeedState::Recovering, why: Some("it connects".into()) };
        hub.set_source_health(number, &connecting, now(), &mut Vec::new());
        live.push(LiveSource { name, number, following, messages });
    }
    Ok(live)
}

/// Runs every live source until the returned set is dropped.
fn start_live(sources: Vec<LiveSource>, hub_handle: &HubHandle) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    for LiveSource { name, number, following, messages } in sources {
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
    live: Vec<LiveSource>,
    mode: &RunMode,
    config: &Config,
    hub_handle: &HubHandle,
    fanout: &Fanout,
) -> Result<Infallible, AppError> {
    if matches!(mode, RunMode::Recordings(args) if args.hold) {
        wait_for_first_subscription(fanout).await;
    }
    let _players = start_sources(sources, mode, config, hub_handle, fanout)?;
    let _live = start_live(live, hub_handle);
    future::pending().await
}

/// Plays every source on its own thread until the returned senders are dropped.
fn start_sources(
    sources: Vec<PlayedSource>,
    mode: &RunMode,
    config: &Config,
    hub_handle: &HubHandle,
    fanout: &Fanout,
) -> Result<Vec<mpsc::SyncSender<()>>, AppError> {
    let mut stops = Vec::new();
    for PlayedSource { number, steps } in sources {
        let (stop, stopped) = mpsc::sync_channel(0);
        stops.push(stop);
        let player = |pace, stop| Playback {
            source: number,
            inputs: hub_handle.inputs.clone(),
            fanout: fanout.clone(),
            runtime: tokio::runtime::Handle::current(),
            pace,
            stop,
        };
        match (steps, mode) {
            (SourceSteps::Demo(days), _) => {
                player(PlaybackPace::OnTime, stopped).start(days, || None)?;
            }
            (SourceSteps::Steady(steady), _) => {
                steady.start(number, hub_handle.inputs.clone(), stopped)?;
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
                player(PlaybackPace::FromStart(args.speed), stopped).start(recording, again)?;
            }
            (SourceSteps::Recording(_), RunMode::Demo | RunMode::Load(_) | RunMode::Nothing) => {}
        }
    }
    Ok(stops)
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

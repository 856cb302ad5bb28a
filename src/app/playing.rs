//! Registers the sources with the hub and runs them: the demo, a load, recordings, live sources.

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
    accounts::Accounts,
    archive::Archive,
    clock::now,
    config::Config,
    demo::{self, Chronicle, Days, Run},
    hub::{
        Hub,
        feeds::{Feed, Health, SourceNumber, Terms},
    },
    ids::PublicIds,
    load_source::LoadSource,
    pipeline::HubHandle,
    reader::Reader,
    sources::{
        Pace, Player,
        follow::{self, Following},
        live,
    },
    supervisor::{self, Lifetime},
};

/// A recording, and how to reopen it.
pub(super) struct Reel {
    recording: Recording,
    path: PathBuf,
}

/// Opens every recording before anything else starts, so that a wrong name ends the program at
/// once.
pub(super) fn recordings(config: &Config, mode: &RunMode) -> Result<Vec<Reel>, AppError> {
    let RunMode::Recordings(args) = mode else { return Ok(Vec::new()) };
    let mut reels = Vec::new();
    for path in recording::plan(&args.files)? {
        let recording = open(&path, &args.files, config)?;
        reels.push(Reel { recording, path });
    }
    Ok(reels)
}

fn open(path: &Path, named: &[PathBuf], config: &Config) -> Result<Recording, OpenError> {
    let limits = recording::Limits {
        message_bytes_max: config.feeds.message_bytes_max,
        ..recording::Limits::default()
    };
    Recording::open(path, named, now(), &limits)
}

/// A source with its number in the hub.
pub(super) struct Source {
    number: SourceNumber,
    steps: Steps,
}

enum Steps {
    Demo(Peekable<Days>),
    LoadSource(LoadSource),
    Reel(Box<Reel>),
}

pub(super) fn announce(
    hub: &mut Hub,
    demo: Option<Run>,
    mode: &RunMode,
    reels: Vec<Reel>,
) -> Vec<Source> {
    let demo = demo.map(|run| {
        let number = hub.source("simulator".into(), "simulator", Terms::default());
        let mut days = run.days().peekable();
        demo::play_past(&mut days, hub, number, now());
        Source { number, steps: Steps::Demo(days) }
    });
    let load_source =
        if let RunMode::Load(load) = mode { Some(LoadSource::new(*load)) } else { None };
    let load_source = load_source.map(|load_source| {
        let number = hub.source("steady".into(), "steady", Terms::default());
        load_source.introduce(hub, number, now());
        Source { number, steps: Steps::LoadSource(load_source) }
    });
    let reels: Vec<Source> = reels
        .into_iter()
        .map(|reel| {
            let name = reel.recording.name().clone();
            let number = hub.source(name, reel.recording.format().as_str(), Terms::default());
            Source { number, steps: Steps::Reel(Box::new(reel)) }
        })
        .collect();
    demo.into_iter().chain(load_source).chain(reels).collect()
}

/// Stores the demo's past and future matches in the archive, if the settings say so.
pub(super) fn chronicle(
    demo: Option<Run>,
    config: &Config,
    accounts: &Accounts,
    (archive, reader, ids): (&Archive, &Reader, &PublicIds),
    stopped: &watch::Receiver<bool>,
) -> Option<JoinHandle<()>> {
    let run = demo.filter(|_| config.demo.past)?;
    let settings = super::settings(config);
    let chronicle = Chronicle::new(run, accounts, (archive, reader, ids), settings, stopped);
    // It ends early if the database fails; the next start tries again.
    Some(supervisor::spawn("chronicle", Lifetime::Finite, chronicle.keep()))
}

/// A live source with its number in the hub, not started yet.
pub(super) struct LiveSource {
    name: Arc<str>,
    number: SourceNumber,
    following: Following,
    told: tokio::sync::mpsc::Receiver<SourceMessage>,
}

/// Registers the configured live sources. Each starts as not yet connected.
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
        let (tell, told) = tokio::sync::mpsc::channel(live::REPORTS_MAX);
        let outlet = ReportSender::new(Arc::clone(&name), tell, now);
        let following = follow::follow(source, outlet)
            .map_err(|error| AppError::Source { name: source.name.clone(), source: error })?;
        let number = hub.source(Arc::clone(&name), source.kind.as_str(), follow::terms(source));
        let connecting = Health { feed: Feed::Recovering, why: Some("it connects".into()) };
        hub.source_is(number, &connecting, now(), &mut Vec::new());
        live.push(LiveSource { name, number, following, told });
    }
    Ok(live)
}

/// Runs every live source, until the returned set is dropped.
fn start_live(sources: Vec<LiveSource>, hub_handle: &HubHandle) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    for LiveSource { name, number, following, told } in sources {
        // A source recovers from everything but a bug.
        let part = format!("source {name}");
        tasks.spawn(supervisor::watch(part, Lifetime::UntilStop, following));
        let forwarding = live::forward(number, told, hub_handle.inputs.clone());
        let part = format!("source {name} queue");
        tasks.spawn(supervisor::watch(part, Lifetime::UntilStop, forwarding));
    }
    tasks
}

/// Runs all sources for as long as this is polled.
pub(super) async fn play_all(
    sources: Vec<Source>,
    live: Vec<LiveSource>,
    mode: &RunMode,
    config: &Config,
    hub_handle: &HubHandle,
    fanout: &Fanout,
) -> Result<Infallible, AppError> {
    if matches!(mode, RunMode::Recordings(args) if args.hold) {
        wait_for_a_follower(fanout).await;
    }
    let _players = start_sources(sources, mode, config, hub_handle, fanout)?;
    let _live = start_live(live, hub_handle);
    future::pending().await
}

/// Runs every source on its own thread, until the returned value is dropped.
fn start_sources(
    sources: Vec<Source>,
    mode: &RunMode,
    config: &Config,
    hub_handle: &HubHandle,
    fanout: &Fanout,
) -> Result<Vec<mpsc::SyncSender<()>>, AppError> {
    let mut stops = Vec::new();
    for Source { number, steps } in sources {
        let (stop, stopped) = mpsc::sync_channel(0);
        stops.push(stop);
        let player = |pace, stop| Player {
            source: number,
            inputs: hub_handle.inputs.clone(),
            fanout: fanout.clone(),
            runtime: tokio::runtime::Handle::current(),
            pace,
            stop,
        };
        match (steps, mode) {
            (Steps::Demo(days), _) => {
                player(Pace::OnTime, stopped).start(days, || None)?;
            }
            (Steps::LoadSource(load_source), _) => {
                load_source.start(number, hub_handle.inputs.clone(), stopped)?;
            }
            (Steps::Reel(reel), RunMode::Recordings(args)) => {
                let Reel { recording, path } = *reel;
                let (named, repeat, config) = (args.files.clone(), args.repeat, config.clone());
                let again = move || {
                    let opened = repeat.then(|| open(&path, &named, &config))?;
                    opened.inspect_err(|error| error!(%error, "no second round")).ok()
                };
                player(Pace::FromStart(args.speed), stopped).start(recording, again)?;
            }
            (Steps::Reel(_), RunMode::Demo | RunMode::Load(_) | RunMode::Nothing) => {}
        }
    }
    Ok(stops)
}

/// How long a held recording waits after the first subscription.
const HOLD_ON: Duration = Duration::from_millis(300);

async fn wait_for_a_follower(fanout: &Fanout) {
    let mut look = tokio::time::interval(Duration::from_millis(10));
    while !fanout.was_followed() {
        look.tick().await;
    }
    // A client subscribes to its channels one by one, and must not miss anything.
    tokio::time::sleep(HOLD_ON).await;
}

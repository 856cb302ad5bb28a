//! Announces to the hub what is to be played, and plays it: the demo, a steady load, recordings, live
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
    source::{Outlet, Told},
};
use tokio::{
    sync::watch,
    task::{JoinHandle, JoinSet},
};
use tracing::error;

use super::{AppError, Play};
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
    pipeline::Doors,
    reader::Reader,
    sources::{
        Pace, Player,
        follow::{self, Following},
        live,
    },
    load_source::Steady,
    supervisor::{self, Lifetime},
};

/// A recording to be played, and how to open it anew.
pub(super) struct Reel {
    recording: Recording,
    path: PathBuf,
}

/// Opens every recording before anything else starts: a wrong name ends the program at once.
pub(super) fn recordings(config: &Config, play: &Play) -> Result<Vec<Reel>, AppError> {
    let Play::Recordings(args) = play else { return Ok(Vec::new()) };
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
    Steady(Steady),
    Reel(Box<Reel>),
}

pub(super) fn announce(
    hub: &mut Hub,
    demo: Option<Run>,
    play: &Play,
    reels: Vec<Reel>,
) -> Vec<Source> {
    let demo = demo.map(|run| {
        let number = hub.source("simulator".into(), "simulator", Terms::default());
        let mut days = run.days().peekable();
        demo::play_past(&mut days, hub, number, now());
        Source { number, steps: Steps::Demo(days) }
    });
    let steady = if let Play::Steady(load) = play { Some(Steady::new(*load)) } else { None };
    let steady = steady.map(|steady| {
        let number = hub.source("steady".into(), "steady", Terms::default());
        steady.introduce(hub, number, now());
        Source { number, steps: Steps::Steady(steady) }
    });
    let reels: Vec<Source> = reels
        .into_iter()
        .map(|reel| {
            let name = reel.recording.name().clone();
            let number = hub.source(name, reel.recording.format().as_str(), Terms::default());
            Source { number, steps: Steps::Reel(Box::new(reel)) }
        })
        .collect();
    demo.into_iter().chain(steady).chain(reels).collect()
}

/// Keeps what the demo's world holds beside what is played in the archive, where the settings want it.
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
    // It ends early where the database fails; the next start tries again.
    Some(supervisor::spawn("chronicle", Lifetime::Finite, chronicle.keep()))
}

/// A live source with its number in the hub, not started yet.
pub(super) struct LiveSource {
    name: Arc<str>,
    number: SourceNumber,
    following: Following,
    told: tokio::sync::mpsc::Receiver<Told>,
}

/// Announces the live sources of the settings. Each begins as one that has yet to connect.
pub(super) fn announce_live(
    hub: &mut Hub,
    config: &Config,
    play: &Play,
) -> Result<Vec<LiveSource>, AppError> {
    if !matches!(play, Play::Nothing) {
        return Ok(Vec::new());
    }
    let mut live = Vec::new();
    for source in &config.sources {
        let name: Arc<str> = source.name.as_str().into();
        let (tell, told) = tokio::sync::mpsc::channel(live::REPORTS_MAX);
        let outlet = Outlet::new(Arc::clone(&name), tell, now);
        let following = follow::follow(source, outlet)
            .map_err(|error| AppError::Source { name: source.name.clone(), source: error })?;
        let number = hub.source(Arc::clone(&name), source.kind.as_str(), follow::terms(source));
        let connecting = Health { feed: Feed::Recovering, why: Some("it connects".into()) };
        hub.source_is(number, &connecting, now(), &mut Vec::new());
        live.push(LiveSource { name, number, following, told });
    }
    Ok(live)
}

/// Follows every live source, until what is returned is dropped.
fn start_live(sources: Vec<LiveSource>, doors: &Doors) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    for LiveSource { name, number, following, told } in sources {
        // A source comes back by itself from everything but a fault of the program.
        let part = format!("source {name}");
        tasks.spawn(supervisor::watch(part, Lifetime::UntilStop, following));
        let forwarding = live::forward(number, told, doors.inputs.clone());
        let part = format!("source {name} queue");
        tasks.spawn(supervisor::watch(part, Lifetime::UntilStop, forwarding));
    }
    tasks
}

/// Plays all sources for as long as this is polled.
pub(super) async fn play_all(
    sources: Vec<Source>,
    live: Vec<LiveSource>,
    play: &Play,
    config: &Config,
    doors: &Doors,
    fanout: &Fanout,
) -> Result<Infallible, AppError> {
    if matches!(play, Play::Recordings(args) if args.hold) {
        wait_for_a_follower(fanout).await;
    }
    let _players = start_sources(sources, play, config, doors, fanout)?;
    let _live = start_live(live, doors);
    future::pending().await
}

/// Plays every source on a thread of its own, until what is returned is dropped.
fn start_sources(
    sources: Vec<Source>,
    play: &Play,
    config: &Config,
    doors: &Doors,
    fanout: &Fanout,
) -> Result<Vec<mpsc::SyncSender<()>>, AppError> {
    let mut stops = Vec::new();
    for Source { number, steps } in sources {
        let (stop, stopped) = mpsc::sync_channel(0);
        stops.push(stop);
        let player = |pace, stop| Player {
            source: number,
            inputs: doors.inputs.clone(),
            fanout: fanout.clone(),
            runtime: tokio::runtime::Handle::current(),
            pace,
            stop,
        };
        match (steps, play) {
            (Steps::Demo(days), _) => {
                player(Pace::OnTime, stopped).start(days, || None)?;
            }
            (Steps::Steady(steady), _) => {
                steady.start(number, doors.inputs.clone(), stopped)?;
            }
            (Steps::Reel(reel), Play::Recordings(args)) => {
                let Reel { recording, path } = *reel;
                let (named, repeat, config) = (args.files.clone(), args.repeat, config.clone());
                let again = move || {
                    let opened = repeat.then(|| open(&path, &named, &config))?;
                    opened.inspect_err(|error| error!(%error, "no second round")).ok()
                };
                player(Pace::FromStart(args.speed), stopped).start(recording, again)?;
            }
            (Steps::Reel(_), Play::Demo | Play::Steady(_) | Play::Nothing) => {}
        }
    }
    Ok(stops)
}

/// How long a recording that is held waits after the first subscription.
const HOLD_ON: Duration = Duration::from_millis(300);

async fn wait_for_a_follower(fanout: &Fanout) {
    let mut look = tokio::time::interval(Duration::from_millis(10));
    while !fanout.was_followed() {
        look.tick().await;
    }
    // Whoever follows several channels asks for them one by one, and is to miss nothing of any.
    tokio::time::sleep(HOLD_ON).await;
}

//! Registers sources with the hub and runs them: the demo, a synthetic load, recordings, live
//! sources.

mod live;

use std::{
    convert::Infallible,
    future, io,
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    time::Duration,
};

use fanout::Fanout;
use ingest::recording::{self, OpenError, Recording, Step};
use tokio::{runtime::Handle, sync::watch};
use tracing::error;

pub(super) use self::live::{LiveSource, check_sources, follows_live};
use self::live::{RunningSources, announce_live};
use super::{
    AppError, RunMode, StartContext, demo::DemoRun, orders, running_hub::HubServices,
    stores::Stores,
};
use crate::{cli::ReplayArgs, config::Config};
use base::{
    clock::now,
    supervisor::{self, Lifetime},
};
use hub::{
    HubInput,
    feeds::{FeedState, Health, SourceNumber, SourcePolicy},
    load_source::{Load, LoadSource},
    pipeline::{HubHandle, HubStopped, Request, Startup},
    sources::{Playback, PlaybackControl, PlaybackHandle, PlaybackPace},
};
use log::AppendError;
use sources::{config::SourceConfig, positions::Positions};

const LIVE: Health = Health { feed: FeedState::Live, why: None };

/// An open recording, and its path to reopen it.
pub(super) struct OpenRecording {
    recording: Recording,
    path: PathBuf,
}

/// Opens every recording before anything else starts: a wrong name ends the program at once.
pub(super) fn open_recordings(
    config: &Config,
    mode: &RunMode,
) -> Result<Vec<OpenRecording>, AppError> {
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

/// A source that is played from here: registered, and not started yet.
pub(super) struct PlayedSource {
    number: SourceNumber,
    /// What interrupts it, if it is the demo.
    control: Option<PlaybackControl>,
    start: StartPlayer,
}

type StartPlayer = Box<dyn FnOnce(&HubServices) -> io::Result<Player> + Send>;

/// A source that plays until this is dropped.
type Player = Box<dyn Send>;

impl PlayedSource {
    /// Plays these steps at their times, and then those of `again` until there are none.
    fn playback<I>(
        number: SourceNumber,
        pace: PlaybackPace,
        steps: I,
        again: impl FnMut() -> Option<I> + Send + 'static,
    ) -> Self
    where
        I: Iterator<Item = Step> + Send + 'static,
    {
        let (handle, orders) = PlaybackHandle::new();
        let control = Some(handle.control());
        let start = move |hub: &HubServices| -> io::Result<Player> {
            let (inputs, fanout) = (hub.handle.inputs.clone(), hub.fanout.clone());
            let runtime = Handle::current();
            Playback { source: number, inputs, fanout, runtime, pace, orders }
                .start(steps, again)?;
            Ok(Box::new(handle))
        };
        Self { number, control, start: Box::new(start) }
    }

    fn load(startup: &mut Startup, load: Load) -> Result<Self, AppendError> {
        let (steady, now) = (LoadSource::new(load), now());
        let source = startup.source(&"steady".into(), "steady", SourcePolicy::default(), now)?;
        for mut batch in steady.introductions(now) {
            startup.hub().ids().number_batch(&mut batch);
            let errors =
                startup.take(HubInput::Batch { source, batch, received: now, now }, now)?;
            debug_assert_eq!(errors, [], "every match is introduced, and there is room for all");
        }
        let start = move |hub: &HubServices| -> io::Result<Player> {
            let (stop, stopped) = mpsc::sync_channel(0);
            steady.start(source, hub.handle.inputs.clone(), stopped, Lifetime::UntilStop)?;
            Ok(Box::new(stop))
        };
        Ok(Self { number: source, control: None, start: Box::new(start) })
    }

    fn recording(
        startup: &mut Startup,
        OpenRecording { recording, path }: OpenRecording,
        args: &ReplayArgs,
        config: &Config,
    ) -> Result<Self, AppendError> {
        let (name, now) = (recording.name().clone(), now());
        let kind = recording.format().as_str();
        let is_known = startup.hub().source_number(&name, kind).is_some();
        let number = startup.source(&name, kind, SourcePolicy::default(), now)?;
        if is_known {
            // It is played from its beginning again.
            startup.take(HubInput::Restarted { source: number, now }, now)?;
            startup.take(HubInput::Health { source: number, health: LIVE, now }, now)?;
        }
        let (named, repeat, config) = (args.files.clone(), args.repeat, config.clone());
        let again = move || {
            let opened = repeat.then(|| open(&path, &named, &config))?;
            opened.inspect_err(|error| error!(%error, "cannot play the recordings again")).ok()
        };
        let pace = PlaybackPace::FromStart(args.speed);
        Ok(Self { control: None, ..Self::playback(number, pace, recording, again) })
    }
}

/// Registers the sources that are played from here.
pub(super) fn announce(
    startup: &mut Startup,
    StartContext { config, mode, .. }: StartContext<'_>,
    demo: Option<&DemoRun>,
    recordings: Vec<OpenRecording>,
) -> Result<Vec<PlayedSource>, AppendError> {
    let mut sources = Vec::new();
    if let Some(run) = demo {
        let (number, days) = run.announce(startup)?;
        sources.push(PlayedSource::playback(number, PlaybackPace::OnTime, days, || None));
    }
    if let RunMode::Load(load) = mode {
        sources.push(PlayedSource::load(startup, *load)?);
    }
    if let RunMode::Recordings(args) = mode {
        for recording in recordings {
            sources.push(PlayedSource::recording(startup, recording, args, config)?);
        }
    }
    Ok(sources)
}

/// The sources that a hub runs from its start. A node of a cluster starts its own whenever it leads.
#[derive(Default)]
pub(super) struct Sources {
    played: Vec<PlayedSource>,
    live: Vec<LiveSource>,
    /// Those of `live`.
    numbers: Vec<SourceNumber>,
}

impl Sources {
    /// Registers live sources, each as not yet connected, and withdraws the facts of sources that only an earlier process
    /// had.
    pub(super) async fn announce(
        played: Vec<PlayedSource>,
        live: Vec<LiveSource>,
        hub_handle: &HubHandle,
    ) -> Result<Self, HubStopped> {
        let numbers = announce_live(&live, hub_handle).await?;
        let all = played.iter().map(|source| source.number).chain(numbers.iter().copied());
        retire_others(all, hub_handle).await?;
        Ok(Self { played, live, numbers })
    }

    /// What interrupts the demo; `None` if it is not played.
    pub(super) fn demo_control(&self) -> Option<PlaybackControl> {
        self.played.iter().find_map(|source| source.control.clone())
    }
}

/// Withdraws the facts of sources that only an earlier process had: of all but these.
async fn retire_others(
    ours: impl IntoIterator<Item = SourceNumber>,
    hub_handle: &HubHandle,
) -> Result<(), HubStopped> {
    let retire = Request::RetireOthers(ours.into_iter().collect());
    hub_handle.requests.send(retire).await.map_err(|_| HubStopped)
}

/// Plays sources into the hub.
pub(super) struct SourcePlayer<'a> {
    pub context: StartContext<'a>,
    pub hub: &'a HubServices,
    pub stores: &'a Stores,
    /// The live sources of the settings in force.
    pub configured: watch::Receiver<Arc<[SourceConfig]>>,
}

impl SourcePlayer<'_> {
    /// Plays for as long as this is polled: these sources or, on a node of a cluster, those of the settings whenever it
    /// leads. `leading`: `None` without a cluster. Ends only with an error.
    pub(super) async fn play(
        self,
        sources: Sources,
        leading: Option<watch::Receiver<bool>>,
    ) -> AppError {
        let Err(error) = match leading {
            None => self.play_all(sources).await,
            Some(leading) => self.play_while_leading(leading).await,
        };
        // Its parts end because it gives up.
        supervisor::stopping();
        error
    }

    async fn play_all(
        mut self,
        Sources { played, live, numbers }: Sources,
    ) -> Result<Infallible, AppError> {
        let mode = self.context.mode;
        let (handle, database) = (&self.hub.handle, self.stores.accounts.database());
        if matches!(mode, RunMode::Recordings(args) if args.hold) {
            wait_for_first_subscription(&self.hub.fanout).await;
        }
        let players = played.into_iter().map(|source| (source.start)(self.hub));
        let _players = players.collect::<io::Result<Vec<Player>>>()?;
        let mut running = RunningSources::new(&Positions::start(database));
        running.start(live, numbers, handle, true).await?;
        loop {
            let wanted = other_sources(&mut self.configured).await;
            match running.change(&wanted, mode, handle, false).await {
                Ok(()) => {}
                Err(AppError::Part) => return Err(AppError::Part),
                Err(error) => report_unchanged(&error),
            }
        }
    }

    /// Runs the sources of the settings, and takes orders, whenever this node of a cluster leads.
    async fn play_while_leading(
        mut self,
        mut leading: watch::Receiver<bool>,
    ) -> Result<Infallible, AppError> {
        let StartContext { config, mode, .. } = self.context;
        let handle = &self.hub.handle;
        let positions = Positions::start(self.stores.accounts.database());
        loop {
            until_leads(&mut leading, true).await;
            let (stop, stopped) = watch::channel(false);
            let mut running = RunningSources::new(&positions);
            let mut loads = Vec::new();
            let mut played = None;
            let wanted = Arc::clone(&self.configured.borrow_and_update());
            let begun = async {
                if let RunMode::Load(load) = mode {
                    let (number, stop) = start_load(*load, handle).await?;
                    played = Some(number);
                    loads.push(stop);
                }
                running.change(&wanted, mode, handle, true).await?;
                Ok(retire_others(running.numbers().chain(played), handle).await?)
            };
            match begun.await {
                Ok(()) => {}
                // The node has given up the lead meanwhile.
                Err(AppError::Part) => continue,
                Err(error) => return Err(error),
            }
            let orders = orders::start(config, self.stores, handle, &stopped, Lifetime::Finite);
            loop {
                let wanted = tokio::select! {
                    () = until_leads(&mut leading, false) => break,
                    wanted = other_sources(&mut self.configured) => wanted,
                };
                match running.change(&wanted, mode, handle, false).await {
                    // If the node has given up the lead meanwhile, `leading` says so next.
                    Ok(()) | Err(AppError::Part) => {}
                    Err(error) => report_unchanged(&error),
                }
            }
            // The next leader connects to the same providers.
            drop(running);
            drop(loads);
            stop.send_replace(true);
            for task in orders {
                task.await.ok();
            }
        }
    }
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

/// The settings were checked, but a file that they name has changed since.
fn report_unchanged(error: &AppError) {
    let error = error as &dyn std::error::Error;
    error!(error, "the sources stay as they are; reload the settings to try again");
}

/// Waits until the node leads, or no longer does. If the node cannot go on, this waits for ever: its part reports why, and
/// the hub stops in order.
async fn until_leads(leading: &mut watch::Receiver<bool>, leads: bool) {
    if leading.wait_for(|leading| *leading == leads).await.is_err() {
        future::pending::<()>().await;
    }
}

/// Starts the steady load. It ends when the returned sender is dropped.
async fn start_load(
    load: Load,
    hub_handle: &HubHandle,
) -> Result<(SourceNumber, mpsc::SyncSender<()>), HubStopped> {
    let steady = LoadSource::new(load);
    let policy = SourcePolicy::default();
    let source = hub_handle.source(&"steady".into(), "steady", policy, Some(LIVE)).await?;
    for batch in steady.introductions(now()) {
        let now = now();
        hub_handle.inputs.send(HubInput::Batch { source, batch, received: now, now }).await?;
    }
    let (stop, stopped) = mpsc::sync_channel(0);
    let inputs = hub_handle.inputs.clone();
    steady.start(source, inputs, stopped, Lifetime::Finite).map_err(|_| HubStopped)?;
    Ok((source, stop))
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

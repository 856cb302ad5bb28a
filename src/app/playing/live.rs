//! Live sources: sets them up, runs them, and changes them to those of the settings in force.

use std::{mem, sync::Arc};

use tokio::task::JoinSet;
use tracing::warn;

use crate::app::{AppError, RunMode};
use base::{
    clock::now,
    supervisor::{self, Lifetime},
};
use hub::{
    HubInput, SourceFacts,
    feeds::{FeedState, Health, NOT_CONFIGURED, SourceNumber},
    pipeline::{HubHandle, HubStopped},
};
use sources::{
    Resume, SourceSender,
    config::SourceConfig,
    follow::{self, SourceStart},
    positions::{Positions, StoredPosition},
};

/// A live source that is not started yet.
pub(in crate::app) struct LiveSource {
    config: SourceConfig,
    name: Arc<str>,
    start: SourceStart,
}

impl LiveSource {
    /// Sets it up. It does nothing before it runs.
    pub(in crate::app) fn new(config: &SourceConfig) -> Result<Self, AppError> {
        let start = follow::follow(config)
            .map_err(|error| AppError::Source { name: config.name.clone(), source: error })?;
        Ok(Self { config: config.clone(), name: config.name.as_str().into(), start })
    }
}

/// Whether the sources of the settings are followed in this mode.
pub(in crate::app) fn follows_live(mode: &RunMode) -> bool {
    matches!(mode, RunMode::Nothing)
}

/// Whether each of these sources could be started.
pub(in crate::app) fn check_sources(sources: &[SourceConfig]) -> Result<(), AppError> {
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

/// A live source that runs until this is dropped.
#[derive(Debug)]
struct RunningSource {
    config: SourceConfig,
    number: SourceNumber,
    /// One.
    task: JoinSet<()>,
}

/// The live sources that run.
#[derive(Debug)]
pub(super) struct RunningSources {
    running: Vec<RunningSource>,
    positions: Positions,
}

impl RunningSources {
    pub(super) fn new(positions: &Positions) -> Self {
        Self { running: Vec::new(), positions: positions.clone() }
    }

    pub(super) fn numbers(&self) -> impl Iterator<Item = SourceNumber> {
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
    pub(super) async fn start(
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
            let LiveSource { config, name, start } = source;
            let resume = self.resume_of(&name, number, hub_handle, go_on).await?;
            // A source reconnects by itself, so it must not end.
            let part = format!("source {name}");
            let sender = SourceSender::new(number, name, hub_handle.inputs.clone())
                .with_positions(self.positions.clone(), resume);
            let mut task = JoinSet::new();
            task.spawn(supervisor::watch(part, Lifetime::UntilStop, start(sender)));
            self.running.push(RunningSource { config, number, task });
        }
        Ok(())
    }

    /// Runs these sources from now on. Sources that are gone or have other settings stop, and their facts are withdrawn. New
    /// ones and those with other settings start. Those that have other ranks alone get them, and the others are not touched.
    /// If one of them cannot be set up, nothing changes. `go_on`: see [`Self::start`]. The error is [`AppError::Part`] if the
    /// hub has stopped, or no longer leads.
    pub(super) async fn change(
        &mut self,
        wanted: &[SourceConfig],
        mode: &RunMode,
        hub_handle: &HubHandle,
        go_on: bool,
    ) -> Result<(), AppError> {
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
            source.task.shutdown().await;
            // Behind what it has sent, in the same queue.
            let RunningSource { number, ref config, .. } = source;
            self.positions.withdraw(&config.name.as_str().into()).await;
            let restarted = HubInput::Restarted { source: number, now: now() };
            hub_handle.inputs.send(restarted).await?;
            // The number stays that of a source with this name and kind, whose new state is sent below, in another queue.
            let key = (&config.name, config.kind.as_str());
            if !wanted.iter().any(|source| (&source.name, source.kind.as_str()) == key) {
                let health = Health { feed: FeedState::Down, why: Some(NOT_CONFIGURED.into()) };
                let down = HubInput::Health { source: number, health, now: now() };
                hub_handle.inputs.send(down).await?;
            }
        }
        let numbers = announce_live(&live, hub_handle).await?;
        Ok(self.start(live, numbers, hub_handle, go_on).await?)
    }
}

//! The hub before its threads run: it applies and logs the inputs of the start, such as the sources.

use std::sync::Arc;

use fanout::Micros;
use log::{AppendError, Log, LogPosition, RecordNumber, RecordSource};

use super::writer::INPUTS_PER_TURN;
use crate::{
    hub::{
        ApplyError, Hub, HubInput,
        feeds::{SourceNumber, SourcePolicy},
    },
    turn::TurnBuilder,
};

/// The hub before it runs: inputs of the start are applied and logged at once.
pub struct Startup {
    pub(super) builder: TurnBuilder,
    pub(super) log: Box<dyn Log>,
    /// The last record of the processes before this one.
    pub(super) opened_at: RecordNumber,
}

impl std::fmt::Debug for Startup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Startup").field("end", &self.log.end()).finish_non_exhaustive()
    }
}

impl Startup {
    /// `hub`: the state at the end of the log.
    #[must_use]
    pub fn new(mut hub: Hub, log: Box<dyn Log>) -> Self {
        let LogPosition { number: opened_at, at, .. } = log.end();
        // The processes before this one have told them.
        hub.take_turns();
        Self { builder: TurnBuilder::new(hub, at), log, opened_at }
    }

    #[must_use]
    pub fn hub(&self) -> &Hub {
        &self.builder.hub
    }

    /// The records of the log.
    #[must_use]
    pub fn records(&self) -> Arc<dyn RecordSource> {
        self.log.source()
    }

    /// Applies an input and logs it, with its changes, together with the others of the turn. Returns the
    /// errors of facts that could not be applied.
    ///
    /// # Errors
    ///
    /// If the log refuses the turn.
    pub fn take(&mut self, input: HubInput, now: Micros) -> Result<Vec<ApplyError>, AppendError> {
        let errors = self.builder.take(input);
        if self.builder.inputs() >= INPUTS_PER_TURN {
            self.end_turn(now)?;
        }
        Ok(errors)
    }

    /// Registers a source, or finds the one of this name and kind, and returns its number.
    ///
    /// # Errors
    ///
    /// If the log refuses it.
    pub fn source(
        &mut self,
        name: &Arc<str>,
        kind: &'static str,
        policy: SourcePolicy,
        now: Micros,
    ) -> Result<SourceNumber, AppendError> {
        let input = HubInput::Source { name: Arc::clone(name), kind, policy };
        self.take(input, now)?;
        Ok(self.hub().source_number(name, kind).expect("it was registered above"))
    }

    /// Logs what was applied so far.
    ///
    /// # Errors
    ///
    /// If the log refuses it.
    pub fn end_turn(&mut self, now: Micros) -> Result<(), AppendError> {
        if let Some(turn) = self.builder.end(now) {
            let end = self.log.end().number;
            self.log.append(end, &[turn.record(end + 1)])?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use fanout::Epoch;
    use log::MemoryLog;

    use super::*;
    use crate::{
        hub::{
            Epochs, HubSettings,
            feeds::{FeedState, Health},
            sequence::TailWindow,
        },
        identity::Identity,
    };

    /// What the log tells again at a restart is in the history of sources already.
    #[test]
    fn only_changes_of_sources_since_the_start_are_reported() {
        let settings = HubSettings {
            window: TailWindow { bytes: 1 << 20, age_us: 1 },
            matches_max: 1,
            matches_max_per_source: 1,
            ended_keep_us: 1,
            stale_after_ms: 1,
            hold_us: 0,
        };
        let epochs = Epochs { matches: Epoch(1), feeds: Epoch(2) };
        let mut hub = Hub::new(settings, epochs, Identity::default());
        let source = hub.source("feed".into(), "betfair-stream", SourcePolicy::default());
        let input = |feed, now| {
            let health = Health { feed, why: Some("it says so".into()) };
            HubInput::Health { source, health, now }
        };
        for feed in [FeedState::Live, FeedState::Down] {
            hub.take(&input(feed, 1), &mut Vec::new());
        }
        let log = MemoryLog::new(1 << 20).expect("it has memory");
        let mut startup = Startup::new(hub, Box::new(log));
        startup.take(input(FeedState::Live, 2), 2).expect("the log takes it");
        let told = startup.builder.hub.take_turns();
        let told: Vec<_> = told.iter().map(|turn| (turn.at, turn.health.feed)).collect();
        assert_eq!(told, [(2, FeedState::Live)]);
    }
}

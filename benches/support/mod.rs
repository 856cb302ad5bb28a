//! What the benches of the hub have in common: batches to apply, and a hub to apply them to.

#[path = "feeds.rs"]
mod feeds;

use fanout::{Change, Epoch, Micros};
use ingest::{
    event::Timed,
    recording::{Limits, Recording, Step},
    simulator::Simulator,
};
use matchwire::hub::{
    Epochs, Hub, Settings,
    feeds::{SourceNumber, Terms},
    sequence::Window,
};

/// Batches under the name of where they come from.
pub(crate) struct Workload {
    pub(crate) name: String,
    pub(crate) batches: Vec<Timed>,
}

/// A hub that has heard nothing yet, and its one source.
pub(crate) struct Stage {
    pub(crate) hub: Hub,
    source: SourceNumber,
}

/// As many batches of the simulated day as one of the recordings has.
const SIMULATED_BATCHES: usize = 10_000;

/// 2026-01-01T00:00:00Z.
const SIMULATED_START: Micros = 1_767_225_600_000_000;

/// The Betfair PRO recordings where they are, and always the start of a simulated day.
pub(crate) fn workloads() -> Vec<Workload> {
    let recorded = feeds::BETFAIR_PRO.into_iter().filter_map(recorded);
    recorded.chain([simulated()]).collect()
}

/// The start of a simulated day.
pub(crate) fn simulated() -> Workload {
    let batches = Simulator::new(1, SIMULATED_START).take(SIMULATED_BATCHES).collect();
    Workload { name: "simulator".to_owned(), batches }
}

fn recorded(name: &str) -> Option<Workload> {
    let path = feeds::path(name)?;
    let recording =
        Recording::open(&path, &[], 0, &Limits::default()).expect("a recording can be opened");
    let batches = recording.filter_map(|step| match step {
        Step::Batch(timed) => Some(timed),
        Step::Refused(_) => None,
    });
    Some(Workload { name: feeds::short(name).to_owned(), batches: batches.collect() })
}

impl Stage {
    /// With the settings that the hub has by default.
    pub(crate) fn new() -> Self {
        let settings = Settings {
            window: Window { bytes: 4 << 20, age_us: 300_000_000 },
            matches_max: 20_000,
            ended_keep_us: 7_200_000_000,
            stale_after_ms: 10_000,
            hold_us: 10_000_000,
        };
        let epochs = Epochs { matches: Epoch(1), feeds: Epoch(2) };
        let mut hub = Hub::new(settings, epochs, matchwire::identity::Identity::default());
        let source = hub.source("bench".into(), "bench", Terms::default());
        Self { hub, source }
    }

    /// Applies a batch at the moment that it bears, as when it was live.
    pub(crate) fn apply(&mut self, timed: &Timed, changes: &mut Vec<Change>) {
        let Timed { clock_us, batch } = timed;
        let errors = self.hub.apply(self.source, batch, *clock_us, *clock_us, changes);
        assert!(errors.is_empty(), "{errors:?}");
    }
}

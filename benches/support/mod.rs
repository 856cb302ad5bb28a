//! What the hub's benches share: batches to apply, and a hub to apply them to.

#[path = "feeds.rs"]
mod feeds;

#[path = "stage.rs"]
mod stage;

use facts::event::Timed;
use fanout::Micros;
use ingest::recording::{Limits, Recording, Step};
use simulator::Simulator;

pub(crate) use self::stage::Stage;

/// Batches, named after their origin.
pub(crate) struct Workload {
    pub(crate) name: String,
    pub(crate) batches: Vec<Timed>,
}

/// About as many batches of the simulated day as in one of the recordings.
const SIMULATED_BATCHES: usize = 10_000;

/// 2026-01-01T00:00:00Z.
const SIMULATED_START: Micros = 1_767_225_600_000_000;

/// The Betfair PRO recordings if present, and always the start of a simulated day.
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

//! What a market with whole ladders costs in memory: the same recorded market under many ids, as it
//! stands in the middle of the match, and the growth of the process divided by their number.
//!
//! Not a matter of time, so criterion has no part in it: `cargo bench --bench memory`.

mod support;

use std::{
    fs,
    io::{self, Write},
};

use fanout::Change;
use ingest::event::{Id, Timed};
use matchwire::hub::sequence::Window;
use support::{Stage, Workload};

/// How many markets.
const COPIES: u64 = 500;

/// Batches of the recording up to the middle of the match, when its ladders are longest.
const BATCHES: usize = 6_000;

fn main() {
    let Some(Workload { name, batches }) = support::workloads().into_iter().next() else { return };
    if name == "simulator" {
        return;
    }
    let (state, rungs) = grown(&batches[..BATCHES], Stage::with(Window { bytes: 0, age_us: 0 }));
    let (whole, _) = grown(&batches[..BATCHES], Stage::new());
    writeln!(
        io::stdout(),
        "{name}: {COPIES} markets of {rungs} rungs: {state} bytes a market; \
         {whole} with the tails of its channels after {BATCHES} messages"
    )
    .expect("somebody reads this");
}

/// Bytes a market, and its rungs.
fn grown(batches: &[Timed], mut stage: Stage) -> (u64, usize) {
    let before = resident();
    let mut changes: Vec<Change> = Vec::new();
    for copy in 1..=COPIES {
        for timed in batches {
            let mut timed = timed.clone();
            timed.batch.events.iter_mut().for_each(|event| event.match_id = Id(copy));
            stage.apply(&timed, &mut changes);
            changes.clear();
        }
    }
    ((resident() - before) / COPIES, stage.hub.rungs() / usize::try_from(COPIES).unwrap_or(1))
}

/// Bytes of the process in memory.
fn resident() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").expect("Linux tells");
    let pages = statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.expect("the second field is the resident set") * 4096
}

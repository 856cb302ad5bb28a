//! The memory of a market with full ladders: the same recorded market under many ids, at its state
//! in the middle of the match, and the growth of the process divided by their number.
//!
//! It measures no time and therefore does not use criterion: `cargo bench --bench memory`.

mod support;

use std::{
    fs,
    io::{self, Write},
};

use facts::event::{Id, Timed};
use fanout::Change;
use hub::sequence::TailWindow;
use support::{Stage, Workload};

/// Warm-up markets, until the process has allocated its working memory.
const WARM_UP: u64 = 200;

/// Measured markets: this many, or fewer if each has its tail.
const COPIES: u64 = 1_000;
const COPIES_WITH_TAILS: u64 = 200;

/// Batches of the recording up to the middle of the match, when its ladders are longest.
const BATCHES: usize = 6_000;

fn main() {
    let Some(Workload { name, batches }) = support::workloads().into_iter().next() else { return };
    if name == "simulator" {
        return;
    }
    let none = TailWindow { bytes: 0, age_us: 0 };
    let (state, rungs) = grown(&batches[..BATCHES], Stage::with(none), COPIES);
    let (whole, _) = grown(&batches[..BATCHES], Stage::new(), COPIES_WITH_TAILS);
    writeln!(
        io::stdout(),
        "{name}: markets of {rungs} rungs: {state} bytes a market; \
         {whole} with the tails of its channels after {BATCHES} messages"
    )
    .expect("standard output is open");
}

/// Bytes per market, and its rungs.
fn grown(batches: &[Timed], mut stage: Stage, copies: u64) -> (u64, usize) {
    (1..=WARM_UP).for_each(|copy| play(batches, copy, &mut stage));
    let before = resident();
    (WARM_UP + 1..=WARM_UP + copies).for_each(|copy| play(batches, copy, &mut stage));
    let markets = usize::try_from(WARM_UP + copies).unwrap_or(usize::MAX);
    ((resident() - before) / copies, stage.hub.rungs() / markets)
}

fn play(batches: &[Timed], copy: u64, stage: &mut Stage) {
    let mut changes: Vec<Change> = Vec::new();
    for timed in batches {
        let mut timed = timed.clone();
        timed.batch.events.iter_mut().for_each(|event| event.match_id = Id(copy));
        stage.apply(&timed, &mut changes);
        changes.clear();
    }
}

/// The resident memory of the process, in bytes.
fn resident() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").expect("Linux reports it");
    let pages = statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.expect("the second field is the resident set") * 4096
}

//! What no other test plays: facts that no source reports, recordings with rare ones, and each sport from the announcement of
//! a match to its settlement. [`Bench`] checks every frame against the published schema.

use std::collections::HashMap;

use facts::event::Batch;
use fanout::Micros;
use hub::feeds::{FeedState, Health};
use ingest::normalize::events::Interpreter;
use simulator::Simulator;

use crate::{
    bench::{Bench, SETTINGS, START},
    recordings,
};

/// Recordings that have what the others lack.
const RECORDINGS: [(&str, usize); 7] = [
    ("betfair-stream/racing-1.241629436.live.jsonl.gz", 500),
    ("betfair-stream/tennis-29788457-4-markets.pro.jsonl.gz", usize::MAX),
    ("statsbomb/3788741.events.json.gz", usize::MAX),
    ("wyscout/2058017.events.json.gz", usize::MAX),
    ("api-football/fixtures-cl-penalties.json", usize::MAX),
    ("slam-pointbypoint/2023-usopen-4601.points.csv.gz", usize::MAX),
    ("betfair-scores/incidents.json", usize::MAX),
];

/// Facts that neither the simulation nor a recording has, as lines of the hub's own format: corrections of every kind of
/// incident, a penalty missed, starts of all periods, a book that the hub holds after a goal, a market that is settled
/// twice, a tennis score that decreases, clocks of CS2 and darts, a race of two sides whose order changes.
const RARE_FACTS: &str = include_str!("rare_facts.ndjson");

/// The simulated day.
const SEED: u64 = 3;

#[test]
fn rare_facts_conform() {
    let mut bench = Bench::new(SETTINGS);
    let mut interpreter = Interpreter::new("acme".into()).of_all_matches();
    for line in RARE_FACTS.lines() {
        let read = interpreter.line(line.as_bytes(), 0).unwrap_or_else(|e| panic!("{e}: {line}"));
        let (_, errors) = bench.apply(&read.timed.batch);
        assert_eq!(errors, [], "{line}");
    }
    let health = Health { feed: FeedState::Down, why: Some("connection refused".into()) };
    bench.health_of(bench.source, health);
    bench.tick(false);
    bench.check_images();
}

#[test]
fn recordings_conform() {
    for (file, batches_max) in RECORDINGS {
        let Some(batches) = recordings::batches(file) else { return };
        play(batches.take(batches_max));
    }
}

#[test]
fn each_simulated_sport_conforms() {
    play(simulated());
}

fn play(batches: impl Iterator<Item = Batch>) {
    let mut bench = Bench::new(SETTINGS);
    for batch in batches {
        bench.apply(&batch);
    }
    bench.tick(true);
    bench.check_images();
}

/// The first match of each sport that begins, from its announcement to its settlement.
fn simulated() -> impl Iterator<Item = Batch> {
    const HOUR: Micros = 3_600_000_000;
    let mut first = HashMap::new();
    let mut matches = Simulator::truth(SEED, START).matches;
    matches.sort_by_key(|it| it.start);
    let mut end = START;
    for fixture in matches {
        first.entry(fixture.sport).or_insert_with(|| {
            end = end.max(fixture.start + 3 * HOUR);
            fixture.id
        });
    }
    let day = Simulator::new(SEED, START).take_while(move |timed| timed.clock_us < end);
    day.map(|timed| timed.batch).filter(move |batch| {
        batch.events.first().is_some_and(|it| first.get(&it.sport) == Some(&it.match_id))
    })
}

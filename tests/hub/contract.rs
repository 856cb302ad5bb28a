//! The published schema: every frame that these tests see conforms to it, and each field that it declares is rendered.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, LazyLock},
};

use facts::event::Batch;
use fanout::Micros;
use hub::feeds::{FeedState, Health};
use ingest::normalize::events::Interpreter;
use schema::Contract;
use simulator::Simulator;

use crate::{
    bench::{Bench, SETTINGS, START},
    recordings,
};

/// The contract of all benches but those that count what they see.
static CONTRACT: LazyLock<Arc<Contract>> = LazyLock::new(|| Arc::new(Contract::with_digests()));

pub(crate) fn shared() -> Arc<Contract> {
    Arc::clone(&CONTRACT)
}

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

/// Every incident may have these, but no source reports them of these kinds. The hub passes on what a source reports.
const OF_NO_SOURCE: &str = "of an incident of this kind no source reports it";

/// What is not rendered here, and why.
const UNSEEN: [(&str, &str); 12] = [
    ("Card.assist", OF_NO_SOURCE),
    ("Card.score", OF_NO_SOURCE),
    ("PenaltyMissed.assist", OF_NO_SOURCE),
    ("PenaltyMissed.score", OF_NO_SOURCE),
    ("Period.assist", OF_NO_SOURCE),
    ("Period.player", OF_NO_SOURCE),
    ("Period.score", OF_NO_SOURCE),
    ("Period.side", OF_NO_SOURCE),
    ("Shootout.assist", OF_NO_SOURCE),
    ("Substitution.score", OF_NO_SOURCE),
    ("Var.assist", OF_NO_SOURCE),
    ("Var.score", OF_NO_SOURCE),
];

#[test]
fn every_declared_field_is_rendered() {
    let contract = Arc::new(Contract::with_digests().counting_fields());
    play(&contract, simulated());
    play_rare_facts(&contract);
    for (file, batches_max) in RECORDINGS {
        let Some(batches) = recordings::batches(file) else { return };
        play(&contract, batches.take(batches_max));
    }
    let unseen = ["Document", "Event"].map(|name| contract.unseen_fields(name));
    let unseen: BTreeSet<String> = unseen.into_iter().flatten().collect();
    let expected: BTreeSet<String> = UNSEEN.iter().map(|(field, _)| (*field).to_owned()).collect();
    assert_eq!(unseen, expected, "declared fields that nothing renders, and those listed as such");
}

fn play_rare_facts(contract: &Arc<Contract>) {
    let mut bench = Bench::with_contract(SETTINGS, Arc::clone(contract));
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

fn play(contract: &Arc<Contract>, batches: impl Iterator<Item = Batch>) {
    let mut bench = Bench::with_contract(SETTINGS, Arc::clone(contract));
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

//! Compares the shared recordings with their answer sheets, which were made with other tools.
//!
//! The recordings may not be copied into the project, so they are read from a folder next to it. If
//! they are missing, the tests print that and pass.

mod api_football;
mod betfair;
mod events;
mod football;
mod football_data;
mod market_book;
mod odds_api;
mod people;
mod point_strings;
mod scores;
mod tennis;
mod uof;
mod volumes;

use std::{
    fs,
    path::{Path, PathBuf},
};

use facts::event::{Fact, Fixture, Timed};
use ingest::recording::{Limits, Recording, Step, plan};
use serde_json::Value;

const FEEDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/feeds");
const START: i64 = 1_788_280_000_000_000;

/// A complete recording and its answer sheet; `None`, with a message, if they are missing.
fn recording(file: &str) -> Option<(Vec<Timed>, Value)> {
    let path = shared(file)?;
    let sheet = file
        .replace('/', "__")
        .replace(".gz", "")
        .replace(".csv", ".json")
        .replace(".xml", ".json");
    let sheet = fs::read(Path::new(FEEDS).join("expected").join(sheet)).unwrap();
    Some((batches(&path), serde_json::from_slice(&sheet).unwrap()))
}

#[expect(clippy::print_stdout, reason = "reports a skipped test")]
fn shared(file: &str) -> Option<PathBuf> {
    let path = Path::new(FEEDS).join(file);
    if !path.exists() {
        println!("skipped: shared recordings are not here");
        return None;
    }
    Some(path)
}

/// All batches of a recording without refusals, whose clock must not go back.
fn batches(path: &Path) -> Vec<Timed> {
    let steps = Recording::open(path, &[], START, &Limits::default()).unwrap();
    let timed: Vec<_> = steps
        .map(|step| match step {
            Step::Batch(timed) => timed,
            Step::Refused(refusal) => panic!("{}: {}", refusal.location, refusal.reason),
        })
        .collect();
    assert!(timed.is_sorted_by_key(|it| it.clock_us), "clock of {}", path.display());
    timed
}

fn facts(batches: &[Timed]) -> impl Iterator<Item = &Fact> {
    batches.iter().flat_map(|it| &it.batch.events).map(|event| &event.fact)
}

fn fixture(batches: &[Timed]) -> &Fixture {
    let mut fixtures = facts(batches).filter_map(|fact| match fact {
        Fact::Fixture(fixture) => Some(fixture),
        _ => None,
    });
    let fixture = fixtures.next().unwrap();
    assert_eq!(fixtures.next(), None);
    fixture
}

#[test]
fn companions_named_are_not_recordings() {
    let Some(events) = shared("wyscout/2058017.events.json.gz") else { return };
    let record = shared("wyscout/matches.json").unwrap();
    let players = shared("slam-pointbypoint/2012-ausopen-1701.match.csv").unwrap();
    let named = [record.clone(), events.clone(), players.clone()];
    assert_eq!(plan(&named).unwrap(), [events]);
    let error = plan(&[players]).unwrap_err().to_string();
    assert!(error.ends_with("cannot be played alone: name the points file as well"), "{error}");
    assert!(Recording::open(&record, &[], START, &Limits::default()).is_err());
}

#[test]
fn betfair_streams_are_read_to_their_end() {
    let streams = [
        ("tennis-29788105.pro.jsonl.gz", 11_110, "betfair-stream:tennis-29788105"),
        ("tennis-1.223716976.basic.bz2", 362, "betfair-stream:tennis-1.223716976"),
        ("football-200-markets.live.bz2", 1_736, "betfair-stream:football-200-markets"),
    ];
    for (file, messages, name) in streams {
        let Some(path) = shared(&format!("betfair-stream/{file}")) else { return };
        let recording = Recording::open(&path, &[], START, &Limits::default()).unwrap();
        assert_eq!(&**recording.name(), name);
        let batches = recording.filter(|step| matches!(step, Step::Batch(_)));
        assert_eq!(batches.count(), messages, "messages of {file}");
    }
}

//! Over every shared recording, restored at several points.

use std::path::PathBuf;

use ingest::recording::{Limits, Recording, Step};

use crate::twin::{Input, START, Twin};

fn check(file: &str, batches_max: usize) {
    let feeds = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/feeds"));
    if !feeds.is_dir() {
        return database::testing::skipped("shared recordings are not here");
    }
    let recording = Recording::open(&feeds.join(file), &[], START, &Limits::default()).unwrap();
    let batches = recording.filter_map(|step| match step {
        Step::Batch(timed) => Some(timed.batch),
        Step::Refused(_) => None,
    });
    let mut twin = Twin::new(1);
    for (number, batch) in batches.take(batches_max).enumerate() {
        let first = batch.events.first().map(|event| (event.sport, event.match_id));
        twin.step(&Input::Batch(0, batch));
        if let Some((sport, id)) = first.filter(|_| number == 3) {
            twin.step(&Input::Follow(sport, id));
        }
        if [0, 5, 100, 1_500].contains(&number) || number % 10_000 == 9_999 {
            twin.save_and_restore();
        }
    }
    assert!(!twin.frames.is_empty(), "{file} published nothing");
    twin.compare_images();
    twin.saved();
}

#[test]
fn betfair() {
    for file in [
        "football-1-event-77-markets.basic.bz2",
        "football-200-markets.live.bz2",
        "tennis-1.223716976.basic.bz2",
        "tennis-29788105.pro.jsonl.gz",
        "tennis-29788457-4-markets.pro.jsonl.gz",
        "racing-1.241629436.live.jsonl.gz",
    ] {
        check(&format!("betfair-stream/{file}"), 4_000);
    }
    for file in ["eventtimeline", "incidents", "score", "scores"] {
        check(&format!("betfair-scores/{file}.json"), usize::MAX);
    }
    check("betfair-rest/list_market_book.json", usize::MAX);
}

#[test]
fn football() {
    for file in [
        "wyscout/2058009.events.json.gz",
        "wyscout/2058017.events.json.gz",
        "wyscout/2516847.events.json.gz",
        "statsbomb/15986.events.json.gz",
        "statsbomb/3788741.events.json.gz",
        "statsperform/hsv-svs-2021-09-11.ma1.json.gz",
        "statsperform/hsv-svs-2021-09-11.ma3.json.gz",
        "api-football/fixtures-bundes-ns-pst.json",
        "api-football/fixtures-cl-penalties.json",
    ] {
        check(file, usize::MAX);
    }
}

#[test]
fn odds() {
    for file in [
        "football-data-couk/E0-2016-2017.csv.gz",
        "football-data-couk/E0-2019-2020.csv.gz",
        "the-odds-api/sport-odds.json",
        "the-odds-api/event-odds.json",
        "sportradar-uof/odds_change-0.xml",
    ] {
        check(file, usize::MAX);
    }
}

#[test]
fn tennis() {
    for file in [
        "2011-wimbledon-2148",
        "2011-wimbledon-2701",
        "2012-ausopen-1701",
        "2012-wimbledon-1701",
        "2013-usopen-2701",
        "2023-usopen-4601",
    ] {
        check(&format!("slam-pointbypoint/{file}.points.csv.gz"), usize::MAX);
    }
    check("pointbypoint-strings/matches.csv", usize::MAX);
}

//! The shared recordings, batch by batch: the same properties on real feeds.

use std::path::PathBuf;

use facts::event::Batch;
use ingest::recording::{Limits, Recording, Step};

use crate::bench::{Bench, SETTINGS, START};

#[test]
fn betfair() {
    for file in [
        "football-1-event-77-markets.basic.bz2",
        "football-200-markets.live.bz2",
        "tennis-1.223716976.basic.bz2",
        "tennis-29788105.pro.jsonl.gz",
        "tennis-29788457-4-markets.pro.jsonl.gz",
    ] {
        check(&format!("betfair-stream/{file}"), usize::MAX);
    }
}

/// It changes ten times as many rungs as the others, so a part of it is enough.
#[test]
fn betfair_with_levels() {
    check("betfair-stream/racing-1.241629436.live.jsonl.gz", 2_000);
}

#[test]
fn wyscout() {
    for file in ["2058009", "2058017", "2516847"] {
        check(&format!("wyscout/{file}.events.json.gz"), usize::MAX);
    }
}

#[test]
fn other_football() {
    for file in [
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
fn slam() {
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
}

#[test]
fn point_strings() {
    check("pointbypoint-strings/matches.csv", usize::MAX);
}

#[test]
fn betfair_polls() {
    for file in ["eventtimeline", "incidents", "score", "scores"] {
        check(&format!("betfair-scores/{file}.json"), usize::MAX);
    }
    check("betfair-rest/list_market_book.json", usize::MAX);
}

#[test]
fn odds_feeds() {
    for file in ["event-odds", "sport-odds", "sport-scores"] {
        check(&format!("the-odds-api/{file}.json"), usize::MAX);
    }
    for file in ["fixture-0", "odds_change-0", "bet_settlement", "bet_cancel"] {
        check(&format!("sportradar-uof/{file}.xml"), usize::MAX);
    }
}

/// All matches of a season are alike, so a part of them is enough.
#[test]
fn seasons() {
    for file in ["E0-2016-2017", "E0-2019-2020"] {
        check(&format!("football-data-couk/{file}.csv.gz"), 600);
    }
}

fn check(file: &str, batches_max: usize) {
    let Some(batches) = batches(file) else { return };
    let mut bench = Bench::new(SETTINGS);
    for (number, batch) in batches.take(batches_max).enumerate() {
        let (_, errors) = bench.apply(&batch);
        assert_eq!(errors, [], "{file}");
        if number % 500 == 7 {
            bench.check_images();
        }
    }
    bench.tick(true);
    bench.check_images();
    bench.check_some_resumes(20_000);
    bench.check_log();
}

/// The batches of a shared recording; `None`, with a message, if they are missing.
pub(crate) fn batches(file: &str) -> Option<impl Iterator<Item = Batch>> {
    batches_with(&format!("feeds/{file}"), &[])
}

/// The batches of a recording with its companions, as paths below `../shared`; `None`, with a message, if they are missing.
pub(crate) fn batches_with(
    path: &str,
    companions: &[&str],
) -> Option<impl Iterator<Item = Batch> + use<>> {
    let companions: Option<Vec<_>> = companions.iter().map(|path| shared(path)).collect();
    let recording = Recording::open(&shared(path)?, &companions?, START, &Limits::default());
    Some(recording.expect("it opens").filter_map(|step| match step {
        Step::Batch(timed) => Some(timed.batch),
        Step::Refused(_) => None,
    }))
}

/// A path below `../shared`; `None`, with a message, if it is missing.
#[expect(
    clippy::print_stderr,
    reason = "the person who runs the tests must see that one was skipped"
)]
pub(crate) fn shared(path: &str) -> Option<PathBuf> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared")).join(path);
    if !path.exists() {
        eprintln!("skipped: shared recordings are not here");
        return None;
    }
    Some(path)
}

//! Bytes of recordings to the hub's state: decoded, normalised and applied, on one thread.
//!
//! `state` applies facts only to the state of the match, with ladders updated in place: this is the
//! figure for ingest speed. `changes` is all the work of the writer, including numbered patches of
//! every channel and their tails. Betfair streams are measured line by line from memory. Recordings
//! of all other formats are opened as files, decompressed beforehand.

#[path = "support/feeds.rs"]
mod feeds;
#[path = "support/stage.rs"]
mod stage;

use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use facts::event::{Fact, Id, Timed};
use flate2::read::MultiGzDecoder;
use hub::{
    feeds::{Source, SourceNumber, SourcePolicy},
    state::{Match, MatchDelta, Moment, Origin},
};
use ingest::{
    normalize::betfair::Normalizer,
    recording::{Limits, Recording, Step},
};

// The allocator of the program.
use matchwire as _;
use stage::Stage;

/// Messages with full ladders, one of 608 kB, an image of 200 markets, and only last prices.
const STREAMS: [&str; 6] = [
    feeds::BETFAIR_PRO[0],
    feeds::BETFAIR_PRO[1],
    "betfair-stream/racing-1.241629436.live.jsonl.gz",
    "betfair-stream/football-200-markets.live.bz2",
    "betfair-stream/football-1-event-77-markets.basic.bz2",
    "betfair-stream/tennis-1.223716976.basic.bz2",
];

/// A recording of each other format, with its companions.
const RECORDINGS: [&[&str]; 14] = [
    &["api-football/fixtures-bundes-ns-pst.json"],
    &["api-football/fixtures-cl-penalties.json"],
    &["betfair-rest/list_market_book.json"],
    &["betfair-scores/incidents.json"],
    &["football-data-couk/E0-2019-2020.csv.gz"],
    &["pointbypoint-strings/matches.csv"],
    &[
        "slam-pointbypoint/2012-ausopen-1701.points.csv.gz",
        "slam-pointbypoint/2012-ausopen-1701.match.csv",
    ],
    &["sportradar-uof/fixture-0.xml"],
    &["sportradar-uof/odds_change-0.xml"],
    &["statsbomb/15986.events.json.gz", "statsbomb/15986.lineups.json"],
    &["statsperform/hsv-svs-2021-09-11.ma3.json.gz", "statsperform/hsv-svs-2021-09-11.ma1.json.gz"],
    &["the-odds-api/sport-odds.json"],
    &["the-odds-api/sport-scores.json"],
    &["wyscout/2058017.events.json.gz", "wyscout/matches.json"],
];

fn streams(c: &mut Criterion) {
    for name in STREAMS {
        let Some(path) = feeds::path(name) else { continue };
        let bytes = read(&path);
        let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        let mut group = c.benchmark_group(format!("ingest/{}", feeds::short(name)));
        group.sample_size(20).throughput(Throughput::ElementsAndBytes {
            elements: lines.len() as u64,
            bytes: bytes.len() as u64,
        });
        group.bench_function("state", |b| b.iter(|| matches_after(&lines)));
        group.bench_function("changes", |b| {
            b.iter_batched(Stage::new, |stage| changed(stage, &lines), BatchSize::PerIteration);
        });
        group.finish();
    }
}

fn recordings(c: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a folder can be created");
    for names in RECORDINGS {
        let paths: Option<Vec<PathBuf>> = names.iter().map(|name| feeds::path(name)).collect();
        let Some(paths) = paths else { continue };
        let files: Vec<PathBuf> = paths.iter().map(|path| plain(path, folder.path())).collect();
        let bytes = fs::metadata(&files[0]).expect("the file was written").len();
        let format = names[0].split('/').next().unwrap_or_default();
        let mut group = c.benchmark_group(format!("ingest/{format}-{}", feeds::short(names[0])));
        group.sample_size(20).throughput(Throughput::Bytes(bytes));
        group.bench_function("changes", |b| {
            b.iter_batched(Stage::new, |stage| played(stage, &files), BatchSize::PerIteration);
        });
        group.finish();
    }
}

/// A decompressed copy of a recording, with the same name but for the compression.
fn plain(path: &Path, folder: &Path) -> PathBuf {
    let name = path.file_name().expect("it is a file");
    let copy = folder.join(name);
    let copy = if copy.extension().is_some_and(|end| end == "gz") {
        copy.with_extension("")
    } else {
        copy
    };
    fs::write(&copy, read(path)).expect("the copy can be written");
    copy
}

/// The hub after all batches of a recording, which is the first of these files.
fn played(mut stage: Stage, files: &[PathBuf]) -> Stage {
    let recording = Recording::open(&files[0], files, 0, &Limits::default());
    let mut changes = Vec::new();
    for step in recording.expect("a recording can be opened") {
        if let Step::Batch(timed) = step {
            stage.apply(&timed, &mut changes);
            changes.clear();
        }
    }
    stage
}

/// The state of every match after all lines.
fn matches_after(lines: &[&[u8]]) -> Vec<Match> {
    let mut normalizer = Normalizer::default();
    let sources = [Source::new("bench".into(), "bench", SourcePolicy::default())];
    let mut matches: Vec<Match> = Vec::new();
    for line in lines {
        let Ok(Some(normalized)) = normalizer.line(line) else { continue };
        let moment = Moment { source: normalized.pt, received: 0 };
        for event in normalized.batch.events {
            let found = find_or_add(&mut matches, &event);
            let Some(found) = found else { continue };
            let (source, id) = (SourceNumber(0), event.match_id);
            let origin = Origin { source, local_id: id, moment, sources: &sources };
            let mut delta = MatchDelta::default();
            found.apply(&event.fact, origin, &mut delta);
        }
    }
    matches
}

fn find_or_add<'a>(
    matches: &'a mut Vec<Match>,
    event: &facts::event::Event,
) -> Option<&'a mut Match> {
    let id: Id = event.match_id;
    let index = matches.iter().position(|found| found.id == id);
    let index = index.or_else(|| {
        let Fact::Fixture(fixture) = &event.fact else { return None };
        matches.push(Match::new(id, event.sport, id, fixture.clone(), SourceNumber(0)));
        Some(matches.len() - 1)
    })?;
    Some(&mut matches[index])
}

/// The hub after all lines.
fn changed(mut stage: Stage, lines: &[&[u8]]) -> Stage {
    let mut normalizer = Normalizer::default();
    let mut changes = Vec::new();
    for line in lines {
        let Ok(Some(normalized)) = normalizer.line(line) else { continue };
        let clock_us = normalized.pt.unwrap_or_default();
        stage.apply(&Timed { clock_us, batch: normalized.batch }, &mut changes);
        changes.clear();
    }
    stage
}

fn read(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut file = File::open(path).expect("a recording can be opened");
    match path.extension().and_then(|end| end.to_str()) {
        Some("bz2") => bzip2::read::MultiBzDecoder::new(file).read_to_end(&mut bytes),
        Some("gz") => MultiGzDecoder::new(file).read_to_end(&mut bytes),
        _ => file.read_to_end(&mut bytes),
    }
    .expect("a recording can be read");
    bytes
}

criterion_group!(benches, streams, recordings);
criterion_main!(benches);

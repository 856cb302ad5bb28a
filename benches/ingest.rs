//! Bytes of a Betfair stream to the hub's state: decoded, normalised and applied, on one thread.
//!
//! `state` applies facts only to the state of the match, with ladders updated in place: this is the
//! figure for ingest speed. `changes` is all the work of the writer, including numbered patches of
//! every channel and their tails.

#[path = "support/feeds.rs"]
mod feeds;
#[path = "support/stage.rs"]
mod stage;

use std::{fs::File, io::Read, path::Path};

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use flate2::read::MultiGzDecoder;
use ingest::{
    event::{Fact, Id, Timed},
    normalize::betfair::Normalizer,
};
use matchwire::hub::{
    feeds::{Source, SourceNumber, SourcePolicy},
    state::{Match, MatchDelta, Moment, Origin},
};

use stage::Stage;

/// Messages with full ladders, and one of 608 kB, an image of 200 markets.
const STREAMS: [&str; 4] = [
    feeds::BETFAIR_PRO[0],
    feeds::BETFAIR_PRO[1],
    "betfair-stream/racing-1.241629436.live.jsonl.gz",
    "betfair-stream/football-200-markets.live.bz2",
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
        group.bench_function("state", |b| b.iter(|| known(&lines)));
        group.bench_function("changes", |b| {
            b.iter_batched(Stage::new, |stage| changed(stage, &lines), BatchSize::PerIteration);
        });
        group.finish();
    }
}

/// The state of every match after all lines.
fn known(lines: &[&[u8]]) -> Vec<Match> {
    let mut normalizer = Normalizer::default();
    let sources = [Source::new("bench".into(), "bench", SourcePolicy::default())];
    let mut matches: Vec<Match> = Vec::new();
    for line in lines {
        let Ok(Some(normalized)) = normalizer.line(line) else { continue };
        let moment = Moment { source: normalized.pt, received: 0 };
        for event in normalized.batch.events {
            let known = place(&mut matches, &event);
            let Some(known) = known else { continue };
            let (source, own) = (SourceNumber(0), event.match_id);
            let origin = Origin { source, own, moment, sources: &sources };
            let mut delta = MatchDelta::default();
            known.apply(&event.fact, origin, &mut delta);
        }
    }
    matches
}

fn place<'a>(matches: &'a mut Vec<Match>, event: &ingest::event::Event) -> Option<&'a mut Match> {
    let id: Id = event.match_id;
    let place = matches.iter().position(|known| known.id == id);
    let place = place.or_else(|| {
        let Fact::Fixture(fixture) = &event.fact else { return None };
        matches.push(Match::new(id, event.sport, id, fixture.clone(), SourceNumber(0)));
        Some(matches.len() - 1)
    })?;
    Some(&mut matches[place])
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
    let file = File::open(path).expect("a recording can be opened");
    if path.extension().is_some_and(|end| end == "bz2") {
        bzip2::read::MultiBzDecoder::new(file).read_to_end(&mut bytes)
    } else {
        MultiGzDecoder::new(file).read_to_end(&mut bytes)
    }
    .expect("a recording can be read");
    bytes
}

criterion_group!(benches, streams);
criterion_main!(benches);

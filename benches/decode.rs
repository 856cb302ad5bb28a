//! Bytes of each feed to its messages, and on to normalised batches; and the simulator, whose
//! batches are not decoded from bytes. All except the simulator need the shared recordings.

#[path = "support/feeds.rs"]
mod feeds;

use std::{
    fs::{self, File},
    hint::black_box,
    io::Read,
};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use flate2::read::MultiGzDecoder;
use ingest::{
    decode::{betfair, slam, wyscout},
    normalize::{self, EventByEvent as _, Interpretation},
};
use simulator::Simulator;

fn betfair(c: &mut Criterion) {
    for name in feeds::BETFAIR_PRO {
        let Some(bytes) = read(name) else { continue };
        let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        let mut group = c.benchmark_group(format!("betfair/{}", feeds::short(name)));
        group.sample_size(20).throughput(Throughput::ElementsAndBytes {
            elements: lines.len() as u64,
            bytes: bytes.len() as u64,
        });
        group.bench_function("decode", |b| {
            b.iter(|| lines.iter().for_each(|line| drop(black_box(betfair::decode(line)))));
        });
        group.bench_function("decode_normalize", |b| {
            b.iter(|| {
                let mut normalizer = normalize::betfair::Normalizer::default();
                lines.iter().for_each(|line| drop(black_box(normalizer.line(line))));
            });
        });
        group.finish();
    }
}

fn wyscout(c: &mut Criterion) {
    let Some(bytes) = read("wyscout/2058017.events.json.gz") else { return };
    let Some(records) = feeds::path("wyscout/matches.json") else { return };
    let records = fs::read(records).expect("a recording can be read");
    let document = wyscout::decode(&bytes);
    let record = wyscout::record::find(&records, 2_058_017).expect("records are readable");
    let mut group = c.benchmark_group("wyscout/2058017");
    group.sample_size(20).throughput(Throughput::ElementsAndBytes {
        elements: document.events.len() as u64,
        bytes: bytes.len() as u64,
    });
    group.bench_function("decode", |b| b.iter(|| wyscout::decode(&bytes)));
    group.bench_function("normalize", |b| {
        b.iter(|| {
            let mut played = Interpretation::default();
            let mut normalizer = normalize::wyscout::Normalizer::new(&document, record.as_ref())
                .expect("the match is usable");
            for event in document.events.iter().flatten() {
                normalizer.event(event, &mut played).expect("the event is usable");
            }
            played
        });
    });
    group.finish();
}

fn slam(c: &mut Criterion) {
    let Some(bytes) = read("slam-pointbypoint/2012-ausopen-1701.points.csv.gz") else {
        return;
    };
    let mut lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let columns = lines.next().expect("it has a header");
    let columns = slam::PointColumns::from_header(columns).expect("the header is readable");
    let lines: Vec<&[u8]> = lines.collect();
    let mut group = c.benchmark_group("slam/2012-ausopen-1701");
    group.throughput(Throughput::ElementsAndBytes {
        elements: lines.len() as u64,
        bytes: bytes.len() as u64,
    });
    group.bench_function("decode", |b| {
        b.iter(|| lines.iter().for_each(|line| drop(black_box(columns.row(line)))));
    });
    group.bench_function("decode_normalize", |b| {
        b.iter(|| {
            let mut played = Interpretation::default();
            let mut normalizer = normalize::slam::Normalizer::new("2012-ausopen-1701", None, 0);
            let read = |line: &&[u8]| columns.row(line).expect("the row is readable");
            let mut rows = lines.iter().map(read).peekable();
            while let Some(row) = rows.next() {
                normalizer.row(&row, rows.peek(), &mut played).expect("the row is usable");
            }
            played
        });
    });
    group.finish();
}

fn simulator(c: &mut Criterion) {
    const BATCHES: usize = 10_000;
    let mut group = c.benchmark_group("simulator");
    group.sample_size(10).throughput(Throughput::Elements(BATCHES as u64));
    group.bench_function("batches", |b| {
        b.iter(|| Simulator::new(1, 0).take(BATCHES).for_each(|timed| drop(black_box(timed))));
    });
    group.finish();
}

/// The bytes of a shared recording, decompressed.
fn read(name: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(feeds::path(name)?).expect("a recording can be opened");
    MultiGzDecoder::new(file).read_to_end(&mut bytes).expect("a recording can be read");
    Some(bytes)
}

criterion_group!(benches, betfair, wyscout, slam, simulator);
criterion_main!(benches);

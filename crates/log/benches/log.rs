//! What the log costs: turns of 20 updates of about 260 bytes, as at 20,000 updates a second.

use std::{fs, hint::black_box};

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fanout::{ChannelId, Epoch};
use log::{
    FileLog, Log, LogPosition, LogSettings,
    codec::Encoder,
    files::SnapshotStore,
    record::{Output, Record},
};

/// A turn of the writer: a millisecond.
const UPDATES: u64 = 20;

const MATCHES: u64 = 1_000;

/// For the bench of reading.
const TURNS: u64 = 20_000;

const STATE_BYTES: usize = 100 << 20;

/// Numbers that look like those of prices, always the same.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_041);
        (self.0 >> 33) % sides
    }
}

fn turn(number: u64, dice: &mut Dice) -> Record {
    let at = 1_763_900_000_000_000 + i64::try_from(number).expect("few turns") * 1_000;
    let mut inputs = Vec::new();
    let outputs = (0..UPDATES).map(|i| {
        let (game, book) = (200_000 + dice.roll(MATCHES), dice.roll(6));
        let (seq, market, line) = (number * UPDATES + i, dice.roll(40), dice.roll(12));
        let (home, away) = (101 + dice.roll(900), 101 + dice.roll(900));
        let channel = format!("football/{game}/odds/bookmaker-{book}");
        let payload = format!(
            "{{\"type\":\"update\",\"channel\":\"{channel}\",\"epoch\":\"k3f9\",\"prev\":{},\"seq\":{seq},\
             \"at\":\"2025-11-23T12:{:02}:{:02}.{:06}Z\",\"set\":{{\"markets\":{{\"total-{market}\":\
             {{\"lines\":{{\"{line}.5\":{{\"over\":\"{}.{:02}\",\"under\":\"{}.{:02}\",\"at\":\"12:04:05.{:06}\"}}}}}}}}}}}}",
            seq - 1,
            number / 60_000 % 60,
            number / 1_000 % 60,
            dice.roll(1_000_000),
            home / 100,
            home % 100,
            away / 100,
            away % 100,
            dice.roll(1_000_000),
        );
        // The facts of an input are shorter than the update that they become.
        inputs.extend_from_slice(&game.to_le_bytes());
        inputs.extend_from_slice(&[book as u8, market as u8, line as u8]);
        inputs.extend_from_slice(&home.to_le_bytes());
        inputs.extend_from_slice(&away.to_le_bytes());
        inputs.extend_from_slice(&at.to_le_bytes());
        Output::Published {
            channel: ChannelId::new(channel),
            epoch: Epoch(951_429),
            prev: seq - 1,
            seq,
            urgent: false,
            has_events: false,
            payload: payload.into(),
        }
    });
    let outputs = outputs.collect();
    Record { number, at, inputs: Bytes::from(inputs), outputs }
}

#[expect(clippy::print_stderr, reason = "a figure that is no time")]
fn append(c: &mut Criterion) {
    let mut dice = Dice(7);
    let turns: Vec<_> = (1..=2_000).map(|number| turn(number, &mut dice)).collect();
    let raw: u64 = turns.iter().map(Record::raw_bytes).sum();
    let updates = turns.len() as u64 * UPDATES;
    let payloads = turns.iter().flat_map(|turn| &turn.outputs).filter_map(Output::payload);
    let payload_bytes: usize = payloads.map(Bytes::len).sum();

    let mut group = c.benchmark_group("log");
    group.throughput(Throughput::Elements(UPDATES));
    let mut encoder = Encoder::new().expect("zstd has memory");
    let (mut out, mut next) = (Vec::new(), 0);
    group.bench_function("encode", |b| {
        b.iter(|| {
            out.clear();
            next = (next + 1) % turns.len();
            black_box(encoder.encode(&turns[next], [7; 16], &mut out)).expect("it is small");
        });
    });

    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = LogSettings { bytes_max: 1 << 30, ..LogSettings::new(folder.path()) };
    let (mut log, _) = FileLog::open(settings, "boot", 0).expect("an empty folder");
    group.bench_function("append", |b| {
        let mut turns = turns.clone();
        b.iter(|| {
            let end = log.end();
            next = (next + 1) % turns.len();
            let turn = &mut turns[next];
            (turn.number, turn.at) = (end.number + 1, end.at + 1_000);
            log.append(end.number, std::slice::from_ref(turn)).expect("there is room");
        });
    });
    group.finish();

    let folder = tempfile::tempdir().expect("a temporary folder");
    let (mut log, _) =
        FileLog::open(LogSettings::new(folder.path()), "boot", 0).expect("an empty folder");
    for turn in &turns {
        log.append(turn.number - 1, std::slice::from_ref(turn)).expect("there is room");
    }
    drop(log);
    let bytes = log::files::status(folder.path()).expect("a log").bytes;
    eprintln!(
        "an update: {} bytes of payload, {} bytes with its input, {} bytes on the disk",
        payload_bytes as u64 / updates,
        raw / updates,
        bytes / updates,
    );
}

fn read(c: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = LogSettings::new(folder.path());
    let (mut log, _) = FileLog::open(settings.clone(), "boot", 0).expect("an empty folder");
    let mut dice = Dice(7);
    let mut raw = 0;
    for number in 1..=TURNS {
        let turn = turn(number, &mut dice);
        raw += turn.raw_bytes();
        log.append(number - 1, &[turn]).expect("there is room");
    }
    drop(log);
    let mut group = c.benchmark_group("log");
    group.sample_size(10).throughput(Throughput::Bytes(raw));
    group.bench_function("read", |b| {
        let (log, _) = FileLog::open(settings.clone(), "boot", 0).expect("its folder");
        b.iter(|| {
            let mut reader = log.read_after(0);
            let mut records = 0;
            while let Some(record) = reader.next().expect("it is whole") {
                records += u64::from(black_box(record).number > 0);
            }
            assert_eq!(records, TURNS);
        });
    });
    group.bench_function("open", |b| {
        b.iter(|| black_box(FileLog::open(settings.clone(), "boot", 0)).expect("its folder"));
    });
    group.finish();
}

fn snapshot(c: &mut Criterion) {
    let mut dice = Dice(7);
    let mut state = Vec::with_capacity(STATE_BYTES + 10_000);
    while state.len() < STATE_BYTES {
        for output in turn(1 + dice.roll(1_000_000), &mut dice).outputs {
            state.extend_from_slice(output.payload().expect("an update"));
        }
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = SnapshotStore::open(&LogSettings::new(folder.path())).expect("an empty folder");
    let position = LogPosition { number: 1, ..LogPosition::default() };
    let mut group = c.benchmark_group("snapshot");
    group.sample_size(10).throughput(Throughput::Bytes(state.len() as u64));
    group.bench_function("write", |b| b.iter(|| store.write(position, 1, &state).expect("room")));
    group.bench_function("read", |b| b.iter(|| store.read(1).expect("it is whole")));
    group.finish();
    fs::remove_dir_all(folder.path()).expect("its own folder");
}

criterion_group!(benches, append, read, snapshot);
criterion_main!(benches);

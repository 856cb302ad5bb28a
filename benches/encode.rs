//! Changes to frames: each update once, and the image of a whole book.

mod support;

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use facts::event::Timed;
use fanout::{Change, ChannelId, Epoch, encode::text_frame};
use hub::{channels::Subject, dialect::stream, sequence::TailWindow};

use support::{Stage, Workload, workloads};

/// Batches whose changes are encoded together.
const BATCHES: usize = 1_000;

fn updates(c: &mut Criterion) {
    let mut group = c.benchmark_group("encode/updates");
    group.sample_size(20);
    for Workload { name, batches } in workloads() {
        // The beginning is all images; the middle shows the usual updates.
        let (before, measured) = batches.split_at(batches.len() / 2);
        let measured = &measured[..BATCHES];
        let all = changes(before, measured);
        let bytes = all.iter().map(frame_bytes).sum::<usize>() as u64;
        group.throughput(Throughput::ElementsAndBytes { elements: all.len() as u64, bytes });
        group.bench_function(name, |b| {
            b.iter_batched(
                || changes(before, measured),
                |changes| {
                    for change in &changes {
                        black_box(frame_bytes(change));
                    }
                    changes
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

/// The changes of `measured` in a hub that has applied `before`. A publication is encoded only
/// once, so every pass needs new ones; and the hub has no tails, which would encode those that are some seconds old.
fn changes(before: &[Timed], measured: &[Timed]) -> Vec<Change> {
    let mut stage = Stage::with(TailWindow { bytes: 0, age_us: 0 });
    let mut changes = Vec::new();
    for timed in before {
        stage.apply(timed, &mut changes);
        changes.clear();
    }
    measured.iter().for_each(|timed| stage.apply(timed, &mut changes));
    changes
}

fn frame_bytes(change: &Change) -> usize {
    match change {
        Change::Opened(publication) | Change::Published(_, publication) => {
            publication.frame().len()
        }
        Change::Closed(_) => 0,
    }
}

fn image(c: &mut Criterion) {
    let mut group = c.benchmark_group("encode/image");
    for Workload { name, batches } in workloads() {
        let mut stage = Stage::new();
        let mut changes = Vec::new();
        for timed in &batches[..batches.len() / 2] {
            stage.apply(timed, &mut changes);
            changes.clear();
        }
        let id = batches[0].batch.events[0].match_id;
        let subject = Subject::Book(id, 0);
        let channel = ChannelId::new("sport/1/odds/book");
        let frame = || {
            let data = stage.hub.image(subject).expect("the first match has a book");
            text_frame(|out| stream::image(out, &channel, Epoch(1), 1, None, &data))
        };
        group.throughput(Throughput::Bytes(frame().len() as u64));
        group.bench_function(name, |b| b.iter(frame));
    }
    group.finish();
}

criterion_group!(benches, updates, image);
criterion_main!(benches);

//! The tail brings a reader forward: patches are composed into as few updates as is right.

mod support;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fanout::{
    Change, Pattern, Position, Publication,
    catch_up::{Answer, Question, Verdict},
    channel::Rate,
};
use ingest::event::Timed;

use support::{Stage, Workload, workloads};

/// How far behind the reader is, in updates.
const BEHIND: [u64; 2] = [10, 1_000];

fn catch_up(c: &mut Criterion) {
    let mut group = c.benchmark_group("merge/catch_up");
    group.sample_size(20);
    for Workload { name, batches } in workloads() {
        let mut stage = Stage::new();
        let (mut busiest, mut changes) = (None, Vec::new());
        for timed in &batches {
            // All at one moment, so that only its size bounds the tail.
            stage.apply(&Timed { clock_us: 0, batch: timed.batch.clone() }, &mut changes);
            for change in changes.drain(..) {
                if let Change::Published(_, publication) = change {
                    busiest = busier(busiest, publication);
                }
            }
        }
        let busiest = busiest.expect("something was published");
        for behind in BEHIND {
            let channel = busiest.channel.name.as_str();
            let question = Question::CatchUp {
                channel: Pattern::parse(channel).expect("a name is a pattern"),
                rate: Rate::Each,
                from: Some(Position {
                    epoch: Some(busiest.channel.epoch),
                    seq: busiest.seq - behind,
                }),
                why: "resume",
                bytes_max: usize::MAX,
            };
            group.throughput(Throughput::Elements(behind));
            group.bench_function(format!("{name}/{behind}"), |b| {
                b.iter(|| {
                    let answer = stage.hub.answer(&question);
                    let Answer::CaughtUp(caught_up) = answer else { panic!("{answer:?}") };
                    assert_eq!(caught_up.verdict, Verdict::Resumed);
                    caught_up
                });
            });
        }
    }
    group.finish();
}

type Newest = std::sync::Arc<Publication>;

/// The one of the channel that has changed more often.
fn busier(one: Option<Newest>, other: Newest) -> Option<Newest> {
    one.filter(|one| one.seq > other.seq).or(Some(other))
}

criterion_group!(benches, catch_up);
criterion_main!(benches);

//! Composing patches: from the tail, to bring a reader forward in as few updates as possible, and
//! as changes arrive, for rate-limited readers.

mod support;

use std::sync::Arc;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use facts::event::Timed;
use fanout::{
    Change, ChannelId, Pattern, Position, Publication,
    catch_up::{HostRequest, HostResponse, Lease, Verdict},
    channel::Rate,
};

use support::{Stage, Workload, workloads};

/// How far behind the reader is, in updates.
const BEHIND: [u64; 2] = [10, 1_000];

fn catch_up(c: &mut Criterion) {
    let mut group = c.benchmark_group("merge/catch_up");
    group.sample_size(20);
    for Workload { name, batches } in workloads() {
        let (mut stage, busiest) = played(&batches);
        for behind in BEHIND {
            let channel = busiest.channel.name.as_str();
            let request = HostRequest::CatchUp {
                channel: Pattern::parse(channel).expect("a name is a pattern"),
                rate: Rate::Each,
                from: Some(Position {
                    epoch: Some(busiest.channel.epoch),
                    seq: busiest.seq - behind,
                }),
                why: "resume",
                bytes_max: usize::MAX,
                with_hash: false,
            };
            group.throughput(Throughput::Elements(behind));
            group.bench_function(format!("{name}/{behind}"), |b| {
                b.iter(|| {
                    let answer = stage.hub.answer(&request);
                    let HostResponse::CatchUp(catch_up) = answer else { panic!("{answer:?}") };
                    assert_eq!(catch_up.verdict, Verdict::Resumed);
                    catch_up
                });
            });
        }
    }
    group.finish();
}

/// The cost of tiers on the busiest channel: all batches from its first change on. After each
/// batch, what is due is released, as the writer does. The sender encodes frames, so encoding is
/// not measured here.
fn rate_tiers(c: &mut Criterion) {
    let mut group = c.benchmark_group("merge/rate_tiers");
    group.sample_size(20);
    for Workload { name, batches } in workloads() {
        let busiest = played(&batches).1.channel.name.clone();
        let opened = opened(&batches, &busiest);
        let (before, rest) = batches.split_at(opened + 1);
        group.throughput(Throughput::Elements(rest.len() as u64));
        for tiers in [0, 1, 6] {
            group.bench_function(format!("{name}/{tiers}"), |b| {
                b.iter_batched(
                    || followed(before, &busiest, &Rate::ALL[Rate::ALL.len() - tiers..]),
                    |(mut stage, leases)| {
                        let mut changes = Vec::new();
                        for timed in rest {
                            stage.apply(timed, &mut changes);
                            stage.hub.flush_tiers(timed.clock_us, &mut changes);
                            changes.clear();
                        }
                        (stage, leases)
                    },
                    BatchSize::PerIteration,
                );
            });
        }
    }
    group.finish();
}

/// A hub that has applied these batches, and a lease of the channel at each of these rates.
fn followed(before: &[Timed], channel: &ChannelId, rates: &[Rate]) -> (Stage, Vec<Lease>) {
    let mut stage = Stage::new();
    before.iter().for_each(|timed| stage.apply(timed, &mut Vec::new()));
    let lease = |rate: &Rate| {
        let channel = Pattern::parse(channel.as_str()).expect("a name is a pattern");
        let request = HostRequest::CatchUp {
            channel,
            rate: *rate,
            from: None,
            why: "rate",
            bytes_max: 0,
            with_hash: false,
        };
        let HostResponse::CatchUp(catch_up) = stage.hub.answer(&request) else {
            panic!("the channel is open")
        };
        catch_up.lease.expect("a rate has a lease")
    };
    let leases = rates.iter().map(lease).collect();
    (stage, leases)
}

/// The index of the batch that opens a channel.
fn opened(batches: &[Timed], channel: &ChannelId) -> usize {
    let mut stage = Stage::new();
    let opens = |timed: &Timed| {
        let mut changes = Vec::new();
        stage.apply(timed, &mut changes);
        changes.iter().any(|it| matches!(it, Change::Opened(it) if it.channel.name == *channel))
    };
    batches.iter().position(opens).expect("it opens some time")
}

/// A hub that has applied everything, and the newest change of its busiest channel.
fn played(batches: &[Timed]) -> (Stage, SharedPublication) {
    let mut stage = Stage::new();
    let (mut busiest, mut changes) = (None, Vec::new());
    for timed in batches {
        // All at one moment, so that only its size limits the tail.
        stage.apply(&Timed { clock_us: 0, batch: timed.batch.clone() }, &mut changes);
        for change in changes.drain(..) {
            if let Change::Published(_, publication) = change {
                busiest = busier(busiest, publication);
            }
        }
    }
    (stage, busiest.expect("something was published"))
}

type SharedPublication = Arc<Publication>;

/// The one whose channel has changed more often.
fn busier(one: Option<SharedPublication>, other: SharedPublication) -> Option<SharedPublication> {
    one.filter(|one| one.seq > other.seq).or(Some(other))
}

criterion_group!(benches, catch_up, rate_tiers);
criterion_main!(benches);

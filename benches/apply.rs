//! Batches to numbered changes: the hub's one writer, from a fresh hub to the end of the input.

mod support;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

use support::{Stage, Workload, workloads};

fn apply(c: &mut Criterion) {
    let mut group = c.benchmark_group("apply");
    group.sample_size(20);
    for Workload { name, batches } in workloads() {
        group.throughput(Throughput::Elements(batches.len() as u64));
        group.bench_function(name, |b| {
            b.iter_batched(
                Stage::new,
                |mut stage| {
                    let mut changes = Vec::new();
                    for timed in &batches {
                        stage.apply(timed, &mut changes);
                        // Nothing is subscribed, so a turn ends here.
                        changes.clear();
                    }
                    stage
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, apply);
criterion_main!(benches);

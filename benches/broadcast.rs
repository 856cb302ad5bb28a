//! What a delivery costs beside its system call: an subscribers whose sockets take everything and do
//! nothing, and an outbox of one that takes nothing.

use std::{
    hint::black_box,
    io::{self, IoSlice, Write},
    sync::Arc,
};

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fanout::{
    Publication, Seq,
    subscribers::{Subscribers, SubscriberLimits},
    channel::{Channel, ChannelId, Epoch, Rate},
    encode::binary_frame,
    outbox::{Budget, FRAME_BYTES, Of, Outbox},
    session::Session,
};

const CLIENTS: [usize; 2] = [1_000, 10_000];

/// Publications that a turn finds.
const TOGETHER: [u64; 2] = [1, 64];

const PAYLOAD: [u8; 200] = [b'x'; 200];

/// Of a size that a run of all publications of a turn fits.
const LIMITS: SubscriberLimits = SubscriberLimits {
    budget: Budget { bytes: 256 << 10, frame_bytes: FRAME_BYTES, age_us: 1_000_000 },
    write_bytes: 64 << 10,
};

/// A socket that takes everything.
#[derive(Debug)]
struct Void;

impl Write for Void {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(black_box(bytes).len())
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        Ok(black_box(slices).iter().map(|slice| slice.len()).sum())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn channel(number: u32) -> Channel {
    let name = ChannelId::new(format!("bench/{number}"));
    Channel { number, name, epoch: Epoch(1), trails: false, needs: fanout::Classes::NONE }
}

fn subscribers(subscribers: usize) -> Subscribers<Void> {
    let mut subscribers = Subscribers::new(LIMITS);
    for _ in 0..subscribers {
        let (session, join) = Session::bare(channel(1));
        let slot = subscribers.admit(session, Void);
        subscribers.join(slot, Some(join));
    }
    subscribers
}

/// Publications to all subscribers, from the first step of the walk to the last write.
fn walk(c: &mut Criterion) {
    let frame = binary_frame(&PAYLOAD);
    for subscribers in CLIENTS {
        for together in TOGETHER {
            let mut group = c.benchmark_group(format!("walk/{subscribers}x{together}"));
            group.throughput(Throughput::Elements(subscribers as u64 * together));
            let mut subscribers = subscribers(subscribers);
            let mut seq: Seq = 0;
            group.bench_function("subscribers", |b| {
                b.iter(|| {
                    for _ in 0..together {
                        seq += 1;
                        let of = channel(1);
                        let publication = Publication::rendered(of, seq - 1, seq, frame.clone());
                        subscribers.publish(Rate::Each, Arc::new(publication), 0);
                    }
                    subscribers.perform(0);
                    subscribers.flush(0);
                });
            });
            group.finish();
        }
    }
}

/// A frame into the outbox of a reader who is held up, and out again in one vectored write of 64.
fn outbox(c: &mut Criterion) {
    let frame = binary_frame(&PAYLOAD);
    let mut group = c.benchmark_group("outbox");
    group.throughput(Throughput::Elements(64));
    group.bench_function("64 in, 64 out", |b| {
        let mut outbox = Outbox::default();
        b.iter(|| {
            for before in 0..64 {
                let of = Of { channel: 1, before: Some(before) };
                outbox.push(Bytes::clone(&frame), of, LIMITS.budget, 0).expect("there is room");
            }
            outbox.write(usize::MAX, |slices| Void.write_vectored(slices)).expect("it takes all")
        });
    });
    group.finish();
}

criterion_group!(benches, walk, outbox);
criterion_main!(benches);

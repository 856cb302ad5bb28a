//! The cost of a delivery without its system call: subscribers whose sockets accept everything and
//! do nothing, and the outbox of one whose socket accepts nothing.

use std::{
    hint::black_box,
    io::{self, IoSlice, Write},
    sync::Arc,
};

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fanout::{
    Position, Publication, Seq,
    catch_up::{CatchUp, HostResponse, Verdict},
    channel::{Channel, ChannelId, ChannelInfo, Epoch, Rate},
    encode::binary_frame,
    outbox::{Budget, FRAME_BYTES, FrameOrigin, Outbox},
    protocol::StreamCommand,
    session::Session,
    subscribers::{SubscriberLimits, Subscribers},
};

const CLIENTS: [usize; 2] = [1_000, 10_000];

/// Publications of one turn.
const BATCHES: [u64; 2] = [1, 64];

const PAYLOAD: [u8; 200] = [b'x'; 200];

/// All publications of a turn fit into one batch.
const LIMITS: SubscriberLimits = SubscriberLimits {
    budget: Budget { bytes: 256 << 10, frame_bytes: FRAME_BYTES, age_us: 1_000_000 },
    write_bytes: 64 << 10,
};

/// A socket that accepts everything.
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
    ChannelInfo { number, name, epoch: Epoch(1), deliver_last: false, needs: fanout::Classes::NONE }
        .into()
}

fn subscribers(count: usize) -> Subscribers<Void> {
    let mut subscribers = Subscribers::new(LIMITS);
    for _ in 0..count {
        let slot = subscribers.admit(Session::new(1), Void);
        let subscribe = StreamCommand::parse(r#"{"op": "subscribe", "ch": "bench/1"}"#);
        subscribers.apply_command(slot, subscribe.expect("a good command"), 0);
        let start = CatchUp {
            channel: channel(1),
            head: 0,
            verdict: Verdict::Fresh,
            frames: Vec::new(),
            to: 0,
            lease: None,
            hash: None,
        };
        subscribers.take_effects();
        subscribers.apply_response(slot, HostResponse::CatchUp(start), 0);
    }
    subscribers.flush(0);
    subscribers
}

/// Publications to all subscribers, from the first follower to the last write.
fn broadcast(c: &mut Criterion) {
    let frame = binary_frame(&PAYLOAD);
    for count in CLIENTS {
        for batch in BATCHES {
            let mut group = c.benchmark_group(format!("broadcast/{count}x{batch}"));
            group.throughput(Throughput::Elements(count as u64 * batch));
            let mut subscribers = subscribers(count);
            let mut seq: Seq = 0;
            group.bench_function("subscribers", |b| {
                b.iter(|| {
                    for _ in 0..batch {
                        seq += 1;
                        let publication =
                            Publication::with_frame(channel(1), seq - 1, seq, frame.clone());
                        subscribers.publish(Rate::Each, Arc::new(publication), 0);
                    }
                    subscribers.broadcast(0);
                    subscribers.flush(0);
                });
            });
            group.finish();
        }
    }
}

/// Queues 64 frames in the outbox of a blocked reader and writes them in one vectored write.
fn outbox(c: &mut Criterion) {
    let frame = binary_frame(&PAYLOAD);
    let mut group = c.benchmark_group("outbox");
    group.throughput(Throughput::Elements(64));
    group.bench_function("64 in, 64 out", |b| {
        let mut outbox = Outbox::default();
        b.iter(|| {
            for seq in 0..64 {
                let before = Position { epoch: Some(Epoch(1)), seq };
                let origin = FrameOrigin { channel: 1, before: Some(before), is_resync: false };
                outbox.push(Bytes::clone(&frame), origin, LIMITS.budget, 0).expect("there is room");
            }
            outbox
                .write(usize::MAX, |slices| Void.write_vectored(slices))
                .expect("it accepts everything")
        });
    });
    group.finish();
}

criterion_group!(benches, broadcast, outbox);
criterion_main!(benches);

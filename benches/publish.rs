//! Publications to 1,000 subscribers of one channel, over in-memory sockets, until the last of them
//! has read the last byte.
//!
//! Two floors use the same kind of sockets, the same bytes and the same reader: a bare loop with
//! one write per subscriber and frame, and one vectored write per subscriber for all frames. The
//! rest is the hub's own cost.

#[expect(dead_code, reason = "recordings are not needed where only the length of frames counts")]
mod support;

use std::{
    io::{IoSlice, Read, Write},
    os::unix::net::UnixStream,
    sync::{Arc, mpsc},
    thread,
};

use base::work::{Payer, Work};
use bytes::Bytes;
use criterion::{
    BatchSize, BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main,
    measurement::WallTime,
};
use fanout::{
    Change, ChannelId, Dialect, Epoch, Fanout, Limits, Owner, Publication, Seq,
    catch_up::{CatchUp, Cost, Host, HostResponse, ShardRequest, Verdict},
    channel::{Channel, ChannelInfo, Rate},
    encode::{Encode, payload},
    socket::{SocketOptions, Stream},
};

use support::{Stage, simulated};

/// Each subscriber takes two open files, one for each end.
const SUBSCRIBERS: usize = 1_000;

/// Publications in one batch: one, and those of a busy turn.
const TOGETHER: [usize; 2] = [1, 64];

fn publish(c: &mut Criterion) {
    let all_frames = frames();
    for together in TOGETHER {
        let frames = &all_frames[..together];
        let mut group = c.benchmark_group(format!("publish/{SUBSCRIBERS}x{together}"));
        group.sample_size(20).throughput(Throughput::Elements((SUBSCRIBERS * together) as u64));
        fan_out(&mut group, frames);
        floor(&mut group, "floor_write", frames, write_each);
        floor(&mut group, "floor_writev", frames, write_together);
        group.finish();
    }
}

/// Frames of updates from the middle of a simulated day.
fn frames() -> Vec<Bytes> {
    let mut stage = Stage::new();
    let (mut frames, mut changes) = (Vec::new(), Vec::new());
    for timed in &simulated().batches {
        stage.apply(timed, &mut changes);
        frames.extend(changes.drain(..).filter_map(|change| match change {
            Change::Published(_, publication) => Some(publication.frame().clone()),
            Change::Opened(_) | Change::Closed(_) => None,
        }));
    }
    frames.split_off(frames.len() - TOGETHER[TOGETHER.len() - 1])
}

fn bytes(frames: &[Bytes]) -> usize {
    frames.iter().map(Bytes::len).sum()
}

// ------------------------------------------------------------------------------- the fan-out

fn fan_out(group: &mut BenchmarkGroup<'_, WallTime>, frames: &[Bytes]) {
    let Setup { fanout, mut publisher, mut readers } = Setup::new();
    group.bench_function("fanout", |b| {
        b.iter_batched(
            || publisher.publications(frames),
            |changes| {
                fanout.publish(&changes);
                readers.read(bytes(frames));
                changes
            },
            BatchSize::PerIteration,
        );
    });
    drop(readers);
    fanout.stop();
}

/// One shard and the readers of its only channel.
struct Setup {
    fanout: Fanout,
    publisher: Publisher,
    readers: Readers,
}

/// Numbers the publications of the channel.
struct Publisher {
    channel: Channel,
    seq: Seq,
}

/// A host that forwards requests to a channel.
struct RequestQueue(mpsc::SyncSender<ShardRequest>);

impl Host for RequestQueue {
    fn submit(&self, request: ShardRequest) {
        self.0.send(request).expect("the bench answers");
    }
}

impl Setup {
    fn new() -> Self {
        let (sender, requests) = mpsc::sync_channel(SUBSCRIBERS);
        let fanout = Fanout::start(limits(), "bench", Box::new(RequestQueue(sender)))
            .expect("the system gives a thread");
        let channel = Channel::from(ChannelInfo {
            number: 1,
            name: ChannelId::new("bench"),
            epoch: Epoch(1),
            deliver_last: false,
            needs: fanout::Classes::NONE,
        });
        let (mut readers, streams) = Readers::connect();
        for stream in streams {
            let owner = Owner {
                key: 1,
                payer: Payer::Account(1),
                expiry: None,
                permission: fanout::Permission::EVERYTHING,
                deflates: false,
                peer: None,
                guard: Box::new(()),
            };
            fanout.serve(Stream::Unix(stream), Vec::new(), owner, Dialect::Stream);
        }
        readers.subscribe();
        for ShardRequest { requester, .. } in requests.iter().take(SUBSCRIBERS) {
            let catch_up = CatchUp {
                channel: channel.clone(),
                head: 0,
                verdict: Verdict::Fresh,
                frames: Vec::new(),
                to: 0,
                lease: None,
                hash: None,
            };
            fanout.respond(requester, HostResponse::CatchUp(catch_up), Cost::default());
        }
        readers.await_subscribed();
        Self { fanout, publisher: Publisher { channel, seq: 0 }, readers }
    }
}

impl Publisher {
    /// New publications with these frames, because a publication is encoded only once.
    fn publications(&mut self, frames: &[Bytes]) -> Vec<Change> {
        let mut publication = |frame| {
            let prev = self.seq;
            self.seq += 1;
            let body = Box::new(RenderedPayload(payload(frame)));
            let publication = Publication::new(self.channel.clone(), prev, self.seq, body);
            Change::Published(Rate::Each, Arc::new(publication))
        };
        frames.iter().map(&mut publication).collect()
    }
}

/// One shard without disturbances: no slow readers, no beats, no pings.
fn limits() -> Limits {
    Limits {
        shards: 1,
        outbox_bytes: 64 << 20,
        write_bytes_max: 64 << 10,
        channels_max: 1,
        channels_max_per_payer: usize::MAX,
        patterns_max: 1,
        from_bytes_max: 16 * 1024,
        catch_up_burst: u32::MAX,
        catch_ups_per_second: u32::MAX,
        work: Work::unlimited(),
        command_bytes_max: 1 << 10,
        command_fragments_max: 16,
        mailbox_max: 1 << 10,
        beat_ms: u32::MAX,
        idle_ms: 0,
        stall_ms: u32::MAX,
        outbox_age_ms: u32::MAX,
        sockets: SocketOptions { send_buffer_bytes: 0, unsent_bytes: 0 },
    }
}

/// Replaces the hub's rendering. Encoding has its own bench.
#[derive(Debug)]
struct RenderedPayload(Bytes);

impl Encode for RenderedPayload {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }
}

// -------------------------------------------------------------------------------- the floors

fn floor(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    frames: &[Bytes],
    write: fn(&mut [UnixStream], &[Bytes]),
) {
    let (mut readers, mut streams) = Readers::connect();
    // On its own thread, like the shard.
    let (jobs, taken) = mpsc::sync_channel::<()>(1);
    let owned = frames.to_vec();
    let writer = thread::spawn(move || taken.iter().for_each(|()| write(&mut streams, &owned)));
    group.bench_function(name, |b| {
        b.iter(|| {
            jobs.send(()).expect("the writer lives");
            readers.read(bytes(frames));
        });
    });
    drop(jobs);
    writer.join().expect("the writer does not panic");
}

/// One write per subscriber and frame.
fn write_each(streams: &mut [UnixStream], frames: &[Bytes]) {
    for frame in frames {
        for stream in &mut *streams {
            stream.write_all(frame).expect("the reader lives");
        }
    }
}

/// One write per subscriber.
fn write_together(streams: &mut [UnixStream], frames: &[Bytes]) {
    let slices: Vec<IoSlice<'_>> = frames.iter().map(|frame| IoSlice::new(frame)).collect();
    for stream in streams {
        let written = stream.write_vectored(&slices).expect("the reader lives");
        assert_eq!(written, bytes(frames), "a blocking socket takes all that has room");
    }
}

// ------------------------------------------------------------------------------- the readers

/// The other ends of all sockets, read one after another. Every writer serves all sockets equally,
/// so what one reader has read, the others have or are about to have.
struct Readers {
    streams: Vec<UnixStream>,
    buffer: Vec<u8>,
}

impl Readers {
    fn connect() -> (Self, Vec<UnixStream>) {
        let pair = |_| UnixStream::pair().expect("the limit of open files is above 2,100");
        let (streams, others) = (0..SUBSCRIBERS).map(pair).unzip();
        (Self { streams, buffer: vec![0; 1 << 20] }, others)
    }

    /// Reads this many bytes from each.
    fn read(&mut self, bytes: usize) {
        let Self { streams, buffer } = self;
        for stream in streams {
            stream.read_exact(&mut buffer[..bytes]).expect("the writer lives");
        }
    }

    fn subscribe(&mut self) {
        let command = br#"{"op":"subscribe","id":1,"ch":"bench"}"#;
        let length = u8::try_from(command.len()).expect("short enough for a short header");
        // A client's text message, masked with zeros.
        let mut frame = vec![0x81, 0x80 | length, 0, 0, 0, 0];
        frame.extend_from_slice(command);
        for stream in &mut self.streams {
            stream.write_all(&frame).expect("the shard lives");
        }
    }

    /// Reads each up to the end of the response, which is the last unsolicited message.
    fn await_subscribed(&mut self) {
        let Self { streams, buffer } = self;
        for stream in streams {
            let mut read = 0;
            while !is_answered(&buffer[..read]) {
                read += stream.read(&mut buffer[read..]).expect("the shard lives");
            }
        }
    }
}

fn is_answered(bytes: &[u8]) -> bool {
    let answer = br#"{"type":"subscribed""#;
    bytes.windows(answer.len()).any(|part| part == answer) && bytes.ends_with(b"}")
}

criterion_group!(benches, publish);
criterion_main!(benches);

//! A fan-out with films, and its clients.

use std::{
    collections::BTreeMap,
    io::{Read as _, Write as _},
    os::unix::net::UnixStream,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use base::{
    clock::monotonic,
    work::{Payer, Work},
};
use bytes::Bytes;
use fanout::{
    Change, ChannelId, Classes, Dialect, Epoch, Fanout, Limits, Micros, Owner, Permission,
    Publication, Seq,
    catch_up::{
        CatchUp, CatchUpFrame, Cost, Host, HostRequest, HostResponse, ShardRequest, Verdict,
    },
    channel::{Channel, ChannelInfo, Rate},
    encode::text_frame,
    replay::ReplayOutcome,
    socket::{SocketOptions, Stream},
};
use log::{
    config::LogConfig,
    film::{FilmSettings, FilmWriter, ReplayHost, ReplayService, ReplaySettings},
    record::{Output, Record},
};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

pub(crate) const MATCH: &str = "football/1";
pub(crate) const CONSENSUS: &str = "football/1/odds";
pub(crate) const BOOK: &str = "football/1/odds/acme";
pub(crate) const OTHER: &str = "tennis/2";
const NAMES: [&str; 4] = [MATCH, CONSENSUS, BOOK, OTHER];

/// The time of the first record. One follows each second.
pub(crate) const START: Micros = 1_788_280_000_000_000;
const SECOND: Micros = 1_000_000;
const KEY: u64 = 5;
/// A test that waits this long has failed.
const WAIT_US: Micros = 60 * SECOND;

/// What books need.
fn needs(channel: &ChannelId) -> Classes {
    if channel.as_str().split('/').count() > 3 { Classes(2) } else { Classes::NONE }
}

pub(crate) struct World {
    fanout: Fanout,
    service: ReplayService,
    records: Vec<Record>,
    heads: Heads,
    sent: Arc<AtomicUsize>,
    _folder: TempDir,
}

/// The sequences of the live channels.
type Heads = Arc<Mutex<BTreeMap<&'static str, Seq>>>;

/// Live channels, whose documents are empty.
#[derive(Clone)]
struct LiveHost {
    fanout: Arc<OnceLock<Fanout>>,
    heads: Heads,
}

impl Host for LiveHost {
    fn submit(&self, request: ShardRequest) {
        let ShardRequest { requester, request } = request;
        let HostRequest::CatchUp { channel, .. } = request else { panic!("{request:?}") };
        let heads = self.heads.lock().expect("no panic");
        let response = match heads.get_key_value(channel.as_str()) {
            None => HostResponse::NotTracked,
            Some((name, head)) => {
                let frame = frame(&json!({"type": "image", "ch": name, "seq": head}));
                HostResponse::CatchUp(CatchUp {
                    channel: live_channel(name),
                    head: *head,
                    verdict: Verdict::Fresh,
                    frames: vec![CatchUpFrame { frame, to: *head }],
                    to: *head,
                    lease: None,
                    hash: None,
                })
            }
        };
        self.fanout.get().expect("it has started").respond(requester, response, Cost::default());
    }
}

fn live_channel(name: &str) -> Channel {
    let index = NAMES.iter().position(|listed| *listed == name).expect("one of the names");
    ChannelInfo {
        number: u32::try_from(index).expect("few"),
        name: ChannelId::new(name),
        epoch: Epoch(99),
        deliver_last: false,
        needs: needs(&ChannelId::new(name)),
    }
    .into()
}

fn frame(value: &Value) -> Bytes {
    text_frame(|out| out.extend_from_slice(value.to_string().as_bytes()))
}

impl World {
    /// Films in which each channel has this many updates, one a second.
    pub(crate) fn new(settings: ReplaySettings, updates: u64) -> Self {
        let records = records(updates);
        let folder = tempfile::tempdir().expect("a folder");
        let film_settings = FilmSettings::from_config(&LogConfig::default());
        let mut films = FilmWriter::open(folder.path(), film_settings).expect("a folder");
        records.iter().for_each(|record| films.record(record).expect("written"));
        films.sync().expect("written");
        let service = ReplayService::new(films.films().clone(), settings, needs);
        let heads: Heads = Arc::new(Mutex::new(NAMES.map(|name| (name, 0)).into()));
        let host = LiveHost { fanout: Arc::default(), heads: Arc::clone(&heads) };
        let started = Arc::clone(&host.fanout);
        let host = ReplayHost { host, replays: service.clone() };
        let fanout = Fanout::start(limits(), "test", Box::new(host)).expect("it starts");
        started.set(fanout.clone()).expect("once");
        let sent = Arc::new(AtomicUsize::new(0));
        let (responder, counter) = (fanout.clone(), Arc::clone(&sent));
        let respond = move |requester, response: fanout::replay::ReplayResponse| {
            if let ReplayOutcome::Frames { frames, .. } = &response.outcome {
                counter.fetch_add(frames.len(), Ordering::Relaxed);
            }
            responder.respond_replay(requester, response);
        };
        service.start(respond).expect("threads");
        Self { fanout, service, records, heads, sent, _folder: folder }
    }

    /// A client that may follow everything and has read `hello`.
    pub(crate) fn client(&self) -> Client {
        let mut client = self.connect(Permission::EVERYTHING);
        assert_eq!(client.next()["type"], "hello");
        client
    }

    pub(crate) fn connect(&self, permission: Permission) -> Client {
        let (stream, client_end) = UnixStream::pair().expect("a pair of sockets");
        let wait = Duration::from_micros(WAIT_US.unsigned_abs());
        client_end.set_read_timeout(Some(wait)).expect("it is not zero");
        let owner = Owner {
            key: KEY,
            payer: Payer::Account(KEY),
            expiry: None,
            permission,
            deflates: false,
            peer: None,
            guard: Box::new(()),
        };
        self.fanout.serve(Stream::Unix(stream), Vec::new(), owner, Dialect::Stream);
        Client { stream: client_end, buffer: Vec::new(), at: 0, pings: 0 }
    }

    pub(crate) fn permit(&self, permission: &Permission) {
        self.fanout.permit(KEY, permission, None);
    }

    /// Publishes the next change of a live channel.
    pub(crate) fn publish(&self, name: &'static str) {
        let mut heads = self.heads.lock().expect("no panic");
        let seq = heads.entry(name).or_default();
        *seq += 1;
        let update = json!({"type": "update", "ch": name, "seq": *seq, "prev": *seq - 1});
        let publication =
            Publication::with_frame(live_channel(name), *seq - 1, *seq, frame(&update));
        self.fanout.publish(&[Change::Published(Rate::Each, Arc::new(publication))]);
    }

    /// Frames that the service has sent to shards.
    pub(crate) fn sent_frames(&self) -> usize {
        self.sent.load(Ordering::Relaxed)
    }

    /// Waits until there are this many replays.
    pub(crate) fn until_replays(&self, count: usize) {
        let deadline = monotonic() + WAIT_US;
        while self.service.replays() != count {
            assert!(monotonic() < deadline, "{} replays, not {count}", self.service.replays());
            thread::park_timeout(Duration::from_millis(5));
        }
    }

    fn outputs(&self, name: &str) -> impl Iterator<Item = (Micros, &Output)> {
        let all = self.records.iter();
        let all = all.flat_map(|record| record.outputs.iter().map(|it| (record.at, it)));
        all.filter(move |(_, output)| output.channel().as_str() == name)
    }

    /// The published frames of some channels.
    pub(crate) fn frames(&self, names: &[&str]) -> Vec<String> {
        let outputs = names.iter().flat_map(|name| self.outputs(name));
        let texts = outputs.map(|(_, output)| match output {
            Output::Opened { payload, .. } | Output::Published { payload, .. } => {
                String::from_utf8(payload.to_vec()).expect("text")
            }
            Output::Closed { .. } => panic!("nothing is closed"),
        });
        texts.collect()
    }

    pub(crate) fn at(&self, name: &str, seq: u64) -> Micros {
        self.outputs(name).nth(usize::try_from(seq).expect("small")).expect("a change").0
    }

    pub(crate) fn last_at(&self, _name: &str) -> Micros {
        self.records.last().expect("there are records").at
    }

    /// The document of a channel at a sequence.
    pub(crate) fn document(&self, name: &str, seq: u64) -> Value {
        let mut document = Map::new();
        for text in self.frames(&[name]).iter().take(usize::try_from(seq).expect("small") + 1) {
            let frame: Value = serde_json::from_str(text).expect("JSON");
            let change =
                frame.get("data").or_else(|| frame.get("patch")).and_then(Value::as_object);
            document.extend(change.expect("an object").clone());
        }
        document.into()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.fanout.drain(fanout::Drain::AtOnce { after_ms: 0, window_ms: 0 });
        self.service.stop();
        self.fanout.stop();
    }
}

fn records(updates: u64) -> Vec<Record> {
    let records = (0..=updates).map(|seq| {
        let at = START + Micros::try_from(seq).expect("small") * SECOND;
        let outputs = (1..).zip(NAMES).map(|(epoch, name)| {
            let (channel, epoch) = (ChannelId::new(name), Epoch(epoch));
            let stamp = json!({"src": null, "in": at, "pub": at});
            if seq == 0 {
                let image = json!({"type": "image", "ch": name, "epoch": epoch.to_string(),
                    "seq": 0, "at": stamp, "data": {"life": "prematch"}});
                let payload = image.to_string().into();
                return Output::Opened { channel, epoch, seq, payload };
            }
            let update = json!({"type": "update", "ch": name, "seq": seq, "prev": seq - 1,
                "at": stamp, "patch": {"life": "live", format!("k{}", seq % 7): format!("{seq}.10")}});
            Output::Published {
                channel,
                epoch,
                prev: seq - 1,
                seq,
                urgent: false,
                has_events: false,
                payload: update.to_string().into(),
            }
        });
        Record { number: seq + 1, at, inputs: Bytes::new(), outputs: outputs.collect() }
    });
    records.collect()
}

fn limits() -> Limits {
    Limits {
        shards: 1,
        outbox_bytes: 256 * 1024,
        outbox_age_ms: 1_000,
        write_bytes_max: 64 * 1024,
        channels_max: 100,
        channels_max_per_payer: usize::MAX,
        patterns_max: 10,
        from_bytes_max: 64 * 1024,
        catch_up_burst: 10_000,
        catch_ups_per_second: 10_000,
        work: Work::unlimited(),
        command_bytes_max: 16 * 1024,
        command_fragments_max: 16,
        mailbox_max: 10_000,
        beat_ms: 600_000,
        idle_ms: 0,
        stall_ms: 600_000,
        sockets: SocketOptions { send_buffer_bytes: 0, unsent_bytes: 0 },
    }
}

pub(crate) struct Client {
    stream: UnixStream,
    buffer: Vec<u8>,
    at: usize,
    pings: u64,
}

impl Client {
    pub(crate) fn send(&mut self, command: &Value) {
        let text = command.to_string();
        // A client masks its frames; a mask of zeros leaves the bytes as they are.
        let mut frame = vec![0x81, 0x80 | 126];
        frame.extend_from_slice(&u16::try_from(text.len()).expect("short").to_be_bytes());
        if text.len() < 126 {
            frame = vec![0x81, 0x80 | u8::try_from(text.len()).expect("short")];
        }
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(text.as_bytes());
        self.stream.write_all(&frame).expect("the hub reads");
    }

    pub(crate) fn next_text(&mut self) -> String {
        loop {
            if let Some(text) = self.buffered() {
                return text;
            }
            let mut part = [0; 8192];
            let count = self.stream.read(&mut part).expect("the hub writes within a minute");
            assert!(count > 0, "the hub has closed");
            self.buffer.drain(..std::mem::take(&mut self.at));
            self.buffer.extend_from_slice(&part[..count]);
        }
    }

    fn buffered(&mut self) -> Option<String> {
        let bytes = &self.buffer[self.at..];
        let (header, length) = match *bytes.get(1)? {
            126 => (4, usize::from(u16::from_be_bytes([*bytes.get(2)?, *bytes.get(3)?]))),
            127 => panic!("a long frame"),
            short => (2, usize::from(short)),
        };
        let text = bytes.get(header..header + length)?;
        self.at += header + length;
        Some(String::from_utf8(text.to_vec()).expect("text"))
    }

    pub(crate) fn next(&mut self) -> Value {
        serde_json::from_str(&self.next_text()).expect("a frame is JSON")
    }

    /// The next frame of one of these types.
    pub(crate) fn next_of(&mut self, types: &[&str]) -> Value {
        loop {
            let frame = self.next();
            if frame["type"].as_str().is_some_and(|it| types.contains(&it)) {
                return frame;
            }
        }
    }

    /// The frames up to the end of a replay.
    pub(crate) fn until_end(&mut self, replay: &str) -> Vec<Value> {
        let mut frames = Vec::new();
        loop {
            let frame = self.next();
            assert_eq!(frame["replay"], replay, "{frame}");
            if frame["type"] == "replay_end" {
                assert_eq!(frame["why"], "end");
                return frames;
            }
            frames.push(frame);
        }
    }

    /// The hub has sent nothing up to its answer to a ping.
    pub(crate) fn expect_silence(&mut self) {
        self.pings += 1;
        let id = format!("ping-{}", self.pings);
        self.send(&json!({"op": "ping", "id": id}));
        assert_eq!(self.next()["id"], id);
    }
}

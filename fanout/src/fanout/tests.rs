use std::{
    io::{Read, Write},
    os::unix::net::UnixStream,
    sync::OnceLock,
    time::Duration,
};

use base::work::{Pool, WorkLimits};

use super::*;
use crate::{
    ChannelId, Classes, Epoch, Seq,
    catch_up::{CatchUp, ShardRequest, Verdict},
    channel::ChannelInfo,
    encode::binary_frame,
    inspect::{Explanation, JournalEntry, JournalEvent, SocketId, SocketQuery},
};

struct NullHost;

impl Host for NullHost {
    fn submit(&self, _request: ShardRequest) {}
}

fn limits(shards: usize) -> Limits {
    Limits {
        shards,
        outbox_bytes: 1024,
        outbox_age_ms: 1_000,
        write_bytes_max: 1024,
        channels_max: 1,
        channels_max_per_payer: usize::MAX,
        patterns_max: 1,
        from_bytes_max: 1024,
        catch_up_burst: 1,
        catch_ups_per_second: 1,
        work: Work::unlimited(),
        command_bytes_max: 1024,
        command_fragments_max: 16,
        mailbox_max: 2,
        beat_ms: 1_000,
        idle_ms: 0,
        stall_ms: 1_000,
        sockets: SocketOptions { send_buffer_bytes: 0, unsent_bytes: 0 },
    }
}

/// Has one channel, whose followers start at its beginning. Nobody is led on afterwards.
#[derive(Default, Clone)]
struct OneChannel(Arc<OnceLock<Fanout>>);

impl OneChannel {
    fn start(limits: Limits) -> Fanout {
        let host = Self::default();
        let fanout = Fanout::start(limits, "test", Box::new(host.clone())).expect("it starts");
        host.0.set(fanout.clone()).expect("it is set once");
        fanout
    }
}

impl Host for OneChannel {
    fn submit(&self, ShardRequest { requester, .. }: ShardRequest) {
        let fanout = self.0.get().expect("it runs");
        let (channel, verdict, frames) = (channel(), Verdict::Fresh, Vec::new());
        let start = CatchUp { channel, head: 0, verdict, frames, to: 0, lease: None, hash: None };
        fanout.respond(requester, HostResponse::CatchUp(start), Cost::default());
    }
}

fn channel() -> Channel {
    let (name, epoch, needs) = (ChannelId::new("a"), Epoch(0), Classes::NONE);
    ChannelInfo { number: 1, name, epoch, deliver_last: false, needs }.into()
}

/// The change of the channel with this number, which is so many bytes long.
fn change(seq: Seq, bytes: usize) -> Change {
    let frame = binary_frame(&vec![b'x'; bytes]);
    let publication = Publication::with_frame(channel(), seq - 1, seq, frame);
    Change::Published(Rate::Each, Arc::new(publication))
}

#[tokio::test]
async fn reader_that_does_not_read_is_on_top_with_its_journal() {
    let limits = Limits { stall_ms: 600_000, ..limits(1) };
    let fanout = OneChannel::start(limits);
    let mut clients = [1, 2, 3].map(|key| Client::connect(&fanout, key, Payer::Hub));
    clients[1].send(r#"{"op":"subscribe","ch":"a"}"#);
    clients[1].await_text("\"subscribed\"");
    let within = Duration::from_secs(60);
    let mut changes = (1..).map(|seq| [change(seq, 64 * 1024)]);
    let mut publish = || fanout.publish(&changes.next().expect("no end"));
    let slowest = loop {
        publish();
        let list = fanout.list_sockets(SocketQuery::default(), within).await.expect("a list");
        let slowest = list.sockets.into_iter().next();
        if let Some(slowest) = slowest.filter(|socket| socket.waiting_bytes > 0) {
            assert_eq!((list.matching, list.silent_shards), (3, Vec::new()));
            break slowest;
        }
    };
    let id = SocketId { shard: 0, serial: 2 };
    assert_eq!((slowest.id, slowest.stalls), (id, 1), "{slowest:?}");
    let is = |entries: &[JournalEntry], wanted: fn(&JournalEvent) -> bool| {
        entries.iter().any(|entry| wanted(&entry.event))
    };
    loop {
        let answer = fanout.explain_socket(id, within).await.expect("an answer");
        let Explanation::Open { report, journal, watch } = answer else { panic!("{answer:?}") };
        let full = |event: &JournalEvent| matches!(event, JournalEvent::SocketFull { .. });
        assert!(is(&journal, full), "it was remembered before anybody looked: {journal:?}");
        assert!(watch.until.is_some() && report.summary.waiting_us > 0, "{report:?}");
        if is(&journal, |event| matches!(event, JournalEvent::FellBehind { .. })) {
            break;
        }
        publish();
    }
    let by_key = SocketQuery { keys: Some([7].into()), ..SocketQuery::default() };
    let list = fanout.list_sockets(by_key, within).await.expect("a list");
    assert_eq!((list.matching, list.sockets.len()), (0, 0), "nobody has this key");
}

#[tokio::test]
async fn operator_closes_one_connection() {
    let fanout = Fanout::start(limits(1), "test", Box::new(NullHost)).expect("it starts");
    let within = Duration::from_secs(60);
    let _clients = [1, 2].map(|key| Client::connect(&fanout, key, Payer::Hub));
    let id = |serial| SocketId { shard: 0, serial };
    assert_eq!(fanout.close_socket(id(2), within).await.expect("an answer"), Some(true));
    for nobody in [id(3), SocketId { shard: 7, serial: 1 }] {
        assert_eq!(fanout.close_socket(nobody, within).await.expect("an answer"), Some(false));
    }
    let list = fanout.list_sockets(SocketQuery::default(), within).await.expect("a list");
    let open = list.sockets.iter().filter(|socket| !socket.is_closing);
    assert_eq!(open.map(|socket| socket.id).collect::<Vec<_>>(), [id(1)]);
}

/// The operator gets what the other shards say, and cannot fill the mailbox of one that hangs.
#[tokio::test]
async fn shard_that_hangs_is_named_and_inspections_are_bounded() {
    let spawn = |name: String, run: Box<dyn FnOnce() + Send>| {
        let hangs = name == "shard-1";
        let run = move || {
            if hangs {
                loop {
                    thread::park();
                }
            }
            run();
        };
        thread::Builder::new().name(name).spawn(run)
    };
    let fanout = Fanout::start_on(limits(2), "test", Box::new(NullHost), spawn);
    let fanout = fanout.expect("it starts");
    let _client = Client::connect(&fanout, 1, Payer::Hub);
    let id = SocketId { shard: 0, serial: 1 };
    let within = Duration::from_secs(60);
    let answer = fanout.explain_socket(id, within).await;
    assert!(matches!(answer, Ok(Explanation::Open { .. })));
    let unknown = SocketId { serial: 2, ..id };
    assert!(matches!(fanout.explain_socket(unknown, within).await, Ok(Explanation::Unknown)));
    // Each waits that long for the shard that hangs, and the other one has to answer meanwhile.
    let within = Duration::from_secs(3);
    let mut lists = tokio::task::JoinSet::new();
    for _ in 0..INSPECTIONS_MAX {
        let fanout = fanout.clone();
        let list = async move { fanout.list_sockets(SocketQuery::default(), within).await };
        lists.spawn(list);
    }
    while let Some(list) = lists.join_next().await {
        let list = list.expect("it does not panic").expect("a list");
        assert_eq!((list.matching, &*list.silent_shards), (1, &[1][..]));
        assert_eq!((list.sockets[0].id, list.sockets[0].dialect), (id, "stream"));
    }
    let refused = fanout.list_sockets(SocketQuery::default(), within).await;
    assert_eq!(refused.map(|_| ()), Err(TooManyInspections));
}

/// A source that waits for room, and the stop, must not hang because one shard has panicked.
#[tokio::test]
async fn publishing_does_not_wait_for_a_panicked_shard() {
    let spawn = |name: String, run: Box<dyn FnOnce() + Send>| {
        let panics = name == "shard-1";
        let run = move || {
            if panics {
                // Dropped by the unwinding, as in a panic of the shard itself.
                let _dropped = run;
                panic!("injected");
            }
            run();
        };
        thread::Builder::new().name(name).spawn(run)
    };
    let fanout = Fanout::start_on(limits(2), "test", Box::new(NullHost), spawn);
    let fanout = fanout.expect("it starts");
    for seq in 1..=100 {
        fanout.wait_for_room().await;
        fanout.wait_for_readers().await;
        fanout.publish(&[change(seq, 1)]);
    }
    assert_eq!(fanout.sockets(), 0);
    fanout.drain(Drain::AtOnce { after_ms: 0, window_ms: 0 });
    tokio::task::spawn_blocking(move || fanout.stop()).await.expect("it stops");
}

/// A client of the stream protocol.
struct Client {
    stream: UnixStream,
    read: Vec<u8>,
}

impl Client {
    fn connect(fanout: &Fanout, key: u64, payer: Payer) -> Self {
        let (stream, client_end) = UnixStream::pair().expect("a pair of sockets");
        client_end.set_read_timeout(Some(Duration::from_secs(60))).expect("it is not zero");
        let (permission, guard) = (Permission::EVERYTHING, Box::new(()));
        let (expiry, peer, deflates) = (None, None, false);
        let owner = Owner { key, payer, expiry, permission, deflates, peer, guard };
        fanout.serve(Stream::Unix(stream), Vec::new(), owner, Dialect::Stream);
        let mut client = Self { stream: client_end, read: Vec::new() };
        client.await_text("\"hello\"");
        client
    }

    /// Sends a command, masked with zeros.
    fn send(&mut self, text: &str) {
        let length = u8::try_from(text.len()).ok().filter(|length| *length < 126);
        let header = [0x81, 0x80 | length.expect("it is short"), 0, 0, 0, 0];
        self.stream.write_all(&[&header, text.as_bytes()].concat()).expect("there is room");
    }

    fn await_text(&mut self, wanted: &str) {
        while !self.has(wanted) {
            let mut buffer = [0; 1024];
            let count = self.stream.read(&mut buffer).expect("it is open");
            assert!(count > 0, "it was closed before {wanted}");
            self.read.extend_from_slice(&buffer[..count]);
        }
    }

    fn has(&self, wanted: &str) -> bool {
        self.read.windows(wanted.len()).any(|part| part == wanted.as_bytes())
    }

    /// Whether this has arrived by now.
    fn has_got(&mut self, wanted: &str) -> bool {
        self.stream.set_nonblocking(true).expect("it is open");
        // Without more, the read would block.
        drop(self.stream.read_to_end(&mut self.read));
        self.stream.set_nonblocking(false).expect("it is open");
        self.has(wanted)
    }
}

/// Time that an account owes, wherever it was used, holds the commands of all of its keys, and of nobody else.
#[test]
fn commands_of_an_account_in_debt_wait_over_all_of_its_keys() {
    let limited = WorkLimits { percent: 1, burst: Duration::from_secs(1), waiting_max: 1 };
    let work = Work::new(limited, false);
    let limits = Limits { work: work.clone(), ..limits(1) };
    let fanout = Fanout::start(limits, "test", Box::new(NullHost)).expect("it starts");
    let (indebted, other) = (Payer::Account(1), Payer::Account(2));
    let mut keys = [11, 12].map(|key| Client::connect(&fanout, key, indebted));
    let mut others = Client::connect(&fanout, 21, other);
    work.charge(indebted, Pool::Rest, Duration::from_secs(100), work.now());
    keys.iter_mut().for_each(|client| client.send(r#"{"op":"ping","id":"one"}"#));
    // What came before has been read when these are answered.
    for id in ["a", "b", "c"] {
        others.send(&format!(r#"{{"op":"ping","id":"{id}"}}"#));
        others.await_text(&format!(r#""id":"{id}""#));
    }
    assert!(keys.iter_mut().all(|client| !client.has_got("\"pong\"")), "it is in debt");
    work.set_limits(WorkLimits::UNLIMITED);
    keys.iter_mut().for_each(|client| client.await_text("\"pong\""));
    let used = |payer| work.dearest(9, work.now()).into_iter().find(|entry| entry.payer == payer);
    let shard = work.totals().into_iter().find(|(pool, _)| *pool == Pool::Shard);
    assert!(shard.is_some_and(|(_, used)| !used.is_zero()), "commands are charged");
    assert!(used(indebted).is_some_and(|used| used.pool == Pool::Rest));
}

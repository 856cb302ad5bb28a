//! Sessions on the older sockets: commands, requests to the hub, and its responses.

use std::{
    cell::RefCell,
    io::{self, Write},
    rc::Rc,
    sync::Arc,
};

use bytes::Bytes;
use fanout::{
    ChannelId, Dialect, Epoch, Position, Publication, Seq,
    catch_up::{CatchUp, CatchUpFrame, HostRequest, HostResponse, Lease, Verdict},
    channel::{Channel, ChannelInfo, Rate},
    dialect::HostDialect,
    encode::text_frame,
    outbox::Budget,
    session::Session,
    subscribers::{Effect, SubscriberLimits, Subscribers},
};

use super::protocol::{EVENTS_MAX, FOOTBALL_AND_TENNIS};

const LIMITS: SubscriberLimits = SubscriberLimits {
    budget: Budget { bytes: 400, frame_bytes: 0, age_us: 1_000_000 },
    write_bytes: 400,
};
const EPOCH: Epoch = Epoch(7);

/// A socket that accepts a limited number of bytes.
#[derive(Debug, Default, Clone)]
struct Pipe(Rc<RefCell<(usize, Vec<u8>)>>);

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (takes, taken) = &mut *self.0.borrow_mut();
        let count = bytes.len().min(*takes);
        *takes -= count;
        taken.extend_from_slice(&bytes[..count]);
        if count == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(count) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One client on the socket with both sports.
struct World {
    subscribers: Subscribers<Pipe>,
    pipe: Pipe,
    lease: Lease,
}

fn channel(number: u32, name: &str) -> Channel {
    ChannelInfo {
        number,
        name: ChannelId::new(name),
        epoch: EPOCH,
        deliver_last: false,
        needs: fanout::Classes::NONE,
    }
    .into()
}

fn frame(text: &str) -> Bytes {
    text_frame(|out| out.extend_from_slice(text.as_bytes()))
}

impl World {
    fn new() -> Self {
        let (mut subscribers, pipe) = (Subscribers::new(LIMITS), Pipe::default());
        pipe.0.borrow_mut().0 = usize::MAX;
        subscribers
            .admit(Session::speaking(Dialect::Hosted(&FOOTBALL_AND_TENNIS), 1), pipe.clone());
        Self { subscribers, pipe, lease: Lease::default() }
    }

    /// Carries out a command and returns its request to the host.
    fn send(&mut self, text: &str) -> Option<HostRequest> {
        let command = FOOTBALL_AND_TENNIS.parse(text).expect("a good command");
        self.subscribers.broadcast(1);
        self.subscribers.apply_command(0, command, 1);
        self.next_request()
    }

    fn next_request(&mut self) -> Option<HostRequest> {
        self.subscribers.flush(1);
        let effects = self.subscribers.take_effects().into_iter();
        effects
            .filter_map(
                |(_, effect)| {
                    if let Effect::Submit(request) = effect { Some(request) } else { None }
                },
            )
            .next()
    }

    fn subscribe(&mut self, id: u32) -> Option<HostRequest> {
        self.send(&format!(r#"{{"action":"subscribe","event_id":{id}}}"#))
    }

    fn caught_up(&self, number: u32, name: &str, texts: &[(&str, Seq)], head: Seq) -> CatchUp {
        let frames = texts.iter().map(|(text, to)| CatchUpFrame { frame: frame(text), to: *to });
        CatchUp {
            channel: channel(number, name),
            head,
            verdict: Verdict::Fresh,
            frames: frames.collect(),
            to: head,
            lease: Some(self.lease.clone()),
            hash: None,
        }
    }

    /// The host starts a match with its snapshot.
    fn start(&mut self, id: u32) {
        let text = format!("snapshot {id}");
        let caught_up = self.caught_up(id, &format!("~football/{id}"), &[(&text, 0)], 0);
        self.subscribers.apply_response(0, HostResponse::GroupStarted(caught_up, None), 1);
    }

    fn publish(&mut self, id: u32, name: &str, seq: Seq, text: &str) {
        let publication = Publication::with_frame(channel(id, name), seq - 1, seq, frame(text));
        self.subscribers.publish(Rate::Each, Arc::new(publication), 1);
        self.subscribers.broadcast(1);
    }

    /// The texts of the received frames.
    fn received(&mut self) -> Vec<String> {
        self.subscribers.flush(1);
        let bytes = std::mem::take(&mut self.pipe.0.borrow_mut().1);
        let (mut rest, mut texts) = (&bytes[..], Vec::new());
        while let [_, length, ..] = rest {
            let (header, length) = match length {
                126 => (4, usize::from(u16::from_be_bytes([rest[2], rest[3]]))),
                short => (2, usize::from(*short)),
            };
            texts.push(String::from_utf8_lossy(&rest[header..header + length]).into_owned());
            rest = &rest[header + length..];
        }
        texts
    }
}

#[test]
fn match_is_requested_by_its_id_and_followed_from_the_response_on() {
    let mut world = World::new();
    let request = world.send(
        r#"{"action":"subscribe","event_id":7,"sport":"tennis","from":{"epoch":"7","seq":3}}"#,
    );
    let Some(HostRequest::StartGroup { channel, companion: None, from, .. }) = request else {
        panic!("{request:?}");
    };
    assert_eq!(channel.as_str(), "~tennis/7");
    assert_eq!(from, Some(Position { epoch: Some(EPOCH), seq: 3 }));
    // A publication before the response is not for this client: the response includes it.
    world.publish(7, "~tennis/7", 4, "frame 4");
    let texts = [("subscribed", 3), ("frame 4", 4)];
    let mut caught_up = world.caught_up(7, "~tennis/7", &texts, 4);
    caught_up.verdict = Verdict::Resumed;
    world.subscribers.apply_response(0, HostResponse::GroupStarted(caught_up, None), 1);
    world.publish(7, "~tennis/7", 5, "frame 5");
    assert_eq!(world.received(), ["subscribed", "frame 4", "frame 5"]);
    let left = world.send(r#"{"action":"unsubscribe","event_id":7,"sport":"tennis"}"#);
    assert!(left.is_none(), "{left:?}");
    world.publish(7, "~tennis/7", 6, "frame 6");
    assert_eq!(world.received(), [r#"{"type":"unsubscribed","event_id":7,"sport":"tennis"}"#]);
}

#[test]
fn errors_are_sent_and_pings_answered() {
    let mut world = World::new();
    assert!(world.send(r#"{"action":"ping"}"#).is_none());
    assert!(world.subscribe(7).is_some());
    world.subscribers.apply_response(0, HostResponse::NotTracked, 1);
    world.send(r#"{"action":"subscribe","event_id":8,"bookmaker_slug":"nobody"}"#);
    world.subscribers.apply_response(0, HostResponse::UnknownCompanion, 1);
    let frames = world.received();
    assert_eq!(
        frames,
        [
            r#"{"type":"pong"}"#,
            r#"{"type":"error","code":"not_tracked","message":"No live tracking for event 7","event_id":7}"#,
            r#"{"type":"error","code":"unknown_bookmaker","message":"Unknown bookmaker: nobody","event_id":8}"#,
        ]
    );
    world.subscribers.beat(0, 1);
    assert_eq!(world.received(), [""; 0], "the older dialect has no beat");
}

#[test]
fn limit_counts_matches_and_not_their_books() {
    let mut world = World::new();
    let matches = u32::try_from(EVENTS_MAX).expect("a few");
    for id in 1..=matches {
        assert!(world.subscribe(id).is_some());
        let name = format!("~football/{id}");
        let caught_up = world.caught_up(id, &name, &[("snapshot", 0)], 0);
        let book = (channel(100 + id, &format!("{name}/acme")), 0);
        world.subscribers.apply_response(0, HostResponse::GroupStarted(caught_up, Some(book)), 1);
        // The prices are caught up separately.
        let Some(HostRequest::CatchUp { channel, from, .. }) = world.next_request() else {
            panic!("the book is requested");
        };
        assert_eq!((channel.as_str(), from.map(|it| it.seq)), (&*format!("{name}/acme"), Some(0)));
        let caught_up = world.caught_up(100 + id, &format!("{name}/acme"), &[], 0);
        world.subscribers.apply_response(0, HostResponse::CatchUp(caught_up), 1);
    }
    world.received();
    assert!(world.subscribe(99).is_none(), "there is no request");
    let limit = r#"{"type":"error","code":"limit","message":"At most 10 matches at a time on one socket","event_id":99}"#;
    assert_eq!(world.received(), [limit]);
    assert!(world.subscribe(1).is_some(), "one that is followed may begin again");
    world.start(1);
    world.publish(1, "~football/1", 1, "once");
    world.publish(101, "~football/1/acme", 1, "a price that is no longer followed");
    world.publish(102, "~football/2/acme", 1, "a price");
    assert_eq!(world.received(), ["snapshot 1", "once", "a price"]);
}

#[test]
fn match_that_ends_sends_a_frame_and_its_book_does_not() {
    let mut world = World::new();
    world.subscribe(7);
    let caught_up = world.caught_up(7, "~football/7", &[("snapshot", 0)], 0);
    let book = channel(8, "~football/7/acme");
    world.subscribers.apply_response(
        0,
        HostResponse::GroupStarted(caught_up, Some((book.clone(), 0))),
        1,
    );
    let caught_up = world.caught_up(8, "~football/7/acme", &[], 0);
    world.subscribers.apply_response(0, HostResponse::CatchUp(caught_up), 1);
    world.subscribers.channel_closed(&book, 1);
    world.subscribers.channel_closed(&channel(7, "~football/7"), 1);
    let gone = r#"{"type":"unsubscribed","event_id":7,"why":"gone"}"#;
    assert_eq!(world.received(), ["snapshot", gone]);
}

#[test]
fn slow_reader_catches_up_from_its_position() {
    let mut world = World::new();
    world.subscribe(7);
    world.start(7);
    assert_eq!(world.received(), ["snapshot 7"]);
    world.pipe.0.borrow_mut().0 = 0;
    let long = "x".repeat(150);
    for seq in 1..=5 {
        world.publish(7, "~football/7", seq, &long);
    }
    world.subscribers.flush(1);
    world.pipe.0.borrow_mut().0 = usize::MAX;
    world.subscribers.writable(0);
    let Some(HostRequest::CatchUp { channel, from, why, .. }) = world.next_request() else {
        panic!("it is behind");
    };
    assert_eq!((channel.as_str(), why), ("~football/7", "slow"));
    let from = from.expect("it has a position").seq;
    assert!((1..5).contains(&from), "{from}");
    assert_eq!(world.received().len() as Seq, from);
    let mut caught_up = world.caught_up(7, "~football/7", &[("the last", 5)], 5);
    caught_up.verdict = Verdict::Resumed;
    world.subscribers.apply_response(0, HostResponse::CatchUp(caught_up), 1);
    world.publish(7, "~football/7", 6, "live again");
    assert_eq!(world.received(), ["the last", "live again"]);
}

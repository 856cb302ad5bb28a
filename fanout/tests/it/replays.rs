//! Replays of one connection, with a scripted host.

use std::{
    cell::RefCell,
    io::{self, Write},
    rc::Rc,
};

use bytes::Bytes;
use fanout::{
    ChannelId, Classes, Dialect, Epoch, Micros, Permission, Publication,
    catch_up::{CatchUp, CatchUpFrame, Cost, HostRequest, HostResponse, Verdict},
    channel::{Channel, ChannelInfo, Rate},
    encode::text_frame,
    outbox::Budget,
    permission::PermissionPeriod,
    protocol::StreamCommand,
    replay::{
        ReplayChannel, ReplayChannelStatus, ReplayCommand, ReplayEnd, ReplayFrame, ReplayOutcome,
        ReplayResponse, ReplaySpeed, ReplayState,
    },
    session::Session,
    subscribers::{Effect, SubscriberLimits, Subscribers},
};
use serde_json::{Value, json};

const BUDGET: Budget = Budget { bytes: 40_000, frame_bytes: 0, age_us: 1_000_000 };
const BOOKS: Classes = Classes(2);
const SLOT: usize = 0;

/// A socket that accepts so many bytes.
#[derive(Debug, Clone)]
struct Pipe(Rc<RefCell<(Vec<u8>, usize)>>);

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (received, room) = &mut *self.0.borrow_mut();
        let count = bytes.len().min(*room);
        *room -= count;
        received.extend_from_slice(&bytes[..count]);
        if count == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(count) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct World {
    subscribers: Subscribers<Pipe>,
    pipe: Pipe,
    now: Micros,
    seq: u64,
}

fn live_channel() -> Channel {
    let name = ChannelId::new("football/1");
    ChannelInfo { number: 1, name, epoch: Epoch(7), deliver_last: false, needs: Classes::NONE }
        .into()
}

fn frame(value: &Value) -> Bytes {
    text_frame(|out| out.extend_from_slice(value.to_string().as_bytes()))
}

/// The channels of a replay: one for everyone, and one that needs books.
fn state(names: &[&str]) -> ReplayState {
    let channels = names.iter().map(|name| {
        let needs = if name.ends_with("acme") { BOOKS } else { Classes::NONE };
        let status = ReplayChannelStatus::Played { needs, position: None };
        ReplayChannel { name: ChannelId::new(*name), status }
    });
    ReplayState {
        channels: channels.collect(),
        span: (0, 100),
        at: 0,
        speed: ReplaySpeed::RECORDED,
        is_paused: false,
    }
}

impl World {
    fn new() -> Self {
        let limits = SubscriberLimits { budget: BUDGET, write_bytes: 100_000 };
        let mut subscribers = Subscribers::new(limits);
        let pipe = Pipe(Rc::new(RefCell::new((Vec::new(), usize::MAX))));
        let session = Session::speaking(Dialect::Stream, 100).permitted(Permission::EVERYTHING, 1);
        subscribers.admit(session, pipe.clone());
        Self { subscribers, pipe, now: 1, seq: 0 }
    }

    /// Carries out a command. Returns the commands about replays for the host.
    fn send(&mut self, command: &Value) -> Vec<(u32, ReplayCommand)> {
        let command = StreamCommand::parse(&command.to_string()).expect("a good command");
        self.subscribers.apply_command(SLOT, command, self.now);
        self.settle()
    }

    fn respond(&mut self, replay: u32, outcome: ReplayOutcome) -> Vec<(u32, ReplayCommand)> {
        let response = ReplayResponse { replay, outcome, cost: Cost::default() };
        self.subscribers.apply_replay_response(SLOT, response, self.now);
        self.settle()
    }

    /// So many frames of a replay, of 1,000 bytes each.
    fn play(&mut self, replay: u32, count: usize) {
        let filler = "x".repeat(1_000);
        let frame = frame(&json!({"replay": format!("r{replay}"), "filler": filler}));
        let frames = vec![ReplayFrame { frame, channel: 0 }; count];
        self.respond(replay, ReplayOutcome::Frames { frames, end: None });
    }

    /// Writes what the socket accepts, and responds to live requests.
    fn settle(&mut self) -> Vec<(u32, ReplayCommand)> {
        let mut replays = Vec::new();
        loop {
            self.subscribers.flush(self.now);
            let mut request = None;
            for (_, effect) in self.subscribers.take_effects() {
                match effect {
                    Effect::Submit(submitted) => request = Some(submitted),
                    Effect::Replay(replay, command) => replays.push((replay, command)),
                    Effect::Resume => {}
                    effect => panic!("{effect:?}"),
                }
            }
            let Some(request) = request else { return replays };
            if let HostRequest::MatchChannels { .. } = request {
                let channels = HostResponse::Channels(vec![live_channel()]);
                self.subscribers.apply_response(SLOT, channels, self.now);
                continue;
            }
            let image = frame(&json!({"type": "image", "ch": "football/1", "seq": self.seq}));
            let response = HostResponse::CatchUp(CatchUp {
                channel: live_channel(),
                head: self.seq,
                verdict: Verdict::Fresh,
                frames: vec![CatchUpFrame { frame: image, to: self.seq }],
                to: self.seq,
                lease: None,
                hash: None,
            });
            self.subscribers.apply_response(SLOT, response, self.now);
        }
    }

    fn publish(&mut self) {
        self.seq += 1;
        let update = json!({"type": "update", "ch": "football/1", "seq": self.seq});
        let publication =
            Publication::with_frame(live_channel(), self.seq - 1, self.seq, frame(&update));
        self.subscribers.publish(Rate::Each, publication.into(), self.now);
        self.subscribers.broadcast(self.now);
        self.settle();
    }

    /// Starts `r1`, of these channels.
    fn start(&mut self, names: &[&str]) -> Vec<(u32, ReplayCommand)> {
        let started = self.send(&json!({"op": "subscribe", "id": 1, "chs": names, "replay": {}}));
        assert!(matches!(started[..], [(_, ReplayCommand::Start { .. })]), "{started:?}");
        self.respond(started[0].0, ReplayOutcome::Started(state(names)))
    }

    fn permit_nothing(&mut self) {
        let period = PermissionPeriod { from: 0, classes: Classes::NONE, names: Vec::new() };
        let subscriber = self.subscribers.get_mut(SLOT).expect("it is there");
        subscriber.session.set_permission(Permission::new(vec![period], [].into()));
        self.subscribers.renew_permission(SLOT, self.now, self.now);
        self.settle();
    }

    /// The socket accepts so many more bytes from now on.
    fn accept(&mut self, bytes: usize) {
        self.pipe.0.borrow_mut().1 = bytes;
        self.subscribers.writable(SLOT);
        self.settle();
    }

    /// The frames received since this was last called.
    fn received(&self) -> Vec<Value> {
        let bytes = std::mem::take(&mut self.pipe.0.borrow_mut().0);
        let mut rest = &bytes[..];
        let mut frames = Vec::new();
        while !rest.is_empty() {
            let (header, length) = match rest[1] {
                126 => (4, usize::from(u16::from_be_bytes([rest[2], rest[3]]))),
                short => (2, usize::from(short)),
            };
            let frame = &rest[header..header + length];
            frames.push(serde_json::from_slice(frame).expect("a frame is JSON"));
            rest = &rest[header + length..];
        }
        frames
    }

    fn types(&self) -> Vec<Value> {
        self.received().into_iter().map(|mut frame| frame["type"].take()).collect()
    }
}

fn requested(commands: &[(u32, ReplayCommand)]) -> Vec<(u32, usize)> {
    let next = commands.iter().filter_map(|(replay, command)| match command {
        ReplayCommand::Next { bytes_max, .. } => Some((*replay, *bytes_max)),
        _ => None,
    });
    next.collect()
}

#[test]
fn full_socket_gets_live_frames_first_and_each_of_them() {
    let mut world = World::new();
    world.send(&json!({"op": "subscribe", "id": 9, "ch": "football/1"}));
    world.start(&["football/1"]);
    world.received();
    world.accept(0);
    world.play(1, 10);
    // Nobody reads for longer than frames may be queued.
    world.now += 3_600_000_000;
    for _ in 0..100 {
        world.publish();
    }
    world.accept(usize::MAX);
    let frames = world.received();
    let seqs: Vec<u64> = frames.iter().filter_map(|frame| frame["seq"].as_u64()).collect();
    assert_eq!(seqs, (1..=100).collect::<Vec<_>>(), "nothing is merged");
    let is_replayed: Vec<bool> = frames.iter().map(|frame| frame["replay"].is_string()).collect();
    assert!(is_replayed.is_sorted(), "live frames go first");
    assert_eq!(is_replayed.iter().filter(|it| **it).count(), 10);
}

#[test]
fn replays_share_one_room() {
    let mut world = World::new();
    let first = requested(&world.start(&["football/1"]));
    assert_eq!(first, [(1, BUDGET.bytes / 4)]);
    // The first has requested all there is.
    let second = requested(&world.start(&["football/1"]));
    assert!(matches!(second[..], [(2, bytes)] if bytes < BUDGET.bytes / 16), "{second:?}");
    world.accept(0);
    world.play(1, 10);
    let queued = world.subscribers.get(SLOT).expect("it is there").outbox.replay_cost(BUDGET);
    assert!(queued > 10_000, "{queued}");
    // Nothing more is requested before the queue is short again.
    let none = world.respond(2, ReplayOutcome::Frames { frames: Vec::new(), end: None });
    assert_eq!(requested(&none), []);
}

#[test]
fn end_that_crosses_an_unsubscribe_is_sent_once() {
    let mut world = World::new();
    world.start(&["football/1"]);
    world.received();
    world.send(&json!({"op": "unsubscribe", "id": 2, "replay": "r1"}));
    let end = Some(ReplayEnd::End);
    world.respond(1, ReplayOutcome::Frames { frames: Vec::new(), end });
    assert_eq!(world.types(), ["unsubscribed", "replay_end"]);
}

#[test]
fn replay_that_starts_after_an_entitlement_ended_is_narrowed() {
    let mut world = World::new();
    let names = ["football/1/odds/acme", "football/1"];
    world.send(&json!({"op": "subscribe", "id": 1, "chs": names, "replay": {}}));
    world.permit_nothing();
    world.received();
    world.respond(1, ReplayOutcome::Started(state(&names)));
    let answer = world.received().remove(0);
    assert_eq!(answer["chs"][names[0]]["error"], "not_entitled", "{answer}");
    // A replay with nothing left is refused.
    world.send(&json!({"op": "subscribe", "id": 2, "ch": names[0], "replay": {}}));
    world.respond(2, ReplayOutcome::Started(state(&names[..1])));
    let refused = world.received().remove(0);
    assert_eq!((&refused["id"], &refused["code"]), (&json!(2), &json!("not_entitled")));
}

#[test]
fn change_is_answered_with_what_the_client_may_follow() {
    let mut world = World::new();
    let names = ["football/1/odds/acme", "football/1"];
    world.start(&names);
    world.send(&json!({"op": "replay", "id": 2, "replay": "r1", "pause": true}));
    world.permit_nothing();
    world.received();
    // The host knows nothing of permissions that change.
    world.respond(1, ReplayOutcome::Changed(state(&names)));
    let answer = world.received().remove(0);
    assert_eq!(answer["chs"][names[0]]["error"], "not_entitled", "{answer}");
}

#[test]
fn frames_of_a_replay_that_is_over_do_not_follow_its_end() {
    let mut world = World::new();
    world.start(&["football/1/odds/acme"]);
    world.received();
    world.accept(0);
    world.play(1, 3);
    world.permit_nothing();
    world.accept(usize::MAX);
    assert_eq!(world.types(), ["entitlement", "replay_end"]);
}

#[test]
fn replayed_channels_count_against_the_channels_of_the_socket() {
    let mut world = World::new();
    let names: Vec<String> = (0..100).map(|number| format!("football/{number}")).collect();
    let names: Vec<&str> = names.iter().map(|name| &**name).collect();
    world.start(&names);
    world.received();
    world.send(&json!({"op": "subscribe", "id": 2, "ch": "football/1"}));
    assert_eq!(world.received()[0]["code"], "limit");
}

#[test]
fn beats_are_held_back_while_nothing_new_can_be_known() {
    let mut world = World::new();
    world.subscribers.beat(SLOT, world.now);
    world.settle();
    assert_eq!(world.received()[0]["heads"], json!({}), "it follows nothing yet");
    world.subscribers.set_stale(Some(5), world.now);
    world.settle();
    assert_eq!(world.received(), [json!({"type": "stale", "since": 5})], "at once");
    // The subscriptions of a pattern are confirmed by a beat when all have caught up.
    world.send(&json!({"op": "subscribe", "id": 1, "ch": "football/*"}));
    assert_eq!(world.types(), ["subscribed", "image", "stale"]);
    world.subscribers.beat(SLOT, world.now);
    world.settle();
    assert_eq!(world.received(), [json!({"type": "stale", "since": 5})]);
    world.subscribers.set_stale(None, world.now);
    world.subscribers.beat(SLOT, world.now);
    world.settle();
    assert_eq!(world.types(), ["beat"]);
    // What comes and goes is told once a second, or in place of a beat.
    for (after_us, expected) in [(500_000, &[][..]), (1_000_000, &["stale"])] {
        let now = world.now + after_us;
        world.subscribers.set_stale(Some(6), now);
        world.settle();
        assert_eq!(world.types(), expected, "after {after_us} us");
        world.subscribers.set_stale(None, now);
    }
}

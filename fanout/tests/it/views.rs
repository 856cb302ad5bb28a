//! Picks and compression against a model: in any order of events, and however little a client reads at a time,
//! it has the selected part of the document, every selected event once, and no gap.

use std::{collections::VecDeque, sync::Arc};

use fanout::{
    ChannelId, Classes, Epoch, Publication, Seq,
    catch_up::{CatchUp, CatchUpFrame, DocumentHash, HostRequest, HostResponse, Verdict, check},
    channel::{Channel, ChannelInfo, Rate},
    encode::{Encode, text_frame},
    outbox::Budget,
    protocol::StreamCommand,
    session::Session,
    subscribers::{Effect, SubscriberLimits, Subscribers},
};
use flate2::{Decompress, FlushDecompress};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::{merge_patch::merge, subscribers::pipe::Pipe};

const LIMITS: SubscriberLimits = SubscriberLimits {
    budget: Budget { bytes: 900, frame_bytes: 0, age_us: 50 },
    write_bytes: 700,
};
const EPOCH: Epoch = Epoch(7);
const CLIENTS: usize = 3;

/// What clients select: the members of a `subscribe`, and an independent rule for it.
const SELECTIONS: [&str; 6] = [
    r"{}",
    r#"{"pick":["/score"]}"#,
    r#"{"pick":["/matches/*/score","/matches/b"],"events":false}"#,
    r#"{"pick":["/score/home","/clock"],"events":["goal"]}"#,
    r#"{"events":["card"]}"#,
    r#"{"pick":["/a~1b"]}"#,
];

/// Whether a selection keeps the value at this path.
fn keeps(selection: usize, path: &[&str]) -> bool {
    let is_header = matches!(path, ["suspended", ..]);
    match selection {
        1 => is_header || path[0] == "score",
        2 => is_header || matches!(path, ["matches", _, "score", ..] | ["matches", "b", ..]),
        3 => is_header || matches!(path, ["score", "home"] | ["clock"]),
        5 => is_header || path[0] == "a/b",
        _ => true,
    }
}

fn wants(selection: usize, kind: &str) -> bool {
    match selection {
        2 => kind == "suspend",
        3 => matches!(kind, "goal" | "suspend"),
        4 => matches!(kind, "card" | "suspend"),
        _ => true,
    }
}

/// The kept leaves of a document by their paths.
fn leaves(document: &Value, selection: usize) -> Vec<(String, Value)> {
    fn walk<'a>(
        value: &'a Value,
        path: &mut Vec<&'a str>,
        selection: usize,
        out: &mut Vec<(String, Value)>,
    ) {
        match value.as_object() {
            Some(members) => {
                for (name, value) in members {
                    path.push(name);
                    walk(value, path, selection, out);
                    path.pop();
                }
            }
            None if keeps(selection, path) => out.push((path.join("."), value.clone())),
            None => {}
        }
    }
    let mut out = Vec::new();
    walk(document, &mut Vec::new(), selection, &mut out);
    out
}

#[derive(Debug)]
struct Text(String);

impl Encode for Text {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0.as_bytes());
    }
}

/// One change of the document.
#[derive(Debug, Clone)]
struct Change {
    patch: Value,
    event: Option<&'static str>,
}

fn change() -> impl Strategy<Value = Change> {
    let long = "x".repeat(600);
    let patch = prop_oneof![
        (0..9).prop_map(|n| json!({"score": {"home": n}})),
        (0..9).prop_map(|n| json!({"score": {"away": n}, "clock": n})),
        Just(json!({"score": null})),
        (0..9).prop_map(move |n| json!({"text": format!("{n}{long}")})),
        (0..9).prop_map(|n| json!({"matches": {"a": {"score": n, "minute": n}}})),
        (0..9).prop_map(|n| json!({"matches": {"b": {"minute": n}, "a": null}})),
        (0..9).prop_map(|n| json!({"matches": {"a": {"minute": n}, "b": {"minute": null}}})),
        Just(json!({"matches": null})),
        (0..9).prop_map(|n| json!({"a/b": n})),
        any::<bool>().prop_map(|on| json!({"suspended": on})),
    ];
    let event = prop_oneof![
        6 => Just(None), 1 => Just(Some("goal")), 1 => Just(Some("card")), 1 => Just(Some("suspend")),
    ];
    (patch, event).prop_map(|(patch, event)| Change { patch, event })
}

/// A host with one channel.
struct Host {
    document: Value,
    changes: Vec<Change>,
}

impl Host {
    fn channel() -> Channel {
        ChannelInfo {
            number: 0,
            name: ChannelId::new("c"),
            epoch: EPOCH,
            deliver_last: false,
            needs: Classes::NONE,
        }
        .into()
    }

    fn head(&self) -> Seq {
        self.changes.len() as Seq
    }

    fn update(&self, seq: Seq) -> String {
        let Change { patch, event } = &self.changes[usize::try_from(seq).expect("few") - 1];
        let mut frame =
            json!({"type": "update", "ch": "c", "seq": seq, "prev": seq - 1, "patch": patch});
        if let Some(kind) = event {
            frame["events"] = json!([{"kind": kind, "eid": seq}]);
        }
        frame.to_string()
    }

    fn image(&self) -> String {
        json!({"type": "image", "ch": "c", "seq": self.head(), "data": self.document}).to_string()
    }

    fn publish(&mut self, change: Change) -> Arc<Publication> {
        merge(&mut self.document, &change.patch);
        let is_urgent = change.event == Some("suspend");
        self.changes.push(change);
        let seq = self.head();
        let body = Box::new(Text(self.update(seq)));
        Arc::new(Publication::new(Self::channel(), seq - 1, seq, body).urgent(is_urgent))
    }

    fn respond(&self, request: &HostRequest) -> HostResponse {
        let HostRequest::CatchUp { from, bytes_max, with_hash, .. } = request else {
            panic!("unexpected {request:?}")
        };
        let frame = |text: String| text_frame(|out| out.extend_from_slice(text.as_bytes()));
        let image = frame(self.image());
        let head = self.head();
        let (verdict, frames) =
            match from.map(|from| check(from, EPOCH, head.saturating_sub(20), head)) {
                None => (Verdict::Fresh, vec![CatchUpFrame { frame: image.clone(), to: head }]),
                Some(Err(gap)) => {
                    (Verdict::Refused(gap), vec![CatchUpFrame { frame: image.clone(), to: head }])
                }
                Some(Ok(from)) => {
                    let mut bytes = 0;
                    let mut frames = Vec::new();
                    for to in from + 1..=head {
                        if bytes >= *bytes_max {
                            break;
                        }
                        let frame = frame(self.update(to));
                        bytes += frame.len();
                        frames.push(CatchUpFrame { frame, to });
                    }
                    (Verdict::Resumed, frames)
                }
            };
        let from = from.map_or(head, |from| from.seq);
        let to = frames.last().map_or(from, |frame| frame.to);
        // What stands for the hash is the document itself.
        let hash = DocumentHash::new(image, |image| {
            let image: Value = serde_json::from_slice(image).expect("JSON");
            image["data"].to_string().into()
        });
        let hash = with_hash.then_some(hash);
        let (channel, lease) = (Self::channel(), None);
        HostResponse::CatchUp(CatchUp { channel, head, verdict, frames, to, lease, hash })
    }
}

#[derive(Debug, Default)]
struct Client {
    pipe: Pipe,
    selection: usize,
    document: Value,
    position: Option<Seq>,
    events: Vec<Seq>,
    /// Events up to here are in the image.
    since: Seq,
    updates: usize,
    deflated: usize,
    proved: usize,
}

impl Client {
    fn next_frame(&mut self) -> Option<Value> {
        let (first, mut payload) = self.pipe.next_frame()?;
        if first & 0x40 != 0 {
            self.deflated += 1;
            payload.extend([0, 0, 0xff, 0xff]);
            let mut inflated = Vec::with_capacity(64 * 1024);
            let mut inflater = Decompress::new(false);
            let result = inflater.decompress_vec(&payload, &mut inflated, FlushDecompress::Sync);
            result.expect("a compressed payload");
            payload = inflated;
        }
        Some(serde_json::from_slice(&payload).expect("JSON"))
    }

    fn take(&mut self, frame: &Value, host: &Host) {
        let seq = || frame["seq"].as_u64().expect("a sequence");
        match frame["type"].as_str().expect("a type") {
            "image" => {
                self.document = frame["data"].clone();
                (self.position, self.since) = (Some(seq()), seq());
                self.events.clear();
            }
            "update" => {
                let (prev, position) =
                    (frame["prev"].as_u64(), self.position.expect("an image came"));
                assert!(prev <= Some(position), "a gap before {frame}, at {position}");
                // A beat may have said before what a frame without changes says at the end of a catch-up.
                let is_empty = frame["patch"] == json!({}) && frame.get("events").is_none();
                assert!(seq() > position || is_empty, "{frame} came again, at {position}");
                if let Some(patch) = frame.get("patch") {
                    merge(&mut self.document, patch);
                }
                for event in frame["events"].as_array().into_iter().flatten() {
                    self.events.push(event["eid"].as_u64().expect("an eid"));
                }
                self.position = Some(seq().max(position));
                self.updates += 1;
            }
            "beat" => {
                if let Some(head) = frame["heads"]["c"].as_u64() {
                    // While it is behind, a beat has its last frame.
                    self.position = self.position.max(Some(head));
                }
            }
            "hash" if self.position == Some(seq()) && seq() == host.head() => {
                let is_whole = !SELECTIONS[self.selection].contains("pick");
                let expected_hash =
                    if is_whole { self.document.clone() } else { prune(&self.document).into() };
                assert_eq!(frame["sha256"], expected_hash.to_string());
                self.proved += 1;
            }
            _ => {}
        }
    }

    fn check(&self, host: &Host) {
        let selection = self.selection;
        let all = leaves(&host.document, selection);
        assert_eq!(leaves(&self.document, 0), all, "selection {selection} at {:?}", self.position);
        let sequences = self.since + 1..=host.head();
        let expected = sequences.filter(|seq| {
            let change = &host.changes[usize::try_from(*seq).expect("few") - 1];
            change.event.is_some_and(|kind| wants(selection, kind))
        });
        assert_eq!(self.events, expected.collect::<Vec<_>>(), "events of selection {selection}");
    }
}

/// The document without members that are empty objects.
fn prune(value: &Value) -> Map<String, Value> {
    let members = value.as_object().into_iter().flatten();
    let pruned = members.map(|(name, value)| {
        let value = if value.is_object() { Value::Object(prune(value)) } else { value.clone() };
        (name.clone(), value)
    });
    pruned.filter(|(_, value)| value.as_object().is_none_or(|it| !it.is_empty())).collect()
}

struct World {
    host: Host,
    subscribers: Subscribers<Pipe>,
    clients: Vec<Client>,
    requests: VecDeque<(usize, HostRequest)>,
    now: i64,
}

impl World {
    /// `deflating`: how many of the clients take compressed frames.
    fn new(deflating: usize) -> Self {
        let mut subscribers = Subscribers::new(LIMITS);
        let clients: Vec<Client> = (0..CLIENTS).map(|_| Client::default()).collect();
        for (slot, client) in clients.iter().enumerate() {
            let session = Session::new(10).deflating(slot < deflating);
            assert_eq!(subscribers.admit(session, client.pipe.clone()), slot);
        }
        let host = Host { document: json!({}), changes: Vec::new() };
        Self { host, subscribers, clients, requests: VecDeque::new(), now: 1 }
    }

    fn command(&mut self, slot: usize, op: &str, selection: Option<usize>) {
        self.turn();
        let session = &self.subscribers.get(slot).expect("no client is removed").session;
        let follows = session.channels() > 0;
        if session.is_waiting() || follows == (op == "subscribe") {
            return;
        }
        let mut command = json!({"op": op, "ch": "c"});
        if let Some(selection) = selection {
            let members: Value = serde_json::from_str(SELECTIONS[selection]).expect("JSON");
            command["pick"] = members.get("pick").cloned().unwrap_or_default();
            command["events"] = members.get("events").cloned().unwrap_or(json!(true));
            // What is queued was made for the old selection.
            self.settle();
            self.clients[slot].selection = selection;
        }
        let command = StreamCommand::parse(&command.to_string()).expect("a good command");
        self.subscribers.apply_command(slot, command, self.now);
        self.take_effects();
    }

    fn publish(&mut self, change: Change) {
        self.now += 1;
        let publication = self.host.publish(change);
        self.subscribers.publish(Rate::Each, publication, self.now);
        self.take_effects();
    }

    fn turn(&mut self) {
        self.subscribers.broadcast(self.now);
        self.subscribers.flush(self.now);
        self.take_effects();
        for client in &mut self.clients {
            while let Some(frame) = client.next_frame() {
                client.take(&frame, &self.host);
            }
        }
    }

    fn respond(&mut self) {
        if let Some((slot, request)) = self.requests.pop_front() {
            let response = self.host.respond(&request);
            self.subscribers.apply_response(slot, response, self.now);
            self.take_effects();
        }
    }

    fn take_effects(&mut self) {
        for (slot, effect) in self.subscribers.take_effects() {
            match effect {
                Effect::Submit(request) => self.requests.push_back((slot, request)),
                Effect::Resume => {}
                other => panic!("unexpected {other:?}"),
            }
        }
    }

    fn read(&mut self, slot: usize, bytes: usize) {
        self.clients[slot].pipe.0.borrow_mut().takes = bytes;
        self.subscribers.writable(slot);
        self.turn();
    }

    fn settle(&mut self) {
        for _ in 0..10_000 {
            (0..CLIENTS).for_each(|slot| self.read(slot, usize::MAX));
            self.respond();
            let is_busy = |slot| {
                let subscriber = self.subscribers.get(slot).expect("no client is removed");
                subscriber.is_slow() || subscriber.session.is_waiting()
            };
            if self.requests.is_empty() && !(0..CLIENTS).any(is_busy) {
                return;
            }
        }
        panic!("the system does not become idle");
    }
}

#[derive(Debug, Clone)]
enum Step {
    Publish(Change),
    Follow(usize, usize),
    Select(usize, usize),
    Hash(usize),
    Respond,
    Turn,
    Read(usize, usize),
    Beat(usize),
    LosePublications,
}

fn step() -> impl Strategy<Value = Step> {
    let client = || 0..CLIENTS;
    let selection = || 0..SELECTIONS.len();
    prop_oneof![
        14 => change().prop_map(Step::Publish),
        3 => (client(), selection()).prop_map(|(slot, it)| Step::Follow(slot, it)),
        2 => (client(), selection()).prop_map(|(slot, it)| Step::Select(slot, it)),
        2 => client().prop_map(Step::Hash),
        8 => Just(Step::Respond),
        4 => Just(Step::Turn),
        9 => (client(), 0_usize..900).prop_map(|(slot, bytes)| Step::Read(slot, bytes)),
        2 => client().prop_map(Step::Beat),
        1 => Just(Step::LosePublications),
    ]
}

impl World {
    fn apply(&mut self, step: Step) {
        match step {
            Step::Publish(change) => self.publish(change),
            Step::Follow(slot, selection) => self.command(slot, "subscribe", Some(selection)),
            Step::Select(slot, selection) => self.command(slot, "set", Some(selection)),
            Step::Hash(slot) => {
                self.now += 1_000_000;
                self.command(slot, "hash", None);
            }
            Step::Respond => self.respond(),
            Step::Turn => self.turn(),
            Step::Read(slot, bytes) => self.read(slot, bytes),
            Step::Beat(slot) => self.subscribers.beat(slot, self.now),
            Step::LosePublications => {
                self.subscribers.mark_all_behind(self.now);
                self.take_effects();
            }
        }
    }
}

proptest! {
    #[test]
    fn client_has_what_it_picks(steps in prop::collection::vec(step(), 1..200), deflating in 0..=CLIENTS) {
        let mut world = World::new(deflating);
        for step in steps {
            world.apply(step);
        }
        world.settle();
        for slot in 0..CLIENTS {
            world.apply(Step::Hash(slot));
            world.settle();
            let client = &world.clients[slot];
            if client.position.is_some() {
                client.check(&world.host);
                prop_assert!(client.proved > 0, "the hash was not equal at the head");
            }
        }
    }
}

fn patch(patch: Value) -> Change {
    Change { patch, event: None }
}

/// A change that has nothing of the selection costs its followers no frame; a beat confirms that they miss nothing.
#[test]
fn change_outside_the_pick_is_not_sent() {
    let mut world = World::new(0);
    world.command(0, "subscribe", Some(1));
    world.settle();
    for minute in 0..10 {
        world.publish(patch(json!({"clock": minute})));
    }
    world.publish(patch(json!({"score": {"home": 1}, "clock": 11})));
    world.publish(patch(json!({"clock": 12})));
    world.settle();
    let client = &world.clients[0];
    assert_eq!((client.updates, client.position), (1, Some(11)));
    assert_eq!(client.document, json!({"score": {"home": 1}}));
    world.apply(Step::Beat(0));
    world.settle();
    assert_eq!(world.clients[0].position, Some(12));
}

/// Frames are compressed from 512 bytes, and only if that saves something.
#[test]
fn long_frames_are_compressed() {
    let mut world = World::new(1);
    (0..2).for_each(|slot| world.command(slot, "subscribe", Some(0)));
    world.settle();
    world.publish(patch(json!({"text": "short"})));
    world.publish(patch(json!({"text": "long ".repeat(200)})));
    world.settle();
    let deflated = |slot: usize| world.clients[slot].deflated;
    assert_eq!((deflated(0), deflated(1)), (1, 0));
    assert_eq!(world.clients[0].document, world.clients[1].document);
}

#[test]
fn socket_has_a_limit_of_picks() {
    let mut subscribers = Subscribers::new(LIMITS);
    let client = Client::default();
    let slot = subscribers.admit(Session::new(100), client.pipe.clone());
    let mut refused = Vec::new();
    for number in 0..9 {
        let command =
            format!(r#"{{"op":"subscribe","id":{number},"ch":"*","pick":["/{number}"]}}"#);
        let command = command.replace("\"*\"", &format!("\"{}*\"", "*/".repeat(number)));
        subscribers.apply_command(slot, StreamCommand::parse(&command).expect("good"), 1);
        for (slot, _) in subscribers.take_effects() {
            subscribers.apply_response(slot, HostResponse::Channels(Vec::new()), 1);
        }
        client.pipe.0.borrow_mut().takes = usize::MAX;
        subscribers.writable(slot);
        subscribers.flush(1);
        let mut reader = Client { pipe: client.pipe.clone(), ..Client::default() };
        while let Some(frame) = reader.next_frame() {
            refused.extend(frame["code"].as_str().map(|code| (number, code.to_owned())));
        }
    }
    assert_eq!(refused, [(8, "limit".to_owned())]);
}

#[test]
fn malformed_picks_are_refused() {
    for (selection, word) in [
        (r#""pick":"/score""#, "pick"),
        (r#""pick":[]"#, "pick"),
        (r#""pick":["score"]"#, "pick"),
        (r#""pick":["/a~2"]"#, "pick"),
        (r#""pick":[7]"#, "pick"),
        (r#""events":7"#, "events"),
        (r#""events":[7]"#, "events"),
    ] {
        let command = format!(r#"{{"op":"subscribe","ch":"c",{selection}}}"#);
        let refusal = StreamCommand::parse(&command).expect_err(&command);
        assert!(refusal.message.contains(word), "{command}: {}", refusal.message);
    }
    let many = vec!["/a"; 17];
    let command = json!({"op": "set", "ch": "c", "pick": many}).to_string();
    StreamCommand::parse(&command).expect_err("17 pointers");
}

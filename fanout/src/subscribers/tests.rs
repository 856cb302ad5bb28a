//! What commands cost a shard: how much they look at, and that they do the same as if they looked at everything.

use std::{
    collections::BTreeSet,
    io::{self, Write},
};

use base::work::Payer;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{
    catch_up::{CatchUp, CatchUpFrame, Located, Verdict},
    channel::{ChannelId, ChannelInfo, Epoch},
    dialect::{Companion, Dialect, HostDialect, HostedCommand, Notice},
    encode::text_frame,
    permission::Classes,
    protocol::StreamCommand,
    quota::Quotas,
};

const LIMITS: SubscriberLimits = SubscriberLimits {
    budget: Budget { bytes: 1 << 24, frame_bytes: 0, age_us: 1_000_000 },
    write_bytes: 1 << 24,
};
const SLOT: usize = 0;

/// One subscriber of a host with these channels.
struct World {
    subscribers: Subscribers<Vec<u8>>,
    channels: Vec<Channel>,
}

impl World {
    fn new(names: impl IntoIterator<Item = String>) -> Self {
        Self::with(Session::new(10_000), names)
    }

    fn with(session: Session, names: impl IntoIterator<Item = String>) -> Self {
        let mut subscribers = Subscribers::new(LIMITS);
        subscribers.admit(session, Vec::new());
        let channel = |(number, name): (u32, String)| {
            Channel::from(ChannelInfo {
                number,
                name: ChannelId::new(name),
                epoch: Epoch(7),
                deliver_last: false,
                needs: Classes::NONE,
            })
        };
        Self { subscribers, channels: (0..).zip(names).map(channel).collect() }
    }

    /// Carries out a command, with all that the host responds. Returns the frames about commands.
    fn command(&mut self, command: &Value) -> Vec<Value> {
        let command = StreamCommand::parse(&command.to_string()).expect("a good command");
        self.subscribers.apply_command(SLOT, command, 1);
        loop {
            let effects = self.subscribers.take_effects();
            if effects.is_empty() {
                break;
            }
            for (slot, effect) in effects {
                let Effect::Submit(request) = effect else { panic!("{effect:?}") };
                let response = self.respond(&request);
                self.subscribers.apply_response(slot, response, 1);
            }
        }
        self.subscribers.broadcast(1);
        self.subscribers.writable(SLOT);
        self.subscribers.flush(1);
        let written = mem::take(&mut self.subscribers.get_mut(SLOT).expect("it is there").sink);
        frames(&written)
            .into_iter()
            .filter(|frame| !matches!(frame["type"].as_str(), Some("image" | "beat")))
            .collect()
    }

    fn respond(&self, request: &HostRequest) -> HostResponse {
        match request {
            HostRequest::MatchChannels { pattern, .. } => {
                let all = self.channels.iter();
                HostResponse::Channels(
                    all.filter(|channel| pattern.matches(&channel.name)).cloned().collect(),
                )
            }
            HostRequest::Locate { channels } => {
                let locate = |(name, _): &(ChannelId, _)| {
                    let channel = self.channels.iter().find(|channel| channel.name == *name)?;
                    let (channel, head) = (channel.clone(), 1);
                    Some(Located { channel, head, verdict: Verdict::Fresh })
                };
                HostResponse::Located(channels.iter().map(locate).collect())
            }
            HostRequest::CatchUp { channel: name, from, .. } => {
                let channel = self.channels.iter().find(|it| it.name.as_str() == name.as_str());
                let Some(channel) = channel.cloned() else { return HostResponse::NotTracked };
                let image = || CatchUpFrame {
                    frame: text_frame(|out| out.extend_from_slice(br#"{"type":"image"}"#)),
                    to: 1,
                };
                let (verdict, frames) = match from {
                    Some(_) => (Verdict::Resumed, Vec::new()),
                    None => (Verdict::Fresh, vec![image()]),
                };
                let (head, to) = (1, 1);
                let (lease, hash) = (None, None);
                HostResponse::CatchUp(CatchUp { channel, head, verdict, frames, to, lease, hash })
            }
            HostRequest::StartGroup { .. } => panic!("{request:?}"),
        }
    }

    fn followed(&self) -> BTreeSet<&str> {
        let session = &self.subscribers.get(SLOT).expect("it is there").session;
        let followed = self.channels.iter().filter(|channel| session.follows(&channel.name));
        followed.map(|channel| channel.name.as_str()).collect()
    }
}

/// The JSON of the frames in what was written.
fn frames(mut written: &[u8]) -> Vec<Value> {
    let mut frames = Vec::new();
    while let [_, length, ..] = written {
        let (header, length) = match length {
            126 => (4, usize::from(u16::from_be_bytes([written[2], written[3]]))),
            127 => {
                let length = u64::from_be_bytes(written[2..10].try_into().expect("eight bytes"));
                (10, usize::try_from(length).expect("it is in memory"))
            }
            short => (2, usize::from(*short)),
        };
        let (frame, rest) = written.split_at(header + length);
        frames.push(serde_json::from_slice(&frame[header..]).expect("JSON"));
        written = rest;
    }
    frames
}

/// All patterns of 9 segments that cover `a/a/a/a/a/a/a/a/N`.
fn covering_patterns() -> Vec<String> {
    let words = (0..256_u32).map(|bits| {
        (0..8).map(|index| if bits >> index & 1 == 0 { "a/" } else { "*/" }).collect::<String>()
    });
    words.map(|word| word + "*").collect()
}

/// Finding 3 a of the trial: each pattern of the list looked at all subscriptions, 1.6 s for one command.
#[test]
fn unsubscribing_from_many_patterns_looks_at_each_subscription_once() {
    let channels = 200;
    let mut world = World::new((0..channels).map(|number| format!("a/a/a/a/a/a/a/a/{number}")));
    let mut patterns = covering_patterns();
    let kept = patterns.pop().expect("it is not empty");
    for pattern in patterns.iter().chain([&kept]) {
        world.command(&json!({"op": "subscribe", "ch": pattern}));
    }
    assert_eq!(world.followed().len(), channels);
    let before = world.subscribers.patterns.visited();
    let reply = world.command(&json!({"op": "unsubscribe", "id": 1, "chs": patterns}));
    assert_eq!(reply.len(), 1, "{reply:?}");
    let visited = world.subscribers.patterns.visited() - before;
    assert!(visited <= 9 * channels as u64, "{visited} nodes");
    assert_eq!(world.followed().len(), channels, "one pattern covers them still");
    world.command(&json!({"op": "unsubscribe", "chs": [kept, "not/followed", "*/x"]}));
    assert_eq!(world.followed().len(), 0);
}

/// Nothing follows a close frame, whatever the connection was waiting for.
#[test]
fn connection_that_closes_gets_no_beat_and_is_not_told_that_nothing_new_is_known() {
    let written = |world: &mut World| {
        world.subscribers.writable(SLOT);
        world.subscribers.flush(1);
        world.subscribers.get_mut(SLOT).map(|subscriber| mem::take(&mut subscriber.sink))
    };
    for ends in [false, true] {
        let mut world = World::new(["a/b".to_owned()]);
        let subscribe = json!({"op": "subscribe", "ch": "a/*"});
        let command = StreamCommand::parse(&subscribe.to_string()).expect("a good command");
        world.subscribers.apply_command(SLOT, command, 1);
        let request = world.subscribers.take_effects().pop();
        let Some((_, Effect::Submit(request))) = request else { panic!("{request:?}") };
        let response = world.respond(&request);
        // Its beat comes when the channels of the pattern are here.
        world.subscribers.apply_response(SLOT, response, 1);
        if ends {
            world.subscribers.unsubscribe_all(SLOT, 1);
        }
        written(&mut world);
        world.subscribers.request_catch_up(SLOT, 1);
        world.subscribers.set_stale(Some(1), 1);
        world.subscribers.beat(SLOT, 1);
        let frames = frames(&written(&mut world).expect("it is there"));
        assert_eq!(frames.is_empty(), ends, "{frames:?}");
    }
}

/// Names of a small world: some cover others.
const NAMES: [&str; 9] = ["a/b", "a/c", "b/c", "*/b", "a/*", "*/*", "b/*", "*/c", "x/*"];

fn world_of_names() -> World {
    World::new(NAMES.iter().filter(|name| !name.contains('*')).map(|name| (*name).to_owned()))
}

proptest! {
    /// One command for many names leaves what one command for each of them leaves.
    #[test]
    fn unsubscribing_at_once_is_unsubscribing_one_by_one(
        followed in prop::collection::vec(0..NAMES.len(), 0..9),
        ended in prop::collection::vec(0..NAMES.len(), 1..12),
    ) {
        let (mut at_once, mut one_by_one) = (world_of_names(), world_of_names());
        for index in followed {
            let command = json!({"op": "subscribe", "ch": NAMES[index]});
            at_once.command(&command);
            one_by_one.command(&command);
        }
        let names: Vec<&str> = ended.into_iter().map(|index| NAMES[index]).collect();
        at_once.command(&json!({"op": "unsubscribe", "chs": names}));
        for name in names {
            one_by_one.command(&json!({"op": "unsubscribe", "ch": name}));
        }
        prop_assert_eq!(at_once.followed(), one_by_one.followed());
    }

    /// Whatever happens between two `set` commands of a pattern, the answer says how many channels it is for, and they
    /// have the options.
    #[test]
    fn repeated_set_answers_what_a_first_one_does(
        steps in prop::collection::vec((0_usize..4, 0..NAMES.len(), any::<bool>()), 1..25),
    ) {
        let mut world = world_of_names();
        for (kind, index, lag) in steps {
            let name = NAMES[index];
            let command = match kind {
                0 => json!({"op": "subscribe", "ch": name, "lag": lag}),
                1 => json!({"op": "unsubscribe", "ch": name}),
                _ => json!({"op": "set", "id": 5, "ch": name, "lag": lag}),
            };
            let replies = world.command(&command);
            if kind < 2 || !name.contains('*') || replies[0]["type"] == "error" {
                continue;
            }
            let again = world.command(&command);
            prop_assert_eq!(&again, &replies);
            world.subscribers.subscribers[SLOT].session.forget_last_set();
            prop_assert_eq!(world.command(&command), replies, "looking at all subscriptions");
            prop_assert_eq!(world.subscribers.subscribers[SLOT].session.has_last_set(), true);
        }
    }
}

/// A subscription that changes between two rates leaves nothing in the queue of those that are behind.
#[test]
fn changing_the_rate_again_and_again_takes_no_memory() {
    let mut world = world_of_names();
    world.command(&json!({"op": "subscribe", "ch": "a/b"}));
    for every in [250, 0].repeat(100) {
        world.command(&json!({"op": "set", "ch": "a/b", "every_ms": every}));
    }
    assert_eq!(world.subscribers.subscribers[SLOT].session.behind_queued(), 0);
}

/// A socket that is full until it `accepts`.
#[derive(Debug, Default)]
struct FullSocket {
    accepts: bool,
}

impl Write for FullSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.accepts { Ok(bytes.len()) } else { Err(io::ErrorKind::WouldBlock.into()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn publishers_wait_for_who_has_much_queued_until_it_has_read_nothing_for_long() {
    let budget = Budget { bytes: 1_000, ..LIMITS.budget };
    let mut subscribers = Subscribers::new(SubscriberLimits { budget, ..LIMITS });
    let slot = subscribers.admit(Session::new(1), FullSocket::default());
    let queue = |subscribers: &mut Subscribers<FullSocket>| {
        subscribers.reply(slot, Bytes::from_static(&[0; 400]), 1);
        subscribers.flush(1);
        subscribers.is_crowded(1)
    };
    assert!(!queue(&mut subscribers), "half of its outbox is free");
    assert!(queue(&mut subscribers));
    assert!(!subscribers.is_crowded(200_001));
    subscribers.get_mut(slot).expect("it is there").sink.accepts = true;
    subscribers.writable(slot);
    subscribers.flush(2);
    assert!(!subscribers.is_crowded(2));
}

/// Trial of one account whose 100 sockets follow everything.
#[test]
fn sockets_of_one_account_share_a_limit_of_channels() {
    let quotas = Quotas::new(15);
    let world = |account| {
        let session = Session::new(10_000).within(quotas.connect(Payer::Account(account)));
        World::with(session, (0..10).map(|number| format!("c/{number}")))
    };
    let [mut one, mut two, mut other] = [1, 1, 2].map(world);
    let all = json!({"op": "subscribe", "id": 1, "ch": "c/*"});
    let is_limit = |frame: &Value| {
        let message = frame["message"].as_str().unwrap_or_default();
        frame["code"] == "limit" && message.contains("all sockets of an account")
    };
    assert!(!one.command(&all).iter().any(is_limit));
    assert!(two.command(&all).iter().any(is_limit));
    assert_eq!((one.followed().len(), two.followed().len()), (10, 5));
    let by_name = two.command(&json!({"op": "subscribe", "id": 2, "ch": "c/9"}));
    assert!(is_limit(&by_name[0]), "{by_name:?}");
    let listed = two.command(&json!({"op": "subscribe", "id": 3, "chs": ["c/9"]}));
    assert!(listed[0].to_string().contains("\"limit\""), "{listed:?}");
    other.command(&all);
    assert_eq!(other.followed().len(), 10, "another account");
    one.command(&json!({"op": "unsubscribe", "id": 4, "ch": "c/*"}));
    two.command(&all);
    assert_eq!(two.followed().len(), 10, "there is room again");
    drop((one, two));
    assert_eq!(quotas.sweep(), 10);
}

/// A dialect of a host, with few groups a socket.
#[derive(Debug)]
struct Groups;

impl HostDialect for Groups {
    fn name(&self) -> &'static str {
        "groups"
    }

    fn groups_max(&self) -> usize {
        10
    }

    fn parse(&self, _: &str) -> Result<HostedCommand, Bytes> {
        Err(Bytes::new())
    }

    fn render(&self, notice: Notice<'_>) -> Option<Bytes> {
        let Notice::TooManyGroups { of_socket, .. } = notice else { return None };
        Some(text_frame(|out| out.extend_from_slice(of_socket.to_string().as_bytes())))
    }
}

#[test]
fn limit_of_an_account_holds_in_all_dialects() {
    let quotas = Quotas::new(2);
    let mut other = quotas.connect(Payer::Account(1));
    other.set(1);
    let session = Session::speaking(Dialect::Hosted(&Groups), 0);
    let mut world =
        World::with(session.within(quotas.connect(Payer::Account(1))), ["c/0".to_owned()]);
    let requests = |world: &mut World, has_companion: bool| {
        let companion = Companion { name: "odds".into(), needs: Classes::NONE };
        let companion = has_companion.then_some(companion);
        let follow =
            HostedCommand::Follow { channel: ChannelId::new("c/0"), companion, from: None };
        world.subscribers.apply_command(SLOT, follow, 1);
        world.subscribers.take_effects().len()
    };
    assert_eq!(requests(&mut world, true), 0, "its companion counts");
    world.subscribers.writable(SLOT);
    world.subscribers.flush(1);
    assert_eq!(frames(&world.subscribers.get_mut(SLOT).expect("it is there").sink), [false]);
    assert_eq!(requests(&mut world, false), 1, "there is room for one");
}

/// The same trial: most of its memory was room that growing by doubling had left.
#[test]
fn subscriptions_of_patterns_take_no_more_room_than_they_need() {
    let few = (0..20).map(|number| format!("d/{number}"));
    let mut world = World::new((0..3_000).map(|number| format!("c/{number}")).chain(few));
    world.command(&json!({"op": "subscribe", "id": 1, "chs": ["d/*", "c/*"]}));
    assert_eq!(world.followed().len(), 3_020);
    let session = &world.subscribers.get(SLOT).expect("it is there").session;
    assert_eq!(session.spare_room(), 0);
}

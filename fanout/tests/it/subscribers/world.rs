//! A shard with its clients, and the steps of a test.

use std::collections::{BTreeSet, VecDeque, btree_map::Entry};

use fanout::{
    Publication,
    catch_up::HostRequest,
    channel::Rate,
    outbox::Budget,
    protocol::StreamCommand,
    session::Session,
    subscribers::{Effect, SubscriberLimits, Subscribers},
};
use proptest::prelude::*;

use super::{
    client::Client,
    host::{CHANNELS, Host, Payload, SLOW_RATE},
    pipe::Pipe,
};

pub(crate) const CLIENTS: usize = 3;
pub(crate) const LIMITS: SubscriberLimits =
    SubscriberLimits { budget: Budget { bytes: 160, frame_bytes: 0, age_us: 50 }, write_bytes: 90 };

/// What the time of day is ahead of the clock of the shard.
pub(crate) const STAMP_OFFSET: i64 = 1_000_000_000_000_000;

/// One shard and its clients.
pub(crate) struct World {
    pub(crate) host: Host,
    subscribers: Subscribers<Pipe>,
    pub(crate) clients: Vec<Client>,
    requests: VecDeque<(usize, HostRequest)>,
    /// Clients that a shard would close by now.
    pub(crate) too_slow: BTreeSet<usize>,
    now: i64,
}

impl World {
    pub(crate) fn new() -> Self {
        let mut subscribers = Subscribers::new(LIMITS);
        subscribers.set_stamp_offset(STAMP_OFFSET);
        let clients: Vec<Client> = (0..CLIENTS).map(|_| Client::default()).collect();
        for (slot, client) in clients.iter().enumerate() {
            assert_eq!(subscribers.admit(Session::new(1_000), client.pipe.clone()), slot);
        }
        let (requests, too_slow) = (VecDeque::new(), BTreeSet::new());
        Self { host: Host::default(), subscribers, clients, requests, too_slow, now: 1 }
    }

    pub(crate) fn session(&self, subscriber: usize) -> &Session {
        &self.subscribers.get(subscriber).expect("no client is removed").session
    }

    /// A command about a channel at a rate.
    fn command_at(&mut self, op: &str, subscriber: usize, channel: &str, rate: Rate) {
        let (every, on_slow) = (rate.every_ms(), Self::on_slow(subscriber));
        let options = format!(r#""every_ms":{every},"on_slow":"{on_slow}""#);
        self.command(subscriber, &format!(r#"{{"op":"{op}","ch":"{channel}",{options}}}"#));
    }

    /// Half of the clients want an image in place of what they missed.
    fn on_slow(subscriber: usize) -> &'static str {
        if subscriber.is_multiple_of(2) { "merge" } else { "resync" }
    }

    /// Sends a command, unless the client's last one is still carried out. Returns whether it was sent.
    pub(crate) fn command(&mut self, subscriber: usize, text: &str) -> bool {
        self.turn();
        if self.session(subscriber).is_waiting() {
            return false;
        }
        let command = StreamCommand::parse(text).expect("a good command");
        self.subscribers.apply_command(subscriber, command, self.now);
        self.take_effects();
        true
    }

    /// Asks for the hash of a document, a second after any other.
    fn hash(&mut self, subscriber: usize, number: u32) {
        self.now += 1_000_000;
        let command = format!(r#"{{"op":"hash","id":"hash","ch":"c/{number}"}}"#);
        let was_sent = self.command(subscriber, &command);
        self.clients[subscriber].hashes.0 += u64::from(was_sent);
    }

    /// Subscribes to two channels with one command, as after a reconnect, and to their pattern if `all`.
    fn subscribe_batch(&mut self, subscriber: usize, first: u32, all: bool, rate: Rate) {
        // A client that follows them already and gives an older position would get changes twice.
        let (one, other) = (first, (first + 1) % CHANNELS);
        let chs = format!(r#"["c/{one}","c/{other}","c/*"]"#);
        if !self.command(subscriber, &format!(r#"{{"op":"unsubscribe","chs":{chs}}}"#)) {
            return;
        }
        while !self.subscribers.get(subscriber).expect("no client is removed").outbox.is_empty() {
            self.read(subscriber, usize::MAX);
        }
        self.read(subscriber, usize::MAX);
        let positions = &self.clients[subscriber].positions;
        let entry = |number: u32| match positions.get(&number) {
            Some(seq) => {
                format!(r#"{{"ch":"c/{number}","from":{{"epoch":"7","seq":{seq}}}}}"#)
            }
            None => format!(r#""c/{number}""#),
        };
        let mut entries = vec![entry(one), entry(other)];
        if all {
            entries.push(r#""c/*""#.to_owned());
        }
        let (entries, every) = (entries.join(","), rate.every_ms());
        let on_slow = Self::on_slow(subscriber);
        let options = format!(r#""every_ms":{every},"on_slow":"{on_slow}""#);
        let command = format!(r#"{{"op":"subscribe","chs":[{entries}],{options}}}"#);
        self.command(subscriber, &command);
    }

    pub(crate) fn publish(&mut self, number: u32) {
        self.now += 1;
        if let Entry::Vacant(vacant) = self.host.heads.entry(number) {
            vacant.insert(0);
            let body = Payload(format!("image {number} 0"));
            let image = Publication::new(Host::channel(number), 0, 0, Box::new(body));
            self.subscribers.channel_opened(&image, self.now);
        }
        for (rate, publication) in self.host.publish(number) {
            self.subscribers.publish(rate, publication, self.now);
        }
        self.take_effects();
    }

    fn flush_tier(&mut self, number: u32) {
        let head = self.host.heads.get(&number).copied().unwrap_or(0);
        if let Some((rate, publication)) = self.host.flush_tier(number, head) {
            self.subscribers.publish(rate, publication, self.now);
        }
        self.take_effects();
    }

    /// What a shard does at the end of a turn.
    pub(crate) fn turn(&mut self) {
        self.subscribers.broadcast(self.now);
        self.subscribers.flush(self.now);
        self.take_effects();
        for (slot, client) in self.clients.iter_mut().enumerate() {
            while let Some(text) = client.next_frame() {
                client.check(&text);
            }
            let subscriber = self.subscribers.get_mut(slot).expect("no client is removed");
            client.delivered += subscriber.outbox.take_delivered();
            assert_eq!(client.delivered, client.data, "all delivered frames arrived completely");
        }
    }

    pub(crate) fn respond(&mut self) {
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
                Effect::TooSlow => {
                    self.too_slow.insert(slot);
                }
                Effect::Failed | Effect::Replay(..) => {
                    panic!("unexpected effect {effect:?}")
                }
            }
        }
    }

    /// A client reads up to `bytes` and checks each whole frame.
    pub(crate) fn read(&mut self, subscriber: usize, bytes: usize) {
        self.clients[subscriber].pipe.0.borrow_mut().takes = bytes;
        self.subscribers.writable(subscriber);
        self.turn();
    }

    pub(crate) fn lose_publications(&mut self) {
        self.subscribers.mark_all_behind(self.now);
        self.take_effects();
    }

    /// Responds to all requests and reads everything.
    pub(crate) fn settle(&mut self) {
        assert_eq!(self.too_slow, BTreeSet::new(), "nobody asked to be closed");
        for _ in 0..10_000 {
            (0..CHANNELS).for_each(|number| self.flush_tier(number));
            (0..CLIENTS).for_each(|subscriber| self.read(subscriber, usize::MAX));
            self.respond();
            let waits = |subscriber: usize| {
                let subscriber = self.subscribers.get(subscriber).expect("no client is removed");
                subscriber.is_slow() || subscriber.session.is_waiting()
            };
            if self.requests.is_empty() && !(0..CLIENTS).any(waits) {
                let all_answered = self.clients.iter().all(|it| it.hashes.0 == it.hashes.1);
                assert!(all_answered, "a `hash` was not answered");
                return self.clients.iter().for_each(Client::check_events);
            }
        }
        panic!("the system does not become idle");
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    Publish(u32),
    Subscribe(usize, u32, Rate),
    SubscribeAll(usize, Rate),
    /// The two channels that are numbered from here on, and whether all channels by their pattern too.
    SubscribeBatch(usize, u32, bool, Rate),
    Set(usize, u32, Rate),
    SetAll(usize, Rate),
    Unsubscribe(usize, u32),
    Hash(usize, u32),
    Respond,
    Turn,
    FlushTier(u32),
    Read(usize, usize),
    Beat(usize),
    LosePublications,
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    let rate = || prop_oneof![Just(Rate::Each), Just(SLOW_RATE)];
    prop_oneof![
        12 => (0..CHANNELS).prop_map(Step::Publish),
        3 => (0..CLIENTS, 0..CHANNELS, rate()).prop_map(|(m, c, r)| Step::Subscribe(m, c, r)),
        2 => (0..CLIENTS, rate()).prop_map(|(m, r)| Step::SubscribeAll(m, r)),
        2 => (0..CLIENTS, 0..CHANNELS, any::<bool>(), rate())
            .prop_map(|(m, c, all, r)| Step::SubscribeBatch(m, c, all, r)),
        2 => (0..CLIENTS, 0..CHANNELS, rate()).prop_map(|(m, c, r)| Step::Set(m, c, r)),
        1 => (0..CLIENTS, rate()).prop_map(|(m, r)| Step::SetAll(m, r)),
        1 => (0..CLIENTS, 0..CHANNELS).prop_map(|(m, c)| Step::Unsubscribe(m, c)),
        3 => (0..CLIENTS, 0..CHANNELS).prop_map(|(m, c)| Step::Hash(m, c)),
        8 => Just(Step::Respond),
        4 => Just(Step::Turn),
        3 => (0..CHANNELS).prop_map(Step::FlushTier),
        9 => (0..CLIENTS, 0_usize..300).prop_map(|(m, bytes)| Step::Read(m, bytes)),
        2 => (0..CLIENTS).prop_map(Step::Beat),
        1 => Just(Step::LosePublications),
    ]
}

impl World {
    pub(crate) fn apply(&mut self, step: Step) {
        match step {
            Step::Publish(number) => self.publish(number),
            Step::Subscribe(subscriber, number, rate) => {
                self.command_at("subscribe", subscriber, &format!("c/{number}"), rate);
            }
            Step::SubscribeAll(subscriber, rate) => {
                self.command_at("subscribe", subscriber, "c/*", rate);
            }
            Step::SubscribeBatch(subscriber, first, all, rate) => {
                self.subscribe_batch(subscriber, first, all, rate);
            }
            Step::Set(subscriber, number, rate) => {
                self.command_at("set", subscriber, &format!("c/{number}"), rate);
            }
            Step::SetAll(subscriber, rate) => self.command_at("set", subscriber, "c/*", rate),
            Step::Unsubscribe(subscriber, number) => {
                self.command(subscriber, &format!(r#"{{"op":"unsubscribe","ch":"c/{number}"}}"#));
            }
            Step::Hash(subscriber, number) => self.hash(subscriber, number),
            Step::Respond => self.respond(),
            Step::Turn => self.turn(),
            Step::FlushTier(number) => self.flush_tier(number),
            Step::Read(subscriber, bytes) => self.read(subscriber, bytes),
            Step::Beat(subscriber) => self.subscribers.beat(subscriber, self.now),
            Step::LosePublications => self.lose_publications(),
        }
    }
}

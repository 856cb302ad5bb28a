//! A shard with its clients, and what may happen to them.

use std::collections::{VecDeque, btree_map::Entry};

use fanout::{
    Publication,
    audience::{Audience, Due, Shares},
    catch_up::Question,
    channel::Rate,
    outbox::Budget,
    protocol::Command,
    session::Session,
};
use proptest::prelude::*;

use super::{
    client::{Client, Pipe},
    host::{CHANNELS, Host, Payload, SLOW_RATE},
};

pub(crate) const MEMBERS: usize = 3;
pub(crate) const SHARES: Shares =
    Shares { budget: Budget { bytes: 160, frame_bytes: 0, age_us: 50 }, write_bytes: 90 };

/// One shard and its clients.
pub(crate) struct World {
    pub(crate) host: Host,
    audience: Audience<Pipe>,
    pub(crate) clients: Vec<Client>,
    questions: VecDeque<(usize, Question)>,
    now: i64,
}

impl World {
    pub(crate) fn new() -> Self {
        let mut audience = Audience::new(SHARES);
        let clients: Vec<Client> = (0..MEMBERS).map(|_| Client::default()).collect();
        for (slot, client) in clients.iter().enumerate() {
            assert_eq!(audience.admit(Session::new(1_000), client.pipe.clone()), slot);
        }
        Self { host: Host::default(), audience, clients, questions: VecDeque::new(), now: 1 }
    }

    pub(crate) fn session(&self, member: usize) -> &Session {
        &self.audience.get(member).expect("nobody leaves").session
    }

    pub(crate) fn command(&mut self, member: usize, text: &str) {
        self.turn();
        if self.session(member).is_waiting() {
            return;
        }
        let command = Command::parse(text).expect("a good command");
        self.audience.command(member, command, self.now);
        self.take_due();
    }

    pub(crate) fn publish(&mut self, number: u32) {
        self.now += 1;
        if let Entry::Vacant(unborn) = self.host.heads.entry(number) {
            unborn.insert(0);
            let body = Payload(format!("image {number} 0"));
            let image = Publication::new(Host::channel(number), 0, 0, Box::new(body));
            self.audience.opened(&image, self.now);
        }
        for (rate, publication) in self.host.publish(number) {
            self.audience.publish(rate, publication, self.now);
        }
        self.take_due();
    }

    fn flush_lane(&mut self, number: u32) {
        let head = self.host.heads.get(&number).copied().unwrap_or(0);
        if let Some((rate, publication)) = self.host.flush_lane(number, head) {
            self.audience.publish(rate, publication, self.now);
        }
        self.take_due();
    }

    /// What a shard does at the end of a turn.
    pub(crate) fn turn(&mut self) {
        self.audience.perform(self.now);
        self.audience.flush(self.now);
        self.take_due();
        for (slot, client) in self.clients.iter_mut().enumerate() {
            while let Some(text) = client.next_frame() {
                client.check(&text);
            }
            let member = self.audience.get_mut(slot).expect("nobody leaves");
            client.delivered += member.outbox.take_delivered();
            assert_eq!(client.delivered, client.data, "delivered, and came whole");
        }
    }

    pub(crate) fn answer(&mut self) {
        if let Some((slot, question)) = self.questions.pop_front() {
            let answer = self.host.answer(&question);
            self.audience.answer(slot, answer, self.now);
            self.take_due();
        }
    }

    fn take_due(&mut self) {
        for (slot, due) in self.audience.take_due() {
            match due {
                Due::Ask(question) => self.questions.push_back((slot, question)),
                Due::Resume => {}
                Due::TooSlow | Due::Failed => panic!("{due:?}: nobody asked for that"),
            }
        }
    }

    /// A client reads up to `bytes` and checks each whole frame.
    pub(crate) fn read(&mut self, member: usize, bytes: usize) {
        self.clients[member].pipe.0.borrow_mut().takes = bytes;
        self.audience.writable(member);
        self.turn();
    }

    fn lose_publications(&mut self) {
        self.audience.lost(self.now);
        self.take_due();
    }

    /// Everything is answered and read.
    pub(crate) fn settle(&mut self) {
        for _ in 0..10_000 {
            (0..CHANNELS).for_each(|number| self.flush_lane(number));
            (0..MEMBERS).for_each(|member| self.read(member, usize::MAX));
            self.answer();
            let waits = |member: usize| {
                let member = self.audience.get(member).expect("nobody leaves");
                member.is_slow() || member.session.is_waiting()
            };
            if self.questions.is_empty() && !(0..MEMBERS).any(waits) {
                return self.clients.iter().for_each(Client::check_events);
            }
        }
        panic!("it does not come to rest");
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    Publish(u32),
    Subscribe(usize, u32, Rate),
    SubscribeAll(usize, Rate),
    Set(usize, u32, Rate),
    SetAll(usize, Rate),
    Unsubscribe(usize, u32),
    Answer,
    Turn,
    FlushLane(u32),
    Read(usize, usize),
    Beat(usize),
    LosePublications,
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    let rate = || prop_oneof![Just(Rate::Each), Just(SLOW_RATE)];
    prop_oneof![
        12 => (0..CHANNELS).prop_map(Step::Publish),
        3 => (0..MEMBERS, 0..CHANNELS, rate()).prop_map(|(m, c, r)| Step::Subscribe(m, c, r)),
        2 => (0..MEMBERS, rate()).prop_map(|(m, r)| Step::SubscribeAll(m, r)),
        2 => (0..MEMBERS, 0..CHANNELS, rate()).prop_map(|(m, c, r)| Step::Set(m, c, r)),
        1 => (0..MEMBERS, rate()).prop_map(|(m, r)| Step::SetAll(m, r)),
        1 => (0..MEMBERS, 0..CHANNELS).prop_map(|(m, c)| Step::Unsubscribe(m, c)),
        8 => Just(Step::Answer),
        4 => Just(Step::Turn),
        3 => (0..CHANNELS).prop_map(Step::FlushLane),
        9 => (0..MEMBERS, 0_usize..300).prop_map(|(m, bytes)| Step::Read(m, bytes)),
        2 => (0..MEMBERS).prop_map(Step::Beat),
        1 => Just(Step::LosePublications),
    ]
}

impl World {
    pub(crate) fn take(&mut self, step: Step) {
        match step {
            Step::Publish(number) => self.publish(number),
            Step::Subscribe(member, number, rate) => {
                let every = rate.every_ms();
                self.command(
                    member,
                    &format!(r#"{{"op":"subscribe","ch":"c/{number}","every_ms":{every}}}"#),
                );
            }
            Step::SubscribeAll(member, rate) => {
                let every = rate.every_ms();
                self.command(
                    member,
                    &format!(r#"{{"op":"subscribe","ch":"c/*","every_ms":{every}}}"#),
                );
            }
            Step::Set(member, number, rate) => {
                let every = rate.every_ms();
                self.command(
                    member,
                    &format!(r#"{{"op":"set","ch":"c/{number}","every_ms":{every}}}"#),
                );
            }
            Step::SetAll(member, rate) => {
                let every = rate.every_ms();
                self.command(member, &format!(r#"{{"op":"set","ch":"c/*","every_ms":{every}}}"#));
            }
            Step::Unsubscribe(member, number) => {
                self.command(member, &format!(r#"{{"op":"unsubscribe","ch":"c/{number}"}}"#));
            }
            Step::Answer => self.answer(),
            Step::Turn => self.turn(),
            Step::FlushLane(number) => self.flush_lane(number),
            Step::Read(member, bytes) => self.read(member, bytes),
            Step::Beat(member) => self.audience.beat(member, self.now),
            Step::LosePublications => self.lose_publications(),
        }
    }
}

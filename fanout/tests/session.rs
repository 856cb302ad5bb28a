//! A session against a model of its host: whatever order things come in, however little the client
//! reads at a time, it ends where the channel is, without a hole and with nothing twice.

use std::{
    cell::RefCell,
    collections::{BTreeMap, btree_map::Entry},
    io,
    rc::Rc,
    sync::Arc,
};

use bytes::Bytes;
use fanout::{
    ChannelId, Epoch, Publication, Seq,
    catch_up::{Answer, CaughtUp, Question, Verdict, check},
    channel::{Channel, Rate},
    encode::{Encode, text_frame},
    outbox::Outbox,
    protocol::Command,
    session::{Delivered, Join, Left, Next, Session},
    topics::{Follower, Topic, Topics},
};
use proptest::prelude::*;

const CHANNELS: u32 = 3;
const TAIL: Seq = 12;
const EPOCH: Epoch = Epoch(7);

/// A payload that says where it belongs: `update 2 5 6` is channel 2 from 5 to 6.
#[derive(Debug)]
struct Payload(String);

impl Encode for Payload {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0.as_bytes());
    }
}

/// The hub, as far as a session can tell: a head for each channel and a short tail.
#[derive(Default)]
struct Host {
    heads: BTreeMap<u32, Seq>,
}

impl Host {
    fn channel(number: u32) -> Channel {
        let name = ChannelId::new(format!("c/{number}"));
        // Each change of the last one tells of all the others before it.
        Channel { number, name, epoch: EPOCH, trails: number == CHANNELS - 1 }
    }

    fn publish(&mut self, number: u32) -> Arc<Publication> {
        let head = self.heads.entry(number).or_default();
        *head += 1;
        let head = *head;
        let body = Payload(format!("update {number} {} {head}{}", head - 1, self.others()));
        let channel = Self::channel(number);
        Arc::new(Publication::new(channel, head - 1, head, Box::new(body)))
    }

    /// How far all channels are, for a channel that tells of others: ` 0:5 1:7`.
    fn others(&self) -> String {
        self.heads.iter().map(|(number, head)| format!(" {number}:{head}")).collect()
    }

    fn answer(&self, question: &Question) -> Answer {
        match question {
            Question::Match { pattern } => {
                let all = self.heads.keys().map(|number| Self::channel(*number));
                Answer::Matched(all.filter(|channel| pattern.matches(&channel.name)).collect())
            }
            Question::CatchUp { channel, from, bytes_max, .. } => {
                let number = channel.as_str()[2..].parse().expect("channels are numbered");
                let Some(head) = self.heads.get(&number).copied() else {
                    return Answer::NotTracked;
                };
                let from = from.map(|from| check(from, EPOCH, head.saturating_sub(TAIL), head));
                Answer::CaughtUp(self.catch_up(number, head, from, *bytes_max))
            }
        }
    }

    /// Every update alone, so that nothing is hidden by merging.
    fn catch_up(
        &self,
        number: u32,
        head: Seq,
        from: Option<Result<Seq, fanout::catch_up::Gap>>,
        bytes_max: usize,
    ) -> CaughtUp {
        let channel = Self::channel(number);
        let text = |text: String| text_frame(|out| out.extend_from_slice(text.as_bytes()));
        let image = || vec![text(format!("image {number} {head}{}", self.others()))];
        let (verdict, frames, to) = match from {
            None => (Verdict::Fresh, image(), head),
            Some(Err(gap)) => (Verdict::Refused(gap), image(), head),
            Some(Ok(from)) => {
                let (mut frames, mut to, mut bytes): (Vec<Bytes>, _, _) = (Vec::new(), from, 0);
                while to < head && bytes < bytes_max {
                    let frame = text(format!("update {number} {to} {}{}", to + 1, self.others()));
                    bytes += frame.len();
                    frames.push(frame);
                    to += 1;
                }
                (Verdict::Resumed, frames, to)
            }
        };
        CaughtUp { channel, head, verdict, frames, to, lease: None }
    }
}

/// One connection of one shard, with what its client has read.
struct World {
    host: Host,
    session: Session,
    outbox: Outbox,
    topics: Topics,
    question: Option<Question>,
    unread: Rc<RefCell<Vec<u8>>>,
    /// What the client knows of each channel it follows.
    known: BTreeMap<u32, Seq>,
    /// From the beginning, and without an end.
    follows_all: bool,
}

impl World {
    fn new() -> Self {
        Self {
            host: Host::default(),
            session: Session::new(100),
            outbox: Outbox::new(120),
            topics: Topics::default(),
            question: None,
            unread: Rc::default(),
            known: BTreeMap::new(),
            follows_all: false,
        }
    }

    fn command(&mut self, text: &str) {
        if self.session.is_waiting() || self.outbox.is_over() {
            return;
        }
        let command = Command::parse(text).expect("a good command");
        let (all_left, next) = self.session.command(command, 1, &mut self.outbox);
        self.leave(all_left);
        if let Next::Ask(question) = next {
            self.question = Some(question);
        }
    }

    fn publish(&mut self, number: u32) {
        if let Entry::Vacant(unborn) = self.host.heads.entry(number) {
            unborn.insert(0);
            let body = Payload(format!("image {number} 0"));
            let image = Publication::new(Host::channel(number), 0, 0, Box::new(body));
            let join = self.session.opened(&image, &mut self.outbox);
            self.join(join);
        }
        let publication = self.host.publish(number);
        for follower in self.topics.followers(Topic { channel: number, rate: Rate::Each }).to_vec()
        {
            let key = follower.subscription as usize;
            let delivered = self.session.deliver(key, &publication, &mut self.outbox);
            if let Delivered::Behind(left) = delivered {
                self.leave(vec![left]);
            }
        }
    }

    fn answer(&mut self) {
        if let Some(question) = self.question.take() {
            let answer = self.host.answer(&question);
            let (join, all_left) = self.session.answer(answer, &mut self.outbox);
            self.leave(all_left);
            self.join(join);
        }
        self.question = self.session.forward(&self.outbox);
    }

    fn join(&mut self, join: Option<Join>) {
        if let Some(Join { key, topic }) = join {
            let subscription = u32::try_from(key).expect("few subscriptions");
            let place = self.topics.join(topic, Follower { slot: 0, subscription });
            self.session.placed(key, place);
        }
    }

    fn leave(&mut self, all_left: Vec<Left>) {
        for left in all_left {
            if let Some(moved) = self.topics.leave(left.topic, left.place) {
                self.session.placed(moved.subscription as usize, left.place);
            }
        }
    }

    /// The client reads up to `bytes` and checks each whole frame.
    fn read(&mut self, mut bytes: usize) {
        let unread = Rc::clone(&self.unread);
        let taken = self.outbox.write(usize::MAX, |slices| {
            let count = bytes.min(slices.iter().map(|slice| slice.len()).sum());
            bytes -= count;
            let all = slices.iter().flat_map(|slice| slice.iter().copied());
            unread.borrow_mut().extend(all.take(count));
            if count == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(count) }
        });
        taken.expect("a full socket is no error");
        while let Some(text) = self.next_frame() {
            self.check(&text);
        }
    }

    /// Frames of the test have fewer than 64 KiB.
    fn next_frame(&self) -> Option<String> {
        let mut unread = self.unread.borrow_mut();
        let (header, length) = match *unread.get(1)? {
            126 => (4, usize::from(u16::from_be_bytes([*unread.get(2)?, *unread.get(3)?]))),
            short => (2, usize::from(short)),
        };
        if unread.len() < header + length {
            return None;
        }
        let frame: Vec<u8> = unread.drain(..header + length).collect();
        Some(String::from_utf8(frame[header..].to_vec()).expect("a text frame"))
    }

    fn check(&mut self, text: &str) {
        let words: Vec<&str> = text.split(' ').collect();
        let number = |place: usize| words[place].parse::<Seq>().expect("a number");
        let channel = || u32::try_from(number(1)).expect("a small number");
        match words[0] {
            "image" => drop(self.known.insert(channel(), number(2))),
            "update" => {
                let known = self.known.get_mut(&channel()).expect("an update follows an image");
                assert!(number(2) <= *known, "a hole before {text}, at {known}");
                assert!(number(3) > *known, "{text} came again, at {known}");
                *known = number(3);
            }
            _ => assert!(text.starts_with('{'), "{text} is no frame of control"),
        }
        if self.follows_all && ["image 2", "update 2"].iter().any(|it| text.starts_with(it)) {
            self.check_others(text);
        }
    }

    /// What the last channel tells of has arrived before it.
    fn check_others(&self, text: &str) {
        for (other, head) in text.split(' ').filter_map(|word| word.split_once(':')) {
            let other = other.parse::<u32>().expect("a number");
            if other == CHANNELS - 1 {
                continue;
            }
            let head = head.parse::<Seq>().expect("a number");
            let known = self.known.get(&other).copied();
            assert!(known >= Some(head), "{text} came at {known:?} of {other}");
        }
    }

    /// Everything is answered and read.
    fn settle(&mut self) {
        for _ in 0..10_000 {
            self.read(usize::MAX);
            self.answer();
            if self.question.is_none() && self.outbox.is_empty() {
                return;
            }
        }
        panic!("it does not come to rest");
    }
}

#[derive(Debug, Clone)]
enum Step {
    Publish(u32),
    Subscribe(u32),
    SubscribeAll,
    Unsubscribe(u32),
    Answer,
    Read(usize),
    LosePublications,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..CHANNELS).prop_map(Step::Publish),
        2 => (0..CHANNELS).prop_map(Step::Subscribe),
        1 => Just(Step::SubscribeAll),
        1 => (0..CHANNELS).prop_map(Step::Unsubscribe),
        6 => Just(Step::Answer),
        4 => (0_usize..200).prop_map(Step::Read),
        1 => Just(Step::LosePublications),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    /// A channel that tells of others never gets ahead of them.
    #[test]
    fn what_tells_of_others_comes_after_them(steps in prop::collection::vec(step(), 1..150)) {
        let mut world = World::new();
        world.command(r#"{"op":"subscribe","ch":"c/*"}"#);
        world.follows_all = true;
        for step in steps {
            match step {
                Step::Publish(number) => world.publish(number),
                Step::Answer => world.answer(),
                Step::Read(bytes) => world.read(bytes),
                Step::LosePublications => {
                    let all_left = world.session.all_behind();
                    world.leave(all_left);
                }
                Step::Subscribe(_) | Step::SubscribeAll | Step::Unsubscribe(_) => {}
            }
        }
        world.settle();
        prop_assert_eq!(&world.known, &world.host.heads);
    }

    #[test]
    fn client_ends_where_the_channel_is(steps in prop::collection::vec(step(), 1..150)) {
        let mut world = World::new();
        for step in steps {
            match step {
                Step::Publish(number) => world.publish(number),
                Step::Subscribe(number) => {
                    world.command(&format!(r#"{{"op":"subscribe","ch":"c/{number}"}}"#));
                }
                Step::SubscribeAll => world.command(r#"{"op":"subscribe","ch":"c/*"}"#),
                Step::Unsubscribe(number) => {
                    world.command(&format!(r#"{{"op":"unsubscribe","ch":"c/{number}"}}"#));
                }
                Step::Answer => world.answer(),
                Step::Read(bytes) => world.read(bytes),
                Step::LosePublications => {
                    let all_left = world.session.all_behind();
                    world.leave(all_left);
                }
            }
        }
        world.settle();
        let followed = world.session.channels();
        prop_assert!(world.known.len() >= followed, "something that is followed never came");
        // What is followed is live: one more change of each channel arrives.
        let before = world.known.clone();
        for number in 0..CHANNELS {
            if world.host.heads.contains_key(&number) {
                world.publish(number);
            }
        }
        world.settle();
        let moved = world.known.iter().filter(|(number, seq)| before.get(number) != Some(seq));
        prop_assert_eq!(moved.count(), followed);
        for (number, seq) in &world.known {
            if before.get(number) != Some(seq) {
                prop_assert_eq!(*seq, world.host.heads[number]);
            }
        }
    }
}

//! A shard's audience against a model of its host: whatever order things come in, however little the
//! clients read at a time, each ends where its channels are, without a hole and with nothing twice.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, VecDeque, btree_map::Entry},
    io::{self, Write},
    rc::Rc,
    sync::Arc,
};

use bytes::Bytes;
use fanout::{
    ChannelId, Epoch, Publication, Seq,
    audience::{Audience, Due, Shares},
    catch_up::{Answer, CaughtUp, Forward, Gap, Lease, Question, Verdict, check},
    channel::{Channel, Rate},
    encode::{Encode, text_frame},
    outbox::Budget,
    protocol::Command,
    session::Session,
};
use proptest::prelude::*;

const CHANNELS: u32 = 3;
const MEMBERS: usize = 3;
const TAIL: Seq = 12;
const EPOCH: Epoch = Epoch(7);
const SLOW_RATE: Rate = Rate::Ms250;
const SHARES: Shares = Shares { budget: Budget { bytes: 160, age_us: 50 }, write_bytes: 90 };

/// Every fourth change of a channel is an event, and every eighth a suspension.
fn is_event(seq: Seq) -> bool {
    seq.is_multiple_of(4)
}

fn is_urgent(seq: Seq) -> bool {
    seq.is_multiple_of(8)
}

/// A payload that says where it belongs: `update 2 5 6` is channel 2 from 5 to 6.
#[derive(Debug)]
struct Payload(String);

impl Encode for Payload {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0.as_bytes());
    }
}

/// The hub, as far as an audience can tell: a head for each channel, a short tail, and one lane that
/// merges what stands between two events.
#[derive(Default)]
struct Host {
    heads: BTreeMap<u32, Seq>,
    /// Where the lane of a channel stands, once somebody has asked for it.
    lanes: BTreeMap<u32, Seq>,
    lease: Lease,
}

impl Host {
    fn channel(number: u32) -> Channel {
        let name = ChannelId::new(format!("c/{number}"));
        // Each change of the last one tells of all the others before it.
        Channel { number, name, epoch: EPOCH, trails: number == CHANNELS - 1 }
    }

    fn update(&self, number: u32, prev: Seq, seq: Seq) -> Arc<Publication> {
        let body = Payload(format!("update {number} {prev} {seq}{}", self.others()));
        let publication = Publication::new(Self::channel(number), prev, seq, Box::new(body));
        Arc::new(publication.urgent(is_urgent(seq)))
    }

    /// What a change of a channel publishes.
    fn publish(&mut self, number: u32) -> Vec<(Rate, Arc<Publication>)> {
        let head = self.heads.entry(number).or_default();
        *head += 1;
        let head = *head;
        let mut all = vec![(Rate::Each, self.update(number, head - 1, head))];
        if is_event(head) && self.lanes.contains_key(&number) {
            all.extend(self.flush_lane(number, head - 1));
            all.extend(self.flush_lane(number, head));
        }
        all
    }

    /// The lane brings its followers up to `to`.
    fn flush_lane(&mut self, number: u32, to: Seq) -> Option<(Rate, Arc<Publication>)> {
        let prev = *self.lanes.get(&number)?;
        (prev < to).then(|| {
            self.lanes.insert(number, to);
            (SLOW_RATE, self.update(number, prev, to))
        })
    }

    /// How far all channels are, for a channel that tells of others: ` 0:5 1:7`.
    fn others(&self) -> String {
        self.heads.iter().map(|(number, head)| format!(" {number}:{head}")).collect()
    }

    fn answer(&mut self, question: &Question) -> Answer {
        match question {
            Question::Match { pattern } => {
                let all = self.heads.keys().map(|number| Self::channel(*number));
                Answer::Matched(all.filter(|channel| pattern.matches(&channel.name)).collect())
            }
            Question::Begin { .. } => unreachable!("nobody speaks that dialect here"),
            Question::CatchUp { channel, rate, from, bytes_max, .. } => {
                let number = channel.as_str()[2..].parse().expect("channels are numbered");
                let Some(head) = self.heads.get(&number).copied() else {
                    return Answer::NotTracked;
                };
                if *rate == SLOW_RATE {
                    self.lanes.entry(number).or_insert(head);
                }
                let from = from.map(|from| check(from, EPOCH, head.saturating_sub(TAIL), head));
                Answer::CaughtUp(self.catch_up(number, head, from, *bytes_max))
            }
        }
    }

    /// Values are merged between two events.
    fn catch_up(
        &self,
        number: u32,
        head: Seq,
        from: Option<Result<Seq, Gap>>,
        bytes_max: usize,
    ) -> CaughtUp {
        let text = |text: String| text_frame(|out| out.extend_from_slice(text.as_bytes()));
        let image = || {
            let frame = text(format!("image {number} {head}{}", self.others()));
            vec![Forward { frame, to: head }]
        };
        let (verdict, frames, to) = match from {
            None => (Verdict::Fresh, image(), head),
            Some(Err(gap)) => (Verdict::Refused(gap), image(), head),
            Some(Ok(from)) => {
                let (mut frames, mut to, mut bytes) = (Vec::new(), from, 0);
                while to < head && bytes < bytes_max {
                    let prev = to;
                    to += 1;
                    while !is_event(to) && to < head && !is_event(to + 1) {
                        to += 1;
                    }
                    let frame = text(format!("update {number} {prev} {to}{}", self.others()));
                    bytes += frame.len();
                    frames.push(Forward { frame, to });
                }
                (Verdict::Resumed, frames, to)
            }
        };
        let (channel, lease) = (Self::channel(number), Some(self.lease.clone()));
        CaughtUp { channel, head, verdict, frames, to, lease }
    }
}

/// A socket that takes so many bytes, and the client at its other end.
#[derive(Debug, Default, Clone)]
struct Pipe(Rc<RefCell<Ends>>);

#[derive(Debug, Default)]
struct Ends {
    takes: usize,
    unread: Vec<u8>,
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Ends { takes, unread } = &mut *self.0.borrow_mut();
        let count = bytes.len().min(*takes);
        *takes -= count;
        unread.extend_from_slice(&bytes[..count]);
        if count == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(count) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What one client knows.
#[derive(Debug, Default)]
struct Client {
    pipe: Pipe,
    known: BTreeMap<u32, Seq>,
    /// Events that came, by channel.
    events: BTreeMap<u32, Vec<Seq>>,
    /// Where a channel's last image stood: events before it are not missed.
    images: BTreeMap<u32, Seq>,
    /// From the beginning, and without an end.
    follows_all: bool,
    /// Frames with data that came.
    data: u64,
    /// As many as the audience says that it delivered.
    delivered: u64,
}

impl Client {
    /// Frames of the test have fewer than 64 KiB.
    fn next_frame(&self) -> Option<String> {
        let unread = &mut self.pipe.0.borrow_mut().unread;
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
        self.data += u64::from(!text.starts_with('{') || text.contains("\"resync\""));
        match words[0] {
            "image" => {
                self.known.insert(channel(), number(2));
                self.images.insert(channel(), number(2));
                self.events.entry(channel()).or_default().retain(|event| *event <= number(2));
            }
            "update" => {
                let (prev, seq) = (number(2), number(3));
                let known = self.known.get_mut(&channel()).expect("an update follows an image");
                assert!(prev <= *known, "a hole before {text}, at {known}");
                assert!(seq > *known, "{text} came again, at {known}");
                assert!(
                    prev + 1 == seq || !(prev + 1..=seq).any(is_event),
                    "{text} merges across an event"
                );
                *known = seq;
                if is_event(seq) {
                    self.events.entry(channel()).or_default().push(seq);
                }
            }
            _ => self.check_beat(text),
        }
        if self.follows_all && ["image 2", "update 2"].iter().any(|it| text.starts_with(it)) {
            self.check_others(text);
        }
    }

    /// A beat says where the frames before it lead to, neither more nor less.
    fn check_beat(&self, text: &str) {
        let frame: serde_json::Value = serde_json::from_str(text).expect("a frame of control");
        for (name, head) in frame["heads"].as_object().into_iter().flatten() {
            let channel = name[2..].parse::<u32>().expect("channels are numbered");
            assert_eq!(head.as_u64(), self.known.get(&channel).copied(), "{text}");
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

    /// Every event since the last image has come, once and in order.
    fn check_events(&self) {
        for (channel, head) in &self.known {
            let since = self.images.get(channel).copied().unwrap_or(0);
            let expected: Vec<Seq> = (since + 1..=*head).filter(|seq| is_event(*seq)).collect();
            let came = self.events.get(channel).cloned().unwrap_or_default();
            let came: Vec<Seq> = came.into_iter().filter(|seq| *seq > since).collect();
            assert_eq!(came, expected, "events of {channel} from {since} to {head}");
        }
    }
}

/// One shard and its clients.
struct World {
    host: Host,
    audience: Audience<Pipe>,
    clients: Vec<Client>,
    questions: VecDeque<(usize, Question)>,
    now: i64,
}

impl World {
    fn new() -> Self {
        let mut audience = Audience::new(SHARES);
        let clients: Vec<Client> = (0..MEMBERS).map(|_| Client::default()).collect();
        for (slot, client) in clients.iter().enumerate() {
            assert_eq!(audience.admit(Session::new(100), client.pipe.clone()), slot);
        }
        Self { host: Host::default(), audience, clients, questions: VecDeque::new(), now: 1 }
    }

    fn session(&self, member: usize) -> &Session {
        &self.audience.get(member).expect("nobody leaves").session
    }

    fn command(&mut self, member: usize, text: &str) {
        self.turn();
        if self.session(member).is_waiting() {
            return;
        }
        let command = Command::parse(text).expect("a good command");
        self.audience.command(member, command, self.now);
        self.take_due();
    }

    fn publish(&mut self, number: u32) {
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
    fn turn(&mut self) {
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

    fn answer(&mut self) {
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
    fn read(&mut self, member: usize, bytes: usize) {
        self.clients[member].pipe.0.borrow_mut().takes = bytes;
        self.audience.writable(member);
        self.turn();
    }

    fn lose_publications(&mut self) {
        self.audience.lost(self.now);
        self.take_due();
    }

    /// Everything is answered and read.
    fn settle(&mut self) {
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
enum Step {
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

fn step() -> impl Strategy<Value = Step> {
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
    fn take(&mut self, step: Step) {
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    /// A channel that tells of others never gets ahead of them.
    #[test]
    fn what_tells_of_others_comes_after_them(steps in prop::collection::vec(step(), 1..150)) {
        let mut world = World::new();
        for member in 0..MEMBERS {
            world.command(member, r#"{"op":"subscribe","ch":"c/*"}"#);
            world.clients[member].follows_all = true;
        }
        for step in steps {
            if matches!(
                step,
                Step::Publish(_) | Step::Answer | Step::Turn | Step::Read(..) | Step::LosePublications
            ) {
                world.take(step);
            }
        }
        world.settle();
        for client in &world.clients {
            prop_assert_eq!(&client.known, &world.host.heads);
        }
    }

    #[test]
    fn client_ends_where_the_channel_is(steps in prop::collection::vec(step(), 1..200)) {
        let mut world = World::new();
        for step in steps {
            world.take(step);
        }
        world.settle();
        let before: Vec<_> = world.clients.iter().map(|client| client.known.clone()).collect();
        for (member, known) in before.iter().enumerate() {
            let followed = world.session(member).channels();
            prop_assert!(known.len() >= followed, "something that is followed never came");
        }
        // What is followed is live: one more change of each channel arrives.
        for number in 0..CHANNELS {
            if world.host.heads.contains_key(&number) {
                world.publish(number);
            }
        }
        world.settle();
        for (member, before) in before.iter().enumerate() {
            let known = &world.clients[member].known;
            let moved: BTreeSet<&u32> = known
                .iter()
                .filter(|(number, seq)| before.get(number) != Some(seq))
                .map(|(number, _)| number)
                .collect();
            prop_assert_eq!(moved.len(), world.session(member).channels());
            for number in moved {
                prop_assert_eq!(known[number], world.host.heads[number]);
            }
        }
    }
}

/// A client that reads nothing has values of two channels waiting; then one is suspended.
#[test]
fn suspension_overtakes_what_waits() {
    let mut world = World::new();
    (0..2).for_each(|number| world.publish(number));
    for number in 0..2 {
        world.command(0, &format!(r#"{{"op":"subscribe","ch":"c/{number}"}}"#));
        world.answer();
    }
    world.read(0, usize::MAX);
    world.clients[0].pipe.0.borrow_mut().takes = 5;
    // 2 to 4 of both wait, the first of them begun; of channel 0 the eighth suspends.
    for _ in 0..3 {
        (0..2).for_each(|number| world.publish(number));
        world.turn();
    }
    while world.host.heads[&0] < 8 {
        world.publish(0);
        world.turn();
    }
    (0..4).for_each(|_| world.answer());
    let mut order = Vec::new();
    for _ in 0..2000 {
        let before = world.clients[0].known.clone();
        world.read(0, 1);
        let known = &world.clients[0].known;
        order.extend(
            known
                .iter()
                .filter(|(of, seq)| before.get(of) != Some(seq))
                .map(|(of, seq)| (*of, *seq)),
        );
    }
    let suspended = order.iter().position(|it| *it == (0, 8)).expect("it came");
    let other = order.iter().position(|it| it.0 == 1).expect("it came");
    assert!(suspended < other, "the suspension waited: {order:?}");
    world.settle();
    assert_eq!(world.clients[0].known, world.host.heads);
}

/// Whoever keeps up gets one write for all that a turn brought it.
#[test]
fn turn_is_one_write() {
    #[derive(Default)]
    struct Counted {
        writes: usize,
        bytes: Bytes,
    }
    impl Write for Counted {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.writes += 1;
            self.bytes = Bytes::copy_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut audience = Audience::new(Shares { write_bytes: 1000, ..SHARES });
    for number in 0..2 {
        let (session, join) = Session::bare(Host::channel(number));
        let slot = audience.admit(session, Counted::default());
        audience.join(slot, Some(join));
    }
    let host = Host::default();
    for (number, seq) in [(0, 1), (1, 1), (0, 2), (0, 3)] {
        audience.publish(Rate::Each, host.update(number, seq - 1, seq), 1);
        if seq == 1 {
            // Whoever is new gets its first publication alone.
            audience.perform(1);
            audience.flush(1);
        }
    }
    audience.perform(1);
    let counted = |slot: usize| &audience.get(slot).expect("it is there").sink;
    assert_eq!((counted(0).writes, counted(1).writes), (2, 1));
    let both = [host.update(0, 1, 2).frame().clone(), host.update(0, 2, 3).frame().clone()];
    assert_eq!(counted(0).bytes, both.concat());
}

use std::collections::BTreeSet;

use bytes::Bytes;
use fanout::{
    ChannelId, Epoch,
    channel::{Channel, ChannelInfo},
    encode::payload,
};
use proptest::{prelude::*, sample::select};
use serde_json::{Value, json};

use super::*;
use crate::{
    document::{
        Node, Object,
        tests::{apply, tree},
    },
    hub::sequence::{Sequence, Stamp, TailWindow},
};

#[derive(Debug, Clone)]
enum Step {
    Change { patch: Object, kind: Kind },
    Pass { ms: Micros },
    Join { rate: Rate },
    Leave { index: usize },
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Values,
    Event,
    Urgent,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let kind =
        prop_oneof![6 => Just(Kind::Values), 1 => Just(Kind::Event), 1 => Just(Kind::Urgent)];
    let step = prop_oneof![
        8 => (tree(), kind).prop_map(|(patch, kind)| Step::Change { patch, kind }),
        4 => (0..400_i64).prop_map(|ms| Step::Pass { ms }),
        1 => (0..12_000_i64).prop_map(|ms| Step::Pass { ms }),
        2 => select(&Rate::ALL[1..]).prop_map(|rate| Step::Join { rate }),
        1 => (0..8_usize).prop_map(|index| Step::Leave { index }),
    ];
    prop::collection::vec(step, 1..80)
}

/// A channel with readers at many rates, and all that was ever sent to them.
struct Stage {
    now: Micros,
    sequence: Sequence,
    tiers: RateTiers,
    timers: TierTimers,
    /// As one holds it who takes each change.
    data: Value,
    each: Vec<NumberedUpdate>,
    readers: Vec<Reader>,
    /// The last frame of each rate since its tier was opened: where it led to, and when it came.
    last: Vec<(Rate, Seq, Option<Micros>)>,
}

struct Reader {
    rate: Rate,
    _lease: Lease,
    seq: Seq,
    data: Value,
    eids: Vec<Value>,
    joined: Seq,
}

const WINDOW: TailWindow = TailWindow { bytes: usize::MAX, age_us: Micros::MAX };
const SUBJECT: Subject = Subject::Feeds;

fn interval(rate: Rate) -> Micros {
    Micros::from(rate.every_ms()) * 1_000
}

fn parse(frame: &Bytes) -> Value {
    serde_json::from_slice(&payload(frame)).expect("a frame is JSON")
}

fn patch_by(data: &mut Value, frame: &Value) {
    if let Some(patch) = frame.get("patch") {
        apply(data, patch);
    }
}

fn events(frame: &Value) -> impl Iterator<Item = Value> + use<> {
    let events = frame["events"].as_array().cloned().unwrap_or_default();
    events.into_iter().map(|event| event["eid"].clone())
}

impl Stage {
    fn new() -> Self {
        let name = ChannelId::new("football/1");
        let channel = Channel::from(ChannelInfo {
            number: 1,
            name,
            epoch: Epoch(7),
            deliver_last: false,
            needs: fanout::Classes::NONE,
        });
        Self {
            now: 1_000_000,
            sequence: Sequence::new(channel),
            tiers: RateTiers::default(),
            timers: TierTimers::default(),
            data: json!({}),
            each: Vec::new(),
            readers: Vec::new(),
            last: Vec::new(),
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Change { patch, kind } => self.change(patch, kind),
            Step::Pass { ms } => self.pass(ms * 1_000),
            Step::Join { rate } => self.join(rate),
            Step::Leave { index } => {
                if !self.readers.is_empty() {
                    self.readers.swap_remove(index % self.readers.len());
                }
            }
        }
        self.nothing_waits_too_long();
    }

    fn change(&mut self, patch: Object, kind: Kind) {
        let mut events = Vec::new();
        let (channel, prev) = (self.sequence.channel.clone(), self.sequence.head());
        if kind == Kind::Event {
            let mut event = Object::default();
            event.set("eid", prev + 1);
            events.push(Node::Object(event));
        }
        if patch.is_empty() && events.is_empty() {
            return;
        }
        let stamp = Stamp { source: None, received: self.now, published: self.now };
        let update = self.sequence.push(stamp, patch.into(), events, WINDOW);
        let name = channel.name.clone();
        let body = stream::UpdateFrame { channel: name, prev, update: Arc::clone(&update) };
        let publication = Publication::new(channel, prev, update.seq, Box::new(body));
        let publication = Arc::new(publication.urgent(kind == Kind::Urgent));
        let change = NumberedUpdate { update, publication };
        patch_by(&mut self.data, &parse(change.publication.frame()));
        self.each.push(change.clone());

        let mut changes = Vec::new();
        let before = self.last.clone();
        self.tiers.take(SUBJECT, &change, &mut self.timers, &mut changes);
        let followed: BTreeSet<Rate> = self.readers.iter().map(|reader| reader.rate).collect();
        assert_eq!(self.tiers.len(), followed.len(), "tiers are those with followers");
        self.last.retain(|(rate, ..)| followed.contains(rate));
        let sent = self.send(&changes, Some(kind));
        for (rate, seq, at) in before.into_iter().filter(|(rate, ..)| followed.contains(rate)) {
            let at_once = kind != Kind::Values
                || seq == prev && at.is_none_or(|at| self.now - at >= interval(rate));
            let came = sent.iter().any(|(other, p)| *other == rate && p.seq == change.update.seq);
            assert!(!at_once || came, "{rate:?}: {} waits without need", change.update.seq);
        }
    }

    /// As the writer does: tiers are looked at when they are due.
    fn pass(&mut self, span: Micros) {
        let end = self.now + span;
        while let Some(due) = self.timers.next().filter(|due| *due <= end) {
            self.now = self.now.max(due);
            self.flush();
        }
        self.now = end;
        self.flush();
    }

    fn flush(&mut self) {
        let mut changes = Vec::new();
        while let Some(timer) = self.timers.pop(self.now) {
            self.tiers.fire(timer, self.now, self.now, &mut self.timers, &mut changes);
        }
        self.send(&changes, None);
    }

    fn join(&mut self, rate: Rate) {
        let lease = self.tiers.lease(rate).expect("a rate other than each has a tier");
        let head = self.sequence.head();
        if self.last.iter().all(|(other, ..)| *other != rate) {
            self.last.push((rate, head, None));
        }
        let data = self.data.clone();
        let eids = Vec::new();
        self.readers.push(Reader { rate, _lease: lease, seq: head, data, eids, joined: head });
    }

    /// Hands frames to the readers; `kind` is that of the change that set them free, if one did.
    fn send(&mut self, changes: &[Change], kind: Option<Kind>) -> Vec<(Rate, Arc<Publication>)> {
        let mut sent = Vec::new();
        for change in changes {
            let Change::Published(rate, publication) = change else { panic!("{change:?}") };
            let frame = parse(publication.frame());
            self.frame_is_right(publication, &frame);
            self.lane_is_right(*rate, publication, kind);
            for reader in self.readers.iter_mut().filter(|reader| reader.rate == *rate) {
                reader.take(&frame);
            }
            sent.push((*rate, Arc::clone(publication)));
        }
        sent
    }

    /// What stands for several changes says so, holds no event, and is the last one's; what stands
    /// for one is the very publication of those who take each.
    fn frame_is_right(&self, publication: &Arc<Publication>, frame: &Value) {
        let (prev, seq) = (publication.prev, publication.seq);
        assert_eq!((&frame["prev"], &frame["seq"]), (&json!(prev), &json!(seq)));
        let last = &self.each[seq as usize - 1];
        if seq - prev == 1 {
            assert!(Arc::ptr_eq(publication, &last.publication), "{seq} is encoded again");
            assert_eq!((frame.get("n"), frame.get("why")), (None, None));
        } else {
            assert_eq!((&frame["n"], &frame["why"]), (&json!(seq - prev), &json!("rate")));
            assert_eq!(frame["at"]["pub"], last.update.stamp.published);
            let merged = &self.each[prev as usize..seq as usize];
            let alone = |it: &NumberedUpdate| !it.update.events.is_empty() || it.publication.urgent;
            assert!(!merged.iter().any(alone), "{prev} to {seq} holds what stands alone");
        }
    }

    /// Frames of a tier follow each other without a hole, and those of values not sooner than the
    /// interval, unless what came next could not be merged with them.
    fn lane_is_right(&mut self, rate: Rate, publication: &Publication, kind: Option<Kind>) {
        let entry =
            self.last.iter_mut().find(|(other, ..)| *other == rate).expect("it is followed");
        let (_, last_seq, last_at) = *entry;
        assert_eq!(publication.prev, last_seq, "{rate:?}: a hole");
        *entry = (rate, publication.seq, Some(self.now));
        let soon = last_at.is_some_and(|at| self.now - at < interval(rate));
        let last = &self.each[publication.seq as usize - 1];
        if !soon || !last.update.events.is_empty() || last.publication.urgent {
            return;
        }
        match kind {
            None => panic!("{rate:?}: {} comes too soon by itself", publication.seq),
            Some(Kind::Event | Kind::Urgent) => {}
            Some(Kind::Values) => {
                assert_eq!(publication.seq + 1, self.sequence.head());
                let run = &self.each[publication.prev as usize..];
                let mut merged = Patch::from(Object::default());
                let composes = run.iter().all(|it| merged.merge(&it.update.patch).is_ok());
                assert!(!composes, "{rate:?}: {} comes too soon", publication.seq);
            }
        }
    }

    fn nothing_waits_too_long(&self) {
        for (rate, seq, _) in &self.last {
            let oldest = self.each.get(*seq as usize);
            let since = oldest.map_or(self.now, |it| it.update.stamp.published);
            let followed = self.readers.iter().any(|reader| reader.rate == *rate);
            assert!(!followed || self.now - since <= interval(*rate), "{rate:?}: {seq} waits");
        }
    }

    fn check_same_end_state(&mut self) {
        self.pass(interval(Rate::Ms5000));
        for Reader { rate, seq, data, eids, joined, .. } in &self.readers {
            assert_eq!(*seq, self.sequence.head(), "{rate:?}");
            assert_eq!(*data, self.data, "{rate:?}");
            let each = self.each[*joined as usize..].iter();
            let all: Vec<Value> =
                each.flat_map(|it| events(&parse(it.publication.frame()))).collect();
            assert_eq!(*eids, all, "{rate:?}");
        }
    }
}

impl Reader {
    fn take(&mut self, frame: &Value) {
        let number = |field: &str| frame[field].as_u64().expect("it is numbered");
        if number("seq") <= self.seq {
            // It joined behind what the tier held then.
            return assert_eq!(frame.get("events"), None, "an event waited in a tier");
        }
        assert!(number("prev") <= self.seq, "a hole");
        self.seq = number("seq");
        patch_by(&mut self.data, frame);
        self.eids.extend(events(frame));
    }
}

proptest! {
    /// Whatever changes and however time passes, readers at all rates end as those do who take each
    /// change, and every frame comes when it should.
    #[test]
    fn every_rate_ends_in_the_same_state(steps in steps()) {
        let mut stage = Stage::new();
        steps.into_iter().for_each(|step| stage.step(step));
        stage.check_same_end_state();
    }
}

#[test]
fn tier_is_open_while_a_lease_is_held() {
    let mut tiers = RateTiers::default();
    assert!(tiers.lease(Rate::Each).is_none());
    let (one, other) = (tiers.lease(Rate::Ms250), tiers.lease(Rate::Ms250));
    assert_eq!(tiers.len(), 1);
    drop(one);
    tiers.close_unfollowed();
    assert_eq!(tiers.len(), 1);
    drop(other);
    tiers.close_unfollowed();
    assert!(tiers.is_empty());
}

//! A hub with a reader of every channel that checks each frame on arrival.

use std::{
    collections::{BTreeMap, HashSet},
    sync::LazyLock,
};

use bytes::Bytes;
use facts::event::Batch;
use fanout::{
    Change, Epoch, Micros, Pattern, Position, Publication,
    catch_up::{CatchUp, Gap, HostRequest, HostResponse, Verdict},
    channel::Rate,
};
use hub::{
    ApplyError, Epochs, Hub, HubInput, HubSettings,
    feeds::{FeedState, Health, SourceNumber, SourcePolicy},
    identity::NumberedOrder,
    sequence::TailWindow,
    turn::{self, Turn},
};
use log::record::Record;
use schema::Checker;
use serde_json::Value;

use crate::json::{difference, merge, parse};

/// The published schema, to which every frame must conform.
static CHECKER: LazyLock<Checker> = LazyLock::new(Checker::with_digests);

pub(crate) struct Bench {
    pub(crate) hub: Hub,
    pub(crate) source: SourceNumber,
    /// The time of receipt; advances a little with every batch.
    pub(crate) now: Micros,
    pub(crate) readers: BTreeMap<String, Reader>,
    /// The epochs that channels of a name have had.
    epochs: BTreeMap<String, Vec<String>>,
    /// What the hub was told and what it published.
    log: Vec<Record>,
    /// One of so many updates is checked against it, and every image.
    checked_every: usize,
    updates: usize,
}

/// One channel, as a reader holds it who follows it from its first change.
pub(crate) struct Reader {
    pub(crate) epoch: String,
    pub(crate) data: Value,
    base: Value,
    /// The frame of each change, in order: the first has the number 1.
    pub(crate) frames: Vec<Bytes>,
    eids: HashSet<String>,
}

pub(crate) const SETTINGS: HubSettings = HubSettings {
    window: TailWindow { bytes: usize::MAX, age_us: Micros::MAX },
    matches_max: 10_000,
    matches_max_per_source: usize::MAX,
    ended_keep_us: 1 << 60,
    stale_after_ms: 15_000,
    hold_us: 10_000_000,
};

fn hub(settings: HubSettings) -> Hub {
    let epochs = Epochs { matches: Epoch(7), feeds: Epoch(8) };
    Hub::new(settings, epochs, hub::identity::Identity::default())
}

/// Some moment, in UTC microseconds.
pub(crate) const START: Micros = 1_788_220_800_000_000;

impl Bench {
    pub(crate) fn new(settings: HubSettings) -> Self {
        let mut hub = hub(settings);
        let source = hub.source("test".into(), "simulator", SourcePolicy::default());
        let (readers, epochs) = (BTreeMap::new(), BTreeMap::new());
        let (log, checked_every, updates) = (Vec::new(), 1, 0);
        Self { hub, source, now: START, readers, epochs, log, checked_every, updates }
    }

    /// For days of frames that differ in values alone: [`rendered`](crate::rendered) checks each of such a day.
    pub(crate) fn with_long_days() -> Self {
        Self { checked_every: 32, ..Self::new(SETTINGS) }
    }

    /// Applies an input, in a turn of its own, and reads what it changed.
    fn take(&mut self, input: HubInput) -> (Vec<Change>, Vec<ApplyError>) {
        let mut changes = Vec::new();
        let errors = self.hub.take(&input, &mut changes);
        changes.iter().for_each(|change| self.read(change));
        let turn = Turn { at: self.now, inputs: vec![input], changes };
        self.log.push(turn.record(self.log.len() as u64 + 1));
        (turn.changes, errors)
    }

    /// Registers another source.
    pub(crate) fn source(
        &mut self,
        name: &str,
        kind: &'static str,
        policy: SourcePolicy,
    ) -> SourceNumber {
        self.take(HubInput::Source { name: name.into(), kind, policy });
        self.hub.source_number(name, kind).expect("it was registered above")
    }

    /// Another hub, which gets the inputs from the log of this one, must publish the same.
    pub(crate) fn check_log(&self) {
        let mut hub = hub(self.hub.settings());
        hub.source("test".into(), "simulator", SourcePolicy::default());
        for record in &self.log {
            let mut changes = Vec::new();
            for input in turn::inputs(record).expect("inputs can be read as they were written") {
                hub.take(&input, &mut changes);
            }
            let outputs = turn::outputs(&changes);
            for (ours, logged) in outputs.iter().zip(&record.outputs) {
                assert_eq!(ours, logged, "record {}", record.number);
            }
            assert_eq!(outputs.len(), record.outputs.len(), "record {}", record.number);
        }
    }

    /// Applies a batch; returns its publications and the facts that could not be applied.
    pub(crate) fn apply(&mut self, batch: &Batch) -> (Vec<Change>, Vec<ApplyError>) {
        self.apply_from(self.source, batch)
    }

    pub(crate) fn apply_from(
        &mut self,
        source: SourceNumber,
        batch: &Batch,
    ) -> (Vec<Change>, Vec<ApplyError>) {
        self.now += 1_000;
        let (batch, now) = (batch.clone(), self.now);
        self.take(HubInput::Batch { source, batch, received: now - 100, now })
    }

    /// Does what is due at this time, and ends the source if it has ended.
    pub(crate) fn tick(&mut self, ended: bool) {
        self.now += 1_000_000;
        let (source, now) = (self.source, self.now);
        self.take(match ended {
            true => HubInput::Ended { source, now },
            false => HubInput::Tick { now },
        });
    }

    /// A source reports its state.
    pub(crate) fn health(&mut self, source: SourceNumber, feed: FeedState) -> Vec<Change> {
        self.health_of(source, Health { feed, why: None })
    }

    /// A source reports its state and the reason.
    pub(crate) fn health_of(&mut self, source: SourceNumber, health: Health) -> Vec<Change> {
        self.now += 1_000;
        let now = self.now;
        self.take(HubInput::Health { source, health, now }).0
    }

    /// The operator gives an order about matches.
    pub(crate) fn order(&mut self, order: &NumberedOrder) {
        self.take(HubInput::Order { order: order.clone(), now: self.now });
    }

    /// A source restarts.
    pub(crate) fn restart(&mut self, source: SourceNumber) {
        self.take(HubInput::Restarted { source, now: self.now });
    }

    /// A source is alive and has nothing to report.
    pub(crate) fn sign_of_life(&mut self, source: SourceNumber) {
        self.take(HubInput::Alive { source, received: self.now, now: self.now });
    }

    /// This much time passes in silence.
    pub(crate) fn silence(&mut self, us: Micros) {
        self.now += us;
        self.take(HubInput::CheckFeeds { now: self.now });
    }

    /// The clock jumps forward by this much.
    pub(crate) fn jump(&mut self, us: Micros) {
        self.now += us;
        self.take(HubInput::ClockJumped { by: us, now: self.now });
    }

    /// The document of a channel.
    pub(crate) fn data(&self, channel: &str) -> &Value {
        &self.readers[channel].data
    }

    fn read(&mut self, change: &Change) {
        match change {
            Change::Opened(image) => {
                let name = image.channel.name.to_string();
                let image = parse(image.frame());
                self.check(&image);
                let reader = Reader::new(&image);
                let epochs_seen = self.epochs.entry(name.clone()).or_default();
                assert!(
                    !epochs_seen.contains(&reader.epoch),
                    "{name}: another run under an old epoch"
                );
                epochs_seen.push(reader.epoch.clone());
                let before = self.readers.insert(name.clone(), reader);
                assert!(before.is_none(), "{name} was opened twice");
            }
            Change::Published(Rate::Each, publication) => {
                let name = publication.channel.name.as_str();
                let reader = self.readers.get_mut(name).expect("it was opened");
                let frame = reader.take(publication);
                self.updates += 1;
                if self.updates.is_multiple_of(self.checked_every) {
                    self.check(&frame);
                }
            }
            // Not for this reader: `rate_tiers` has those.
            Change::Published(..) => {}
            Change::Closed(channel) => {
                let reader = self.readers.remove(channel.name.as_str());
                assert!(reader.is_some(), "{} was not open", channel.name);
            }
        }
    }

    fn check(&self, frame: &Value) {
        CHECKER.check_frame(frame).unwrap_or_else(|wrong| panic!("{wrong}"));
    }

    fn ask(&mut self, channel: &str, from: Option<Position>, bytes_max: usize) -> CatchUp {
        let channel = Pattern::parse(channel).expect("a channel's name is well formed");
        let question = HostRequest::CatchUp {
            channel,
            rate: Rate::Each,
            from,
            why: "resume",
            bytes_max,
            with_hash: false,
        };
        match self.hub.answer(&question) {
            HostResponse::CatchUp(caught_up) => caught_up,
            other => panic!("no answer: {other:?}"),
        }
    }

    /// The positions of all channels now.
    pub(crate) fn heads(&self) -> Vec<(String, usize)> {
        self.readers.iter().map(|(name, reader)| (name.clone(), reader.frames.len())).collect()
    }

    /// Resumes every channel from several positions spread over its life, including the last ones.
    pub(crate) fn check_some_resumes(&mut self, bytes_max: usize) {
        for (name, head) in self.heads() {
            let mut froms = [0, head / 3, head / 2, head - head / 5, head.saturating_sub(1), head];
            froms.sort_unstable();
            for from in froms {
                assert!(self.check_resume(&name, from, bytes_max), "{name} from {from}");
            }
        }
    }

    /// Every image equals what a reader holds who follows from the first change, and there are no
    /// other images.
    pub(crate) fn check_images(&mut self) {
        let mut named = Vec::new();
        for pattern in ["*", "*/*", "*/*/odds", "*/*/odds/*"] {
            let pattern = Pattern::parse(pattern).expect("it is well formed");
            let HostResponse::Channels(channels) =
                self.hub.answer(&HostRequest::MatchChannels { pattern, has: Vec::new() })
            else {
                panic!("a pattern is answered with channels");
            };
            named.extend(channels.into_iter().map(|channel| channel.name.to_string()));
        }
        named.sort();
        assert!(self.readers.keys().eq(named.iter()), "channels are {named:?}");
        for name in named {
            self.check_image(&name);
        }
    }

    fn check_image(&mut self, name: &str) {
        let caught_up = self.ask(name, None, usize::MAX);
        assert_eq!(caught_up.verdict, Verdict::Fresh);
        let image = parse(&caught_up.frames[0].frame);
        self.check(&image);
        let reader = &self.readers[name];
        assert_eq!(image["seq"], reader.frames.len(), "{name}");
        assert_eq!(image["epoch"], *reader.epoch, "{name}");
        let difference = difference(&reader.data, &image["data"]);
        assert_eq!(difference, None, "{name}: reader and image at {}", image["seq"]);
    }

    /// A reader at `from` that resumes holds the image, and gets every event since, once and in
    /// order. Returns `false` if the position is outside the window.
    pub(crate) fn check_resume(&mut self, name: &str, from: usize, bytes_max: usize) -> bool {
        let reader = &self.readers[name];
        let (mut data, epoch) = (reader.at(from), Epoch::parse(&reader.epoch));
        let expected = reader.events_after(from);
        let head = reader.frames.len() as u64;
        let (mut seq, mut events) = (from as u64, Vec::new());
        loop {
            let answer = self.ask(name, Some(Position { epoch, seq }), bytes_max);
            assert_eq!(answer.head, head, "{name}");
            if answer.verdict == Verdict::Refused(Gap::Window) {
                assert_eq!(seq, from as u64, "{name}: the window moved while nothing changed");
                return false;
            }
            assert_eq!(answer.verdict, Verdict::Resumed, "{name} from {seq}");
            let frames: Vec<Value> =
                answer.frames.iter().map(|forward| parse(&forward.frame)).collect();
            for frame in &frames {
                seq = check_frame(name, frame, seq);
                merge(&mut data, &frame["patch"]);
                events.extend(frame["events"].as_array().into_iter().flatten().cloned());
            }
            assert_eq!(answer.to, seq, "{name}");
            if seq == head {
                break;
            }
            let bytes: usize = answer.frames.iter().map(|forward| forward.frame.len()).sum();
            assert!(bytes >= bytes_max, "{name}: cut short at {bytes} bytes of {bytes_max}");
        }
        let reader = &self.readers[name];
        assert_eq!(difference(&data, &reader.data), None, "{name} from {from}");
        assert_eq!(events, expected, "{name} from {from}");
        true
    }
}

/// A frame that catches up a resuming reader; returns the position that it leads to.
fn check_frame(name: &str, frame: &Value, at: u64) -> u64 {
    let number = |field: &str| frame[field].as_u64().expect("it is numbered");
    let (prev, seq) = (number("prev"), number("seq"));
    assert_eq!((&frame["type"], &frame["ch"]), (&"update".into(), &name.into()));
    assert_eq!(prev, at, "{name}: a hole");
    if seq == prev + 1 {
        assert_eq!((&frame["n"], &frame["why"]), (&Value::Null, &Value::Null), "{name} {seq}");
    } else {
        assert_eq!(
            (&frame["n"], &frame["why"]),
            (&(seq - prev).into(), &"resume".into()),
            "{name}"
        );
        assert_eq!(frame["events"], Value::Null, "{name}: merged across an event");
    }
    seq
}

impl Reader {
    fn new(image: &Value) -> Self {
        assert_eq!((&image["type"], &image["seq"]), (&"image".into(), &0.into()));
        Self {
            epoch: image["epoch"].as_str().expect("an image has an epoch").to_owned(),
            data: image["data"].clone(),
            base: image["data"].clone(),
            frames: Vec::new(),
            eids: HashSet::new(),
        }
    }

    /// Applies an update, and returns its frame.
    fn take(&mut self, publication: &Publication) -> Value {
        let name = &publication.channel.name;
        let frame = parse(publication.frame());
        let head = self.frames.len() as u64;
        assert_eq!((publication.prev, publication.seq), (head, head + 1), "{name}");
        assert_eq!(publication.channel.epoch.to_string(), self.epoch, "{name}");
        check_frame(name.as_str(), &frame, head);
        assert!(frame.get("patch").is_some() || frame.get("events").is_some(), "{name}: nothing");
        merge(&mut self.data, &frame["patch"]);
        for event in frame["events"].as_array().into_iter().flatten() {
            let eid = event["eid"].as_str().expect("an event has an eid");
            assert!(self.eids.insert(eid.to_owned()), "{name}: an event came twice: {event}");
        }
        self.frames.push(publication.frame().clone());
        frame
    }

    /// The document at a sequence.
    fn at(&self, seq: usize) -> Value {
        if seq == self.frames.len() {
            return self.data.clone();
        }
        let mut data = self.base.clone();
        self.frames[..seq].iter().for_each(|frame| merge(&mut data, &parse(frame)["patch"]));
        data
    }

    pub(crate) fn events_after(&self, seq: usize) -> Vec<Value> {
        let frames = self.frames[seq..].iter().map(parse);
        let events = |frame: Value| frame["events"].as_array().cloned().unwrap_or_default();
        frames.flat_map(events).collect()
    }

    pub(crate) fn events(&self) -> Vec<Value> {
        self.events_after(0)
    }
}

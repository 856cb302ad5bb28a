//! A channel's sequence: its epoch, its head, and the bounded tail to resume from.
//!
//! Treats updates as values with a weight and a timestamp. Does not know their meaning.

use std::{collections::VecDeque, sync::Arc};

use borsh::{BorshDeserialize, BorshSerialize};
use bytes::Bytes;
use fanout::{
    ChannelId, Epoch, Micros, Publication, Seq,
    channel::{Channel, ChannelInfo},
    encode::payload,
};

use super::blocks::{BLOCK, Block, Blocks};
use crate::{
    dialect::stream::FramedUpdate,
    document::{Node, NotOurs},
    patch::Patch,
};

/// One change of one channel, as stored in the tail.
#[derive(Debug)]
pub struct Update {
    pub seq: Seq,
    pub stamp: Stamp,
    pub patch: Patch,
    /// Events, in order. They are never merged.
    pub events: Vec<Node>,
}

/// The three timestamps of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Stamp {
    /// When it happened by the source's clock, if the source reports it.
    pub source: Option<Micros>,
    /// When the hub received it.
    pub received: Micros,
    /// When it was published.
    pub published: Micros,
}

/// How much of the past a channel keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct TailWindow {
    /// Bytes of memory of a channel's tail.
    pub bytes: usize,
    /// Age of the oldest stored update, in microseconds.
    pub age_us: Micros,
}

#[derive(Debug)]
pub struct Sequence {
    pub channel: Channel,
    head: Seq,
    /// Oldest first: frames, then the values of the last seconds.
    tail: VecDeque<TailEntry>,
    /// The number of entries at the front whose values were replaced by frames.
    packed: usize,
    /// Ticks since a reader needed the value of a frame. `None`: no frame has its value.
    unread_ticks: Option<u8>,
    bytes: usize,
    blocks: Blocks,
}

/// How long the tail keeps an update as a value, in microseconds. Most readers that fall behind catch up sooner, so that
/// few frames are read again.
const VALUES_AGE_US: Micros = 10_000_000;

/// Ticks after which values that were read from frames are dropped, if no reader has needed one meanwhile.
const UNREAD_TICKS_MAX: u8 = 10;

/// Values that a new update replaces by frames at most. More than one, so that a burst leaves no values behind.
const PACKED_PER_PUSH: usize = 2;

/// The next step of a reader through the tail: one update, or a merged block.
#[derive(Debug, Clone)]
pub enum TailStep {
    Update(Arc<Update>, usize),
    Block(Arc<Block>),
}

impl TailStep {
    #[must_use]
    pub fn seq(&self) -> Seq {
        match self {
            Self::Update(update, _) => update.seq,
            Self::Block(block) => block.seq,
        }
    }

    #[must_use]
    pub fn stamp(&self) -> Stamp {
        match self {
            Self::Update(update, _) => update.stamp,
            Self::Block(block) => block.stamp,
        }
    }

    #[must_use]
    pub fn patch(&self) -> &Patch {
        match self {
            Self::Update(update, _) => &update.patch,
            Self::Block(block) => &block.patch,
        }
    }

    #[must_use]
    pub fn events(&self) -> &[Node] {
        match self {
            Self::Update(update, _) => &update.events,
            Self::Block(_) => &[],
        }
    }

    /// Bytes of memory of its patch and events, which is the cost of merging it.
    #[must_use]
    pub fn weight(&self) -> usize {
        match self {
            Self::Update(_, weight) => *weight,
            Self::Block(block) => block.weight,
        }
    }
}

/// An update in the tail with its weight, cached because computing it walks the whole patch.
#[derive(Debug)]
struct TailEntry {
    update: TailUpdate,
    weight: usize,
}

/// An update in the tail. A frame takes about a third of the memory of the value.
#[derive(Debug)]
enum TailUpdate {
    /// The value of an update of the last seconds, and the publication that has its frame.
    Value(Arc<Update>, Option<Arc<Publication>>),
    /// The frame of an earlier update, or of one before a restart; and its value while readers need it.
    Frame(FramedUpdate, Option<Arc<Update>>),
}

/// The frame of an update as it was published before a restart: JSON text.
#[derive(Debug, Clone)]
pub struct TailFrame {
    pub prev: Seq,
    pub seq: Seq,
    pub payload: Bytes,
}

/// Why a frame cannot be put back into the tail of its channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TailError {
    #[error("the channel is not open in this epoch")]
    Unknown,
    #[error("the change does not lead to where the tail begins")]
    OutOfOrder,
    #[error("it is no frame of this change")]
    Malformed,
}

impl TailUpdate {
    fn seq(&self) -> Seq {
        match self {
            Self::Value(update, _) => update.seq,
            Self::Frame(frame, _) => frame.seq,
        }
    }

    fn published(&self) -> Micros {
        match self {
            Self::Value(update, _) => update.stamp.published,
            Self::Frame(frame, _) => frame.published,
        }
    }

    fn value(&self) -> Option<&Arc<Update>> {
        match self {
            Self::Value(update, _) => Some(update),
            Self::Frame(_, update) => update.as_ref(),
        }
    }
}

impl TailEntry {
    fn of_frame(frame: FramedUpdate) -> Self {
        let weight = size_of::<Self>() + frame.bytes();
        Self { update: TailUpdate::Frame(frame, None), weight }
    }

    /// Reads the frame, if the value is not there. False if it cannot be read.
    fn read(&mut self, channel: &ChannelId) -> bool {
        let TailUpdate::Frame(frame, value @ None) = &mut self.update else { return true };
        let Ok(update) = frame.read(channel) else { return false };
        self.weight += update.weight();
        *value = Some(Arc::new(update));
        true
    }

    /// Drops the value where the frame is known.
    fn pack(&mut self) {
        match &mut self.update {
            TailUpdate::Value(update, Some(publication)) => {
                let frame = payload(publication.frame());
                *self =
                    Self::of_frame(FramedUpdate::new(update.seq, update.stamp.published, &frame));
            }
            TailUpdate::Frame(frame, value @ Some(_)) => {
                self.weight = size_of::<Self>() + frame.bytes();
                *value = None;
            }
            TailUpdate::Value(_, None) | TailUpdate::Frame(_, None) => {}
        }
    }
}

impl Update {
    fn weight(&self) -> usize {
        let events = self.events.iter().map(|event| match event {
            Node::Object(object) => object.weight(),
            _ => 0,
        });
        size_of::<Self>() + self.patch.weight() + events.sum::<usize>()
    }
}

impl Sequence {
    #[must_use]
    pub fn new(channel: Channel) -> Self {
        Self {
            channel,
            head: 0,
            tail: VecDeque::new(),
            packed: 0,
            unread_ticks: None,
            bytes: 0,
            blocks: Blocks::default(),
        }
    }

    /// A sequence that has reached this number, without a tail.
    pub(crate) fn restored(channel: Channel, head: Seq) -> Self {
        Self { head, ..Self::new(channel) }
    }

    /// Gives the channel another epoch, which no position of the one before leads into.
    pub(super) fn begin_epoch(&mut self, epoch: Epoch) {
        self.channel = ChannelInfo { epoch, ..ChannelInfo::clone(&self.channel) }.into();
        self.clear_tail();
    }

    fn clear_tail(&mut self) {
        self.tail.clear();
        (self.packed, self.unread_ticks, self.bytes) = (0, None, 0);
        self.blocks = Blocks::default();
    }

    /// The number of the last change; 0 before the first.
    #[must_use]
    pub fn head(&self) -> Seq {
        self.head
    }

    /// The oldest position from which the tail leads to the head.
    #[must_use]
    pub fn oldest(&self) -> Seq {
        self.tail.front().map_or(self.head, |oldest| oldest.update.seq() - 1)
    }

    /// Puts a frame of before a restart in front of the tail: the `update` that leads to the oldest
    /// position. False if it has left the window, as all before it have.
    pub(super) fn restore(
        &mut self,
        frame: TailFrame,
        window: TailWindow,
    ) -> Result<bool, TailError> {
        let TailFrame { prev, seq, payload } = frame;
        if seq != self.oldest() || prev.checked_add(1) != Some(seq) {
            return Err(TailError::OutOfOrder);
        }
        let frame = FramedUpdate::check(&self.channel.name, seq, payload);
        let frame = frame.map_err(|NotOurs| TailError::Malformed)?;
        let published = frame.published;
        let newest = self.tail.back().map_or(published, |newest| newest.update.published());
        let entry = TailEntry::of_frame(frame);
        if self.bytes + entry.weight > window.bytes || newest - published > window.age_us {
            return Ok(false);
        }
        self.bytes += entry.weight;
        self.tail.push_front(entry);
        self.packed += 1;
        Ok(true)
    }

    /// Numbers a change, appends it to the tail, and trims the tail to the window.
    pub fn push(
        &mut self,
        stamp: Stamp,
        patch: Patch,
        events: Vec<Node>,
        window: TailWindow,
    ) -> Arc<Update> {
        self.head += 1;
        let update = Arc::new(Update { seq: self.head, stamp, patch, events });
        let weight = update.weight();
        self.bytes += weight;
        self.tail
            .push_back(TailEntry { update: TailUpdate::Value(Arc::clone(&update), None), weight });
        self.trim(stamp.published, window);
        update
    }

    /// Tells it the publication of the update that was pushed last. Its frame takes the place of the value some seconds
    /// later.
    pub fn set_publication(&mut self, publication: &Arc<Publication>) {
        if let Some(TailEntry { update: TailUpdate::Value(update, sent), .. }) =
            self.tail.back_mut()
        {
            let now = update.stamp.published;
            *sent = Some(Arc::clone(publication));
            self.pack(now, PACKED_PER_PUSH);
        }
    }

    /// Drops updates that have left the window. Values that were read from frames go first.
    pub fn trim(&mut self, now: Micros, window: TailWindow) {
        if self.bytes > window.bytes {
            self.drop_read();
        }
        while let Some(oldest) = self.tail.front()
            && (self.bytes > window.bytes || now - oldest.update.published() > window.age_us)
        {
            self.bytes -= oldest.weight;
            self.tail.pop_front();
            self.packed = self.packed.saturating_sub(1);
        }
        let oldest = self.oldest();
        self.blocks.trim(oldest);
    }

    /// What is due each second: drops updates that have left the window and values that readers no longer need, and replaces
    /// at most `pack_max` values by their frames. Returns how many it replaced.
    pub fn tick(&mut self, now: Micros, window: TailWindow, pack_max: usize) -> usize {
        self.trim(now, window);
        self.unread_ticks = self.unread_ticks.map(|ticks| ticks + 1);
        if self.unread_ticks > Some(UNREAD_TICKS_MAX) {
            self.drop_read();
        }
        self.pack(now, pack_max)
    }

    /// Replaces at most `max` values by their frames, those that were published some seconds ago. Returns how many it
    /// replaced.
    fn pack(&mut self, now: Micros, max: usize) -> usize {
        let from = self.packed;
        while self.packed - from < max
            && let Some(entry) = self.tail.get_mut(self.packed)
            && now - entry.update.published() > VALUES_AGE_US
        {
            self.bytes -= entry.weight;
            entry.pack();
            self.bytes += entry.weight;
            self.packed += 1;
        }
        self.packed - from
    }

    /// Drops values that were read from frames. Readers that still need them read the frames again.
    fn drop_read(&mut self) {
        if self.unread_ticks.take().is_none() {
            return;
        }
        for entry in self.tail.range_mut(..self.packed) {
            self.bytes -= entry.weight;
            entry.pack();
            self.bytes += entry.weight;
        }
    }

    /// The step after `from`, which must be in the tail and before the head: a block if one begins
    /// there, else one update. Adds the bytes of patches merged for it to `work`.
    pub fn step(&mut self, from: Seq, work: &mut usize) -> Option<TailStep> {
        if from.is_multiple_of(BLOCK) && from + BLOCK <= self.head {
            let block = self.blocks.get(from).unwrap_or_else(|| self.make_block(from, work));
            if let Some(block) = block {
                return Some(TailStep::Block(block));
            }
        }
        // The block may have had a frame that cannot be read.
        let index = (from >= self.oldest()).then(|| self.index_after(from))?;
        let entry = self.read(index)?;
        let update = Arc::clone(entry.update.value()?);
        Some(TailStep::Update(update, entry.weight))
    }

    /// The entry at this place of the tail, with its value. One that cannot be read is dropped with all before it, so that
    /// readers from there get an image.
    fn read(&mut self, index: usize) -> Option<&TailEntry> {
        let entry = self.tail.get_mut(index)?;
        let before = entry.weight;
        if !entry.read(&self.channel.name) {
            let dropped = self.tail.drain(..=index);
            self.bytes -= dropped.map(|entry| entry.weight).sum::<usize>();
            self.packed = self.packed.saturating_sub(index + 1);
            self.blocks.trim(self.oldest());
            return None;
        }
        if let TailUpdate::Frame(..) = entry.update {
            self.unread_ticks = Some(0);
        }
        self.bytes = self.bytes - before + entry.weight;
        self.tail.get(index)
    }

    fn make_block(&mut self, from: Seq, work: &mut usize) -> Option<Arc<Block>> {
        let skip = self.index_after(from);
        let block = usize::try_from(BLOCK).unwrap_or(usize::MAX);
        for index in skip..skip + block {
            self.read(index)?;
        }
        let updates = || self.tail.range(skip..skip + block);
        let weight: usize = updates().map(|entry| entry.weight).sum();
        *work += weight;
        let updates = updates().filter_map(|entry| entry.update.value());
        self.blocks.make(from, updates, weight)
    }

    /// The index of the update after `from` in the tail.
    fn index_after(&self, from: Seq) -> usize {
        usize::try_from(from.saturating_sub(self.oldest())).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use fanout::{ChannelId, Epoch};
    use proptest::prelude::*;

    use super::*;
    use crate::{dialect::stream::UpdateFrame, document::Object};

    fn sequence() -> Sequence {
        let name = ChannelId::new("football/1");
        Sequence::new(Channel::from(ChannelInfo {
            number: 1,
            name,
            epoch: Epoch(7),
            deliver_last: false,
            needs: fanout::Classes::NONE,
        }))
    }

    fn stamp(published: Micros) -> Stamp {
        Stamp { source: None, received: published, published }
    }

    /// Pushes a change and publishes it, as a channel does.
    fn publish(sequence: &mut Sequence, now: Micros, patch: Object, window: TailWindow) {
        let prev = sequence.head();
        let update = sequence.push(stamp(now), patch.into(), Vec::new(), window);
        let channel = sequence.channel.clone();
        let frame = UpdateFrame { channel: channel.name.clone(), prev, update };
        let publication = Publication::new(channel, prev, prev + 1, Box::new(frame));
        sequence.set_publication(&Arc::new(publication));
    }

    fn text(patch: &Patch) -> String {
        let mut text = Vec::new();
        patch.write(&mut text);
        String::from_utf8(text).expect("what is written is UTF-8")
    }

    proptest! {
        /// From every position in the window on, the tail has every number up to the head, once, with its patch, whether
        /// it keeps values or frames; and it never outgrows its window.
        #[test]
        fn tail_has_no_hole(
            steps in prop::collection::vec((0_i64..5_000_000, 0_usize..6, any::<bool>()), 1..200),
        ) {
            let window = TailWindow { bytes: 2000, age_us: 30_000_000 };
            let (mut sequence, mut now, mut patches) = (sequence(), 0, Vec::new());
            for (later, fields, is_tick) in steps {
                now += later;
                let mut patch = Object::default();
                for field in 0..fields {
                    patch.set(crate::document::FieldKey::Int(field as u64), now);
                }
                patches.push(text(&patch.clone().into()));
                publish(&mut sequence, now, patch, window);
                if is_tick {
                    sequence.tick(now, window, usize::MAX);
                    let mut values = sequence.tail.iter().skip(sequence.packed);
                    prop_assert!(values.all(|it| now - it.update.published() <= VALUES_AGE_US));
                }
                sequence.trim(now, window);
                prop_assert!(sequence.bytes <= window.bytes);
                prop_assert_eq!(sequence.bytes, sequence.tail.iter().map(|it| it.weight).sum::<usize>());
                prop_assert!(sequence.tail.iter().all(|entry| now - entry.update.published() <= window.age_us));
                for from in sequence.oldest()..=sequence.head() {
                    let (mut at, mut work) = (from, 0);
                    while at < sequence.head() {
                        let step = sequence.step(at, &mut work).expect("it is in the tail");
                        let is_block = matches!(step, TailStep::Block(_));
                        prop_assert_eq!(step.seq(), at + if is_block { BLOCK } else { 1 });
                        if !is_block {
                            prop_assert_eq!(&text(step.patch()), &patches[usize::try_from(at).unwrap()]);
                        }
                        at = step.seq();
                    }
                    prop_assert_eq!(at, sequence.head());
                }
            }
        }
    }

    #[test]
    fn tail_keeps_frames_of_what_is_older_than_some_seconds() {
        let (mut sequence, window) = (sequence(), TailWindow { bytes: 1 << 20, age_us: i64::MAX });
        for number in 0..100 {
            let mut patch = Object::default();
            patch.set("price", number);
            publish(&mut sequence, number * 1_000_000, patch, window);
        }
        assert_eq!(sequence.packed, 89, "values are those of the last ten seconds");
        let packed = sequence.bytes;
        steps(&mut sequence, 0, &mut 0);
        assert!(sequence.bytes > packed, "a reader gets values");
        sequence.trim(0, TailWindow { bytes: packed, age_us: i64::MAX });
        assert_eq!(
            (sequence.bytes, sequence.oldest()),
            (packed, 0),
            "these values go before updates do"
        );
        steps(&mut sequence, 0, &mut 0);
        (0..UNREAD_TICKS_MAX).for_each(|_| assert_eq!(sequence.tick(0, window, 0), 0));
        assert!(sequence.bytes > packed, "another reader may need them");
        sequence.tick(0, window, 0);
        assert_eq!(sequence.bytes, packed, "nobody has needed them for some seconds");
    }

    /// One value that changes again and again, and an event where `has_event` returns true.
    fn changed(changes: u64, has_event: fn(u64) -> bool) -> Sequence {
        let mut sequence = sequence();
        let window = TailWindow { bytes: usize::MAX, age_us: i64::MAX };
        for number in 1..=changes {
            let mut patch = Object::default();
            patch.set("price", number);
            let events =
                if has_event(number) { vec![Node::Object(Object::default())] } else { vec![] };
            sequence.push(stamp(0), patch.into(), events, window);
        }
        sequence
    }

    fn steps(sequence: &mut Sequence, from: Seq, work: &mut usize) -> Vec<TailStep> {
        let mut at = from;
        std::iter::from_fn(|| {
            let step = (at < sequence.head()).then(|| sequence.step(at, work))??;
            at = step.seq();
            Some(step)
        })
        .collect()
    }

    #[test]
    fn second_reader_reuses_merged_blocks() {
        let mut sequence = changed(2_000, |_| false);
        let (mut first, mut second) = (0, 0);
        steps(&mut sequence, 10, &mut first);
        // Another position: nearly all of the way is the same.
        let steps = steps(&mut sequence, 75, &mut second);
        assert!(first > 0, "blocks are merged for the first who needs them");
        assert_eq!(second, 0, "nothing is merged again");
        let singles = steps.iter().filter(|step| matches!(step, TailStep::Update(..))).count();
        assert_eq!((steps.len() - singles, singles), (29, 53 + 16));
        let last = steps.last().expect("it leads to the head");
        assert_eq!(last.patch().get(&"price".into()), Some(Node::Int(2_000)));
    }

    #[test]
    fn updates_with_events_are_never_merged_into_a_block() {
        let mut sequence = changed(256, |number| number == 100);
        let steps = steps(&mut sequence, 0, &mut 0);
        let events: Vec<Seq> =
            steps.iter().filter(|it| !it.events().is_empty()).map(TailStep::seq).collect();
        assert_eq!(events, [100]);
        assert_eq!(steps.len(), 3 + 64, "the run with the event is passed over update by update");
    }

    #[test]
    fn blocks_are_removed_with_the_tail() {
        let mut sequence = changed(640, |_| false);
        steps(&mut sequence, 0, &mut 0);
        sequence.trim(10, TailWindow { bytes: usize::MAX, age_us: 0 });
        assert_eq!(sequence.oldest(), sequence.head());
        assert!(sequence.blocks.get(0).is_none(), "a block outlived its updates");
    }
}

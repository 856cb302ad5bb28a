//! A channel's sequence: its epoch, its head, and the bounded tail to resume from.
//!
//! Treats updates as values with a weight and a timestamp. Does not know their meaning.

use std::{collections::VecDeque, sync::Arc};

use borsh::{BorshDeserialize, BorshSerialize};
use bytes::Bytes;
use fanout::{Epoch, Micros, Seq, channel::Channel};

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
    tail: VecDeque<TailEntry>,
    bytes: usize,
    blocks: Blocks,
}

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

/// An update in the tail: a value, or its frame of before a restart until a reader needs it.
#[derive(Debug)]
enum TailUpdate {
    Ready(Arc<Update>),
    Framed(Box<FramedUpdate>),
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
            Self::Ready(update) => update.seq,
            Self::Framed(framed) => framed.seq,
        }
    }

    fn published(&self) -> Micros {
        match self {
            Self::Ready(update) => update.stamp.published,
            Self::Framed(framed) => framed.stamp.published,
        }
    }
}

impl TailEntry {
    /// The update. `None` if its frame cannot be read.
    fn update(&mut self) -> Option<&Arc<Update>> {
        if let TailUpdate::Framed(framed) = &self.update {
            let update = framed.read().ok()?;
            self.weight = update.weight();
            self.update = TailUpdate::Ready(Arc::new(update));
        }
        match &self.update {
            TailUpdate::Ready(update) => Some(update),
            TailUpdate::Framed(_) => None,
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
        Self { channel, head: 0, tail: VecDeque::new(), bytes: 0, blocks: Blocks::default() }
    }

    /// A sequence that has reached this number, without a tail.
    pub(crate) fn restored(channel: Channel, head: Seq) -> Self {
        Self { head, ..Self::new(channel) }
    }

    /// Gives the channel another epoch, which no position of the one before leads into.
    pub(super) fn begin_epoch(&mut self, epoch: Epoch) {
        self.channel.epoch = epoch;
        self.clear_tail();
    }

    fn clear_tail(&mut self) {
        self.tail.clear();
        self.bytes = 0;
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
        let framed = FramedUpdate::begin(&self.channel.name, seq, payload);
        let framed = framed.map_err(|NotOurs| TailError::Malformed)?;
        let (published, weight) = (framed.stamp.published, framed.weight());
        let newest = self.tail.back().map_or(published, |newest| newest.update.published());
        if self.bytes + weight > window.bytes || newest - published > window.age_us {
            return Ok(false);
        }
        self.bytes += weight;
        self.tail.push_front(TailEntry { update: TailUpdate::Framed(Box::new(framed)), weight });
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
        self.tail.push_back(TailEntry { update: TailUpdate::Ready(Arc::clone(&update)), weight });
        self.trim(stamp.published, window);
        update
    }

    /// Drops updates that have left the window.
    pub fn trim(&mut self, now: Micros, window: TailWindow) {
        while let Some(oldest) = self.tail.front()
            && (self.bytes > window.bytes || now - oldest.update.published() > window.age_us)
        {
            self.bytes -= oldest.weight;
            self.tail.pop_front();
        }
        let oldest = self.oldest();
        self.blocks.trim(oldest);
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
        let place = (from >= self.oldest()).then(|| self.place(from))?;
        let entry = self.ready(place)?;
        let TailUpdate::Ready(update) = &entry.update else { return None };
        Some(TailStep::Update(Arc::clone(update), entry.weight))
    }

    /// The entry at this place of the tail, read if it is a frame. One that cannot be read is dropped with
    /// all before it, so that readers from there get an image.
    fn ready(&mut self, place: usize) -> Option<&TailEntry> {
        let entry = self.tail.get_mut(place)?;
        let before = entry.weight;
        if entry.update().is_none() {
            let dropped = self.tail.drain(..=place);
            self.bytes -= dropped.map(|entry| entry.weight).sum::<usize>();
            self.blocks.trim(self.oldest());
            return None;
        }
        self.bytes = self.bytes - before + entry.weight;
        self.tail.get(place)
    }

    fn make_block(&mut self, from: Seq, work: &mut usize) -> Option<Arc<Block>> {
        let skip = self.place(from);
        let block = usize::try_from(BLOCK).unwrap_or(usize::MAX);
        for place in skip..skip + block {
            self.ready(place)?;
        }
        let updates = || self.tail.iter().skip(skip).take(block);
        let weight: usize = updates().map(|entry| entry.weight).sum();
        *work += weight;
        let updates = updates().filter_map(|entry| match &entry.update {
            TailUpdate::Ready(update) => Some(update),
            TailUpdate::Framed(_) => None,
        });
        self.blocks.make(from, updates, weight)
    }

    /// The index of the update after `from` in the tail.
    fn place(&self, from: Seq) -> usize {
        usize::try_from(from.saturating_sub(self.oldest())).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use fanout::{ChannelId, Epoch};
    use proptest::prelude::*;

    use super::*;
    use crate::document::Object;

    fn sequence() -> Sequence {
        let name = ChannelId::new("football/1");
        Sequence::new(Channel {
            number: 1,
            name,
            epoch: Epoch(7),
            deliver_last: false,
            needs: fanout::Classes::NONE,
        })
    }

    fn stamp(published: Micros) -> Stamp {
        Stamp { source: None, received: published, published }
    }

    proptest! {
        /// From every position in the window on, the tail has every number up to the head, once;
        /// and it never outgrows its window.
        #[test]
        fn tail_has_no_hole(steps in prop::collection::vec((0_i64..50, 0_usize..6), 1..200)) {
            let window = TailWindow { bytes: 2000, age_us: 300 };
            let (mut sequence, mut now) = (sequence(), 0);
            for (later, fields) in steps {
                now += later;
                let mut patch = Object::default();
                for field in 0..fields {
                    patch.set(crate::document::FieldKey::Int(field as u64), true);
                }
                sequence.push(stamp(now), patch.into(), Vec::new(), window);
                prop_assert!(sequence.bytes <= window.bytes);
                prop_assert!(sequence.tail.iter().all(|entry| now - entry.update.published() <= window.age_us));
                for from in sequence.oldest()..=sequence.head() {
                    let (mut at, mut work) = (from, 0);
                    while at < sequence.head() {
                        let step = sequence.step(at, &mut work).expect("it is in the tail");
                        let is_block = matches!(step, TailStep::Block(_));
                        prop_assert_eq!(step.seq(), at + if is_block { BLOCK } else { 1 });
                        at = step.seq();
                    }
                    prop_assert_eq!(at, sequence.head());
                }
            }
        }
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

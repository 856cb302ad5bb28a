//! Publications that a shard broadcasts together, combined so that each reader is written to once.
//!
//! Publications are grouped by topic. While a shard goes through the followers of each topic, every
//! reader collects a **set** of topics. Readers with the same set get the same bytes, which are copied
//! together once for all of them. Apart from its system call, a delivery costs one step from a set to
//! a larger one, however many publications there are.

use std::{collections::HashMap, sync::Arc};

use bytes::{Bytes, BytesMut};
use rustc_hash::FxBuildHasher;

use crate::{
    Micros,
    channel::{Publication, Seq},
};

#[derive(Debug, Default)]
pub struct Batch {
    /// In the order in which they were published.
    frames: Vec<BatchFrame>,
    bytes: usize,
    topics: Vec<TopicBatch>,
    /// Indices into `topics` by the topic's number.
    topic_indices: HashMap<u32, usize, FxBuildHasher>,
    sets: Vec<SetNode>,
    /// The set that results from adding a topic to a set.
    extensions: HashMap<(TopicSet, usize), TopicSet, FxBuildHasher>,
}

#[derive(Debug)]
pub struct BatchFrame {
    pub publication: Arc<Publication>,
    /// As the followers of its topic get it.
    pub bytes: Bytes,
    /// The sequence that it leads on from.
    pub prev: Seq,
}

/// The publications of one topic.
#[derive(Debug)]
pub struct TopicBatch {
    /// The topic's number in [`Topics`](crate::topics::Topics).
    pub topic: u32,
    /// Indices of its frames in the batch.
    pub frames: Vec<usize>,
    /// The sequence of its followers before the batch.
    pub prev: Seq,
    /// The sequence of its followers after the batch.
    pub seq: Seq,
    /// The sequence up to which they then miss nothing.
    pub passed: Seq,
}

/// A set of topics of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TopicSet(u32);

#[derive(Debug, Default)]
struct SetNode {
    /// The set that this one extends.
    parent: TopicSet,
    /// The index of the topic that it adds.
    topic: usize,
    /// Combined when the first of its readers needs them.
    frames: Option<CombinedFrames>,
}

/// The frames of a set, in order, and their bytes in one buffer.
#[derive(Debug, Clone)]
pub struct CombinedFrames {
    /// Indices of the frames in the batch.
    pub indices: Arc<[usize]>,
    pub bytes: Bytes,
}

impl TopicSet {
    pub const EMPTY: Self = Self(0);
}

impl Batch {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Bytes of all its frames.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    #[must_use]
    pub fn topics(&self) -> &[TopicBatch] {
        &self.topics
    }

    #[must_use]
    pub fn frame(&self, index: usize) -> &BatchFrame {
        &self.frames[index]
    }

    /// When its oldest publication was published, among those for which the host gave a time.
    #[must_use]
    pub fn oldest(&self) -> Option<Micros> {
        self.frames.iter().filter_map(|frame| frame.publication.published).min()
    }

    /// Adds a publication for the followers of a topic.
    pub fn add(&mut self, topic: u32, publication: Arc<Publication>) {
        let (bytes, prev) = (publication.frame().clone(), publication.prev);
        self.add_frame(topic, BatchFrame { publication, bytes, prev });
    }

    /// Adds a publication in the form in which the followers of a topic get it.
    pub fn add_frame(&mut self, topic: u32, frame: BatchFrame) {
        let (prev, seq) = (frame.prev, frame.publication.seq);
        let (at, topics) = (self.frames.len(), &mut self.topics);
        self.bytes += frame.bytes.len();
        self.frames.push(frame);
        let index = *self.topic_indices.entry(topic).or_insert_with(|| {
            topics.push(TopicBatch { topic, frames: Vec::new(), prev, seq, passed: seq });
            topics.len() - 1
        });
        let topic_batch = &mut topics[index];
        topic_batch.frames.push(at);
        (topic_batch.seq, topic_batch.passed) = (seq, seq);
    }

    /// Where the followers of a topic are after the batch, and up to which sequence they then miss nothing, if
    /// it has frames for them.
    #[must_use]
    pub fn reaches(&self, topic: u32) -> Option<(Seq, Seq)> {
        let topic_batch = &self.topics[*self.topic_indices.get(&topic)?];
        Some((topic_batch.seq, topic_batch.passed))
    }

    /// Records that the followers of a topic get no frame for the changes up to `seq`. Returns false if it has no
    /// frames for them at all.
    pub fn pass(&mut self, topic: u32, seq: Seq) -> bool {
        let Some(index) = self.topic_indices.get(&topic) else { return false };
        self.topics[*index].passed = seq;
        true
    }

    /// Returns the set with one more topic, given by its index in [`Batch::topics`].
    pub fn extend(&mut self, set: TopicSet, topic: usize) -> TopicSet {
        let sets = &mut self.sets;
        if sets.is_empty() {
            sets.push(SetNode::default());
        }
        *self.extensions.entry((set, topic)).or_insert_with(|| {
            sets.push(SetNode { parent: set, topic, frames: None });
            TopicSet(u32::try_from(sets.len() - 1).expect("fewer sets than readers"))
        })
    }

    /// The topics of a set, by their indices in [`Batch::topics`], last first.
    pub fn topics_of(&self, mut set: TopicSet) -> impl Iterator<Item = usize> {
        std::iter::from_fn(move || {
            let node = (set != TopicSet::EMPTY).then(|| &self.sets[set.0 as usize])?;
            set = node.parent;
            Some(node.topic)
        })
    }

    /// The frames for readers of this set.
    pub fn frames_of(&mut self, set: TopicSet) -> &CombinedFrames {
        if self.sets[set.0 as usize].frames.is_none() {
            let frames = self.combine(set);
            self.sets[set.0 as usize].frames = Some(frames);
        }
        self.sets[set.0 as usize].frames.as_ref().expect("combined above")
    }

    fn combine(&self, set: TopicSet) -> CombinedFrames {
        let topics = self.topics_of(set).map(|topic| &self.topics[topic]);
        let mut indices: Vec<usize> = topics.flat_map(|it| it.frames.iter().copied()).collect();
        indices.sort_unstable();
        let bytes = match indices[..] {
            [only] => self.frames[only].bytes.clone(),
            _ => {
                let parts = || indices.iter().map(|index| &self.frames[*index].bytes);
                let mut combined = BytesMut::with_capacity(parts().map(Bytes::len).sum());
                parts().for_each(|part| combined.extend_from_slice(part));
                combined.freeze()
            }
        };
        CombinedFrames { indices: indices.into(), bytes }
    }

    pub fn clear(&mut self) {
        self.frames.clear();
        self.bytes = 0;
        self.topics.clear();
        self.topic_indices.clear();
        self.sets.clear();
        self.extensions.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permission::Classes;
    use crate::{
        channel::{Channel, ChannelId, ChannelInfo, Epoch},
        encode::Encode,
    };

    #[derive(Debug)]
    struct Text(String);

    impl Encode for Text {
        fn encode(&self, out: &mut Vec<u8>) {
            out.extend_from_slice(self.0.as_bytes());
        }
    }

    fn publication(channel: u32, seq: Seq) -> Arc<Publication> {
        let name = ChannelId::new(format!("c/{channel}"));
        let channel = Channel::from(ChannelInfo {
            number: channel,
            name,
            epoch: Epoch(1),
            deliver_last: false,
            needs: Classes::NONE,
        });
        let body = Text(format!("{}:{seq} ", channel.number));
        Arc::new(Publication::new(channel, seq - 1, seq, Box::new(body)))
    }

    #[test]
    fn equal_topic_sets_share_bytes_in_publication_order() {
        let mut batch = Batch::default();
        for (topic, seq) in [(5, 1), (7, 1), (5, 2), (9, 1)] {
            batch.add(topic, publication(topic, seq));
        }
        let set_of = |batch: &mut Batch, topics: &[usize]| {
            topics.iter().fold(TopicSet::EMPTY, |set, topic| batch.extend(set, *topic))
        };
        let check = |batch: &mut Batch, set, expected: &[&str]| {
            let frames = batch.frames_of(set);
            let text: String =
                frames.bytes.chunks(6).map(|frame| String::from_utf8_lossy(&frame[2..])).collect();
            assert_eq!(text, expected.concat());
            assert_eq!(frames.indices.len(), expected.len());
        };
        let both = set_of(&mut batch, &[0, 1]);
        assert_eq!(both, set_of(&mut batch, &[0, 1]));
        check(&mut batch, both, &["5:1 ", "7:1 ", "5:2 "]);
        let first = set_of(&mut batch, &[0]);
        check(&mut batch, first, &["5:1 ", "5:2 "]);
        let last = set_of(&mut batch, &[2]);
        check(&mut batch, last, &["9:1 "]);
        assert_eq!(batch.topics_of(both).collect::<Vec<_>>(), [1, 0]);
        let topic_batch = &batch.topics()[0];
        assert_eq!((topic_batch.topic, topic_batch.prev, topic_batch.seq), (5, 0, 2));
    }
}

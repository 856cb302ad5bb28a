//! What a shard publishes in one go, put together so that each reader is written to once.
//!
//! Publications are grouped by topic. While the followers of each topic are walked, every reader
//! collects a **set** of topics; readers with the same set get the very same bytes, copied together
//! once for all of them. So what a delivery costs beside its system call is one step from a set to a
//! larger one, however many publications there are.

use std::{collections::HashMap, sync::Arc};

use bytes::{Bytes, BytesMut};
use rustc_hash::FxBuildHasher;

use crate::{
    Micros,
    channel::{Publication, Seq},
};

#[derive(Debug, Default)]
pub struct Run {
    /// In the order in which they were published.
    frames: Vec<Frame>,
    bytes: usize,
    topics: Vec<Touched>,
    places: HashMap<u32, usize, FxBuildHasher>,
    sets: Vec<Node>,
    steps: HashMap<(Set, usize), Set, FxBuildHasher>,
}

#[derive(Debug)]
pub struct Frame {
    pub publication: Arc<Publication>,
    pub bytes: Bytes,
}

/// A topic that has publications in the run.
#[derive(Debug)]
pub struct Touched {
    /// Its number in the index.
    pub topic: u32,
    /// Places among the frames of the run.
    pub frames: Vec<usize>,
    /// Where its followers stand before the run, and after it.
    pub prev: Seq,
    pub seq: Seq,
}

/// A set of topics of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Set(u32);

#[derive(Debug, Default)]
struct Node {
    /// The set that this one extends, and by which topic.
    parent: Set,
    touched: usize,
    /// What its readers get, once one of them does.
    whole: Option<Whole>,
}

/// The frames of a set, in order, and their bytes in one piece.
#[derive(Debug, Clone)]
pub struct Whole {
    pub frames: Arc<[usize]>,
    pub bytes: Bytes,
}

impl Set {
    pub const EMPTY: Self = Self(0);
}

impl Run {
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
    pub fn topics(&self) -> &[Touched] {
        &self.topics
    }

    #[must_use]
    pub fn frame(&self, place: usize) -> &Frame {
        &self.frames[place]
    }

    /// When the oldest of its publications was published, as far as the host has said so.
    #[must_use]
    pub fn oldest(&self) -> Option<Micros> {
        self.frames.iter().filter_map(|frame| frame.publication.published).min()
    }

    /// Adds a publication for the followers of a topic.
    pub fn add(&mut self, topic: u32, publication: Arc<Publication>) {
        let bytes = publication.frame().clone();
        let place = self.frames.len();
        let (prev, seq) = (publication.prev, publication.seq);
        self.bytes += bytes.len();
        self.frames.push(Frame { publication, bytes });
        let topics = &mut self.topics;
        let own = *self.places.entry(topic).or_insert_with(|| {
            topics.push(Touched { topic, frames: Vec::new(), prev, seq });
            topics.len() - 1
        });
        let touched = &mut topics[own];
        touched.frames.push(place);
        touched.seq = seq;
    }

    /// The set that has one topic more.
    pub fn extend(&mut self, set: Set, touched: usize) -> Set {
        let sets = &mut self.sets;
        if sets.is_empty() {
            sets.push(Node::default());
        }
        *self.steps.entry((set, touched)).or_insert_with(|| {
            sets.push(Node { parent: set, touched, whole: None });
            Set(u32::try_from(sets.len() - 1).expect("fewer sets than readers"))
        })
    }

    /// The topics of a set, by their places in [`Run::topics`], last first.
    pub fn topics_of(&self, mut set: Set) -> impl Iterator<Item = usize> {
        std::iter::from_fn(move || {
            let node = (set != Set::EMPTY).then(|| &self.sets[set.0 as usize])?;
            set = node.parent;
            Some(node.touched)
        })
    }

    /// What the readers of a set get.
    pub fn whole(&mut self, set: Set) -> &Whole {
        if self.sets[set.0 as usize].whole.is_none() {
            let whole = self.put_together(set);
            self.sets[set.0 as usize].whole = Some(whole);
        }
        self.sets[set.0 as usize].whole.as_ref().expect("it was made above")
    }

    fn put_together(&self, set: Set) -> Whole {
        let topics = self.topics_of(set).map(|touched| &self.topics[touched]);
        let mut frames: Vec<usize> = topics.flat_map(|it| it.frames.iter().copied()).collect();
        frames.sort_unstable();
        let bytes = match frames[..] {
            [only] => self.frames[only].bytes.clone(),
            _ => {
                let parts = || frames.iter().map(|place| &self.frames[*place].bytes);
                let mut whole = BytesMut::with_capacity(parts().map(Bytes::len).sum());
                parts().for_each(|part| whole.extend_from_slice(part));
                whole.freeze()
            }
        };
        Whole { frames: frames.into(), bytes }
    }

    pub fn clear(&mut self) {
        self.frames.clear();
        self.bytes = 0;
        self.topics.clear();
        self.places.clear();
        self.sets.clear();
        self.steps.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permission::Classes;
    use crate::{
        channel::{Channel, ChannelId, Epoch},
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
        let channel =
            Channel { number: channel, name, epoch: Epoch(1), trails: false, needs: Classes::NONE };
        let body = Text(format!("{}:{seq} ", channel.number));
        Arc::new(Publication::new(channel, seq - 1, seq, Box::new(body)))
    }

    #[test]
    fn same_set_is_same_bytes_in_the_order_of_publication() {
        let mut run = Run::default();
        for (topic, seq) in [(5, 1), (7, 1), (5, 2), (9, 1)] {
            run.add(topic, publication(topic, seq));
        }
        let walk = |run: &mut Run, topics: &[usize]| {
            topics.iter().fold(Set::EMPTY, |set, topic| run.extend(set, *topic))
        };
        let check = |run: &mut Run, set, expected: &[&str]| {
            let whole = run.whole(set);
            let text: String =
                whole.bytes.chunks(6).map(|frame| String::from_utf8_lossy(&frame[2..])).collect();
            assert_eq!(text, expected.concat());
            assert_eq!(whole.frames.len(), expected.len());
        };
        let both = walk(&mut run, &[0, 1]);
        assert_eq!(both, walk(&mut run, &[0, 1]));
        check(&mut run, both, &["5:1 ", "7:1 ", "5:2 "]);
        let first = walk(&mut run, &[0]);
        check(&mut run, first, &["5:1 ", "5:2 "]);
        let last = walk(&mut run, &[2]);
        check(&mut run, last, &["9:1 "]);
        assert_eq!(run.topics_of(both).collect::<Vec<_>>(), [1, 0]);
        let touched = &run.topics()[0];
        assert_eq!((touched.topic, touched.prev, touched.seq), (5, 0, 2));
    }
}

//! A channel's numbers: its epoch, its sequence, and the bounded tail to resume from.
//!
//! Knows updates as values with a weight and a moment. Does not know what they mean.

use std::{collections::VecDeque, sync::Arc};

use fanout::{Micros, Seq, channel::Channel};

use crate::document::{Node, Object};

/// One change of one channel, as it is kept.
#[derive(Debug)]
pub struct Update {
    pub seq: Seq,
    pub stamp: Stamp,
    pub patch: Object,
    /// What happened, in order. Never merged away.
    pub events: Vec<Node>,
}

/// The three moments of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// When the source says that it happened, if it does.
    pub source: Option<Micros>,
    /// When the hub received it.
    pub received: Micros,
    /// When it was published.
    pub published: Micros,
}

/// How much of the past a channel keeps.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// Bytes of memory of a channel's tail.
    pub bytes: usize,
    /// Age of the oldest update kept, in microseconds.
    pub age_us: Micros,
}

#[derive(Debug)]
pub struct Sequence {
    pub channel: Channel,
    head: Seq,
    tail: VecDeque<Kept>,
    bytes: usize,
}

/// An update in the tail, and what it weighs there: weighing walks the whole patch.
#[derive(Debug)]
struct Kept {
    update: Arc<Update>,
    weight: usize,
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
        Self { channel, head: 0, tail: VecDeque::new(), bytes: 0 }
    }

    /// The number of the last change; 0 before the first.
    #[must_use]
    pub fn head(&self) -> Seq {
        self.head
    }

    /// The oldest position from which the tail leads to the head.
    #[must_use]
    pub fn oldest(&self) -> Seq {
        self.tail.front().map_or(self.head, |kept| kept.update.seq - 1)
    }

    /// Numbers a change, keeps it, and lets go of what is older than the window.
    pub fn push(
        &mut self,
        stamp: Stamp,
        patch: Object,
        events: Vec<Node>,
        window: Window,
    ) -> Arc<Update> {
        self.head += 1;
        let update = Arc::new(Update { seq: self.head, stamp, patch, events });
        let weight = update.weight();
        self.bytes += weight;
        self.tail.push_back(Kept { update: Arc::clone(&update), weight });
        self.trim(stamp.published, window);
        update
    }

    /// Lets go of what has left the window.
    pub fn trim(&mut self, now: Micros, window: Window) {
        while let Some(oldest) = self.tail.front()
            && (self.bytes > window.bytes || now - oldest.update.stamp.published > window.age_us)
        {
            self.bytes -= oldest.weight;
            self.tail.pop_front();
        }
    }

    /// The updates after `from`, in order. `from` must not be before [`Sequence::oldest`].
    pub fn since(&self, from: Seq) -> impl Iterator<Item = &Arc<Update>> {
        let skip = usize::try_from(from.saturating_sub(self.oldest())).unwrap_or(usize::MAX);
        self.tail.iter().skip(skip).map(|kept| &kept.update)
    }
}

#[cfg(test)]
mod tests {
    use fanout::{ChannelId, Epoch};
    use proptest::prelude::*;

    use super::*;

    fn sequence() -> Sequence {
        let name = ChannelId::new("football/1");
        Sequence::new(Channel { number: 1, name, epoch: Epoch(7), trails: false })
    }

    fn stamp(published: Micros) -> Stamp {
        Stamp { source: None, received: published, published }
    }

    proptest! {
        /// From every position in the window on, the tail has every number up to the head, once;
        /// and it never outgrows its window.
        #[test]
        fn tail_has_no_hole(steps in prop::collection::vec((0_i64..50, 0_usize..6), 1..200)) {
            let window = Window { bytes: 2000, age_us: 300 };
            let (mut sequence, mut now) = (sequence(), 0);
            for (later, fields) in steps {
                now += later;
                let mut patch = Object::default();
                for field in 0..fields {
                    patch.set(crate::document::Key::Int(field as u64), true);
                }
                sequence.push(stamp(now), patch, Vec::new(), window);
                prop_assert!(sequence.bytes <= window.bytes);
                prop_assert!(sequence.tail.iter().all(|kept| now - kept.update.stamp.published <= window.age_us));
                for from in sequence.oldest()..=sequence.head() {
                    let found: Vec<Seq> = sequence.since(from).map(|update| update.seq).collect();
                    let expected: Vec<Seq> = (from + 1..=sequence.head()).collect();
                    prop_assert_eq!(found, expected);
                }
            }
        }
    }
}

//! An index of the subscriptions by channel and rate. Plain state.
//!
//! The followers of a topic are stored contiguously, so a publication iterates over one flat array.
//! Each follower refers to its subscription and the subscription to its follower, so leaving is one
//! swap, however many followers there are. The sequence of a topic's followers is stored once for all
//! of them.

use std::collections::{HashMap, hash_map::Entry};

use rustc_hash::FxBuildHasher;
use slab::Slab;

use crate::{
    channel::{Rate, Seq},
    view::View,
};

/// A channel at a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Topic {
    /// The channel's number.
    pub channel: u32,
    pub rate: Rate,
}

/// One follower of a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Follower {
    /// The connection's slot in its shard.
    pub slot: u32,
    /// The subscription's slot in its connection.
    pub subscription: u32,
    /// It joined after the topic's last publication and may already have the next one.
    pub is_new: bool,
}

/// Refers to a follower in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowerRef {
    /// The topic's number in the index.
    pub topic: u32,
    /// The index among the topic's followers.
    pub index: u32,
}

#[derive(Debug, Default)]
pub struct Topics {
    topics: Slab<TopicFollowers>,
    /// Those whose followers get frames as the host renders them.
    /// Channels are numbered by the host, so a hash that could be provoked to collide does no harm.
    numbers: HashMap<Topic, u32, FxBuildHasher>,
    /// The others, one for each view.
    viewed: HashMap<Topic, Vec<u32>, FxBuildHasher>,
}

/// A topic and its followers in one view, of which there is at least one.
#[derive(Debug)]
pub struct TopicFollowers {
    topic: Topic,
    pub(crate) view: View,
    /// The sequence up to which its followers have been served, except for new ones.
    pub head: Seq,
    /// The sequence up to which nothing is missing: more than `head` if changes since have nothing that they pick.
    pub(crate) passed: Seq,
    pub followers: Vec<Follower>,
}

impl TopicFollowers {
    /// The rate at which its followers get updates.
    #[must_use]
    pub fn rate(&self) -> Rate {
        self.topic.rate
    }
}

impl Topics {
    /// Adds a follower whose position is `head`. Pass the returned reference to [`Topics::leave`].
    pub fn join(
        &mut self,
        topic: Topic,
        view: &View,
        head: Seq,
        slot: u32,
        subscription: u32,
    ) -> FollowerRef {
        let existing = match view.is_plain() {
            true => self.number(topic),
            false => {
                let mut numbers = self.viewed(topic).iter().copied();
                numbers.find(|number| self.topics[*number as usize].view == *view)
            }
        };
        let number = existing.unwrap_or_else(|| {
            let (view, followers) = (view.clone(), Vec::new());
            let is_plain = view.is_plain();
            let entry = TopicFollowers { topic, view, head, passed: head, followers };
            let number = narrow(self.topics.insert(entry));
            if is_plain {
                self.numbers.insert(topic, number);
            } else {
                self.viewed.entry(topic).or_default().push(number);
            }
            number
        });
        let followers = &mut self.topics[number as usize].followers;
        followers.push(Follower { slot, subscription, is_new: true });
        FollowerRef { topic: number, index: narrow(followers.len() - 1) }
    }

    /// Removes a follower. Returns the follower that has moved to its index, if any, so that the
    /// subscription of that one can be updated.
    pub fn leave(&mut self, follower: FollowerRef) -> Option<Follower> {
        let entry = self.topics.get_mut(follower.topic as usize)?;
        let index = follower.index as usize;
        entry.followers.swap_remove(index);
        let moved = entry.followers.get(index).copied();
        if entry.followers.is_empty() {
            let TopicFollowers { topic, view, .. } = self.topics.remove(follower.topic as usize);
            if view.is_plain() {
                self.numbers.remove(&topic);
            } else if let Entry::Occupied(mut numbers) = self.viewed.entry(topic) {
                numbers.get_mut().retain(|number| *number != follower.topic);
                if numbers.get().is_empty() {
                    numbers.remove();
                }
            }
        }
        moved
    }

    /// The number of a topic, if it has followers that get frames as the host renders them.
    #[must_use]
    pub fn number(&self, topic: Topic) -> Option<u32> {
        self.numbers.get(&topic).copied()
    }

    /// The sequence up to which the followers of a topic have been served.
    #[must_use]
    pub fn head(&self, number: u32) -> Seq {
        self.topics.get(number as usize).map_or(0, |entry| entry.head)
    }

    /// The numbers of a topic for its followers with views.
    #[must_use]
    pub fn viewed(&self, topic: Topic) -> &[u32] {
        if self.viewed.is_empty() {
            return &[];
        }
        self.viewed.get(&topic).map_or(&[], Vec::as_slice)
    }

    /// A topic, if it has followers.
    #[must_use]
    pub fn get(&self, number: u32) -> Option<&TopicFollowers> {
        self.topics.get(number as usize)
    }

    /// The sequence up to which the followers of a topic miss nothing.
    #[must_use]
    pub fn passed(&self, number: u32) -> Seq {
        self.topics.get(number as usize).map_or(0, |entry| entry.passed)
    }

    /// Records that the followers of a topic have been served up to `head`, and miss nothing up to `passed`, if
    /// it still has any.
    pub fn advance(&mut self, number: u32, head: Seq, passed: Seq) {
        if let Some(entry) = self.topics.get_mut(number as usize) {
            entry.head = entry.head.max(head);
            entry.passed = entry.passed.max(passed);
        }
    }

    /// # Panics
    ///
    /// If no topic with this number has followers.
    pub fn followers_mut(&mut self, number: u32) -> &mut TopicFollowers {
        &mut self.topics[number as usize]
    }

    /// Removes the channel at all rates and returns its followers.
    pub fn close(&mut self, channel: u32) -> Vec<Follower> {
        let mut numbers = Vec::new();
        for topic in Rate::ALL.map(|rate| Topic { channel, rate }) {
            numbers.extend(self.numbers.remove(&topic));
            numbers.extend(self.viewed.remove(&topic).into_iter().flatten());
        }
        let all = numbers.into_iter().map(|number| self.topics.remove(number as usize));
        all.flat_map(|entry| entry.followers).collect()
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Slots are indices into memory, far fewer than 2^32.
fn narrow(index: usize) -> u32 {
    u32::try_from(index).expect("fewer than 2^32 of anything")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Compared with a set: every subscription that joined and did not leave is a follower, and
        /// every reference is right.
        #[test]
        fn topic_index_behaves_as_a_set(steps in prop::collection::vec((any::<bool>(), 0_u32..3, 0_u32..8), 0..200)) {
            let mut topics = Topics::default();
            let mut references: HashMap<(u32, u32), FollowerRef> = HashMap::new();
            let topic = |channel| Topic { channel, rate: Rate::Each };
            for (join, channel, slot) in steps {
                let key = (channel, slot);
                if join && !references.contains_key(&key) {
                    references.insert(key, topics.join(topic(channel), &View::default(), 0, slot, 0));
                } else if let Some(follower) = references.remove(&key)
                    && let Some(moved) = topics.leave(follower)
                {
                    references.insert((channel, moved.slot), follower);
                }
                for channel in 0..3 {
                    let number = topics.number(topic(channel));
                    let followers = number.map_or(Vec::new(), |n| topics.followers_mut(n).followers.clone());
                    let found: BTreeSet<u32> = followers.iter().map(|f| f.slot).collect();
                    let expected: BTreeSet<u32> =
                        references.keys().filter(|k| k.0 == channel).map(|k| k.1).collect();
                    prop_assert_eq!(found, expected);
                    for (index, follower) in followers.iter().enumerate() {
                        let reference = references[&(channel, follower.slot)];
                        prop_assert_eq!(reference.index as usize, index);
                    }
                }
            }
        }
    }
}

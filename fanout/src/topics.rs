//! Which subscriptions follow which channel at which rate: an index, pure.
//!
//! Followers of a topic lie side by side, so a publication walks one flat array. Each follower knows
//! its subscription and the subscription knows its place here, so leaving is one swap whatever the
//! number of followers. How far a topic's followers have got is noted once for all of them.

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;
use slab::Slab;

use crate::channel::{Rate, Seq};

/// A channel at a rate: what can be followed.
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
    /// It joined after the topic's last publication, so the next one may be behind it.
    pub is_new: bool,
}

/// Where a follower stands in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The topic's number in the index.
    pub topic: u32,
    /// Among the topic's followers.
    pub place: u32,
}

#[derive(Debug, Default)]
pub struct Topics {
    topics: Slab<Followed>,
    /// Channels are numbered by the host, so a hash that could be provoked to collide does no harm.
    numbers: HashMap<Topic, u32, FxBuildHasher>,
}

/// A topic that somebody follows.
#[derive(Debug)]
pub struct Followed {
    topic: Topic,
    /// The sequence up to which its followers have been served, but those that are new.
    pub head: Seq,
    pub followers: Vec<Follower>,
}

impl Topics {
    /// Adds a follower who stands at `head`. Its place is to be kept and given back to
    /// [`Topics::leave`].
    pub fn join(&mut self, topic: Topic, head: Seq, slot: u32, subscription: u32) -> Place {
        let number = *self.numbers.entry(topic).or_insert_with(|| {
            let number = self.topics.insert(Followed { topic, head, followers: Vec::new() });
            narrow(number)
        });
        let followers = &mut self.topics[number as usize].followers;
        followers.push(Follower { slot, subscription, is_new: true });
        Place { topic: number, place: narrow(followers.len() - 1) }
    }

    /// Takes away the follower at `place`. Where another one moved into that place it is returned,
    /// so that its subscription can note the new place.
    pub fn leave(&mut self, at: Place) -> Option<Follower> {
        let followed = self.topics.get_mut(at.topic as usize)?;
        let place = at.place as usize;
        followed.followers.swap_remove(place);
        let moved = followed.followers.get(place).copied();
        if followed.followers.is_empty() {
            self.numbers.remove(&followed.topic);
            self.topics.remove(at.topic as usize);
        }
        moved
    }

    /// The number of a topic that somebody follows.
    #[must_use]
    pub fn number(&self, topic: Topic) -> Option<u32> {
        self.numbers.get(&topic).copied()
    }

    /// How far the followers of a topic have been served.
    #[must_use]
    pub fn head(&self, number: u32) -> Seq {
        self.topics.get(number as usize).map_or(0, |followed| followed.head)
    }

    /// Notes how far the followers of a topic have been served, if there still are any.
    pub fn served(&mut self, number: u32, head: Seq) {
        if let Some(followed) = self.topics.get_mut(number as usize) {
            followed.head = followed.head.max(head);
        }
    }

    /// # Panics
    ///
    /// When nobody follows a topic of this number.
    pub fn followed(&mut self, number: u32) -> &mut Followed {
        &mut self.topics[number as usize]
    }

    /// Forgets the channel at all rates and returns who followed it.
    pub fn close(&mut self, channel: u32) -> Vec<Follower> {
        let topics = Rate::ALL.map(|rate| Topic { channel, rate });
        let numbers = topics.iter().filter_map(|topic| self.numbers.remove(topic));
        numbers.flat_map(|number| self.topics.remove(number as usize).followers).collect()
    }

    /// Forgets everything.
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
        /// Against a set: whoever joined and did not leave is a follower, and every place is right.
        #[test]
        fn index_is_a_set(steps in prop::collection::vec((any::<bool>(), 0_u32..3, 0_u32..8), 0..200)) {
            let mut topics = Topics::default();
            let mut places: HashMap<(u32, u32), Place> = HashMap::new();
            let topic = |channel| Topic { channel, rate: Rate::Each };
            for (join, channel, slot) in steps {
                let key = (channel, slot);
                if join && !places.contains_key(&key) {
                    places.insert(key, topics.join(topic(channel), 0, slot, 0));
                } else if let Some(place) = places.remove(&key)
                    && let Some(moved) = topics.leave(place)
                {
                    places.insert((channel, moved.slot), place);
                }
                for channel in 0..3 {
                    let number = topics.number(topic(channel));
                    let followers = number.map_or(Vec::new(), |n| topics.followed(n).followers.clone());
                    let found: BTreeSet<u32> = followers.iter().map(|f| f.slot).collect();
                    let expected: BTreeSet<u32> =
                        places.keys().filter(|k| k.0 == channel).map(|k| k.1).collect();
                    prop_assert_eq!(found, expected);
                    for (place, follower) in followers.iter().enumerate() {
                        prop_assert_eq!(places[&(channel, follower.slot)].place as usize, place);
                    }
                }
            }
        }
    }
}

//! Which subscriptions follow which channel: an index, pure.
//!
//! Entries of a channel lie side by side, so a publication walks one flat array. Each entry knows
//! its subscription and the subscription knows its place here, so leaving is one swap whatever the
//! number of followers.

use std::collections::HashMap;

use crate::channel::Rate;

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
}

#[derive(Debug, Default)]
pub struct Topics {
    topics: HashMap<Topic, Vec<Follower>>,
}

impl Topics {
    /// Adds a follower; its place is to be kept and given back to [`Topics::leave`].
    pub fn join(&mut self, topic: Topic, follower: Follower) -> usize {
        let followers = self.topics.entry(topic).or_default();
        followers.push(follower);
        followers.len() - 1
    }

    /// Takes away the follower at `place`. Where another one moved into that place it is returned,
    /// so that its subscription can note the new place.
    pub fn leave(&mut self, topic: Topic, place: usize) -> Option<Follower> {
        let followers = self.topics.get_mut(&topic)?;
        followers.swap_remove(place);
        let moved = followers.get(place).copied();
        if followers.is_empty() {
            self.topics.remove(&topic);
        }
        moved
    }

    /// Everyone who follows the topic.
    #[must_use]
    pub fn followers(&self, topic: Topic) -> &[Follower] {
        self.topics.get(&topic).map_or(&[], Vec::as_slice)
    }

    /// Forgets the channel at all rates and returns who followed it.
    pub fn close(&mut self, channel: u32) -> Vec<Follower> {
        let topics = Rate::ALL.map(|rate| Topic { channel, rate });
        topics.iter().filter_map(|topic| self.topics.remove(topic)).flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn topic(channel: u32) -> Topic {
        Topic { channel, rate: Rate::Each }
    }

    proptest! {
        /// Against a set: whoever joined and did not leave is a follower, and every place is right.
        #[test]
        fn index_is_a_set(steps in prop::collection::vec((any::<bool>(), 0_u32..3, 0_u32..8), 0..200)) {
            let mut topics = Topics::default();
            let mut places: HashMap<(u32, u32), usize> = HashMap::new();
            for (join, channel, slot) in steps {
                let key = (channel, slot);
                if join && !places.contains_key(&key) {
                    places.insert(key, topics.join(topic(channel), Follower { slot, subscription: 0 }));
                } else if let Some(place) = places.remove(&key)
                    && let Some(moved) = topics.leave(topic(channel), place)
                {
                    places.insert((channel, moved.slot), place);
                }
                for channel in 0..3 {
                    let followers = topics.followers(topic(channel));
                    let found: BTreeSet<u32> = followers.iter().map(|f| f.slot).collect();
                    let expected: BTreeSet<u32> =
                        places.keys().filter(|k| k.0 == channel).map(|k| k.1).collect();
                    prop_assert_eq!(found, expected);
                    for (place, follower) in followers.iter().enumerate() {
                        prop_assert_eq!(places[&(channel, follower.slot)], place);
                    }
                }
            }
        }
    }
}

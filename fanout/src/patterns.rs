//! An index of the connections by the patterns that they follow. Plain state: a trie of segments.
//!
//! A pattern is a path of segments, each a text or `*`, and equal patterns of several connections share
//! one path. When a channel is looked up, each of its segments leads to at most two nodes, that of its
//! text and that of `*`: a name of k segments visits fewer than 2^(k+1) nodes, however many patterns
//! there are. Subscribing and unsubscribing cost one step for each segment.

use std::collections::{BTreeMap, HashMap};

use rustc_hash::FxBuildHasher;
use slab::Slab;

use crate::channel::{ChannelId, Pattern, is_test};

/// The root's key in `nodes`.
const ROOT: u32 = 0;

#[derive(Debug)]
pub struct Patterns {
    nodes: Slab<PatternNode>,
    /// The order number of the next subscription, to find the oldest of several.
    next: u64,
    /// Nodes that lookups have visited, for tests.
    visited: u64,
}

#[derive(Debug, Default)]
struct PatternNode {
    parent: u32,
    segment: Box<str>,
    /// By their text. Clients choose the texts, so the hash must resist provoked collisions.
    children: HashMap<Box<str>, u32>,
    star: Option<u32>,
    /// The followers of the pattern that ends here.
    followers: Option<PatternFollowers>,
}

#[derive(Debug)]
struct PatternFollowers {
    pattern: Pattern,
    /// Order numbers of the subscriptions, by the connection's slot.
    since: BTreeMap<u32, u64>,
}

impl Default for Patterns {
    fn default() -> Self {
        let mut nodes = Slab::new();
        nodes.insert(PatternNode::default());
        Self { nodes, next: 0, visited: 0 }
    }
}

impl Patterns {
    /// Adds a pattern of a connection. Returns the pattern that all its followers share.
    pub fn add(&mut self, slot: u32, pattern: &Pattern) -> Pattern {
        let mut at = ROOT;
        for segment in pattern.as_str().split('/') {
            at = self.child(at, segment).unwrap_or_else(|| self.grow(at, segment));
        }
        let since = self.next;
        self.next += 1;
        let node = &mut self.nodes[at as usize];
        let followers = node.followers.get_or_insert_with(|| PatternFollowers {
            pattern: pattern.clone(),
            since: BTreeMap::new(),
        });
        followers.since.insert(slot, since);
        followers.pattern.clone()
    }

    /// Removes a pattern of a connection.
    pub fn remove(&mut self, slot: u32, pattern: &Pattern) {
        let mut at = ROOT;
        for segment in pattern.as_str().split('/') {
            let Some(child) = self.child(at, segment) else { return };
            at = child;
        }
        let node = &mut self.nodes[at as usize];
        if let Some(followers) = &mut node.followers {
            followers.since.remove(&slot);
            if followers.since.is_empty() {
                node.followers = None;
            }
        }
        self.prune(at);
    }

    /// Removes nodes that no pattern uses any more.
    fn prune(&mut self, mut at: u32) {
        while at != ROOT {
            let node = &self.nodes[at as usize];
            if node.followers.is_some() || !node.children.is_empty() || node.star.is_some() {
                return;
            }
            let PatternNode { parent, segment, .. } = self.nodes.remove(at as usize);
            let up = &mut self.nodes[parent as usize];
            if &*segment == "*" {
                up.star = None;
            } else {
                up.children.remove(&segment);
                if up.children.is_empty() {
                    up.children = HashMap::new();
                }
            }
            at = parent;
        }
    }

    fn child(&self, at: u32, segment: &str) -> Option<u32> {
        let node = &self.nodes[at as usize];
        if segment == "*" { node.star } else { node.children.get(segment).copied() }
    }

    fn grow(&mut self, parent: u32, segment: &str) -> u32 {
        let node = PatternNode { parent, segment: segment.into(), ..PatternNode::default() };
        let child = u32::try_from(self.nodes.insert(node)).expect("fewer than 2^32 of anything");
        let up = &mut self.nodes[parent as usize];
        if segment == "*" {
            up.star = Some(child);
        } else {
            up.children.insert(segment.into(), child);
        }
        child
    }

    /// The connections that follow a pattern that covers this channel, sorted by slot. Each appears once,
    /// with the pattern that it has followed for longest.
    pub fn covering(&mut self, channel: &ChannelId) -> Vec<(u32, Pattern)> {
        let mut found: HashMap<u32, (u64, Pattern), FxBuildHasher> = HashMap::default();
        let ends = self.ends(channel);
        for end in &ends {
            let Some(followers) = &self.nodes[*end as usize].followers else { continue };
            for (slot, since) in &followers.since {
                let first =
                    found.entry(*slot).or_insert_with(|| (*since, followers.pattern.clone()));
                if *since < first.0 {
                    *first = (*since, followers.pattern.clone());
                }
            }
        }
        let mut all: Vec<(u32, Pattern)> =
            found.into_iter().map(|(slot, (_, pattern))| (slot, pattern)).collect();
        all.sort_unstable_by_key(|(slot, _)| *slot);
        all
    }

    /// Whether a pattern that a connection follows covers this channel.
    pub fn covers(&mut self, slot: u32, channel: &ChannelId) -> bool {
        self.ends(channel).iter().any(|end| {
            let followers = self.nodes[*end as usize].followers.as_ref();
            followers.is_some_and(|followers| followers.since.contains_key(&slot))
        })
    }

    /// The nodes at which patterns that cover this channel end.
    fn ends(&mut self, channel: &ChannelId) -> Vec<u32> {
        let mut reached = vec![ROOT];
        // No `*` stands for the root of the test channels.
        let mut stars = !is_test(channel.as_str());
        for segment in channel.as_str().split('/') {
            let nodes = &self.nodes;
            reached = reached
                .iter()
                .flat_map(|at| {
                    let node = &nodes[*at as usize];
                    let star = node.star.filter(|_| stars);
                    node.children.get(segment).copied().into_iter().chain(star)
                })
                .collect();
            stars = true;
            self.visited += reached.len() as u64;
            if reached.is_empty() {
                break;
            }
        }
        reached
    }

    /// The number of different patterns with followers.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.iter().filter(|(_, node)| node.followers.is_some()).count()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.len() == 1
    }

    /// Nodes that lookups have visited so far.
    #[must_use]
    pub fn visited(&self) -> u64 {
        self.visited
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern::parse(text).expect("well formed")
    }

    fn name() -> impl Strategy<Value = String> {
        prop::collection::vec(prop::sample::select(vec!["a", "b", "test", "*"]), 1..5)
            .prop_map(|segments| segments.join("/"))
    }

    proptest! {
        /// Compared with a linear search: the same connections, each with the pattern that it followed
        /// first. Nothing remains of patterns without followers.
        #[test]
        fn index_finds_what_the_list_finds(
            steps in prop::collection::vec((any::<bool>(), 0_u32..4, name()), 1..80),
            channels in prop::collection::vec(name(), 1..20),
        ) {
            let (mut index, mut list) = (Patterns::default(), Vec::<(u32, Pattern)>::new());
            for (add, slot, text) in steps {
                let pattern_entry = pattern(&text);
                list.retain(|it| *it != (slot, pattern_entry.clone()));
                if add {
                    index.add(slot, &pattern_entry);
                    list.push((slot, pattern_entry));
                } else {
                    index.remove(slot, &pattern_entry);
                }
            }
            for text in channels {
                let channel = ChannelId::new(text.replace('*', "d"));
                let mut expected: BTreeMap<u32, Pattern> = BTreeMap::new();
                for (slot, pattern_entry) in list.iter().filter(|(_, pattern_entry)| pattern_entry.matches(&channel)) {
                    expected.entry(*slot).or_insert_with(|| pattern_entry.clone());
                }
                for slot in 0..4 {
                    prop_assert_eq!(index.covers(slot, &channel), expected.contains_key(&slot));
                }
                prop_assert_eq!(index.covering(&channel), expected.into_iter().collect::<Vec<_>>());
            }
            for (slot, pattern_entry) in list {
                index.remove(slot, &pattern_entry);
            }
            prop_assert!(index.is_empty(), "{index:?}");
        }
    }

    #[test]
    fn opening_a_channel_visits_the_same_few_nodes_with_100_000_patterns() {
        let mut index = Patterns::default();
        for number in 0..25_000 {
            for text in ["football/{}/odds/*", "*/{}", "*/*/odds/b{}", "*/{}/*/b{}"] {
                index.add(number % 100, &pattern(&text.replace("{}", &number.to_string())));
            }
        }
        assert_eq!(index.len(), 100_000);
        for name in ["football/7/odds/b7", "tennis/99/odds/none", "football/x/odds", "x/y/z/u/v"] {
            let before = index.visited();
            index.covering(&ChannelId::new(name));
            let visited = index.visited() - before;
            let segments = u32::try_from(name.split('/').count()).expect("a few");
            assert!(visited < 2_u64.pow(segments + 1), "{name}: {visited} nodes");
        }
    }

    #[test]
    fn equal_patterns_are_shared() {
        let mut index = Patterns::default();
        for slot in 0..1_000 {
            index.add(slot, &pattern("*/*/odds/amberline"));
        }
        assert_eq!((index.len(), index.nodes.len()), (1, 5));
        assert_eq!(index.covering(&ChannelId::new("football/1/odds/amberline")).len(), 1_000);
    }
}

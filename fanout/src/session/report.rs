//! What an operator sees of a session.

use std::{cmp::Reverse, collections::HashMap};

use super::{
    Session,
    subscription::{Subscription, SubscriptionState},
};
use crate::{
    channel::ChannelId,
    inspect::{SubscriptionReport, TopEntries},
    outbox::WaitingFrames,
    topics::Topics,
};

impl Session {
    /// Patterns that it follows.
    #[must_use]
    pub fn patterns(&self) -> usize {
        self.wildcards.len()
    }

    /// Subscriptions that wait to be caught up.
    #[must_use]
    pub fn behind(&self) -> usize {
        self.behind_count as usize
    }

    /// Whether it follows this channel.
    #[must_use]
    pub fn follows(&self, channel: &ChannelId) -> bool {
        self.by_name(channel.as_str()).is_some()
    }

    /// Its subscriptions, those that are behind or have the most queued first, up to a number.
    pub(crate) fn report(
        &self,
        topics: &Topics,
        waiting: &HashMap<u32, WaitingFrames>,
        max: usize,
    ) -> Vec<SubscriptionReport> {
        let mut first = TopEntries::new(max);
        for (key, sub) in &self.subscriptions {
            let bytes = waiting.get(&sub.channel.number).map_or(0, |waiting| waiting.bytes);
            first.offer((sub.is_behind(), bytes, Reverse(key)));
        }
        let keys = first.into_sorted().map(|(.., Reverse(key))| key);
        keys.map(|key| self.subscriptions[key].report(topics, waiting)).collect()
    }

    /// The names of its patterns, up to a number.
    pub(crate) fn wildcard_names(&self, max: usize) -> Vec<Box<str>> {
        let mut names: Vec<Box<str>> =
            self.wildcards.keys().take(max).map(|pattern| pattern.as_str().into()).collect();
        names.sort_unstable();
        names
    }
}

impl Subscription {
    fn report(&self, topics: &Topics, waiting: &HashMap<u32, WaitingFrames>) -> SubscriptionReport {
        let waiting = waiting.get(&self.channel.number);
        let position = self.position(topics);
        SubscriptionReport {
            channel: self.channel.name.clone(),
            rate: self.options.rate,
            on_slow: self.options.on_slow,
            pick: self.options.pick.as_ref().map(|pick| pick.describe()).unwrap_or_default(),
            position,
            written: waiting.map_or(position, |waiting| waiting.before),
            head: self.head(topics),
            waiting_frames: waiting.map_or(0, |waiting| waiting.frames),
            waiting_bytes: waiting.map_or(0, |waiting| waiting.bytes),
            behind: match &self.state {
                SubscriptionState::Live(_) => None,
                SubscriptionState::Behind(behind) => Some(behind.why),
            },
        }
    }

    /// The last change that the shard knows of at its rate.
    fn head(&self, topics: &Topics) -> Option<u64> {
        match self.state {
            SubscriptionState::Live(follower) => Some(topics.passed(follower.topic)),
            SubscriptionState::Behind(_) => {
                topics.number(self.topic()).map(|number| topics.passed(number))
            }
        }
    }
}

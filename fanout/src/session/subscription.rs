//! One channel that a client follows: its options and its position.

use serde_json::Value;

use crate::{
    Micros,
    catch_up::Lease,
    channel::{Channel, Position, Seq},
    protocol::SubscribeOptions,
    topics::{FollowerRef, Topic, Topics},
};

#[derive(Debug)]
pub(super) struct Subscription {
    pub(super) channel: Channel,
    pub(super) options: SubscribeOptions,
    /// Subscribed by its name, not (only) by a wildcard or as a companion.
    pub(super) by_name: bool,
    /// Held while the host merges changes for this subscription and others at its rate.
    pub(super) lease: Option<Lease>,
    /// Present after the first `hash` command.
    pub(super) hashing: Option<Box<Hashing>>,
    /// The sequence up to which frames were queued for this subscription alone. While it is live, its
    /// topic may be ahead of it. `None` before the first image.
    pub(super) delivered: Option<Seq>,
    pub(super) state: SubscriptionState,
}

/// The `hash` commands for one subscription.
#[derive(Debug)]
pub(super) struct Hashing {
    /// When the last one was taken.
    pub(super) taken_at: Micros,
    /// Its `id`, until it is answered.
    pub(super) id: Option<Value>,
}

#[derive(Debug)]
pub(super) enum SubscriptionState {
    /// In the index; gets every publication.
    Live(FollowerRef),
    /// Waits for the host to catch it up.
    Behind(Box<Behind>),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Behind {
    pub(super) from: Option<Position>,
    pub(super) why: &'static str,
    /// It has missed a suspension: its catch-up comes first, ahead of everything queued.
    pub(super) urgent: bool,
    /// A suspension has been published since the pending request.
    pub(super) overtaken: bool,
}

impl SubscriptionState {
    pub(super) fn behind(from: Option<Position>, why: &'static str) -> Self {
        Self::Behind(Box::new(Behind { from, why, urgent: false, overtaken: false }))
    }
}

impl Subscription {
    /// Whether a `hash` command waits for its answer.
    pub(super) fn wants_hash(&self) -> bool {
        self.hashing.as_ref().is_some_and(|hashing| hashing.id.is_some())
    }

    pub(super) fn topic(&self) -> Topic {
        Topic { channel: self.channel.number, rate: self.options.rate }
    }

    pub(super) fn is_behind(&self) -> bool {
        matches!(self.state, SubscriptionState::Behind(_))
    }

    /// Its entry in the index, if it is live.
    pub(super) fn follower(&self) -> Option<FollowerRef> {
        if let SubscriptionState::Live(follower) = self.state { Some(follower) } else { None }
    }

    pub(super) fn at(&self, seq: Seq) -> Position {
        Position { epoch: Some(self.channel.epoch), seq }
    }

    /// The sequence up to which the client lacks nothing that it picks. It is ahead of the position if the last
    /// changes contain nothing of that.
    pub(super) fn passed(&self, topics: &Topics) -> Option<Seq> {
        let position = self.position(topics);
        match self.state {
            SubscriptionState::Live(follower) => position.max(Some(topics.passed(follower.topic))),
            SubscriptionState::Behind(_) => position,
        }
    }

    /// The sequence of the last frame that has been written or queued.
    pub(super) fn position(&self, topics: &Topics) -> Option<Seq> {
        match self.state {
            SubscriptionState::Live(follower) => {
                self.delivered.max(Some(topics.head(follower.topic)))
            }
            SubscriptionState::Behind(_) => self.delivered,
        }
    }
}

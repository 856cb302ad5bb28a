//! One channel that a client follows: its options and its position.

use serde_json::Value;

use crate::{
    Micros,
    catch_up::Lease,
    channel::{Channel, Position, Seq},
    protocol::SubscribeOptions,
    topics::{FollowerRef, Topic, Topics},
};

/// A socket may have thousands, so each takes 64 bytes.
#[derive(Debug)]
pub(super) struct Subscription {
    pub(super) channel: Channel,
    pub(super) options: SubscribeOptions,
    /// Subscribed by its name, not (only) by a wildcard or as a companion.
    pub(super) by_name: bool,
    pub(super) state: SubscriptionState,
    /// [`NOTHING`] before the first image.
    delivered: Seq,
    extras: Option<Box<Extras>>,
}

const _: () = assert!(size_of::<Subscription>() <= 64);

/// No sequence: an `Option` would take eight bytes more.
const NOTHING: Seq = Seq::MAX;

/// What few subscriptions have: 16 bytes.
#[derive(Debug, Default)]
struct Extras {
    /// Held while the host merges changes for this subscription and others at its rate.
    lease: Option<Lease>,
    /// Present after the first `hash` command.
    hashing: Option<Box<Hashing>>,
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
    /// A subscription that waits to be led on from a position, or to its image.
    pub(super) fn new(
        channel: Channel,
        options: SubscribeOptions,
        by_name: bool,
        from: Option<Position>,
    ) -> Self {
        let state = SubscriptionState::behind(from, "resume");
        let delivered = from.map_or(NOTHING, |position| position.seq);
        Self { channel, options, by_name, state, delivered, extras: None }
    }

    /// The sequence up to which frames were queued for this subscription alone. While it is live, its
    /// topic may be ahead of it. `None` before the first image.
    pub(super) fn delivered(&self) -> Option<Seq> {
        (self.delivered != NOTHING).then_some(self.delivered)
    }

    pub(super) fn set_delivered(&mut self, seq: Option<Seq>) {
        self.delivered = seq.unwrap_or(NOTHING);
    }

    /// Sets what is held while the host merges changes for this subscription and others at its rate.
    pub(super) fn set_lease(&mut self, lease: Option<Lease>) {
        if lease.is_some() || self.extras.is_some() {
            self.extras.get_or_insert_default().lease = lease;
        }
    }

    /// Present after the first `hash` command.
    pub(super) fn hashing(&self) -> Option<&Hashing> {
        self.extras.as_ref()?.hashing.as_deref()
    }

    /// Notes a `hash` command.
    pub(super) fn begin_hashing(&mut self, hashing: Hashing) {
        self.extras.get_or_insert_default().hashing = Some(Box::new(hashing));
    }

    /// The `id` of a `hash` command that is answered now.
    pub(super) fn end_hashing(&mut self) -> Option<Value> {
        self.extras.as_mut()?.hashing.as_mut()?.id.take()
    }

    /// Whether a `hash` command waits for its answer.
    pub(super) fn wants_hash(&self) -> bool {
        self.hashing().is_some_and(|hashing| hashing.id.is_some())
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
                self.delivered().max(Some(topics.head(follower.topic)))
            }
            SubscriptionState::Behind(_) => self.delivered(),
        }
    }
}

//! One channel as a client follows it: on which terms, and where it stands.

use crate::{
    catch_up::Lease,
    channel::{Channel, Position, Seq},
    protocol::Terms,
    topics::{Place, Topic, Topics},
};

#[derive(Debug)]
pub(super) struct Subscription {
    pub(super) channel: Channel,
    pub(super) terms: Terms,
    /// Asked for by its name, not (only) by a wildcard.
    pub(super) by_name: bool,
    /// Held while changes are merged for this subscription and others of its rate.
    pub(super) lease: Option<Lease>,
    /// The sequence up to which frames were queued for this subscription alone; while it is live
    /// its topic may have got further. `None` before the first image.
    pub(super) delivered: Option<Seq>,
    pub(super) stand: Stand,
}

#[derive(Debug)]
pub(super) enum Stand {
    /// In the index, at this place.
    Live(Place),
    /// To be brought forward.
    Behind(Box<Behind>),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Behind {
    pub(super) from: Option<Position>,
    pub(super) why: &'static str,
    /// A suspension is among what it lacks: it goes first, and before all that waits.
    pub(super) urgent: bool,
    /// What the open question brings is out of date: it is to be asked again.
    pub(super) again: bool,
}

impl Stand {
    pub(super) fn behind(from: Option<Position>, why: &'static str) -> Self {
        Self::Behind(Box::new(Behind { from, why, urgent: false, again: false }))
    }
}

impl Subscription {
    pub(super) fn topic(&self) -> Topic {
        Topic { channel: self.channel.number, rate: self.terms.rate }
    }

    pub(super) fn is_behind(&self) -> bool {
        matches!(self.stand, Stand::Behind(_))
    }

    pub(super) fn place(&self) -> Option<Place> {
        if let Stand::Live(place) = self.stand { Some(place) } else { None }
    }

    pub(super) fn at(&self, seq: Seq) -> Position {
        Position { epoch: Some(self.channel.epoch), seq }
    }

    /// The sequence up to which everything has been written or queued.
    pub(super) fn position(&self, topics: &Topics) -> Option<Seq> {
        match self.stand {
            Stand::Live(place) => self.delivered.max(Some(topics.head(place.topic))),
            Stand::Behind(_) => self.delivered,
        }
    }
}

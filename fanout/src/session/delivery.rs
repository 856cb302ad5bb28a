//! Publications for a client that does not keep up, and suspensions that overtake what waits for it.

use super::{Delivered, Means, Session, forward::Open, subscription::Stand};
use crate::{
    channel::Publication,
    outbox::{Of, Outbox},
    protocol::OnSlow,
    topics::{Place, Topics},
};

impl Session {
    /// Offers a publication to a subscription whose client does not keep up, or which is new.
    pub fn deliver(
        &mut self,
        key: usize,
        publication: &Publication,
        means: &mut Means<'_>,
    ) -> Delivered {
        let sub = &self.subscriptions[key];
        if sub.is_behind() {
            return Delivered::Known;
        }
        let position = sub.position(means.topics).unwrap_or(0);
        if publication.seq <= position {
            return Delivered::Known;
        }
        if publication.prev > position && !self.is_bare() {
            return self.behind_with(key, "resume", means.topics);
        }
        if publication.channel.trails && self.others_are_behind() {
            return self.behind_with(key, "slow", means.topics);
        }
        if publication.urgent && !publication.channel.trails && !means.outbox.is_empty() {
            return self.overtake(key, means);
        }
        let sub = &mut self.subscriptions[key];
        let of = Of { channel: sub.channel.number, before: Some(position) };
        let frame = publication.frame().clone();
        if means.outbox.push(frame, of, means.budget, means.now).is_ok() {
            sub.delivered = Some(publication.seq);
            return Delivered::Queued;
        }
        match sub.terms.on_slow {
            OnSlow::Close => Delivered::TooSlow,
            OnSlow::Skip => Delivered::Skipped,
            OnSlow::Merge | OnSlow::Resync => self.behind_with(key, "slow", means.topics),
        }
    }

    fn behind_with(&mut self, key: usize, why: &'static str, topics: &Topics) -> Delivered {
        let left = self.fall_behind(key, why, topics);
        left.map_or(Delivered::Known, |left| Delivered::Behind(vec![left]))
    }

    /// A suspension goes before everything that waits: what waits of its channel is taken back, to
    /// come merged, with the suspension, from the host.
    fn overtake(&mut self, key: usize, means: &mut Means<'_>) -> Delivered {
        let Some(place) = self.fall_behind(key, "slow", means.topics) else {
            return Delivered::Known;
        };
        let mut all_left = self.go_first(key, means);
        all_left.push(place);
        Delivered::Behind(all_left)
    }

    /// A suspension of a channel was published that a subscription behind will get from the host:
    /// then at once.
    pub fn hurry(&mut self, channel: u32, means: &mut Means<'_>) -> Vec<Place> {
        let Some(key) = self.by_number(channel) else { return Vec::new() };
        let asked =
            matches!(self.open.as_deref(), Some(Open::Forward { key: own, .. }) if *own == key);
        let Stand::Behind(behind) = &mut self.subscriptions[key].stand else { return Vec::new() };
        if asked {
            (behind.urgent, behind.again) = (true, true);
        } else if !behind.urgent {
            return self.go_first(key, means);
        }
        Vec::new()
    }

    /// Takes back what waits of a subscription that is behind, and of those that must not get ahead
    /// of it. Returns what has left the index by that.
    pub(super) fn go_first(&mut self, key: usize, means: &mut Means<'_>) -> Vec<Place> {
        self.take_back(key, means.outbox);
        if let Stand::Behind(behind) = &mut self.subscriptions[key].stand {
            behind.urgent = true;
        }
        self.behind.push_front(key);
        let trailing = self.subscriptions.iter().filter(|(_, sub)| sub.channel.trails);
        let trailing: Vec<usize> = trailing.map(|(key, _)| key).collect();
        let mut all_left = Vec::new();
        for key in trailing {
            all_left.extend(self.fall_behind(key, "slow", means.topics));
            self.take_back(key, means.outbox);
        }
        all_left
    }

    /// Takes back what waits of a subscription that is behind.
    fn take_back(&mut self, key: usize, outbox: &mut Outbox) {
        let sub = &mut self.subscriptions[key];
        let Some(before) = outbox.take_back(sub.channel.number, sub.channel.trails) else { return };
        let from = before.map(|seq| sub.at(seq));
        if let Stand::Behind(behind) = &mut sub.stand {
            behind.from = from;
            sub.delivered = before;
        }
    }
}

//! Publications for a client that does not keep up, and suspensions that go before its queued frames.

use super::{
    DeliveryOutcome, Session, SessionContext, catch_up::PendingRequest,
    subscription::SubscriptionState,
};
use crate::{
    batch::BatchFrame,
    journal::{Behind, JournalEvent},
    outbox::{FrameOrigin, Outbox, Withdrawal},
    protocol::OnSlow,
    topics::FollowerRef,
};

impl Session {
    /// Offers a publication to a subscription that is new or whose client does not keep up.
    pub fn deliver(
        &mut self,
        key: usize,
        frame: &BatchFrame,
        context: &mut SessionContext<'_>,
    ) -> DeliveryOutcome {
        let BatchFrame { publication, bytes, prev } = frame;
        let sub = &self.subscriptions[key];
        if sub.is_behind() {
            return DeliveryOutcome::NotNeeded;
        }
        let position = sub.position(context.topics).unwrap_or(0);
        if publication.seq <= position {
            return DeliveryOutcome::NotNeeded;
        }
        if *prev > position {
            return self.behind_with(key, "resume", Behind::Gap, context);
        }
        if publication.channel.deliver_last && self.others_are_behind() {
            return self.behind_with(key, "slow", Behind::After, context);
        }
        let is_urgent = publication.urgent && !publication.channel.deliver_last;
        if is_urgent && context.outbox.has_live_frames() {
            return self.preempt(key, context);
        }
        let sub = &mut self.subscriptions[key];
        let (channel, before) = (sub.channel.number, Some(sub.at(position)));
        let origin = FrameOrigin { channel, before, is_resync: false };
        let (waiting_bytes, waiting_us) = (context.outbox.bytes(), context.outbox.age(context.now));
        if context.outbox.push(bytes.clone(), origin, context.budget, context.now).is_ok() {
            sub.set_delivered(Some(publication.seq));
            let (seq, bytes) = (publication.seq, bytes.len());
            let event = JournalEvent::Queued { seq, bytes, waiting_bytes, waiting_us };
            context.note(Some(&sub.channel.name), event);
            return DeliveryOutcome::Queued;
        }
        let why = if waiting_us > context.budget.age_us {
            Behind::Age { waiting_us }
        } else {
            Behind::Bytes { waiting_bytes }
        };
        match sub.options.on_slow {
            OnSlow::Close => {
                // Until the connection is closed, nothing later of the channel may follow.
                let left = self.fall_behind(key, "slow", context.topics);
                context.tally.fell_behind = context.tally.fell_behind.saturating_add(1);
                self.note_behind(key, why, context);
                DeliveryOutcome::TooSlow(left.into_iter().collect())
            }
            OnSlow::Merge | OnSlow::Resync => {
                context.tally.fell_behind = context.tally.fell_behind.saturating_add(1);
                self.behind_with(key, "slow", why, context)
            }
        }
    }

    fn behind_with(
        &mut self,
        key: usize,
        why: &'static str,
        reason: Behind,
        context: &mut SessionContext<'_>,
    ) -> DeliveryOutcome {
        let left = self.fall_behind(key, why, context.topics);
        self.note_behind(key, reason, context);
        left.map_or(DeliveryOutcome::NotNeeded, |left| DeliveryOutcome::Behind(vec![left]))
    }

    pub(super) fn note_behind(&self, key: usize, why: Behind, context: &mut SessionContext<'_>) {
        let Some(sub) = self.subscriptions.get(key) else { return };
        context
            .note(Some(&sub.channel.name), JournalEvent::FellBehind { at: sub.delivered(), why });
    }

    /// Lets a suspension go before everything queued: removes the queued frames of its channel, which the
    /// host then sends again, merged with the suspension.
    fn preempt(&mut self, key: usize, context: &mut SessionContext<'_>) -> DeliveryOutcome {
        let Some(left) = self.fall_behind(key, "slow", context.topics) else {
            return DeliveryOutcome::NotNeeded;
        };
        self.note_behind(key, Behind::Suspended, context);
        let mut all_left = self.move_to_front(key, context);
        all_left.push(left);
        DeliveryOutcome::Behind(all_left)
    }

    /// Catches up first the subscription to a channel that was suspended while it was behind. Returns the
    /// entries that leave the index.
    pub fn prioritise(
        &mut self,
        channel: u32,
        context: &mut SessionContext<'_>,
    ) -> Vec<FollowerRef> {
        let Some(key) = self.by_number(channel) else { return Vec::new() };
        let is_pending = match self.pending.as_deref() {
            Some(PendingRequest::CatchUp { key: pending, .. }) => *pending == key,
            _ => false,
        };
        let SubscriptionState::Behind(behind) = &mut self.subscriptions[key].state else {
            return Vec::new();
        };
        if is_pending {
            (behind.urgent, behind.overtaken) = (true, true);
        } else if !behind.urgent {
            return self.move_to_front(key, context);
        }
        Vec::new()
    }

    /// Removes the queued frames of a subscription that is behind, and of those that must not get ahead
    /// of it, and catches it up next. Returns the entries that leave the index.
    pub(super) fn move_to_front(
        &mut self,
        key: usize,
        context: &mut SessionContext<'_>,
    ) -> Vec<FollowerRef> {
        self.withdraw(key, context.outbox);
        if let SubscriptionState::Behind(behind) = &mut self.subscriptions[key].state {
            behind.urgent = true;
        }
        self.behind.push_front(key);
        self.hold_back_last(context)
    }

    /// Removes the queued frames of channels that are delivered last, which must not get ahead of a
    /// suspension. Returns the entries that leave the index.
    pub(super) fn hold_back_last(&mut self, context: &mut SessionContext<'_>) -> Vec<FollowerRef> {
        let last = self.subscriptions.iter().filter(|(_, sub)| sub.channel.deliver_last);
        let last: Vec<usize> = last.map(|(key, _)| key).collect();
        let mut all_left = Vec::new();
        for key in last {
            all_left.extend(self.fall_behind(key, "slow", context.topics));
            self.withdraw(key, context.outbox);
        }
        all_left
    }

    /// Removes the queued frames of a subscription that is behind. Returns whether there were any.
    pub(super) fn withdraw(&mut self, key: usize, outbox: &mut Outbox) -> bool {
        let sub = &mut self.subscriptions[key];
        let withdrawn = outbox.withdraw(sub.channel.number, sub.channel.deliver_last);
        let Some(Withdrawal { before, needs_image }) = withdrawn else { return false };
        if let SubscriptionState::Behind(behind) = &mut sub.state {
            behind.from = before.filter(|_| !needs_image);
            sub.set_delivered(before.map(|position| position.seq));
        }
        true
    }
}

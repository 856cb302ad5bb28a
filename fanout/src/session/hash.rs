//! The `hash` command: proves the document that a subscription has.
//!
//! A live subscription to each whole change is at the head of the channel when the host responds. Any other is put behind:
//! its catch-up leads to the head, whatever its rate, and brings the hash of the document there.

use serde_json::Value;

use super::{
    Join, Session, SessionContext,
    catch_up::PendingRequest,
    subscription::{Behind, Hashing, Subscription, SubscriptionState},
};
use crate::{
    Micros,
    catch_up::{CatchUp, DocumentHash, HostRequest, HostResponse},
    channel::{Pattern, Rate, Seq},
    protocol::{self, Code, Refusal},
    topics::FollowerRef,
};

/// A subscription gets at most one hash in this time, in microseconds.
const HASH_EVERY_US: Micros = 1_000_000;

impl Session {
    /// Takes a `hash` command. Returns the entry that leaves the index, and a request to the host, if any.
    pub(super) fn hash(
        &mut self,
        id: Value,
        channel: Pattern,
        context: &mut SessionContext<'_>,
    ) -> (Vec<FollowerRef>, Option<HostRequest>) {
        let Some(key) = self.by_name(channel.as_str()) else {
            Self::refuse_unknown(&id, &channel, context);
            return (Vec::new(), None);
        };
        let sub = &mut self.subscriptions[key];
        let too_soon = sub.hashing().is_some_and(|hashing| {
            hashing.id.is_some() || context.now - hashing.taken_at < HASH_EVERY_US
        });
        if too_soon {
            let refusal = Refusal::new(&id, Code::Limit, "a channel has one hash a second");
            context.refuse(&refusal.about(channel.as_str()));
            return (Vec::new(), None);
        }
        sub.begin_hashing(Hashing { taken_at: context.now, id: Some(id) });
        let is_elsewhere = sub.options.rate != Rate::Each || sub.options.pick.is_some();
        if sub.is_behind() || is_elsewhere {
            return (self.fall_behind(key, "rate", context.topics).into_iter().collect(), None);
        }
        // Its frames are not needed: publications bring the subscription there.
        let request = HostRequest::CatchUp {
            channel,
            rate: Rate::Each,
            from: sub.position(context.topics).map(|seq| sub.at(seq)),
            why: "rate",
            bytes_max: 0,
            with_hash: true,
        };
        let channel = sub.channel.number;
        self.set_pending(PendingRequest::Hash { key, channel });
        (Vec::new(), Some(request))
    }

    /// Takes the hash for a subscription that was live. Returns the entry that leaves the index.
    pub(super) fn hash_arrived(
        &mut self,
        (key, channel): (usize, u32),
        response: HostResponse,
        context: &mut SessionContext<'_>,
    ) -> Option<FollowerRef> {
        let sub = self.subscriptions.get(key).filter(|sub| sub.channel.number == channel)?;
        let HostResponse::CatchUp(CatchUp { head, hash: Some(hash), .. }) = response else {
            return None;
        };
        if sub.is_behind() {
            // Its catch-up brings another hash.
            return None;
        }
        if sub.position(context.topics) != Some(head) {
            return self.fall_behind(key, "rate", context.topics);
        }
        self.answer_hash(key, head, &hash, context);
        None
    }

    fn answer_hash(
        &mut self,
        key: usize,
        head: Seq,
        hash: &DocumentHash,
        context: &mut SessionContext<'_>,
    ) {
        let sub = &mut self.subscriptions[key];
        if let Some(id) = sub.end_hashing() {
            let hash = hash.for_pick(sub.options.pick.as_ref());
            let reply = protocol::hash(&id, &sub.channel, head, &hash);
            context.outbox.push_reply(reply, context.now);
        }
    }

    /// Queues the frames of a catch-up, and the hash if it is wanted and the frames lead to the head.
    pub(super) fn advance_to_hash(
        &mut self,
        key: usize,
        catch_up: CatchUp,
        context: &mut SessionContext<'_>,
    ) -> Option<Join> {
        let hash = catch_up.hash.clone();
        let join = self.advance(key, catch_up, context)?;
        let sub = &mut self.subscriptions[key];
        if !sub.wants_hash() {
            return Some(join);
        }
        let Some(hash) = hash else {
            // The request was on its way before the command.
            let from = Some(sub.at(join.head));
            let behind = Behind { from, why: "rate", urgent: false, overtaken: false };
            self.set_state(key, SubscriptionState::Behind(Box::new(behind)));
            self.behind.push_back(key);
            return None;
        };
        self.answer_hash(key, join.head, &hash, context);
        Some(join)
    }
}

/// Refuses the `hash` command of a subscription that ends or starts again.
pub(super) fn refuse_waiting(sub: &Subscription, context: &mut SessionContext<'_>) {
    if let Some(id) = sub.hashing().and_then(|hashing| hashing.id.as_ref()) {
        let refusal = Refusal::new(id, Code::NotTracked, "the subscription has ended");
        context.refuse(&refusal.about(sub.channel.name.as_str()));
    }
}

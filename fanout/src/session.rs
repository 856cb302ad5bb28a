//! One client's session: its subscriptions and their positions. No socket, no clock, no index.
//!
//! A subscription is either **live** (it is in the index and gets every publication) or **behind** (it
//! holds a position, and the host catches it up when the outbox has room). Subscribing, resuming after
//! a disconnect, changing the rate and catching up after being slow all use this one mechanism.

mod batch_command;
mod catch_up;
mod commands;
mod delivery;
mod groups;
mod hash;
mod index;
mod permission;
mod replays;
mod report;
mod subscription;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;
use rustc_hash::FxBuildHasher;
use serde_json::Value;
use slab::Slab;

use self::{
    batch_command::BatchCommand,
    catch_up::PendingRequest,
    index::{LINEAR_SEARCH_MAX, SubscriptionIndex},
    replays::Replays,
    subscription::{Subscription, SubscriptionState},
};
use crate::{
    Micros,
    channel::{Channel, ChannelId, Pattern, Position, Publication, Rate, Seq},
    dialect::Dialect,
    journal::{Journal, JournalEvent},
    outbox::{Budget, FrameOrigin, Outbox},
    patterns::Patterns,
    permission::{Classes, Permission},
    protocol::{self, Code, Pick, Refusal, SubscribeOptions},
    quota::Quota,
    subscribers::ConnectionCounts,
    topics::{FollowerRef, Topic, Topics},
    view::{Renderer, View},
};

#[derive(Debug)]
pub struct Session {
    subscriptions: Slab<Subscription>,
    /// Present when there are many subscriptions.
    index: Option<Box<SubscriptionIndex>>,
    /// The wildcards and their options. [`Patterns`] finds those that cover a channel.
    wildcards: HashMap<Pattern, SubscribeOptions, FxBuildHasher>,
    /// The wildcard of the last `set`, and how many subscriptions exist only because of it, until any of that changes.
    last_set: Option<Box<(Pattern, usize)>>,
    /// Subscriptions to be caught up, in the order in which they fell behind, urgent ones first. Those
    /// that have ended or caught up since are skipped.
    behind: VecDeque<usize>,
    /// How many subscriptions are behind.
    behind_count: u32,
    /// How many of those are of channels that are delivered last.
    behind_deliver_last: u32,
    channels_max: u32,
    patterns_max: u32,
    /// Its part in what its account follows.
    quota: Quota,
    /// It selects parts of documents, each of which the shard renders.
    picks: bool,
    /// The client has been informed that channels of its wildcards are left out because of the limit.
    limit_reported: bool,
    /// While a beat is being sent in parts: the key at which the next part begins.
    beat_at: Option<usize>,
    /// The request that the host has not responded to yet. Until then, no command is taken.
    pending: Option<Box<PendingRequest>>,
    /// The command with `chs` that is carried out, entry by entry. Until it is answered, no command is taken.
    batch: Option<Box<BatchCommand>>,
    /// Changes that reached the client merged into others because it was slow.
    merged: u64,
    /// The channels of a new wildcard have not all been caught up yet.
    unsettled: bool,
    dialect: Dialect,
    /// Its client takes compressed frames.
    deflates: bool,
    /// The connection closes.
    ended: bool,
    permission: Permission,
    /// The classes that the permission grants now.
    classes: Classes,
    /// Wildcards that may cover more channels than before and must be matched by the host again.
    widening: Vec<Pattern>,
    /// Recorded channels that are played to it. Most sockets have none.
    replays: Option<Box<Replays>>,
}

/// What a session uses but does not own.
#[derive(Debug)]
pub struct SessionContext<'a> {
    pub outbox: &'a mut Outbox,
    pub tally: &'a mut ConnectionCounts,
    /// The positions of topics. Only the shard changes them.
    pub topics: &'a Topics,
    /// The index of wildcards, of all connections.
    pub patterns: &'a mut Patterns,
    pub renderer: &'a mut Renderer,
    pub journal: &'a mut Journal,
    /// The connection's own slot.
    pub slot: u32,
    pub budget: Budget,
    pub now: Micros,
}

impl SessionContext<'_> {
    /// Notes what happened to the connection in the journal.
    fn note(&mut self, channel: Option<&ChannelId>, event: JournalEvent) {
        self.journal.note(self.tally.serial, channel, event, self.now);
    }

    /// Queues the `error` frame of a refusal.
    fn refuse(&mut self, refusal: &Refusal) {
        self.outbox.push_reply(protocol::error(refusal), self.now);
        self.tally.refused = self.tally.refused.saturating_add(1);
        if self.journal.watches(self.tally.serial) {
            let channel = refusal.channel.as_deref().map(ChannelId::new);
            let (code, message) = (refusal.code.as_str(), refusal.message.clone());
            self.note(channel.as_ref(), JournalEvent::Refused { code, message });
        }
    }
}

/// What happened to a publication that was offered to a subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryOutcome {
    Queued,
    /// The client already has it, or gets it when it is caught up.
    NotNeeded,
    /// No room: the subscription, and any that must not get ahead of it, has left the index and waits to
    /// be caught up.
    Behind(Vec<FollowerRef>),
    /// No room, and the client requested to be closed in that case. The subscription has left the index.
    TooSlow(Vec<FollowerRef>),
}

/// A subscription to put into the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Join {
    pub key: usize,
    pub topic: Topic,
    pub view: View,
    /// Its position.
    pub head: Seq,
}

impl Session {
    /// `channels_max`: how many channels one socket may follow.
    #[must_use]
    pub fn new(channels_max: usize) -> Self {
        Self {
            subscriptions: Slab::new(),
            index: None,
            wildcards: HashMap::default(),
            last_set: None,
            behind: VecDeque::new(),
            behind_count: 0,
            behind_deliver_last: 0,
            channels_max: u32::try_from(channels_max).unwrap_or(u32::MAX),
            patterns_max: u32::MAX,
            quota: Quota::default(),
            picks: false,
            limit_reported: false,
            beat_at: None,
            pending: None,
            batch: None,
            merged: 0,
            unsettled: false,
            dialect: Dialect::Stream,
            deflates: false,
            ended: false,
            permission: Permission::EVERYTHING,
            classes: Classes::ALL,
            widening: Vec::new(),
            replays: None,
        }
    }

    /// `channels_max`: how many channels one socket of the stream protocol may follow. The other
    /// dialects have their own limits.
    #[must_use]
    pub fn speaking(dialect: Dialect, channels_max: usize) -> Self {
        Self { dialect, ..Self::new(channels_max) }
    }

    /// Limits the number of wildcards that it may follow at a time.
    #[must_use]
    pub fn with_patterns_max(self, patterns_max: usize) -> Self {
        Self { patterns_max: u32::try_from(patterns_max).unwrap_or(u32::MAX), ..self }
    }

    /// Limits what it follows together with other sessions.
    #[must_use]
    pub(crate) fn within(self, quota: Quota) -> Self {
        Self { quota, ..self }
    }

    /// Sets whether its client takes compressed frames.
    #[must_use]
    pub fn deflating(self, deflates: bool) -> Self {
        Self { deflates, ..self }
    }

    /// Whether a request to the host is pending, so that commands must wait.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.pending.is_some() || self.batch.is_some() || self.waits_for_replay()
    }

    /// Whether it selects parts of documents, so that its catch-ups are expensive for the shard.
    #[must_use]
    pub fn picks(&self) -> bool {
        self.picks
    }

    /// Whether any subscription is behind.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.behind_count > 0
    }

    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    #[must_use]
    pub fn channels(&self) -> usize {
        self.subscriptions.len()
    }

    /// Whether the client requested lag frames.
    #[must_use]
    pub fn wants_lag(&self) -> bool {
        self.subscriptions.iter().any(|(_, sub)| sub.options.lag)
    }

    /// Changes that reached the client merged into others since it became slow.
    #[must_use]
    pub fn merged(&self) -> u64 {
        self.merged
    }

    /// Resets the count of merged changes when the client keeps up again.
    pub fn reset_merged(&mut self) {
        self.merged = 0;
    }

    /// Records the entry that a subscription has in the index now.
    pub fn set_live(&mut self, key: usize, follower: FollowerRef) {
        self.set_state(key, SubscriptionState::Live(follower));
    }

    /// Makes room for many subscriptions and no more: growth by doubling leaves up to half of the memory unused.
    fn reserve(&mut self, new: usize) {
        if new > self.subscriptions.len() / 2 {
            self.subscriptions.reserve_exact(new);
        }
    }

    fn insert(&mut self, sub: Subscription) -> usize {
        let len = self.subscriptions.len();
        if len == self.subscriptions.capacity() {
            // Most sockets follow one channel, and growth by doubling would leave up to half of the memory unused.
            self.subscriptions.reserve_exact((len / 8).max(1));
        }
        self.count_behind(&sub, 1);
        self.last_set = None;
        let key = self.subscriptions.insert(sub);
        self.count_subscriptions();
        match &mut self.index {
            Some(index) => index.insert(&self.subscriptions, key),
            None if self.subscriptions.len() > LINEAR_SEARCH_MAX => {
                self.index = Some(Box::new(SubscriptionIndex::new(&self.subscriptions)));
            }
            None => {}
        }
        key
    }

    /// Ends a subscription, and refuses the command that waits for it. Returns its entry in the index if it had
    /// one.
    fn remove(&mut self, key: usize, context: &mut SessionContext<'_>) -> Option<FollowerRef> {
        if let Some(sub) = self.subscriptions.get(key) {
            hash::refuse_waiting(sub, context);
        }
        self.take_out(key)
    }

    /// Removes a subscription. Returns its entry in the index if it had one.
    fn take_out(&mut self, key: usize) -> Option<FollowerRef> {
        if let Some(index) = &mut self.index
            && self.subscriptions.contains(key)
        {
            index.remove(&self.subscriptions, key);
        }
        let sub = self.subscriptions.try_remove(key)?;
        self.last_set = None;
        self.count_subscriptions();
        if self.subscriptions.is_empty() {
            (self.subscriptions, self.index) = (Slab::new(), None);
        }
        self.count_behind(&sub, -1);
        sub.follower()
    }

    /// Counts them against the quota. A limit is reported again once a tenth of the room has been free.
    fn count_subscriptions(&mut self) {
        let (len, spare) = (self.subscriptions.len(), (self.channels_max / 10) as usize);
        self.quota.set(len);
        if len + spare < self.channels_max as usize && self.quota.has_room(spare) {
            self.limit_reported = false;
        }
    }

    fn set_state(&mut self, key: usize, state: SubscriptionState) {
        let deliver_last = u32::from(self.subscriptions[key].channel.deliver_last);
        let sub = &mut self.subscriptions[key];
        let was_behind = u32::from(sub.is_behind());
        sub.state = state;
        let is_behind = u32::from(sub.is_behind());
        self.behind_count = self.behind_count + is_behind - was_behind;
        self.behind_deliver_last =
            self.behind_deliver_last + is_behind * deliver_last - was_behind * deliver_last;
    }

    fn count_behind(&mut self, sub: &Subscription, by: i32) {
        if sub.is_behind() {
            self.behind_count = self.behind_count.saturating_add_signed(by);
            let by_last = by * i32::from(sub.channel.deliver_last);
            self.behind_deliver_last = self.behind_deliver_last.saturating_add_signed(by_last);
        }
    }

    /// Updates a channel to what the host returned: it may have been reopened with another number.
    fn set_channel(&mut self, key: usize, channel: &Channel) {
        if self.subscriptions[key].channel.number == channel.number {
            return self.subscriptions[key].channel = channel.clone();
        }
        if let Some(index) = &mut self.index {
            index.remove(&self.subscriptions, key);
        }
        self.subscriptions[key].channel = channel.clone();
        if let Some(index) = &mut self.index {
            index.insert(&self.subscriptions, key);
        }
    }

    /// Puts a subscription behind at its current position. Returns the entry that it leaves.
    fn fall_behind(
        &mut self,
        key: usize,
        why: &'static str,
        topics: &Topics,
    ) -> Option<FollowerRef> {
        let sub = &mut self.subscriptions[key];
        let follower = sub.follower()?;
        let position = sub.position(topics);
        sub.set_delivered(position);
        let from = position.map(|seq| sub.at(seq));
        self.set_state(key, SubscriptionState::behind(from, why));
        self.behind.push_back(key);
        Some(follower)
    }

    fn by_name(&self, name: &str) -> Option<usize> {
        if let Some(index) = &self.index {
            return index.by_name(&self.subscriptions, name);
        }
        let named = |(_, sub): &(usize, &Subscription)| sub.channel.name.as_str() == name;
        self.subscriptions.iter().find(named).map(|(key, _)| key)
    }

    fn by_number(&self, channel: u32) -> Option<usize> {
        if let Some(index) = &self.index {
            return index.by_number(&self.subscriptions, channel);
        }
        let numbered = |(_, sub): &(usize, &Subscription)| sub.channel.number == channel;
        self.subscriptions.iter().find(numbered).map(|(key, _)| key)
    }

    /// The subscription to this channel if its entry is in the topic with this number.
    #[must_use]
    pub fn in_topic(&self, number: u32, channel: u32) -> Option<usize> {
        let key = self.by_number(channel)?;
        self.subscriptions[key].follower().filter(|follower| follower.topic == number)?;
        Some(key)
    }

    /// Follows a new channel that a wildcard covers, from the empty document on, so that no event is
    /// missed. Its image is small and is queued regardless of the budget. A channel beyond the limit is
    /// left out, and the client gets one error about it.
    pub fn channel_opened(
        &mut self,
        image: &Publication,
        wildcard: &Pattern,
        context: &mut SessionContext<'_>,
    ) -> Option<Join> {
        let channel = &image.channel;
        let options = self.wildcards.get(wildcard)?.clone();
        let is_known = self.by_name(channel.name.as_str()).is_some();
        if is_known || !self.classes.cover(channel.needs) {
            return None;
        }
        if self.is_full(1) {
            self.report_limit(wildcard, context);
            return None;
        }
        let origin = FrameOrigin { channel: channel.number, before: None, is_resync: false };
        let view = self.view(&options);
        let frame = context.renderer.frame(&view, image.frame().clone(), None, true)?;
        context.tally.images = context.tally.images.saturating_add(1);
        let event = JournalEvent::Image { seq: image.seq, bytes: frame.len(), why: "new" };
        context.note(Some(&channel.name), event);
        context.outbox.add(frame, Some(origin), context.now);
        let from = Some(Position { epoch: Some(channel.epoch), seq: image.seq });
        let sub = Subscription::new(channel.clone(), options, false, from);
        let topic = sub.topic();
        let key = self.insert(sub);
        if topic.rate != Rate::Each {
            // The host must first learn of a follower at this rate.
            self.behind.push_back(key);
            return None;
        }
        Some(Join { key, topic, view, head: image.seq })
    }

    /// Whether the socket may use these options: each pick costs the shard an encoding of its own.
    fn may_pick(&self, options: &SubscribeOptions) -> bool {
        let Some(new) = &options.pick else { return true };
        let all = self.subscriptions.iter().map(|(_, sub)| &sub.options);
        let mut picks: Vec<&Pick> = Vec::new();
        for pick in all.chain(self.wildcards.values()).filter_map(|it| it.pick.as_deref()) {
            if !picks.contains(&pick) {
                picks.push(pick);
            }
        }
        picks.contains(&&**new) || picks.len() < PICKS_MAX
    }

    /// How a subscription with these options gets its frames.
    fn view(&self, options: &SubscribeOptions) -> View {
        View { pick: options.pick.clone(), deflates: self.deflates }
    }

    /// Sends one error about channels of a wildcard that are left out, until there is room again.
    fn report_limit(&mut self, wildcard: &Pattern, context: &mut SessionContext<'_>) {
        if std::mem::replace(&mut self.limit_reported, true) {
            return;
        }
        let message =
            format!("{}: others that its patterns cover are left out", self.describe_limit(1));
        let refusal = Refusal::new(&Value::Null, Code::Limit, message).about(wildcard.as_str());
        context.refuse(&refusal);
    }

    /// Ends the subscription to a channel that no longer exists. It is no longer in the index.
    pub fn channel_closed(&mut self, channel: u32, context: &mut SessionContext<'_>) {
        if let Some(key) = self.by_number(channel) {
            self.channel_gone(key, context);
        }
    }

    /// Puts all subscriptions behind, because publications on their way to this shard were dropped. The
    /// caller clears the index.
    pub fn mark_all_behind(&mut self, topics: &Topics) {
        let keys: Vec<usize> = self.subscriptions.iter().map(|(key, _)| key).collect();
        for key in keys {
            self.fall_behind(key, "resume", topics);
        }
    }

    /// Removes and returns all wildcards.
    pub fn take_wildcards(&mut self) -> Vec<Pattern> {
        std::mem::take(&mut self.wildcards).into_keys().collect()
    }

    /// Ends all subscriptions, and beats: nothing follows a close frame. Returns their entries in the index.
    pub fn unsubscribe_all(&mut self) -> Vec<FollowerRef> {
        self.ended = true;
        (self.pending, self.batch, self.replays) = (None, None, None);
        self.widening = Vec::new();
        self.behind = VecDeque::new();
        (self.behind_count, self.behind_deliver_last) = (0, 0);
        (self.index, self.beat_at, self.last_set) = (None, None, None);
        self.quota.set(0);
        std::mem::take(&mut self.subscriptions).drain().filter_map(|sub| sub.follower()).collect()
    }

    /// Whether it gets beats: in the dialect that has them, also while it follows nothing. Clients and proxies end a connection
    /// that is silent.
    #[must_use]
    pub fn has_beats(&self) -> bool {
        self.dialect.is_stream() && !self.ended
    }

    /// The first part of a beat, if it gets any.
    pub fn beat(&mut self, topics: &Topics, now: Micros) -> Option<Bytes> {
        if !self.has_beats() {
            return None;
        }
        self.beat_at = Some(0);
        self.next_beat(topics, now)
    }

    /// The next part of a beat that has begun. A beat with many channels is split into several frames,
    /// each queued when the one before it has been written, so that a beat never fills an outbox.
    pub fn next_beat(&mut self, topics: &Topics, now: Micros) -> Option<Bytes> {
        let mut at = self.beat_at.take()?;
        let end = self.subscriptions.capacity();
        let mut heads: Vec<(&ChannelId, Seq)> = Vec::new();
        while at < end {
            if let Some(sub) = self.subscriptions.get(at)
                && let Some(position) = sub.passed(topics)
            {
                if heads.len() == BEAT_HEADS {
                    break;
                }
                heads.push((&sub.channel.name, position));
            }
            at += 1;
        }
        let more = at < end;
        let beat = protocol::beat(now, &heads, more);
        self.beat_at = more.then_some(at);
        Some(beat)
    }
}

/// Different picks on one socket at a time.
const PICKS_MAX: usize = 8;

/// Channels in one frame of a beat: about 16 KB.
const BEAT_HEADS: usize = 300;

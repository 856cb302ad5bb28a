//! One client's conversation: what it follows and how far it has got. No socket, no clock, no index.
//!
//! A subscription is either **live** (it stands in the index and takes each publication) or
//! **behind** (it holds a position, and the host will bring it forward when the outbox has room).
//! Joining, resuming after a cut, another rate and catching up after being slow are that one mechanism.

mod commands;
mod delivery;
mod forward;
mod index;
mod live;
mod permission;
mod subscription;

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;
use rustc_hash::FxBuildHasher;
use serde_json::Value;
use slab::Slab;

use self::{
    forward::Open,
    index::{FEW, Index},
    subscription::{Stand, Subscription},
};
use crate::{
    Micros,
    catch_up::Question,
    channel::{Channel, ChannelId, Pattern, Position, Publication, Rate, Seq},
    live::Sports,
    outbox::{Budget, Of, Outbox},
    patterns::Patterns,
    permission::{Classes, Permission},
    protocol::{self, Code, OnSlow, Refusal, Terms},
    topics::{Place, Topic, Topics},
};

#[derive(Debug)]
pub struct Session {
    subscriptions: Slab<Subscription>,
    /// Where there are many of them.
    index: Option<Box<Index>>,
    /// The wildcards and their terms. Which of them covers a channel is known to [`Patterns`].
    wildcards: HashMap<Pattern, Terms, FxBuildHasher>,
    /// Subscriptions to be brought forward, in the order in which they fell behind, urgent ones
    /// first. One that has ended or caught up since is passed over.
    behind: VecDeque<usize>,
    /// How many subscriptions are behind.
    behind_count: u32,
    /// How many of those are of channels that trail.
    behind_trailing: u32,
    channels_max: u32,
    patterns_max: u32,
    /// The client knows that channels of its wildcards are left out, since there are too many.
    limit_told: bool,
    /// The subscription with which the next part of a beat begins, while one is being sent.
    beat_at: Option<usize>,
    /// The question that the host has not answered yet. While there is one, no command is taken.
    open: Option<Box<Open>>,
    /// Changes that reached the client merged into others, because it was slow.
    merged: u64,
    /// A wildcard was asked for, and its channels have not all been brought forward since.
    unsettled: bool,
    dialect: Dialect,
    permission: Permission,
    /// What of it holds now.
    classes: Classes,
    /// Wildcards that may cover more than before, and of which the host is to be asked once more.
    widening: Vec<Pattern>,
}

/// What a session works with that is not its own.
#[derive(Debug)]
pub struct Means<'a> {
    pub outbox: &'a mut Outbox,
    /// To see how far topics have been served; the shard changes it.
    pub topics: &'a Topics,
    /// Who follows which wildcards.
    pub patterns: &'a mut Patterns,
    /// The connection's own slot.
    pub slot: u32,
    pub budget: Budget,
    pub now: Micros,
}

/// What is spoken on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// The stream protocol.
    #[default]
    Stream,
    /// That of the older sockets, with these sports.
    Live(&'static Sports),
    /// None: one bare channel is followed.
    Bare,
}

/// What the shard is to do after a command.
#[derive(Debug)]
pub enum Next {
    Nothing,
    Ask(Question),
}

/// What became of a publication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivered {
    Queued,
    /// The client has it already, or will be brought forward to it.
    Known,
    /// No room: the subscription, and any that must not get ahead of it, has left its place in the
    /// index and waits to be brought forward.
    Behind(Vec<Place>),
    /// No room, and the client asked to be closed then.
    TooSlow,
    /// No room, and the message is left out.
    Skipped,
}

/// A subscription to put into the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Join {
    pub key: usize,
    pub topic: Topic,
    /// Where it stands.
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
            behind: VecDeque::new(),
            behind_count: 0,
            behind_trailing: 0,
            channels_max: u32::try_from(channels_max).unwrap_or(u32::MAX),
            patterns_max: u32::MAX,
            limit_told: false,
            beat_at: None,
            open: None,
            merged: 0,
            unsettled: false,
            dialect: Dialect::Stream,
            permission: Permission::EVERYTHING,
            classes: Classes::ALL,
            widening: Vec::new(),
        }
    }

    /// `channels_max`: how many channels one socket of the stream protocol may follow. Those of the
    /// others have limits of their own.
    #[must_use]
    pub fn speaking(dialect: Dialect, channels_max: usize) -> Self {
        Self { dialect, ..Self::new(channels_max) }
    }

    /// Limits the wildcards that it may follow at a time.
    #[must_use]
    pub fn with_patterns_max(self, patterns_max: usize) -> Self {
        Self { patterns_max: u32::try_from(patterns_max).unwrap_or(u32::MAX), ..self }
    }

    /// Follows one bare channel from now on.
    #[must_use]
    pub fn bare(channel: Channel) -> (Self, Join) {
        let mut session = Self::speaking(Dialect::Bare, 1);
        let terms = Terms { on_slow: OnSlow::Skip, ..Terms::default() };
        let key = session.insert(Subscription {
            channel,
            terms,
            by_name: true,
            lease: None,
            delivered: Some(0),
            stand: Stand::behind(None, "resume"),
        });
        let topic = session.subscriptions[key].topic();
        (session, Join { key, topic, head: 0 })
    }

    /// How a bare channel is followed again by a shard that has forgotten its index.
    #[must_use]
    pub fn bare_join(&self) -> Option<Join> {
        let (key, sub) = self.subscriptions.iter().next().filter(|_| self.is_bare())?;
        Some(Join { key, topic: sub.topic(), head: 0 })
    }

    /// Whether a question is open, so that commands have to wait.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.open.is_some()
    }

    /// Whether a subscription has to be brought forward.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.behind_count > 0
    }

    /// Whether it follows a bare channel.
    #[must_use]
    pub fn is_bare(&self) -> bool {
        self.dialect == Dialect::Bare
    }

    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    #[must_use]
    pub fn channels(&self) -> usize {
        self.subscriptions.len()
    }

    /// Whether the client wants to be told of its delay.
    #[must_use]
    pub fn wants_lag(&self) -> bool {
        self.subscriptions.iter().any(|(_, sub)| sub.terms.lag)
    }

    /// Changes that reached the client merged into others because it was slow, since that began.
    #[must_use]
    pub fn merged(&self) -> u64 {
        self.merged
    }

    /// The client keeps up again.
    pub fn forget_merged(&mut self) {
        self.merged = 0;
    }

    /// Notes the place that a subscription has in the index now.
    pub fn placed(&mut self, key: usize, place: Place) {
        self.stand(key, Stand::Live(place));
    }

    fn insert(&mut self, sub: Subscription) -> usize {
        if self.subscriptions.capacity() == 0 {
            // Most sockets follow one channel; the usual first room for four would be theirs too.
            self.subscriptions = Slab::with_capacity(1);
        }
        self.count_behind(&sub, 1);
        let key = self.subscriptions.insert(sub);
        match &mut self.index {
            Some(index) => index.insert(&self.subscriptions, key),
            None if self.subscriptions.len() > FEW => {
                self.index = Some(Box::new(Index::of(&self.subscriptions)));
            }
            None => {}
        }
        key
    }

    /// Takes a subscription away; returns its place in the index if it had one.
    fn remove(&mut self, key: usize) -> Option<Place> {
        if let Some(index) = &mut self.index
            && self.subscriptions.contains(key)
        {
            index.remove(&self.subscriptions, key);
        }
        let sub = self.subscriptions.try_remove(key)?;
        self.count_behind(&sub, -1);
        if self.subscriptions.len() < (self.channels_max - self.channels_max / 10) as usize {
            self.limit_told = false;
        }
        sub.place()
    }

    fn stand(&mut self, key: usize, stand: Stand) {
        let trails = u32::from(self.subscriptions[key].channel.trails);
        let sub = &mut self.subscriptions[key];
        let was_behind = u32::from(sub.is_behind());
        sub.stand = stand;
        let is_behind = u32::from(sub.is_behind());
        self.behind_count = self.behind_count + is_behind - was_behind;
        self.behind_trailing = self.behind_trailing + is_behind * trails - was_behind * trails;
    }

    fn count_behind(&mut self, sub: &Subscription, by: i32) {
        if sub.is_behind() {
            self.behind_count = self.behind_count.saturating_add_signed(by);
            let trailing = by * i32::from(sub.channel.trails);
            self.behind_trailing = self.behind_trailing.saturating_add_signed(trailing);
        }
    }

    /// Notes a channel as the host knows it now: it may have been opened again.
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

    /// Lets a subscription wait to be brought forward from where it stands. Returns the place that
    /// it leaves.
    fn fall_behind(&mut self, key: usize, why: &'static str, topics: &Topics) -> Option<Place> {
        let sub = &mut self.subscriptions[key];
        let place = sub.place()?;
        sub.delivered = sub.position(topics);
        let from = sub.delivered.map(|seq| sub.at(seq));
        self.stand(key, Stand::behind(from, why));
        self.behind.push_back(key);
        Some(place)
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

    /// The subscription to this channel that stands in this topic of the index.
    #[must_use]
    pub fn in_topic(&self, number: u32, channel: u32) -> Option<usize> {
        let key = self.by_number(channel)?;
        self.subscriptions[key].place().filter(|place| place.topic == number)?;
        Some(key)
    }

    /// A new channel has come to be that a wildcard covers: follows it from the empty document on, so
    /// that no event of it is missed. That image is small and goes in whatever the budget. One
    /// channel too many is left out, and the client is told so once.
    pub fn opened(
        &mut self,
        image: &Publication,
        wildcard: &Pattern,
        means: &mut Means<'_>,
    ) -> Option<Join> {
        let channel = &image.channel;
        let terms = *self.wildcards.get(wildcard)?;
        let is_known = self.by_name(channel.name.as_str()).is_some();
        if is_known || !self.classes.cover(channel.needs) {
            return None;
        }
        if self.is_full(1) {
            self.tell_limit(wildcard, means);
            return None;
        }
        let of = Of { channel: channel.number, before: None };
        means.outbox.add(image.frame().clone(), Some(of), means.now);
        let from = Some(Position { epoch: Some(channel.epoch), seq: image.seq });
        let sub = Subscription {
            channel: channel.clone(),
            terms,
            by_name: false,
            lease: None,
            delivered: Some(image.seq),
            stand: Stand::behind(from, "resume"),
        };
        let topic = sub.topic();
        let key = self.insert(sub);
        if terms.rate != Rate::Each {
            // The host is yet to hear that somebody wants it at this rate.
            self.behind.push_back(key);
            return None;
        }
        Some(Join { key, topic, head: image.seq })
    }

    /// Tells the client once that channels of a wildcard are left out, until there is room again.
    fn tell_limit(&mut self, wildcard: &Pattern, means: &mut Means<'_>) {
        if std::mem::replace(&mut self.limit_told, true) {
            return;
        }
        let message = format!(
            "a socket follows at most {} channels: others that its patterns cover are left out",
            self.channels_max
        );
        let refusal = Refusal::new(&Value::Null, Code::Limit, message).about(wildcard.as_str());
        means.outbox.push_reply(protocol::error(&refusal), means.now);
    }

    #[must_use]
    pub fn has_wildcards(&self) -> bool {
        !self.wildcards.is_empty()
    }

    /// A channel is gone, and with it the subscription, which the index has let go already.
    pub fn closed(&mut self, channel: u32, means: &mut Means<'_>) {
        if let Some(key) = self.by_number(channel) {
            self.channel_gone(key, means);
        }
    }

    /// Publications were lost on the way to this shard: everything is to be brought forward. The
    /// shard forgets its whole index.
    pub fn all_behind(&mut self, topics: &Topics) {
        if self.is_bare() {
            return;
        }
        let keys: Vec<usize> = self.subscriptions.iter().map(|(key, _)| key).collect();
        for key in keys {
            self.fall_behind(key, "resume", topics);
        }
    }

    /// The wildcards that it follows, which it follows no longer.
    pub fn take_wildcards(&mut self) -> Vec<Pattern> {
        std::mem::take(&mut self.wildcards).into_keys().collect()
    }

    /// Everything ends.
    pub fn end(&mut self) -> Vec<Place> {
        self.open = None;
        self.widening = Vec::new();
        self.behind = VecDeque::new();
        (self.behind_count, self.behind_trailing) = (0, 0);
        (self.index, self.beat_at) = (None, None);
        std::mem::take(&mut self.subscriptions).drain().filter_map(|sub| sub.place()).collect()
    }

    /// The first part of a beat, or nothing where nothing is followed, or where the dialect has none.
    pub fn beat(&mut self, topics: &Topics, now: Micros) -> Option<Bytes> {
        let is_idle = self.subscriptions.is_empty() && !self.has_wildcards();
        if self.dialect != Dialect::Stream || is_idle {
            return None;
        }
        self.beat_at = Some(0);
        self.next_beat(topics, now)
    }

    /// The next part of a beat that has begun. The channels of a socket that follows many come in
    /// several frames, each when the one before it has gone, so that a beat never fills an outbox.
    pub fn next_beat(&mut self, topics: &Topics, now: Micros) -> Option<Bytes> {
        let mut at = self.beat_at.take()?;
        let end = self.subscriptions.capacity();
        let mut heads: Vec<(&ChannelId, Seq)> = Vec::new();
        while at < end {
            if let Some(sub) = self.subscriptions.get(at)
                && let Some(position) = sub.position(topics)
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

/// Channels of one frame of a beat: some 16 KB.
const BEAT_HEADS: usize = 300;

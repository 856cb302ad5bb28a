//! One client's conversation: what it follows and how far it has got. No socket, no clock, no index.
//!
//! A subscription is either **live** (it stands in the index and takes each publication) or
//! **behind** (it holds a position, and the host will bring it forward when the outbox has room).
//! Joining, resuming after a cut and catching up after being slow are that one mechanism.

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;
use serde_json::Value;
use slab::Slab;

use crate::{
    Micros,
    catch_up::{Answer, CaughtUp, Lease, Question, Verdict},
    channel::{Channel, ChannelId, Pattern, Position, Publication, Rate, Seq},
    outbox::Outbox,
    protocol::{self, Code, Command, From, OnSlow, Refusal, Terms},
    topics::Topic,
};

#[derive(Debug)]
pub struct Session {
    subscriptions: Slab<Subscription>,
    wildcards: Vec<Wildcard>,
    /// Subscriptions to be brought forward, in the order in which they fell behind. One that has
    /// ended or caught up since is passed over.
    behind: VecDeque<usize>,
    /// The question that the host has not answered yet. While there is one, no command is taken.
    open: Option<Open>,
    /// A wildcard was asked for, and its channels have not all been brought forward since.
    unsettled: bool,
    channels_max: usize,
}

#[derive(Debug)]
pub struct Subscription {
    pub channel: Channel,
    terms: Terms,
    /// Held while changes are merged for this subscription and others of its rate.
    lease: Option<Lease>,
    /// The sequence up to which frames have been queued; `None` before the first image.
    delivered: Option<Seq>,
    stand: Stand,
    /// Asked for by its name, not (only) by a wildcard.
    by_name: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Stand {
    /// In the index, at this place.
    Live { place: usize },
    /// To be brought forward from this position.
    Behind { from: Option<Position>, why: &'static str },
}

#[derive(Debug)]
struct Wildcard {
    pattern: Pattern,
    terms: Terms,
}

/// What was asked of the host and for what.
#[derive(Debug)]
enum Open {
    Subscribe { id: Value, channel: Pattern, terms: Terms, asked_from: Option<Position> },
    SubscribeAll { id: Value, pattern: Pattern, terms: Terms, from: From },
    Forward { key: usize, channel: u32, from: Option<Position>, why: &'static str },
}

/// A subscription that has left; the shard takes it out of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Left {
    pub topic: Topic,
    pub place: usize,
}

/// What the shard is to do after a command.
#[derive(Debug)]
pub enum Next {
    Nothing,
    Ask(Question),
}

/// What became of a publication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivered {
    Queued,
    /// The client has it already.
    Known,
    /// No room: the subscription has left the index and waits to be brought forward.
    Behind(Left),
    /// No room, and the client asked to be closed then.
    TooSlow,
}

impl Session {
    /// `channels_max`: how many channels one socket may follow.
    #[must_use]
    pub fn new(channels_max: usize) -> Self {
        Self {
            subscriptions: Slab::new(),
            wildcards: Vec::new(),
            behind: VecDeque::new(),
            open: None,
            unsettled: false,
            channels_max,
        }
    }

    /// Whether a question is open, so that commands have to wait.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.open.is_some()
    }

    #[must_use]
    pub fn channels(&self) -> usize {
        self.subscriptions.len()
    }

    /// Carries out one command. Replies go to the outbox; what has left the index by it is returned.
    pub fn command(
        &mut self,
        command: Command,
        now: Micros,
        outbox: &mut Outbox,
    ) -> (Vec<Left>, Next) {
        match command {
            Command::Ping { id, t } => {
                outbox.push_reply(protocol::pong(&id, t.as_ref(), now));
                (Vec::new(), Next::Nothing)
            }
            Command::Unsubscribe { id, channel } => {
                (self.unsubscribe(&id, &channel, outbox), Next::Nothing)
            }
            Command::Subscribe { id, channel, from, terms } if channel.is_wildcard() => {
                let question = Question::Match { pattern: channel.clone() };
                self.open = Some(Open::SubscribeAll { id, pattern: channel, terms, from });
                (Vec::new(), Next::Ask(question))
            }
            Command::Subscribe { id, channel, from, terms } => {
                (Vec::new(), self.subscribe(id, channel, &from, terms, outbox))
            }
        }
    }

    fn subscribe(
        &mut self,
        id: Value,
        channel: Pattern,
        from: &From,
        terms: Terms,
        outbox: &mut Outbox,
    ) -> Next {
        let followed = self.by_name(channel.as_str()).is_some();
        if !followed && self.subscriptions.len() >= self.channels_max {
            self.refuse_one_more(&id, channel.as_str(), outbox);
            return Next::Nothing;
        }
        let asked_from = if let From::Position(position) = from { Some(*position) } else { None };
        let question = Question::CatchUp {
            channel: channel.clone(),
            rate: terms.rate,
            from: asked_from,
            why: "resume",
            bytes_max: outbox.room(),
        };
        self.open = Some(Open::Subscribe { id, channel, terms, asked_from });
        Next::Ask(question)
    }

    fn refuse_one_more(&self, id: &Value, channel: &str, outbox: &mut Outbox) {
        let message = format!("a socket follows at most {} channels", self.channels_max);
        let refusal = Refusal::new(id, Code::Limit, message).about(channel);
        outbox.push_reply(protocol::error(&refusal));
    }

    fn unsubscribe(&mut self, id: &Value, pattern: &Pattern, outbox: &mut Outbox) -> Vec<Left> {
        if pattern.is_wildcard() {
            self.wildcards.retain(|wildcard| wildcard.pattern != *pattern);
        } else if let Some((_, sub)) = self.by_name(pattern.as_str()) {
            sub.by_name = false;
        }
        let wildcards = &self.wildcards;
        let covered = |sub: &Subscription| {
            sub.by_name || wildcards.iter().any(|w| w.pattern.matches(&sub.channel.name))
        };
        let gone: Vec<usize> = self
            .subscriptions
            .iter()
            .filter(|(_, sub)| pattern.matches(&sub.channel.name) && !covered(sub))
            .map(|(key, _)| key)
            .collect();
        outbox.push_reply(protocol::unsubscribed(id, pattern.as_str()));
        gone.into_iter().filter_map(|key| self.subscriptions.remove(key).left()).collect()
    }

    fn is_behind(&self, key: usize, channel: u32) -> bool {
        self.subscriptions.get(key).is_some_and(|sub| {
            sub.channel.number == channel && matches!(sub.stand, Stand::Behind { .. })
        })
    }

    fn by_name(&mut self, name: &str) -> Option<(usize, &mut Subscription)> {
        self.subscriptions.iter_mut().find(|(_, sub)| sub.channel.name.as_str() == name)
    }

    // --------------------------------------------------------------------- answers of the host

    /// Takes the host's answer to the open question. Returns the subscription that has become
    /// live by it, for the shard to put into the index, and what has left.
    pub fn answer(&mut self, answer: Answer, outbox: &mut Outbox) -> (Option<Join>, Vec<Left>) {
        match (self.open.take(), answer) {
            (Some(Open::Subscribe { id, channel, terms, asked_from }), answer) => match answer {
                Answer::CaughtUp(caught_up) => {
                    let resumed = asked_from.is_some();
                    self.subscribed(&id, terms, resumed, caught_up, outbox)
                }
                Answer::NotTracked | Answer::Matched(_) => {
                    let refusal = Refusal::new(&id, Code::NotTracked, "no such channel now");
                    outbox.push_reply(protocol::error(&refusal.about(channel.as_str())));
                    (None, Vec::new())
                }
            },
            (Some(Open::SubscribeAll { id, pattern, terms, from }), Answer::Matched(channels)) => {
                (None, self.subscribed_all(&id, pattern, terms, &from, &channels, outbox))
            }
            // Another subscription may have taken the place of one that ended meanwhile.
            (Some(Open::Forward { key, channel, .. }), _) if !self.is_behind(key, channel) => {
                (None, Vec::new())
            }
            (Some(Open::Forward { key, from, why, .. }), Answer::CaughtUp(caught_up)) => {
                (self.forwarded(key, from, why, caught_up, outbox), Vec::new())
            }
            (Some(Open::Forward { key, .. }), Answer::NotTracked) => {
                (None, self.channel_gone(key, outbox).into_iter().collect())
            }
            _ => (None, Vec::new()),
        }
    }

    /// Begins a subscription by name. One that there is already, or that a wildcard began while the
    /// question was open, lasts up to the answer, so that nothing between is missed; then it ends.
    fn subscribed(
        &mut self,
        id: &Value,
        terms: Terms,
        asked: bool,
        caught_up: CaughtUp,
        outbox: &mut Outbox,
    ) -> (Option<Join>, Vec<Left>) {
        let CaughtUp { channel, head, verdict, frames, to, lease } = caught_up;
        let resumed = match verdict {
            Verdict::Fresh => None,
            Verdict::Resumed => Some(Ok(())),
            Verdict::Refused(gap) => Some(Err(gap.as_str())),
        };
        debug_assert_eq!(asked, resumed.is_some(), "a verdict answers a position");
        outbox.push_reply(protocol::subscribed(id, terms, &channel, head, resumed));
        let old = self.by_name(channel.name.as_str()).map(|(key, _)| key);
        let left = old.and_then(|key| self.subscriptions.remove(key).left());
        let sub = Subscription {
            channel,
            terms,
            lease,
            delivered: None,
            stand: Stand::Behind { from: None, why: "resume" },
            by_name: true,
        };
        let key = self.subscriptions.insert(sub);
        (self.advance(key, frames, to, head, outbox), left.into_iter().collect())
    }

    /// Begins a subscription to all channels of a pattern. Of those that are followed already, one
    /// begins again if it is given a position or if the pattern itself is repeated, as it does by
    /// name; the others go on, since the client asked for more and not for them.
    fn subscribed_all(
        &mut self,
        id: &Value,
        pattern: Pattern,
        terms: Terms,
        from: &From,
        channels: &[Channel],
        outbox: &mut Outbox,
    ) -> Vec<Left> {
        let keys: HashMap<ChannelId, usize> =
            self.subscriptions.iter().map(|(key, sub)| (sub.channel.name.clone(), key)).collect();
        let new = channels.iter().filter(|channel| !keys.contains_key(&channel.name)).count();
        if self.subscriptions.len() + new > self.channels_max {
            self.refuse_one_more(id, pattern.as_str(), outbox);
            return Vec::new();
        }
        outbox.push_reply(protocol::subscribed_all(id, terms, &pattern, channels.len()));
        let repeated = self.wildcards.iter().any(|wildcard| wildcard.pattern == pattern);
        let mut all_left = Vec::new();
        for channel in channels {
            let from = match from {
                From::Positions(positions) => positions.get(&channel.name).copied(),
                From::Image | From::Position(_) => None,
            };
            let old = keys.get(&channel.name).copied();
            if old.is_none() || repeated || from.is_some() {
                all_left.extend(self.begin(old, channel.clone(), terms, from));
            }
        }
        self.wildcards.retain(|wildcard| wildcard.pattern != pattern);
        self.wildcards.push(Wildcard { pattern, terms });
        self.unsettled = true;
        all_left
    }

    /// Begins to follow a channel for a wildcard, or begins again where it is followed already; one
    /// that was asked for by name stays so, with what it was given.
    fn begin(
        &mut self,
        old: Option<usize>,
        channel: Channel,
        terms: Terms,
        from: Option<Position>,
    ) -> Option<Left> {
        let stand = Stand::Behind { from, why: "resume" };
        let new =
            Subscription { channel, terms, lease: None, delivered: None, stand, by_name: false };
        let Some(key) = old else {
            self.behind.push_back(self.subscriptions.insert(new));
            return None;
        };
        let sub = &mut self.subscriptions[key];
        let left = sub.left();
        let terms = if sub.by_name { sub.terms } else { terms };
        *sub = Subscription { terms, by_name: sub.by_name, ..new };
        self.behind.push_back(key);
        left
    }

    /// Queues what brings a subscription forward; it is live when that reaches the head.
    fn advance(
        &mut self,
        key: usize,
        frames: Vec<Bytes>,
        to: Seq,
        head: Seq,
        outbox: &mut Outbox,
    ) -> Option<Join> {
        frames.into_iter().for_each(|frame| outbox.push_reply(frame));
        let sub = &mut self.subscriptions[key];
        sub.delivered = Some(to);
        if to < head {
            let epoch = Some(sub.channel.epoch);
            let why = if let Stand::Behind { why, .. } = sub.stand { why } else { "resume" };
            sub.stand = Stand::Behind { from: Some(Position { epoch, seq: to }), why };
            self.behind.push_back(key);
            return None;
        }
        Some(Join { key, topic: sub.topic() })
    }

    fn forwarded(
        &mut self,
        key: usize,
        from: Option<Position>,
        why: &'static str,
        caught_up: CaughtUp,
        outbox: &mut Outbox,
    ) -> Option<Join> {
        let CaughtUp { channel, head, verdict, frames, to, lease } = caught_up;
        if channel.trails && self.others_are_behind() {
            // Somebody else fell behind while this was asked: after them, then.
            self.behind.push_back(key);
            return None;
        }
        let sub = self.subscriptions.get_mut(key)?;
        let lost = matches!(verdict, Verdict::Refused(_))
            || sub.terms.on_slow == OnSlow::Resync && why == "slow";
        if lost {
            let why = match verdict {
                Verdict::Refused(crate::catch_up::Gap::Epoch) => "epoch",
                _ if why == "slow" => "slow",
                _ => "gap",
            };
            let from = from.map_or(0, |position| position.seq);
            outbox.push_reply(protocol::resync(channel.name.as_str(), why, from, head));
        }
        sub.channel = channel;
        sub.lease = lease;
        self.advance(key, frames, to, head, outbox)
    }

    fn channel_gone(&mut self, key: usize, outbox: &mut Outbox) -> Option<Left> {
        let sub = self.subscriptions.try_remove(key)?;
        outbox.push_reply(protocol::channel_gone(sub.channel.name.as_str()));
        sub.left()
    }

    /// Notes the place that a subscription has in the index now.
    pub fn placed(&mut self, key: usize, place: usize) {
        self.subscriptions[key].stand = Stand::Live { place };
    }

    /// The next subscription to be brought forward, if the outbox has room for it.
    pub fn forward(&mut self, outbox: &Outbox) -> Option<Question> {
        if self.open.is_some() || !outbox.has_room() {
            return None;
        }
        for _ in 0..self.behind.len() {
            let key = self.behind.pop_front()?;
            let Some(sub) = self.subscriptions.get(key) else { continue };
            let Stand::Behind { from, why } = sub.stand else { continue };
            if sub.channel.trails && self.others_are_behind() {
                self.behind.push_back(key);
                continue;
            }
            let Some(channel) = Pattern::parse(sub.channel.name.as_str()) else { continue };
            let image = sub.terms.on_slow == OnSlow::Resync && why == "slow";
            let (number, rate) = (sub.channel.number, sub.terms.rate);
            self.open = Some(Open::Forward { key, channel: number, from, why });
            let from = from.filter(|_| !image);
            return Some(Question::CatchUp { channel, rate, from, why, bytes_max: outbox.room() });
        }
        None
    }

    /// Whether a channel that does not trail is still being caught up.
    fn others_are_behind(&self) -> bool {
        self.subscriptions
            .iter()
            .any(|(_, sub)| !sub.channel.trails && matches!(sub.stand, Stand::Behind { .. }))
    }

    /// Whether all channels of the wildcards asked for have been brought forward since this was
    /// last so: a beat then confirms where each stands, those among them where nothing has changed.
    pub fn settles(&mut self) -> bool {
        let settles = self.unsettled && self.open.is_none() && self.behind.is_empty();
        self.unsettled &= !settles;
        settles
    }

    // --------------------------------------------------------------------------- publications

    /// Offers a publication to a live subscription.
    pub fn deliver(
        &mut self,
        key: usize,
        publication: &Publication,
        outbox: &mut Outbox,
    ) -> Delivered {
        let sub = &mut self.subscriptions[key];
        let delivered = sub.delivered.unwrap_or(0);
        if publication.seq <= delivered {
            return Delivered::Known;
        }
        if publication.prev > delivered {
            return self.fall_behind(key, "resume");
        }
        if publication.channel.trails && self.others_are_behind() {
            return self.fall_behind(key, "slow");
        }
        let sub = &mut self.subscriptions[key];
        if outbox.push(publication.frame().clone()).is_ok() {
            sub.delivered = Some(publication.seq);
            return Delivered::Queued;
        }
        if sub.terms.on_slow == OnSlow::Close {
            return Delivered::TooSlow;
        }
        self.fall_behind(key, "slow")
    }

    fn fall_behind(&mut self, key: usize, why: &'static str) -> Delivered {
        let Some(left) = self.subscriptions[key].fall_behind(why) else { return Delivered::Known };
        self.behind.push_back(key);
        Delivered::Behind(left)
    }

    /// A new channel has come to be: follows it where a wildcard covers it, from the empty document
    /// on, so that no event of it is missed. That image is small and goes in whatever the budget.
    /// One channel too many is not followed, and the client is told which.
    pub fn opened(&mut self, image: &Publication, outbox: &mut Outbox) -> Option<Join> {
        let channel = &image.channel;
        let wildcard = self.wildcards.iter().find(|w| w.pattern.matches(&channel.name))?;
        let terms = wildcard.terms;
        if self.by_name(channel.name.as_str()).is_some() {
            return None;
        }
        if self.subscriptions.len() >= self.channels_max {
            self.refuse_one_more(&Value::Null, channel.name.as_str(), outbox);
            return None;
        }
        outbox.push_reply(image.frame().clone());
        let sub = Subscription {
            channel: channel.clone(),
            terms,
            lease: None,
            delivered: Some(image.seq),
            stand: Stand::Behind { from: None, why: "resume" },
            by_name: false,
        };
        let key = self.subscriptions.insert(sub);
        if terms.rate != Rate::Each {
            // The host is yet to hear that somebody wants it at this rate.
            let from = Some(Position { epoch: Some(channel.epoch), seq: image.seq });
            self.subscriptions[key].stand = Stand::Behind { from, why: "resume" };
            self.behind.push_back(key);
            return None;
        }
        Some(Join { key, topic: Topic { channel: channel.number, rate: terms.rate } })
    }

    #[must_use]
    pub fn has_wildcards(&self) -> bool {
        !self.wildcards.is_empty()
    }

    /// A channel is gone, and with it the subscription.
    pub fn closed(&mut self, channel: u32, outbox: &mut Outbox) {
        let found = self.subscriptions.iter().find(|(_, sub)| sub.channel.number == channel);
        if let Some((key, _)) = found {
            self.channel_gone(key, outbox);
        }
    }

    /// Publications were lost on the way to this shard: everything is to be brought forward.
    pub fn all_behind(&mut self) -> Vec<Left> {
        let mut all_left = Vec::new();
        for (key, sub) in &mut self.subscriptions {
            if let Some(left) = sub.fall_behind("resume") {
                self.behind.push_back(key);
                all_left.push(left);
            }
        }
        all_left
    }

    /// Everything ends.
    pub fn end(&mut self) -> Vec<Left> {
        self.open = None;
        self.wildcards.clear();
        self.behind.clear();
        self.subscriptions.drain().filter_map(|sub| sub.left()).collect()
    }

    /// The beat, or nothing where nothing is followed.
    #[must_use]
    pub fn beat(&self, now: Micros) -> Option<Bytes> {
        let heads: Vec<(&ChannelId, Seq)> = self
            .subscriptions
            .iter()
            .filter_map(|(_, sub)| Some((&sub.channel.name, sub.delivered?)))
            .collect();
        (!self.subscriptions.is_empty() || self.has_wildcards())
            .then(|| protocol::beat(now, &heads))
    }
}

/// A subscription to put into the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Join {
    pub key: usize,
    pub topic: Topic,
}

impl Subscription {
    fn topic(&self) -> Topic {
        Topic { channel: self.channel.number, rate: self.terms.rate }
    }

    fn left(&self) -> Option<Left> {
        let Stand::Live { place } = self.stand else { return None };
        Some(Left { topic: self.topic(), place })
    }

    fn fall_behind(&mut self, why: &'static str) -> Option<Left> {
        let left = self.left()?;
        let seq = self.delivered.unwrap_or(0);
        let from = Some(Position { epoch: Some(self.channel.epoch), seq });
        self.stand = Stand::Behind { from, why };
        Some(left)
    }
}

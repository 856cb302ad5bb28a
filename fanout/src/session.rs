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
    catch_up::{Answer, CaughtUp, Forward, Gap, Lease, Question, Verdict},
    channel::{Channel, ChannelId, Pattern, Position, Publication, Rate, Seq},
    outbox::{Budget, Of, Outbox},
    protocol::{self, Code, Command, From, OnSlow, Refusal, Terms, Wishes},
    topics::{Place, Topic, Topics},
};

#[derive(Debug)]
pub struct Session {
    subscriptions: Slab<Subscription>,
    wildcards: Vec<Wildcard>,
    /// Subscriptions to be brought forward, in the order in which they fell behind, urgent ones
    /// first. One that has ended or caught up since is passed over.
    behind: VecDeque<usize>,
    /// How many subscriptions are behind.
    behind_count: u32,
    channels_max: u32,
    /// The question that the host has not answered yet. While there is one, no command is taken.
    open: Option<Box<Open>>,
    /// Changes that reached the client merged into others, because it was slow.
    merged: u64,
    /// A wildcard was asked for, and its channels have not all been brought forward since.
    unsettled: bool,
    /// It follows one bare channel, and speaks no protocol.
    bare: bool,
}

/// What a session works with that is not its own.
#[derive(Debug)]
pub struct Means<'a> {
    pub outbox: &'a mut Outbox,
    /// To see how far topics have been served; the shard changes it.
    pub topics: &'a Topics,
    pub budget: Budget,
    pub now: Micros,
}

#[derive(Debug)]
struct Subscription {
    channel: Channel,
    terms: Terms,
    /// Asked for by its name, not (only) by a wildcard.
    by_name: bool,
    /// Held while changes are merged for this subscription and others of its rate.
    lease: Option<Lease>,
    /// The sequence up to which frames were queued for this subscription alone; while it is live
    /// its topic may have got further. `None` before the first image.
    delivered: Option<Seq>,
    stand: Stand,
}

#[derive(Debug)]
enum Stand {
    /// In the index, at this place.
    Live(Place),
    /// To be brought forward.
    Behind(Box<Behind>),
}

#[derive(Debug, Clone, Copy)]
struct Behind {
    from: Option<Position>,
    why: &'static str,
    /// A suspension is among what it lacks: it goes first, and before all that waits.
    urgent: bool,
    /// What the open question brings is out of date: it is to be asked again.
    again: bool,
}

#[derive(Debug)]
struct Wildcard {
    pattern: Pattern,
    terms: Terms,
}

/// What was asked of the host and for what.
#[derive(Debug)]
enum Open {
    Subscribe {
        id: Value,
        channel: Pattern,
        terms: Terms,
        asked_from: Option<Position>,
    },
    SubscribeAll {
        id: Value,
        pattern: Pattern,
        terms: Terms,
        from: From,
    },
    /// `set`: whose answer goes before what brings the subscription forward, if it is one.
    Forward {
        key: usize,
        channel: u32,
        set: Option<Value>,
    },
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
            wildcards: Vec::new(),
            behind: VecDeque::new(),
            behind_count: 0,
            channels_max: u32::try_from(channels_max).unwrap_or(u32::MAX),
            open: None,
            merged: 0,
            unsettled: false,
            bare: false,
        }
    }

    /// Follows one bare channel from now on.
    #[must_use]
    pub fn bare(channel: Channel) -> (Self, Join) {
        let mut session = Self { bare: true, ..Self::new(1) };
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
        self.bare
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

    /// Carries out one command. Replies go to the outbox; what has left the index by it is returned.
    pub fn command(&mut self, command: Command, means: &mut Means<'_>) -> (Vec<Place>, Next) {
        match command {
            Command::Ping { id, t } => {
                let now = means.now;
                means.outbox.push_reply(protocol::pong(&id, t.as_ref(), now), now);
                (Vec::new(), Next::Nothing)
            }
            Command::Unsubscribe { id, channel } => {
                (self.unsubscribe(&id, &channel, means), Next::Nothing)
            }
            Command::Set { id, channel, wishes } if channel.is_wildcard() => {
                (self.set_all(&id, &channel, wishes, means), Next::Nothing)
            }
            Command::Set { id, channel, wishes } => self.set(id, &channel, wishes, means),
            Command::Subscribe { id, channel, from, terms } if channel.is_wildcard() => {
                let question = Question::Match { pattern: channel.clone() };
                self.ask(Open::SubscribeAll { id, pattern: channel, terms, from });
                (Vec::new(), Next::Ask(question))
            }
            Command::Subscribe { id, channel, from, terms } => {
                (Vec::new(), self.subscribe(id, channel, &from, terms, means))
            }
        }
    }

    fn ask(&mut self, open: Open) {
        self.open = Some(Box::new(open));
    }

    // ------------------------------------------------------------------- what is subscribed to

    fn insert(&mut self, sub: Subscription) -> usize {
        if self.subscriptions.capacity() == 0 {
            // Most sockets follow one channel; the usual first room for four would be theirs too.
            self.subscriptions = Slab::with_capacity(1);
        }
        self.behind_count += u32::from(sub.is_behind());
        self.subscriptions.insert(sub)
    }

    /// Takes a subscription away; returns its place in the index if it had one.
    fn remove(&mut self, key: usize) -> Option<Place> {
        let sub = self.subscriptions.try_remove(key)?;
        self.behind_count -= u32::from(sub.is_behind());
        sub.place()
    }

    fn stand(&mut self, key: usize, stand: Stand) {
        let sub = &mut self.subscriptions[key];
        self.behind_count -= u32::from(sub.is_behind());
        sub.stand = stand;
        self.behind_count += u32::from(sub.is_behind());
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
        let named = |(_, sub): &(usize, &Subscription)| sub.channel.name.as_str() == name;
        self.subscriptions.iter().find(named).map(|(key, _)| key)
    }

    fn by_number(&self, channel: u32) -> Option<usize> {
        let numbered = |(_, sub): &(usize, &Subscription)| sub.channel.number == channel;
        self.subscriptions.iter().find(numbered).map(|(key, _)| key)
    }

    /// The subscription that stands in this topic of the index.
    #[must_use]
    pub fn in_topic(&self, number: u32) -> Option<usize> {
        let stands =
            |(_, sub): &(usize, &Subscription)| sub.place().is_some_and(|p| p.topic == number);
        self.subscriptions.iter().find(stands).map(|(key, _)| key)
    }

    fn subscribe(
        &mut self,
        id: Value,
        channel: Pattern,
        from: &From,
        terms: Terms,
        means: &mut Means<'_>,
    ) -> Next {
        let followed = self.by_name(channel.as_str()).is_some();
        if !followed && self.is_full(1) {
            self.refuse_one_more(&id, channel.as_str(), means);
            return Next::Nothing;
        }
        let asked_from = if let From::Position(position) = from { Some(*position) } else { None };
        let question = Question::CatchUp {
            channel: channel.clone(),
            rate: terms.rate,
            from: asked_from,
            why: "resume",
            bytes_max: means.outbox.room(means.budget),
        };
        self.ask(Open::Subscribe { id, channel, terms, asked_from });
        Next::Ask(question)
    }

    fn is_full(&self, new: usize) -> bool {
        self.subscriptions.len() + new > self.channels_max as usize
    }

    fn refuse_one_more(&self, id: &Value, channel: &str, means: &mut Means<'_>) {
        let message = format!("a socket follows at most {} channels", self.channels_max);
        let refusal = Refusal::new(id, Code::Limit, message).about(channel);
        means.outbox.push_reply(protocol::error(&refusal), means.now);
    }

    fn refuse_set(id: &Value, channel: &Pattern, means: &mut Means<'_>) {
        let message = "this socket does not follow it";
        let refusal = Refusal::new(id, Code::BadChannel, message).about(channel.as_str());
        means.outbox.push_reply(protocol::error(&refusal), means.now);
    }

    /// Changes the terms of one subscription. Another rate is another topic: the subscription leaves
    /// the one and is brought forward into the other, like a reader who was slow.
    fn set(
        &mut self,
        id: Value,
        channel: &Pattern,
        wishes: Wishes,
        means: &mut Means<'_>,
    ) -> (Vec<Place>, Next) {
        let Some(key) = self.by_name(channel.as_str()) else {
            Self::refuse_set(&id, channel, means);
            return (Vec::new(), Next::Nothing);
        };
        let terms = wishes.on(self.subscriptions[key].terms);
        let left = self.change(key, terms, means.topics);
        let sub = &mut self.subscriptions[key];
        sub.by_name = true;
        if left.is_none() {
            let head = sub.position(means.topics).unwrap_or(0);
            let reply = protocol::subscribed(&id, terms, &sub.channel, head, Some(Ok(())));
            means.outbox.push_reply(reply, means.now);
            return (Vec::new(), Next::Nothing);
        }
        let (number, from) = (sub.channel.number, sub.delivered.map(|seq| sub.at(seq)));
        let bytes_max = means.outbox.room(means.budget);
        self.ask(Open::Forward { key, channel: number, set: Some(id) });
        let channel = channel.clone();
        let rate = terms.rate;
        let question = Question::CatchUp { channel, rate, from, why: "rate", bytes_max };
        (left.into_iter().collect(), Next::Ask(question))
    }

    /// Gives a subscription other terms. Returns the place that it leaves when its rate changes.
    fn change(&mut self, key: usize, terms: Terms, topics: &Topics) -> Option<Place> {
        let rate = std::mem::replace(&mut self.subscriptions[key].terms, terms).rate;
        if rate == terms.rate {
            return None;
        }
        // Its place is that of the topic it leaves.
        self.fall_behind(key, "rate", topics)
    }

    /// Changes the terms of a wildcard and of all that it alone covers.
    fn set_all(
        &mut self,
        id: &Value,
        pattern: &Pattern,
        wishes: Wishes,
        means: &mut Means<'_>,
    ) -> Vec<Place> {
        let Some(wildcard) = self.wildcards.iter_mut().find(|own| own.pattern == *pattern) else {
            Self::refuse_set(id, pattern, means);
            return Vec::new();
        };
        wildcard.terms = wishes.on(wildcard.terms);
        let terms = wildcard.terms;
        let covered: Vec<usize> = self
            .subscriptions
            .iter()
            .filter(|(_, sub)| !sub.by_name && pattern.matches(&sub.channel.name))
            .map(|(key, _)| key)
            .collect();
        let reply = protocol::subscribed_all(id, terms, pattern, covered.len());
        means.outbox.push_reply(reply, means.now);
        covered.into_iter().filter_map(|key| self.change(key, terms, means.topics)).collect()
    }

    fn unsubscribe(&mut self, id: &Value, pattern: &Pattern, means: &mut Means<'_>) -> Vec<Place> {
        if pattern.is_wildcard() {
            self.wildcards.retain(|wildcard| wildcard.pattern != *pattern);
        } else if let Some(key) = self.by_name(pattern.as_str()) {
            self.subscriptions[key].by_name = false;
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
        means.outbox.push_reply(protocol::unsubscribed(id, pattern.as_str()), means.now);
        gone.into_iter().filter_map(|key| self.remove(key)).collect()
    }

    // --------------------------------------------------------------------- answers of the host

    /// Takes the host's answer to the open question. Returns the subscription that has become
    /// live by it, for the shard to put into the index, and what has left.
    pub fn answer(&mut self, answer: Answer, means: &mut Means<'_>) -> (Option<Join>, Vec<Place>) {
        match (self.open.take().map(|open| *open), answer) {
            (Some(Open::Subscribe { id, terms, asked_from, .. }), Answer::CaughtUp(caught_up)) => {
                self.subscribed(&id, terms, asked_from, caught_up, means)
            }
            (Some(Open::Subscribe { id, channel, .. }), _) => {
                let refusal = Refusal::new(&id, Code::NotTracked, "no such channel now");
                let error = protocol::error(&refusal.about(channel.as_str()));
                means.outbox.push_reply(error, means.now);
                (None, Vec::new())
            }
            (Some(Open::SubscribeAll { id, pattern, terms, from }), Answer::Matched(channels)) => {
                (None, self.subscribed_all(&id, pattern, terms, &from, &channels, means))
            }
            (Some(Open::Forward { key, channel, set }), answer) => {
                self.forwarded(key, channel, set.as_ref(), answer, means)
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
        asked_from: Option<Position>,
        caught_up: CaughtUp,
        means: &mut Means<'_>,
    ) -> (Option<Join>, Vec<Place>) {
        let resumed = match caught_up.verdict {
            Verdict::Fresh => None,
            Verdict::Resumed => Some(Ok(())),
            Verdict::Refused(gap) => Some(Err(gap.as_str())),
        };
        debug_assert_eq!(asked_from.is_some(), resumed.is_some(), "a verdict answers a position");
        let channel = &caught_up.channel;
        let reply = protocol::subscribed(id, terms, channel, caught_up.head, resumed);
        means.outbox.push_reply(reply, means.now);
        let old = self.by_name(channel.name.as_str());
        let left = old.and_then(|key| self.remove(key));
        let from = asked_from.filter(|_| caught_up.verdict == Verdict::Resumed);
        let key = self.insert(Subscription {
            channel: channel.clone(),
            terms,
            by_name: true,
            lease: caught_up.lease.clone(),
            delivered: from.map(|position| position.seq),
            stand: Stand::behind(from, "resume"),
        });
        (self.advance(key, caught_up, means), left.into_iter().collect())
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
        means: &mut Means<'_>,
    ) -> Vec<Place> {
        let keys: HashMap<ChannelId, usize> =
            self.subscriptions.iter().map(|(key, sub)| (sub.channel.name.clone(), key)).collect();
        let new = channels.iter().filter(|channel| !keys.contains_key(&channel.name)).count();
        if self.is_full(new) {
            self.refuse_one_more(id, pattern.as_str(), means);
            return Vec::new();
        }
        let reply = protocol::subscribed_all(id, terms, &pattern, channels.len());
        means.outbox.push_reply(reply, means.now);
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
    ) -> Option<Place> {
        let (mut terms, mut by_name, mut left) = (terms, false, None);
        if let Some(key) = old {
            let sub = &self.subscriptions[key];
            by_name = sub.by_name;
            if by_name {
                terms = sub.terms;
            }
            left = self.remove(key);
        }
        let key = self.insert(Subscription {
            channel,
            terms,
            by_name,
            lease: None,
            delivered: None,
            stand: Stand::behind(from, "resume"),
        });
        self.behind.push_back(key);
        left
    }

    /// Queues what brings a subscription forward; it is live when that reaches the head.
    fn advance(&mut self, key: usize, caught_up: CaughtUp, means: &mut Means<'_>) -> Option<Join> {
        let CaughtUp { head, frames, to, verdict, .. } = caught_up;
        let sub = &mut self.subscriptions[key];
        let Stand::Behind(behind) = &sub.stand else { return None };
        let Behind { from, why, urgent, .. } = **behind;
        if why == "slow" && verdict == Verdict::Resumed {
            let changes = to - from.map_or(to, |from| from.seq);
            self.merged += changes.saturating_sub(frames.len() as u64);
        }
        let channel = sub.channel.number;
        let mut before = from.map(|from| from.seq);
        let frames = frames.into_iter().map(|Forward { frame, to }| {
            let of = Of { channel, before: before.replace(to) };
            (frame, Some(of))
        });
        if urgent {
            means.outbox.add_first(Some(channel), frames.collect(), means.now);
        } else {
            frames.for_each(|(frame, of)| means.outbox.add(frame, of, means.now));
        }
        sub.delivered = Some(to);
        if to < head {
            let from = Some(sub.at(to));
            self.stand(key, Stand::Behind(Box::new(Behind { from, why, urgent, again: false })));
            self.behind_again(key, urgent);
            return None;
        }
        Some(Join { key, topic: sub.topic(), head: to })
    }

    fn behind_again(&mut self, key: usize, urgent: bool) {
        if urgent {
            self.behind.push_front(key);
        } else {
            self.behind.push_back(key);
        }
    }

    fn forwarded(
        &mut self,
        key: usize,
        channel: u32,
        set: Option<&Value>,
        answer: Answer,
        means: &mut Means<'_>,
    ) -> (Option<Join>, Vec<Place>) {
        // Another subscription may have taken the place of one that ended meanwhile.
        let sub = self.subscriptions.get_mut(key).filter(|sub| sub.channel.number == channel);
        let Some(sub) = sub else { return (None, Vec::new()) };
        let Stand::Behind(behind) = &mut sub.stand else { return (None, Vec::new()) };
        if behind.again {
            // A suspension has come since: all that is not on its way yet is asked for with it.
            behind.again = false;
            if let (Some(id), Answer::CaughtUp(CaughtUp { channel, head, .. })) = (set, &answer) {
                let reply = protocol::subscribed(id, sub.terms, channel, *head, Some(Ok(())));
                means.outbox.push_reply(reply, means.now);
            }
            return (None, self.go_first(key, means));
        }
        let Behind { from, why, .. } = **behind;
        let Answer::CaughtUp(caught_up) = answer else {
            self.channel_gone(key, means);
            return (None, Vec::new());
        };
        if let Some(id) = set {
            let (channel, head) = (&caught_up.channel, caught_up.head);
            let reply = protocol::subscribed(id, sub.terms, channel, head, Some(Ok(())));
            means.outbox.push_reply(reply, means.now);
        }
        if caught_up.channel.trails && self.others_are_behind() {
            // Somebody else fell behind while this was asked: after them, then.
            self.behind.push_back(key);
            return (None, Vec::new());
        }
        let sub = &mut self.subscriptions[key];
        let lost = matches!(caught_up.verdict, Verdict::Refused(_))
            || sub.terms.on_slow == OnSlow::Resync && why == "slow";
        if lost {
            let why = match caught_up.verdict {
                Verdict::Refused(Gap::Epoch) => "epoch",
                _ if why == "slow" => "slow",
                _ => "gap",
            };
            let before = from.map(|position| position.seq);
            let name = sub.channel.name.as_str();
            let frame = protocol::resync(name, why, before.unwrap_or(0), caught_up.head);
            means.outbox.add(frame, Some(Of { channel, before }), means.now);
        }
        sub.channel = caught_up.channel.clone();
        sub.lease.clone_from(&caught_up.lease);
        (self.advance(key, caught_up, means), Vec::new())
    }

    fn channel_gone(&mut self, key: usize, means: &mut Means<'_>) -> Option<Place> {
        let gone = protocol::channel_gone(self.subscriptions.get(key)?.channel.name.as_str());
        means.outbox.push_reply(gone, means.now);
        self.remove(key)
    }

    /// Notes the place that a subscription has in the index now.
    pub fn placed(&mut self, key: usize, place: Place) {
        self.stand(key, Stand::Live(place));
    }

    /// The next subscription to be brought forward, if the outbox has room for it. A suspension
    /// does not ask for room.
    pub fn forward(&mut self, means: &Means<'_>) -> Option<Question> {
        if self.open.is_some() || self.behind_count == 0 {
            return None;
        }
        let has_room = means.outbox.has_room(means.budget);
        for _ in 0..self.behind.len() {
            let key = self.behind.pop_front()?;
            let Some(sub) = self.subscriptions.get(key) else { continue };
            let Stand::Behind(behind) = &sub.stand else { continue };
            let Behind { from, why, urgent, .. } = **behind;
            if !has_room && !urgent {
                self.behind.push_front(key);
                return None;
            }
            if sub.channel.trails && self.others_are_behind() {
                self.behind.push_back(key);
                continue;
            }
            let Some(channel) = Pattern::parse(sub.channel.name.as_str()) else { continue };
            let image = sub.terms.on_slow == OnSlow::Resync && why == "slow";
            let (number, rate) = (sub.channel.number, sub.terms.rate);
            let bytes_max = means.outbox.room(means.budget).max(URGENT_BYTES);
            self.ask(Open::Forward { key, channel: number, set: None });
            let from = from.filter(|_| !image);
            return Some(Question::CatchUp { channel, rate, from, why, bytes_max });
        }
        None
    }

    /// Whether a channel that does not trail is still being caught up.
    fn others_are_behind(&self) -> bool {
        self.behind_count > 0
            && self.subscriptions.iter().any(|(_, sub)| !sub.channel.trails && sub.is_behind())
    }

    /// Whether all channels of the wildcards asked for have been brought forward since this was
    /// last so: a beat then confirms where each stands, those among them where nothing has changed.
    pub fn settles(&mut self) -> bool {
        let settles = self.unsettled && self.open.is_none() && self.behind_count == 0;
        self.unsettled &= !settles;
        settles
    }

    // --------------------------------------------------------------------------- publications

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
        if publication.prev > position && !self.bare {
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
    fn go_first(&mut self, key: usize, means: &mut Means<'_>) -> Vec<Place> {
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

    /// A new channel has come to be: follows it where a wildcard covers it, from the empty document
    /// on, so that no event of it is missed. That image is small and goes in whatever the budget.
    /// One channel too many is not followed, and the client is told which.
    pub fn opened(&mut self, image: &Publication, means: &mut Means<'_>) -> Option<Join> {
        let channel = &image.channel;
        let wildcard = self.wildcards.iter().find(|w| w.pattern.matches(&channel.name))?;
        let terms = wildcard.terms;
        if self.by_name(channel.name.as_str()).is_some() {
            return None;
        }
        if self.is_full(1) {
            self.refuse_one_more(&Value::Null, channel.name.as_str(), means);
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
        let keys: Vec<usize> = self.subscriptions.iter().map(|(key, _)| key).collect();
        for key in keys {
            self.fall_behind(key, "resume", topics);
        }
    }

    /// Everything ends.
    pub fn end(&mut self) -> Vec<Place> {
        self.open = None;
        self.wildcards = Vec::new();
        self.behind = VecDeque::new();
        self.behind_count = 0;
        std::mem::take(&mut self.subscriptions).drain().filter_map(|sub| sub.place()).collect()
    }

    /// The beat, or nothing where nothing is followed.
    #[must_use]
    pub fn beat(&self, topics: &Topics, now: Micros) -> Option<Bytes> {
        if self.bare || self.subscriptions.is_empty() && !self.has_wildcards() {
            return None;
        }
        let heads: Vec<(&ChannelId, Seq)> = self
            .subscriptions
            .iter()
            .filter_map(|(_, sub)| Some((&sub.channel.name, sub.position(topics)?)))
            .collect();
        Some(protocol::beat(now, &heads))
    }
}

/// At least so many bytes are asked for when a suspension has to go before a full outbox.
const URGENT_BYTES: usize = 16 * 1024;

impl Stand {
    fn behind(from: Option<Position>, why: &'static str) -> Self {
        Self::Behind(Box::new(Behind { from, why, urgent: false, again: false }))
    }
}

impl Subscription {
    fn topic(&self) -> Topic {
        Topic { channel: self.channel.number, rate: self.terms.rate }
    }

    fn is_behind(&self) -> bool {
        matches!(self.stand, Stand::Behind(_))
    }

    fn place(&self) -> Option<Place> {
        if let Stand::Live(place) = self.stand { Some(place) } else { None }
    }

    fn at(&self, seq: Seq) -> Position {
        Position { epoch: Some(self.channel.epoch), seq }
    }

    /// The sequence up to which everything has been written or queued.
    fn position(&self, topics: &Topics) -> Option<Seq> {
        match self.stand {
            Stand::Live(place) => self.delivered.max(Some(topics.head(place.topic))),
            Stand::Behind(_) => self.delivered,
        }
    }
}

//! How subscriptions are brought forward: the questions put to the host, and what its answers do.

use std::{collections::HashSet, sync::Arc};

use serde_json::Value;

use super::{
    Dialect, Join, Means, Session,
    subscription::{Behind, Stand, Subscription},
};
use crate::{
    catch_up::{Answer, CaughtUp, Forward, Gap, Question, Verdict},
    channel::{Channel, Pattern, Position},
    live,
    outbox::Of,
    protocol::{self, Code, Coverage, From, OnSlow, Refusal, Terms},
    topics::Place,
};

/// What was asked of the host and for what.
#[derive(Debug)]
pub(super) enum Open {
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
    /// What a pattern covers now that the client may follow more.
    Widen {
        pattern: Pattern,
        terms: Terms,
    },
    /// A match of the older sockets, and the bookmaker wanted beside.
    Begin {
        event: live::Event,
        book: Option<Arc<str>>,
    },
    /// `set`: whose answer goes before what brings the subscription forward, if it is one.
    Forward {
        key: usize,
        channel: u32,
        set: Option<Value>,
    },
}

/// A suspension may take a reader's outbox to so many times its budget.
const URGENT_BUDGETS: usize = 2;

/// At least so many bytes are asked for when a suspension has to go before a full outbox.
const URGENT_BYTES: usize = 16 * 1024;

impl Session {
    pub(super) fn ask(&mut self, open: Open) {
        self.open = Some(Box::new(open));
    }

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
                (None, self.subscribed_all(&id, &pattern, terms, &from, &channels, means))
            }
            (Some(Open::Widen { pattern, terms }), Answer::Matched(channels)) => {
                self.widened(&pattern, terms, &channels, means);
                (None, Vec::new())
            }
            (Some(Open::Begin { event, book }), answer) => {
                self.began(event, book.as_deref(), answer, means)
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
        if !self.classes.cover(channel.needs) {
            self.refuse_class(id, channel, means);
            return (None, Vec::new());
        }
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
    /// name; the others go on, since the client asked for more and not for them. Channels for which
    /// there is no room are left out, and the client is told.
    fn subscribed_all(
        &mut self,
        id: &Value,
        pattern: &Pattern,
        terms: Terms,
        from: &From,
        channels: &[Channel],
        means: &mut Means<'_>,
    ) -> Vec<Place> {
        let classes = self.classes;
        let covered: Vec<&Channel> =
            channels.iter().filter(|channel| classes.cover(channel.needs)).collect();
        let mut coverage = Coverage {
            followed: covered.len(),
            not_entitled: channels.len() - covered.len(),
            left_out: 0,
        };
        let repeated = self.wildcards.contains_key(pattern);
        let mut all_left = Vec::new();
        for channel in covered {
            let from = match from {
                From::Positions(positions) => positions.get(&channel.name).copied(),
                From::Image | From::Position(_) => None,
            };
            let old = self.by_name(channel.name.as_str());
            if old.is_none() && self.is_full(1) {
                coverage.left_out += 1;
            } else if old.is_none() || repeated || from.is_some() {
                all_left.extend(self.begin(old, channel.clone(), terms, from));
            }
        }
        coverage.followed -= coverage.left_out;
        let reply = protocol::subscribed_all(id, terms, pattern, coverage);
        means.outbox.push_reply(reply, means.now);
        if coverage.left_out > 0 {
            self.tell_limit(pattern, means);
        }
        let pattern = means.patterns.add(means.slot, pattern);
        self.wildcards.insert(pattern, terms);
        self.unsettled = true;
        all_left
    }

    /// Begins what a pattern covers beyond what is followed already.
    fn widened(
        &mut self,
        pattern: &Pattern,
        terms: Terms,
        channels: &[Channel],
        means: &mut Means<'_>,
    ) {
        // The client may have given it up, or changed its terms, while this was asked.
        if !self.wildcards.contains_key(pattern) {
            return;
        }
        let known: HashSet<u32> =
            self.subscriptions.iter().map(|(_, sub)| sub.channel.number).collect();
        let classes = self.classes;
        let new =
            |channel: &&Channel| classes.cover(channel.needs) && !known.contains(&channel.number);
        for channel in channels.iter().filter(new) {
            if self.is_full(1) {
                self.tell_limit(pattern, means);
                break;
            }
            // It is new, so nothing leaves the index for it.
            self.begin(None, channel.clone(), terms, None);
        }
        self.unsettled = true;
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
    pub(super) fn advance(
        &mut self,
        key: usize,
        caught_up: CaughtUp,
        means: &mut Means<'_>,
    ) -> Option<Join> {
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
            means.outbox.add_first(channel, frames.collect(), means.now);
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
        let Some(sub) = sub else {
            if let Some(id) = set {
                let refusal = Refusal::new(id, Code::NotTracked, "the channel has ended");
                means.outbox.push_reply(protocol::error(&refusal), means.now);
            }
            return (None, Vec::new());
        };
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
        let Behind { from, why, urgent, .. } = **behind;
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
        // The older sockets have no word for it: the snapshot says enough.
        if lost && self.dialect == Dialect::Stream {
            let why = match caught_up.verdict {
                Verdict::Refused(Gap::Epoch) => "epoch",
                _ if why == "slow" => "slow",
                _ => "gap",
            };
            let before = from.map(|position| position.seq);
            let name = sub.channel.name.as_str();
            let frame = protocol::resync(name, why, before.unwrap_or(0), caught_up.head);
            let of = Some(Of { channel, before });
            if urgent {
                means.outbox.add_first(channel, vec![(frame, of)], means.now);
            } else {
                means.outbox.add(frame, of, means.now);
            }
        }
        sub.lease.clone_from(&caught_up.lease);
        self.set_channel(key, &caught_up.channel);
        (self.advance(key, caught_up, means), Vec::new())
    }

    pub(super) fn channel_gone(&mut self, key: usize, means: &mut Means<'_>) -> Option<Place> {
        let name = &self.subscriptions.get(key)?.channel.name;
        let gone = match self.dialect {
            Dialect::Stream | Dialect::Bare => Some(protocol::channel_gone(name.as_str())),
            Dialect::Live(sports) => live::Name::of(name.as_str())
                .filter(|name| name.book.is_none())
                .and_then(|name| name.event(sports))
                .map(|event| live::unsubscribed(event, Some("gone"))),
        };
        if let Some(gone) = gone {
            means.outbox.push_reply(gone, means.now);
        }
        self.remove(key)
    }

    /// The next subscription to be brought forward, if the outbox has room for it. A suspension
    /// goes ahead without it, up to a second budget.
    pub fn forward(&mut self, means: &Means<'_>) -> Option<Question> {
        if let Some(question) = self.widen() {
            return Some(question);
        }
        if self.open.is_some() || self.behind_count == 0 {
            return None;
        }
        let has_room = means.outbox.has_room(means.budget);
        let has_urgent_room = means.outbox.bytes() < URGENT_BUDGETS * means.budget.bytes;
        for _ in 0..self.behind.len() {
            let key = self.behind.pop_front()?;
            let Some(sub) = self.subscriptions.get(key) else { continue };
            let Stand::Behind(behind) = &sub.stand else { continue };
            let Behind { from, why, urgent, .. } = **behind;
            if !(has_room || urgent && has_urgent_room) {
                self.behind.push_front(key);
                return None;
            }
            if sub.channel.trails && self.others_are_behind() {
                self.behind.push_back(key);
                continue;
            }
            let channel = Pattern::exactly(&sub.channel.name);
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
    pub(super) fn others_are_behind(&self) -> bool {
        self.behind_count > self.behind_trailing
    }

    /// Whether all channels of the wildcards asked for have been brought forward since this was
    /// last so: a beat then confirms where each stands, those among them where nothing has changed.
    pub fn settles(&mut self) -> bool {
        let settles = self.unsettled
            && self.open.is_none()
            && self.behind_count == 0
            && self.widening.is_empty();
        self.unsettled &= !settles;
        settles
    }
}

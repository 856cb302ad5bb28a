//! What a client asks for.

use serde_json::Value;

use super::{Means, Next, Session, forward::Open};
use crate::{
    Micros,
    catch_up::Question,
    channel::Pattern,
    protocol::{self, Code, Command, From, Refusal, Terms, Wishes},
    topics::{Place, Topics},
};

impl Session {
    /// Carries out one command. Replies go to the outbox; what has left the index by it is returned.
    /// `stamp`: the time of day that a `pong` tells.
    pub fn command(
        &mut self,
        command: Command,
        stamp: Micros,
        means: &mut Means<'_>,
    ) -> (Vec<Place>, Next) {
        match command {
            Command::Ping { id, t } => {
                let pong = protocol::pong(&id, t.as_ref(), stamp);
                means.outbox.push_reply(pong, means.now);
                (Vec::new(), Next::Nothing)
            }
            Command::Unsubscribe { id, channel } => {
                (self.unsubscribe(&id, &channel, means), Next::Nothing)
            }
            Command::Set { id, channel, wishes } if channel.is_wildcard() => {
                (self.set_all(&id, &channel, wishes, means), Next::Nothing)
            }
            Command::Set { id, channel, wishes } => self.set(id, &channel, wishes, means),
            Command::Subscribe { id, channel, .. }
                if channel.is_wildcard() && !self.may_follow(&channel) =>
            {
                let message = format!("a socket follows at most {} patterns", self.patterns_max);
                let refusal = Refusal::new(&id, Code::Limit, message).about(channel.as_str());
                means.outbox.push_reply(protocol::error(&refusal), means.now);
                (Vec::new(), Next::Nothing)
            }
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

    pub(super) fn is_full(&self, new: usize) -> bool {
        self.subscriptions.len() + new > self.channels_max as usize
    }

    /// Whether there is room for this wildcard, which may be followed already.
    fn may_follow(&self, pattern: &Pattern) -> bool {
        self.wildcards.len() < self.patterns_max as usize || self.wildcards.contains_key(pattern)
    }

    pub(super) fn refuse_one_more(&self, id: &Value, channel: &str, means: &mut Means<'_>) {
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
        let Some(own) = self.wildcards.get_mut(pattern) else {
            Self::refuse_set(id, pattern, means);
            return Vec::new();
        };
        *own = wishes.on(*own);
        let terms = *own;
        let covered: Vec<usize> = self
            .subscriptions
            .iter()
            .filter(|(_, sub)| !sub.by_name && pattern.matches(&sub.channel.name))
            .map(|(key, _)| key)
            .collect();
        let coverage = protocol::Coverage { followed: covered.len(), ..Default::default() };
        let reply = protocol::subscribed_all(id, terms, pattern, coverage);
        means.outbox.push_reply(reply, means.now);
        covered.into_iter().filter_map(|key| self.change(key, terms, means.topics)).collect()
    }

    fn unsubscribe(&mut self, id: &Value, pattern: &Pattern, means: &mut Means<'_>) -> Vec<Place> {
        means.outbox.push_reply(protocol::unsubscribed(id, pattern.as_str()), means.now);
        if !pattern.is_wildcard() {
            let Some(key) = self.by_name(pattern.as_str()) else { return Vec::new() };
            let sub = &mut self.subscriptions[key];
            sub.by_name = false;
            let is_covered = means.patterns.covers(means.slot, &sub.channel.name);
            return if is_covered { Vec::new() } else { self.remove(key).into_iter().collect() };
        }
        if self.wildcards.remove(pattern).is_none() {
            return Vec::new();
        }
        means.patterns.remove(means.slot, pattern);
        let patterns = &mut means.patterns;
        let gone: Vec<usize> = self
            .subscriptions
            .iter()
            .filter(|(_, sub)| !sub.by_name && pattern.matches(&sub.channel.name))
            .filter(|(_, sub)| !patterns.covers(means.slot, &sub.channel.name))
            .map(|(key, _)| key)
            .collect();
        gone.into_iter().filter_map(|key| self.remove(key)).collect()
    }
}

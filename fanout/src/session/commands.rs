//! Commands of the stream protocol.

use serde_json::Value;

use super::{
    PICKS_MAX, Session, SessionContext, catch_up::PendingRequest, subscription::SubscriptionState,
};
use crate::{
    Micros,
    catch_up::HostRequest,
    channel::{ChannelId, Pattern},
    journal::{Behind, JournalEvent},
    protocol::{self, Code, OptionChanges, Refusal, StartPoint, StreamCommand, SubscribeOptions},
    topics::{FollowerRef, Topics},
};

/// Up to this many patterns that end are compared with each subscription. With more of them, the index of those that
/// are left decides alone.
const PATTERNS_TRIED_MAX: usize = 8;

/// Requests the channels that a pattern covers.
pub(super) fn match_channels(pattern: &Pattern, from: &StartPoint) -> HostRequest {
    let has = match from {
        StartPoint::Positions(positions) => {
            positions.iter().map(|(channel, from)| (channel.clone(), *from)).collect()
        }
        StartPoint::Image | StartPoint::Position(_) => Vec::new(),
    };
    HostRequest::MatchChannels { pattern: pattern.clone(), has }
}

impl Session {
    /// Carries out one command and queues its replies. Returns the entries that leave the index, and a
    /// request to the host, if any. `stamp`: the time of day in a `pong`.
    pub fn apply_command(
        &mut self,
        command: StreamCommand,
        stamp: Micros,
        context: &mut SessionContext<'_>,
    ) -> (Vec<FollowerRef>, Option<HostRequest>) {
        if let Some((id, options)) = self.new_options(&command) {
            if !self.may_pick(&options) {
                let message = format!("a socket has at most {PICKS_MAX} different picks");
                let refusal = Refusal::new(id, Code::Limit, message);
                context.refuse(&refusal);
                return (Vec::new(), None);
            }
            self.picks |= options.pick.is_some();
        }
        match command {
            StreamCommand::Ping { id, t } => {
                let pong = protocol::pong(&id, t.as_ref(), stamp);
                context.outbox.push_reply(pong, context.now);
                (Vec::new(), None)
            }
            StreamCommand::SubscribeReplay { id, channels, is_batch, from, speed } => {
                self.start_replay(id, (channels, is_batch), (from, speed), context);
                (Vec::new(), None)
            }
            StreamCommand::ChangeReplay { id, replay, change } => {
                self.change_replay(id, replay, change, context);
                (Vec::new(), None)
            }
            StreamCommand::UnsubscribeReplay { id, replay } => {
                self.end_replay(&id, replay, context);
                (Vec::new(), None)
            }
            StreamCommand::Unsubscribe { id, channel } => {
                let reply = protocol::unsubscribed(&id, channel.as_str());
                context.outbox.push_reply(reply, context.now);
                context.note_unsubscribed(channel.as_str());
                (self.unsubscribe([channel], context), None)
            }
            StreamCommand::SubscribeBatch { id, entries, options } => {
                (Vec::new(), self.start_batch(id, entries, options, context))
            }
            StreamCommand::UnsubscribeBatch { id, names } => {
                let reply = protocol::unsubscribed_batch(&id, &names);
                context.outbox.push_reply(reply, context.now);
                names.iter().for_each(|name| context.note_unsubscribed(name));
                let patterns = names.iter().filter_map(|name| Pattern::parse(name));
                (self.unsubscribe(patterns, context), None)
            }
            StreamCommand::Hash { id, channel } => self.hash(id, channel, context),
            StreamCommand::Set { id, channel, changes } if channel.is_wildcard() => {
                (self.set_all(&id, &channel, changes, context), None)
            }
            StreamCommand::Set { id, channel, changes } => self.set(id, &channel, changes, context),
            StreamCommand::Subscribe { id, channel, .. }
                if channel.is_wildcard() && !self.may_follow(&channel) =>
            {
                let message = format!("a socket follows at most {} patterns", self.patterns_max);
                let refusal = Refusal::new(&id, Code::Limit, message).about(channel.as_str());
                context.refuse(&refusal);
                (Vec::new(), None)
            }
            StreamCommand::Subscribe { id, channel, from, options } if channel.is_wildcard() => {
                let request = match_channels(&channel, &from);
                self.set_pending(PendingRequest::SubscribeAll {
                    id,
                    pattern: channel,
                    options,
                    from,
                });
                (Vec::new(), Some(request))
            }
            StreamCommand::Subscribe { id, channel, from, options } => {
                (Vec::new(), self.subscribe(id, channel, &from, options, context))
            }
        }
    }

    /// The options that a command gives to subscriptions, and its `id`.
    fn new_options<'a>(&self, command: &'a StreamCommand) -> Option<(&'a Value, SubscribeOptions)> {
        match command {
            StreamCommand::Subscribe { id, options, .. }
            | StreamCommand::SubscribeBatch { id, options, .. } => Some((id, options.clone())),
            StreamCommand::Set { id, channel, changes } => {
                let subscribed =
                    || Some(&self.subscriptions[self.by_name(channel.as_str())?].options);
                let current = self.wildcards.get(channel).or_else(subscribed)?;
                Some((id, changes.clone().apply_to(current)))
            }
            _ => None,
        }
    }

    fn subscribe(
        &mut self,
        id: Value,
        channel: Pattern,
        from: &StartPoint,
        options: SubscribeOptions,
        context: &mut SessionContext<'_>,
    ) -> Option<HostRequest> {
        let followed = self.by_name(channel.as_str()).is_some();
        if !followed && self.is_full(1) {
            self.refuse_one_more(&id, (channel.as_str(), 1), context);
            return None;
        }
        let position =
            if let StartPoint::Position(position) = from { Some(*position) } else { None };
        let request = HostRequest::CatchUp {
            channel: channel.clone(),
            rate: options.rate,
            from: position,
            why: "resume",
            bytes_max: context.outbox.room(context.budget),
            with_hash: false,
        };
        self.set_pending(PendingRequest::Subscribe { id, channel, options, from: position });
        Some(request)
    }

    /// Whether the socket or its account has no room for so many more channels.
    pub(super) fn is_full(&self, new: usize) -> bool {
        self.socket_is_full(new) || !self.quota.admits(new)
    }

    /// Whether the socket has no room for so many more channels. Replayed channels count as well.
    pub(super) fn socket_is_full(&self, new: usize) -> bool {
        let followed = self.subscriptions.len() + self.replayed_channels();
        followed + new > self.channels_max as usize
    }

    /// Whether this wildcard is followed already or there is room for it.
    pub(super) fn may_follow(&self, pattern: &Pattern) -> bool {
        self.wildcards.len() < self.patterns_max as usize || self.wildcards.contains_key(pattern)
    }

    pub(super) fn refuse_one_more(
        &self,
        id: &Value,
        (channel, new): (&str, usize),
        context: &mut SessionContext<'_>,
    ) {
        let refusal = Refusal::new(id, Code::Limit, self.describe_limit(new)).about(channel);
        context.refuse(&refusal);
    }

    /// Which limit leaves no room for so many more channels.
    pub(super) fn describe_limit(&self, new: usize) -> String {
        if self.socket_is_full(new) {
            format!("a socket follows at most {} channels", self.channels_max)
        } else {
            let most = self.quota.channels_max();
            format!("all sockets of an account follow at most {most} channels together")
        }
    }

    pub(super) fn refuse_unknown(id: &Value, channel: &Pattern, context: &mut SessionContext<'_>) {
        let message = "this socket does not follow it";
        let refusal = Refusal::new(id, Code::BadChannel, message).about(channel.as_str());
        context.refuse(&refusal);
    }

    /// Changes the options of one subscription. Another rate is another topic: the subscription leaves
    /// one topic and is caught up to the other, like a slow reader.
    fn set(
        &mut self,
        id: Value,
        channel: &Pattern,
        changes: OptionChanges,
        context: &mut SessionContext<'_>,
    ) -> (Vec<FollowerRef>, Option<HostRequest>) {
        let Some(key) = self.by_name(channel.as_str()) else {
            Self::refuse_unknown(&id, channel, context);
            return (Vec::new(), None);
        };
        let options = changes.apply_to(&self.subscriptions[key].options);
        let left = self.change(key, options.clone(), context.topics);
        if left.is_some() {
            self.note_behind(key, Behind::Options, context);
        }
        self.last_set = None;
        let sub = &mut self.subscriptions[key];
        sub.by_name = true;
        if left.is_none() {
            let head = sub.position(context.topics).unwrap_or(0);
            let reply = protocol::subscribed(&id, &options, &sub.channel, head, Some(Ok(())));
            context.outbox.push_reply(reply, context.now);
            return (Vec::new(), None);
        }
        let number = sub.channel.number;
        let SubscriptionState::Behind(behind) = &sub.state else { return (Vec::new(), None) };
        let from = behind.from;
        let with_hash = sub.wants_hash();
        let bytes_max = context.outbox.room(context.budget);
        self.set_pending(PendingRequest::CatchUp { key, channel: number, set: Some(id) });
        let channel = channel.clone();
        let rate = options.rate;
        let request =
            HostRequest::CatchUp { channel, rate, from, why: "rate", bytes_max, with_hash };
        (left.into_iter().collect(), Some(request))
    }

    /// Gives a subscription other options. Returns the entry that it leaves when its rate or its pick changes.
    /// Another pick starts with its image.
    fn change(
        &mut self,
        key: usize,
        options: SubscribeOptions,
        topics: &Topics,
    ) -> Option<FollowerRef> {
        let sub = &mut self.subscriptions[key];
        let is_other_pick = sub.options.pick != options.pick;
        if sub.options.rate == options.rate && !is_other_pick {
            sub.options = options;
            return None;
        }
        sub.options = options;
        let left = self.fall_behind(key, "rate", topics);
        if let SubscriptionState::Behind(behind) = &mut self.subscriptions[key].state
            && is_other_pick
        {
            behind.from = None;
        }
        left
    }

    /// Changes the options of a wildcard and of the subscriptions that exist only because of it. Repeated without a
    /// change, it looks at no subscription.
    fn set_all(
        &mut self,
        id: &Value,
        pattern: &Pattern,
        changes: OptionChanges,
        context: &mut SessionContext<'_>,
    ) -> Vec<FollowerRef> {
        let Some(current) = self.wildcards.get_mut(pattern) else {
            Self::refuse_unknown(id, pattern, context);
            return Vec::new();
        };
        let options = changes.apply_to(current);
        let is_repeated = *current == options;
        let repeated = self.last_set.take().filter(|last| is_repeated && last.0 == *pattern);
        *current = options.clone();
        let (mut left, mut followed) = (Vec::new(), 0);
        if let Some(last) = repeated {
            followed = last.1;
        } else {
            let covered = self.subscriptions.iter();
            let covered = covered
                .filter(|(_, sub)| !sub.by_name && pattern.matches(&sub.channel.name))
                .map(|(key, _)| key);
            for key in covered.collect::<Vec<usize>>() {
                followed += 1;
                if self.subscriptions[key].options != options {
                    left.extend(self.change(key, options.clone(), context.topics));
                }
            }
        }
        let coverage = protocol::Coverage { followed, ..Default::default() };
        let reply = protocol::subscribed_all(id, &options, pattern, coverage);
        context.outbox.push_reply(reply, context.now);
        self.last_set = Some(Box::new((pattern.clone(), followed)));
        left
    }

    /// Ends subscriptions by their names and patterns. Looks at each subscription once, however many patterns there
    /// are.
    fn unsubscribe(
        &mut self,
        patterns: impl IntoIterator<Item = Pattern>,
        context: &mut SessionContext<'_>,
    ) -> Vec<FollowerRef> {
        let mut ended: Vec<usize> = Vec::new();
        let mut removed: Vec<Pattern> = Vec::new();
        self.last_set = None;
        for pattern in patterns {
            if pattern.is_wildcard() {
                if self.wildcards.remove(&pattern).is_some() {
                    context.patterns.remove(context.slot, &pattern);
                    removed.push(pattern);
                }
            } else if let Some(key) = self.by_name(pattern.as_str()) {
                self.subscriptions[key].by_name = false;
                ended.push(key);
            }
        }
        if !removed.is_empty() {
            let may_end = |name: &ChannelId| {
                removed.len() > PATTERNS_TRIED_MAX || removed.iter().any(|it| it.matches(name))
            };
            let by_pattern = self.subscriptions.iter();
            let by_pattern = by_pattern
                .filter(|(_, sub)| !sub.by_name && may_end(&sub.channel.name))
                .map(|(key, _)| key);
            ended.extend(by_pattern);
        }
        let mut left = Vec::new();
        for key in ended {
            // A name may be given twice, and its channel may be one of a pattern too.
            let Some(sub) = self.subscriptions.get(key) else { continue };
            if !context.patterns.covers(context.slot, &sub.channel.name) {
                left.extend(self.remove(key, context));
            }
        }
        left
    }
}

impl SessionContext<'_> {
    fn note_unsubscribed(&mut self, name: &str) {
        if self.journal.watches(self.tally.serial) {
            self.note(Some(&ChannelId::new(name)), JournalEvent::Unsubscribed);
        }
    }
}

//! Commands in a dialect of the host: groups of channels, each optionally with a companion.

use std::sync::Arc;

use super::{Join, Session, SessionContext, catch_up::PendingRequest, subscription::Subscription};
use crate::{
    catch_up::{HostRequest, HostResponse, Verdict},
    channel::{Channel, ChannelId, Position},
    dialect::{Companion, Dialect, HostedCommand, Notice},
    permission::Offer,
    protocol::SubscribeOptions,
    topics::FollowerRef,
};

impl Session {
    /// Carries out one command and queues its replies. Returns the entries that leave the index, and a
    /// request to the host, if any.
    pub fn apply_hosted_command(
        &mut self,
        command: HostedCommand,
        context: &mut SessionContext<'_>,
    ) -> (Vec<FollowerRef>, Option<HostRequest>) {
        match command {
            HostedCommand::Reply(frame) => {
                context.outbox.push_reply(frame, context.now);
                (Vec::new(), None)
            }
            HostedCommand::Unfollow { channel, reply } => {
                let all_left = self.unfollow_group(&channel);
                context.outbox.push_reply(reply, context.now);
                (all_left, None)
            }
            HostedCommand::Follow { channel, companion, from } => {
                (Vec::new(), self.follow_group(channel, companion, from, context))
            }
        }
    }

    fn follow_group(
        &mut self,
        channel: ChannelId,
        companion: Option<Companion>,
        from: Option<Position>,
        context: &mut SessionContext<'_>,
    ) -> Option<HostRequest> {
        let of_socket = self.by_name(channel.as_str()).is_none() && self.groups_are_full();
        // What the group follows now ends when it starts again.
        let all = 1 + usize::from(companion.is_some());
        let more = all.saturating_sub(self.keys_of_group(&channel).len());
        if of_socket || !self.quota.admits(more) {
            self.notify(Notice::TooManyGroups { channel: &channel, of_socket }, context);
            return None;
        }
        if let Some(Companion { needs, .. }) = companion
            && !self.classes.cover(needs)
        {
            let offers: Vec<&Offer> = self.permission.lacking(self.classes, needs).collect();
            let notice = Notice::NotEntitled { channel: Some(&channel), offers: &offers };
            self.notify(notice, context);
            return None;
        }
        let companion = companion.map(|companion| companion.name);
        let (group, name) = (channel.clone(), companion.clone());
        self.set_pending(PendingRequest::StartGroup { channel: group, companion: name });
        let bytes_max = context.outbox.room(context.budget);
        Some(HostRequest::StartGroup { channel, companion, from, bytes_max })
    }

    /// Queues the frame of a notice, if this is a dialect of the host and has one for it.
    pub(super) fn notify(&self, notice: Notice<'_>, context: &mut SessionContext<'_>) {
        if let Dialect::Hosted(dialect) = self.dialect
            && let Some(frame) = dialect.render(notice)
        {
            context.outbox.push_reply(frame, context.now);
        }
    }

    fn groups_are_full(&self) -> bool {
        let Dialect::Hosted(dialect) = self.dialect else { return true };
        let groups = self.subscriptions.iter().filter(|(_, sub)| sub.by_name).count();
        groups >= dialect.groups_max()
    }

    /// The subscriptions to a group and its companions.
    fn keys_of_group(&self, channel: &ChannelId) -> Vec<usize> {
        let belongs = |sub: &Subscription| {
            let rest = sub.channel.name.as_str().strip_prefix(channel.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.subscriptions.iter().filter(|(_, sub)| belongs(sub)).map(|(key, _)| key).collect()
    }

    /// Ends the subscriptions to a group and its companions.
    fn unfollow_group(&mut self, channel: &ChannelId) -> Vec<FollowerRef> {
        self.keys_of_group(channel).into_iter().filter_map(|key| self.take_out(key)).collect()
    }

    /// Starts a group with the host's response. A group that is followed already continues up to the
    /// response and then starts again.
    pub(super) fn group_started(
        &mut self,
        channel: &ChannelId,
        companion: Option<Arc<str>>,
        response: HostResponse,
        context: &mut SessionContext<'_>,
    ) -> (Option<Join>, Vec<FollowerRef>) {
        let (catch_up, companion_channel) = match response {
            HostResponse::GroupStarted(catch_up, companion_channel) => {
                (catch_up, companion_channel)
            }
            HostResponse::UnknownCompanion => {
                let name = companion.unwrap_or_default();
                self.notify(Notice::UnknownCompanion { channel, name: &name }, context);
                return (None, Vec::new());
            }
            HostResponse::NotTracked
            | HostResponse::CatchUp(_)
            | HostResponse::Channels(_)
            | HostResponse::Located(_) => {
                self.notify(Notice::NotTracked { channel }, context);
                return (None, Vec::new());
            }
        };
        let all_left = self.unfollow_group(channel);
        let from = match (&catch_up.verdict, catch_up.frames.first()) {
            // The first frame says how the group starts and does not change the position.
            (Verdict::Resumed, Some(first)) => {
                Some(Position { epoch: Some(catch_up.channel.epoch), seq: first.to })
            }
            _ => None,
        };
        let key = self.follow(&catch_up.channel, true, from);
        self.subscriptions[key].set_lease(catch_up.lease.clone());
        let join = self.advance(key, catch_up, context);
        if let Some((channel, seq)) = companion_channel {
            let from = Position { epoch: Some(channel.epoch), seq };
            let key = self.follow(&channel, false, Some(from));
            self.behind.push_back(key);
        }
        (join, all_left)
    }

    fn follow(&mut self, channel: &Channel, by_name: bool, from: Option<Position>) -> usize {
        let options = SubscribeOptions::default();
        self.insert(Subscription::new(channel.clone(), options, by_name, from))
    }
}

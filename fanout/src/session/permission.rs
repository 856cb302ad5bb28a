//! What a session may follow, and what happens when that changes.

use super::{Session, SessionContext, catch_up::PendingRequest};
use crate::{
    Micros,
    catch_up::HostRequest,
    channel::{Channel, ChannelId},
    dialect::{Dialect, Notice},
    permission::{Classes, Offer, Permission},
    protocol::{self, Code, Refusal},
    replay::ReplayEnd,
    topics::FollowerRef,
};

/// Names of channels in one frame, of at most 200 bytes each.
const NAMES_MAX: usize = 1000;

impl Session {
    /// The session with this permission.
    #[must_use]
    pub fn permitted(mut self, permission: Permission, time_of_day: Micros) -> Self {
        self.classes = permission.classes(time_of_day);
        self.permission = permission;
        self
    }

    /// Sets another permission, which takes effect with [`Self::renew_permission`].
    pub fn set_permission(&mut self, permission: Permission) {
        self.permission = permission;
    }

    #[must_use]
    pub fn permission_has_changed(&self, time_of_day: Micros) -> bool {
        self.permission.classes(time_of_day) != self.classes
    }

    /// Ends the subscriptions that the permission no longer covers, and informs the client by one frame.
    /// Returns the entries that leave the index.
    pub fn renew_permission(
        &mut self,
        time_of_day: Micros,
        context: &mut SessionContext<'_>,
    ) -> Vec<FollowerRef> {
        let classes = self.permission.classes(time_of_day);
        let gained = !self.classes.cover(classes);
        self.classes = classes;
        let ended = self.subscriptions.iter().filter(|(_, sub)| !classes.cover(sub.channel.needs));
        let needed = ended.clone().fold(Classes::NONE, |all, (_, sub)| all.and(sub.channel.needs));
        let ended: Vec<(usize, ChannelId)> =
            ended.map(|(key, sub)| (key, sub.channel.name.clone())).collect();
        let (replayed, over) = self.narrow_replays(classes);
        let all_left = ended.iter().filter_map(|(key, _)| self.remove(*key, context)).collect();
        match self.dialect {
            Dialect::Stream => {
                let mut names: Vec<&str> = ended.iter().map(|(_, name)| name.as_str()).collect();
                names.extend(replayed.iter().map(ChannelId::as_str));
                names.sort_unstable();
                names.dedup();
                let count = names.len();
                names.truncate(NAMES_MAX);
                let granted = self.permission.names(time_of_day);
                let frame = protocol::entitlement(granted, &names, count);
                context.outbox.push_reply(frame, context.now);
                for replay in over {
                    context.outbox.withdraw_replay(replay);
                    let end = protocol::replay_end(replay, ReplayEnd::Unsubscribed);
                    context.outbox.push_reply(end, context.now);
                }
                if gained {
                    self.widening = self.wildcards.keys().cloned().collect();
                }
            }
            // A dialect of the host has no such frame: its clients learn only what has ended.
            Dialect::Hosted(_) if !ended.is_empty() => {
                let offers: Vec<&Offer> = self.permission.lacking(classes, needed).collect();
                self.notify(Notice::NotEntitled { channel: None, offers: &offers }, context);
            }
            Dialect::Hosted(_) => {}
        }
        all_left
    }

    /// The request for the next wildcard that may cover more channels than before.
    pub(super) fn next_widening(&mut self) -> Option<HostRequest> {
        while self.pending.is_none() {
            let pattern = self.widening.pop()?;
            // The client may have unsubscribed from it meanwhile.
            let Some(options) = self.wildcards.get(&pattern).cloned() else { continue };
            let request = HostRequest::MatchChannels { pattern: pattern.clone(), has: Vec::new() };
            self.set_pending(PendingRequest::Widen { pattern, options });
            return Some(request);
        }
        None
    }

    /// Refuses a channel that the permission does not cover, and says what would open it.
    pub(super) fn refuse_class(
        &self,
        id: &serde_json::Value,
        channel: &Channel,
        context: &mut SessionContext<'_>,
    ) {
        self.refuse_needs(id, &channel.name, channel.needs, context);
    }

    pub(super) fn refuse_needs(
        &self,
        id: &serde_json::Value,
        channel: &ChannelId,
        needs: Classes,
        context: &mut SessionContext<'_>,
    ) {
        let lacking = self.permission.lacking(self.classes, needs);
        let (titles, offers): (Vec<&str>, Vec<_>) =
            lacking.map(|offer| (&*offer.title, offer.document.clone())).unzip();
        let offers = offers.into_iter().flatten().collect();
        let message = format!("this channel needs {}", titles.join(" and "));
        let refusal = Refusal::new(id, Code::NotEntitled, message).about(channel.as_str());
        context.refuse(&refusal.with_offers(offers));
    }
}

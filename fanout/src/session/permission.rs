//! What a session may follow, and what happens when that changes.

use super::{Dialect, Means, Session, forward::Open};
use crate::{
    Micros,
    catch_up::Question,
    channel::{Channel, ChannelId},
    live,
    permission::Permission,
    protocol::{self, Code, Refusal},
    topics::Place,
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

    /// Another permission, which takes effect by [`Self::renew_permission`].
    pub fn set_permission(&mut self, permission: Permission) {
        self.permission = permission;
    }

    #[must_use]
    pub fn permission_has_changed(&self, time_of_day: Micros) -> bool {
        self.permission.classes(time_of_day) != self.classes
    }

    /// Brings the subscriptions in line with the permission, and tells the client by one frame. What has
    /// left the index is returned.
    pub fn renew_permission(&mut self, time_of_day: Micros, means: &mut Means<'_>) -> Vec<Place> {
        let classes = self.permission.classes(time_of_day);
        let gained = !self.classes.cover(classes);
        self.classes = classes;
        let ended = self.subscriptions.iter().filter(|(_, sub)| !classes.cover(sub.channel.needs));
        let ended: Vec<(usize, ChannelId)> =
            ended.map(|(key, sub)| (key, sub.channel.name.clone())).collect();
        let count = ended.len();
        let all_left = ended.iter().filter_map(|(key, _)| self.remove(*key)).collect();
        match self.dialect {
            Dialect::Stream => {
                let mut names: Vec<&str> = ended.iter().map(|(_, name)| name.as_str()).collect();
                names.sort_unstable();
                names.truncate(NAMES_MAX);
                let has = self.permission.names(time_of_day);
                let frame = protocol::entitlement(has, &names, count);
                means.outbox.push_reply(frame, means.now);
                if gained {
                    self.widening = self.wildcards.keys().cloned().collect();
                }
            }
            // Their clients know no such frame; one error says that something has ended.
            Dialect::Live(_) if count > 0 => {
                let lacking = self.permission.lacking(classes, self.permission.book());
                let titles: Vec<&str> = lacking.map(|it| &*it.title).collect();
                let message = format!("Prices of one bookmaker need {}", titles.join(" and "));
                let refusal = live::Refusal::new(live::Code::SubscriptionRequired, message);
                means.outbox.push_reply(live::error(&refusal), means.now);
            }
            Dialect::Live(_) | Dialect::Bare => {}
        }
        all_left
    }

    /// The next wildcard that may cover more than before.
    pub(super) fn widen(&mut self) -> Option<Question> {
        while self.open.is_none() {
            let pattern = self.widening.pop()?;
            // The client may have left it meanwhile.
            let Some(&terms) = self.wildcards.get(&pattern) else { continue };
            let question = Question::Match { pattern: pattern.clone() };
            self.ask(Open::Widen { pattern, terms });
            return Some(question);
        }
        None
    }

    /// Refuses a channel for want of what it needs, and says what that is and costs.
    pub(super) fn refuse_class(
        &self,
        id: &serde_json::Value,
        channel: &Channel,
        means: &mut Means<'_>,
    ) {
        let lacking = self.permission.lacking(self.classes, channel.needs);
        let (titles, offers): (Vec<&str>, Vec<_>) =
            lacking.map(|product| (&*product.title, product.offer.clone())).unzip();
        let message = format!("this channel needs {}", titles.join(" and "));
        let refusal = Refusal::new(id, Code::NotEntitled, message).about(channel.name.as_str());
        means.outbox.push_reply(protocol::error(&refusal.with_offers(offers)), means.now);
    }
}

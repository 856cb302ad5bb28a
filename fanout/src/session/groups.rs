//! Commands of the older sockets: matches by their ids, each optionally with the prices of one
//! bookmaker.

use std::sync::Arc;

use super::{
    Join, Session, SessionContext,
    catch_up::PendingRequest,
    subscription::{Subscription, SubscriptionState},
};
use crate::{
    catch_up::{HostRequest, HostResponse, Verdict},
    channel::{Channel, Position},
    live::{self, Code, Command, EVENTS_MAX, Event, EventChannel, Refusal},
    protocol::SubscribeOptions,
    topics::FollowerRef,
};

impl Session {
    /// Carries out one command and queues its replies. Returns the entries that leave the index, and a
    /// request to the host, if any.
    pub fn apply_live_command(
        &mut self,
        command: Command,
        context: &mut SessionContext<'_>,
    ) -> (Vec<FollowerRef>, Option<HostRequest>) {
        match command {
            Command::Ping => {
                context.outbox.push_reply(live::pong(), context.now);
                (Vec::new(), None)
            }
            Command::Unsubscribe { event } => {
                let all_left = self.unsubscribe_event(event);
                context.outbox.push_reply(live::unsubscribed(event, None), context.now);
                (all_left, None)
            }
            Command::Subscribe { event, book, from } => {
                (Vec::new(), self.subscribe_event(event, book, from, context))
            }
        }
    }

    fn subscribe_event(
        &mut self,
        event: Event,
        book: Option<Arc<str>>,
        from: Option<Position>,
        context: &mut SessionContext<'_>,
    ) -> Option<HostRequest> {
        let channel = event.channel();
        if self.by_name(channel.as_str()).is_none() && self.events() >= EVENTS_MAX {
            let message = format!("At most {EVENTS_MAX} matches at a time on one socket");
            let refusal = Refusal::new(Code::Limit, message).about(event);
            context.outbox.push_reply(live::error(&refusal), context.now);
            return None;
        }
        if book.is_some() && !self.classes.cover(self.permission.book()) {
            let lacking = self.permission.lacking(self.classes, self.permission.book());
            let titles: Vec<&str> = lacking.map(|it| &*it.title).collect();
            let message = format!("Prices of one bookmaker need {}", titles.join(" and "));
            let refusal = Refusal::new(Code::SubscriptionRequired, message).about(event);
            context.outbox.push_reply(live::error(&refusal), context.now);
            return None;
        }
        self.set_pending(PendingRequest::StartEvent { event, book: book.clone() });
        let bytes_max = context.outbox.room(context.budget);
        Some(HostRequest::StartEvent { channel, book, from, bytes_max })
    }

    /// The number of matches that are followed.
    fn events(&self) -> usize {
        let is_event = |(_, sub): &(usize, &Subscription)| {
            EventChannel::parse(sub.channel.name.as_str()).is_some_and(|name| name.book.is_none())
        };
        self.subscriptions.iter().filter(is_event).count()
    }

    /// Ends all subscriptions to a match.
    fn unsubscribe_event(&mut self, event: Event) -> Vec<FollowerRef> {
        let channel = event.channel();
        let belongs = |sub: &Subscription| {
            let rest = sub.channel.name.as_str().strip_prefix(channel.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let keys = self.subscriptions.iter().filter(|(_, sub)| belongs(sub)).map(|(key, _)| key);
        let keys: Vec<usize> = keys.collect();
        keys.into_iter().filter_map(|key| self.remove(key)).collect()
    }

    /// Starts a match with the host's response. A match that is followed already continues up to the
    /// response and then starts again.
    pub(super) fn event_started(
        &mut self,
        event: Event,
        book: Option<&str>,
        response: HostResponse,
        context: &mut SessionContext<'_>,
    ) -> (Option<Join>, Vec<FollowerRef>) {
        let (catch_up, book_channel) = match response {
            HostResponse::EventStarted(catch_up, book_channel) => (catch_up, book_channel),
            HostResponse::UnknownBook => {
                let message = format!("Unknown bookmaker: {}", book.unwrap_or_default());
                let refusal = Refusal::new(Code::UnknownBookmaker, message).about(event);
                context.outbox.push_reply(live::error(&refusal), context.now);
                return (None, Vec::new());
            }
            HostResponse::NotTracked | HostResponse::CatchUp(_) | HostResponse::Channels(_) => {
                let refusal = Refusal::not_tracked(event);
                context.outbox.push_reply(live::error(&refusal), context.now);
                return (None, Vec::new());
            }
        };
        let all_left = self.unsubscribe_event(event);
        let from = match (&catch_up.verdict, catch_up.frames.first()) {
            // The first frame says how the match starts and does not change the position.
            (Verdict::Resumed, Some(first)) => {
                Some(Position { epoch: Some(catch_up.channel.epoch), seq: first.to })
            }
            _ => None,
        };
        let key = self.follow(&catch_up.channel, from);
        self.subscriptions[key].lease.clone_from(&catch_up.lease);
        let join = self.advance(key, catch_up, context);
        if let Some((channel, seq)) = book_channel {
            let from = Position { epoch: Some(channel.epoch), seq };
            let key = self.follow(&channel, Some(from));
            self.behind.push_back(key);
        }
        (join, all_left)
    }

    fn follow(&mut self, channel: &Channel, from: Option<Position>) -> usize {
        self.insert(Subscription {
            channel: channel.clone(),
            options: SubscribeOptions::default(),
            by_name: true,
            lease: None,
            delivered: from.map(|position| position.seq),
            state: SubscriptionState::behind(from, "resume"),
        })
    }
}

//! The conversation on the older sockets: matches by their ids, each with the prices of one bookmaker
//! beside, if they are wanted.

use std::sync::Arc;

use super::{
    Join, Means, Next, Session,
    forward::Open,
    subscription::{Stand, Subscription},
};
use crate::{
    catch_up::{Answer, Question, Verdict},
    channel::{Channel, Position},
    live::{self, Code, Command, EVENTS_MAX, Event, Name, Refusal},
    protocol::Terms,
    topics::Place,
};

impl Session {
    /// Carries out one command. Replies go to the outbox; what has left the index by it is returned.
    pub fn live_command(&mut self, command: Command, means: &mut Means<'_>) -> (Vec<Place>, Next) {
        match command {
            Command::Ping => {
                means.outbox.push_reply(live::pong(), means.now);
                (Vec::new(), Next::Nothing)
            }
            Command::Unsubscribe { event } => {
                let all_left = self.leave_event(event);
                means.outbox.push_reply(live::unsubscribed(event, None), means.now);
                (all_left, Next::Nothing)
            }
            Command::Subscribe { event, book, from } => {
                (Vec::new(), self.begin_event(event, book, from, means))
            }
        }
    }

    fn begin_event(
        &mut self,
        event: Event,
        book: Option<Arc<str>>,
        from: Option<Position>,
        means: &mut Means<'_>,
    ) -> Next {
        let channel = event.channel();
        if self.by_name(channel.as_str()).is_none() && self.events() >= EVENTS_MAX {
            let message = format!("At most {EVENTS_MAX} matches at a time on one socket");
            let refusal = Refusal::new(Code::Limit, message).about(event);
            means.outbox.push_reply(live::error(&refusal), means.now);
            return Next::Nothing;
        }
        if book.is_some() && !self.classes.cover(self.permission.book()) {
            let lacking = self.permission.lacking(self.classes, self.permission.book());
            let titles: Vec<&str> = lacking.map(|it| &*it.title).collect();
            let message = format!("Prices of one bookmaker need {}", titles.join(" and "));
            let refusal = Refusal::new(Code::SubscriptionRequired, message).about(event);
            means.outbox.push_reply(live::error(&refusal), means.now);
            return Next::Nothing;
        }
        self.ask(Open::Begin { event, book: book.clone() });
        let bytes_max = means.outbox.room(means.budget);
        Next::Ask(Question::Begin { channel, book, from, bytes_max })
    }

    /// Matches that are followed.
    fn events(&self) -> usize {
        let is_event = |(_, sub): &(usize, &Subscription)| {
            Name::of(sub.channel.name.as_str()).is_some_and(|name| name.book.is_none())
        };
        self.subscriptions.iter().filter(is_event).count()
    }

    /// Ends all that is followed of a match.
    fn leave_event(&mut self, event: Event) -> Vec<Place> {
        let own = event.channel();
        let belongs = |sub: &Subscription| {
            let rest = sub.channel.name.as_str().strip_prefix(own.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let gone = self.subscriptions.iter().filter(|(_, sub)| belongs(sub)).map(|(key, _)| key);
        let gone: Vec<usize> = gone.collect();
        gone.into_iter().filter_map(|key| self.remove(key)).collect()
    }

    /// Begins a match. One that is followed already lasts up to the answer, and then begins again.
    pub(super) fn began(
        &mut self,
        event: Event,
        book: Option<&str>,
        answer: Answer,
        means: &mut Means<'_>,
    ) -> (Option<Join>, Vec<Place>) {
        let (caught_up, book_channel) = match answer {
            Answer::Began(caught_up, book_channel) => (caught_up, book_channel),
            Answer::NoBook => {
                let message = format!("Unknown bookmaker: {}", book.unwrap_or_default());
                let refusal = Refusal::new(Code::UnknownBookmaker, message).about(event);
                means.outbox.push_reply(live::error(&refusal), means.now);
                return (None, Vec::new());
            }
            Answer::NotTracked | Answer::CaughtUp(_) | Answer::Matched(_) => {
                let refusal = Refusal::not_tracked(event);
                means.outbox.push_reply(live::error(&refusal), means.now);
                return (None, Vec::new());
            }
        };
        let all_left = self.leave_event(event);
        let from = match (&caught_up.verdict, caught_up.frames.first()) {
            // The first frame says how it begins, and leads nowhere.
            (Verdict::Resumed, Some(first)) => {
                Some(Position { epoch: Some(caught_up.channel.epoch), seq: first.to })
            }
            _ => None,
        };
        let key = self.follow(&caught_up.channel, from);
        self.subscriptions[key].lease.clone_from(&caught_up.lease);
        let join = self.advance(key, caught_up, means);
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
            terms: Terms::default(),
            by_name: true,
            lease: None,
            delivered: from.map(|position| position.seq),
            stand: Stand::behind(from, "resume"),
        })
    }
}

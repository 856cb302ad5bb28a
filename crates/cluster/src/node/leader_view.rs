//! What a node that follows knows of the leader.

use base::Micros;
use tokio::time::Instant;

use crate::{Beat, Body, Message};

/// What a node that follows knows of the leader.
pub(super) struct LeaderView {
    /// Its last sign of life.
    pub at: Instant,
    /// When this node last had all that the leader had.
    pub complete_at: Instant,
    /// When this node sent the newest of its own beats that have come back to it. Nothing that it hears is newer.
    pub echo_at: Option<Micros>,
    /// The message that the leader had when it sent the oldest beat whose message is not here yet, and when that beat
    /// was heard.
    pub awaited: Option<(u64, Instant)>,
    /// The leader has given up the lead, to this node or to any.
    pub is_called: bool,
    pub is_stale: bool,
    /// The node that sent the last message.
    pub leader: Option<String>,
    /// How often in a row nobody answered for the leader while it was silent.
    pub away: u32,
}

impl LeaderView {
    pub(super) fn new() -> Self {
        let at = Instant::now();
        Self {
            at,
            complete_at: at,
            echo_at: None,
            awaited: None,
            is_called: false,
            is_stale: false,
            leader: None,
            away: 0,
        }
    }

    /// The leader has given a sign of life.
    pub(super) fn note(&mut self, at: Instant) {
        // The last beat of a leader that is gone is there for a while.
        if at > self.at {
            self.at = at;
            self.away = 0;
        }
    }

    /// Another message: who sent it leads, or leaves the lead to this node or to any.
    pub(super) fn read(&mut self, Message { node, body, .. }: &Message, local: &str) {
        self.is_called = match body {
            Body::HandOver { to, .. } => **node != *local && (to.is_empty() || **to == *local),
            Body::Term { .. } | Body::Records(_) => false,
        };
        self.leader = Some(node.clone());
    }

    /// The leader's beat was heard at this time, and this node has the messages up to `reached`. A leader whose log
    /// refuses records is alive, and knows more than its messages tell.
    pub(super) fn beat(&mut self, beat: &Beat, at: Instant, reached: u64) {
        self.note(at);
        if !beat.refused {
            self.told(beat.seq, at);
            self.has(reached);
        }
    }

    /// A beat that was heard at this time says that the leader had this message.
    fn told(&mut self, seq: u64, at: Instant) {
        // A leader does not go back. If it has less than what is awaited, that was a message of a stream that is gone.
        if self.awaited.is_none_or(|(awaited, _)| seq < awaited) {
            self.awaited = Some((seq, at));
        }
    }

    /// The node has this message of the stream, and all before.
    pub(super) fn has(&mut self, seq: u64) {
        match self.awaited {
            Some((awaited, heard_at)) if seq >= awaited => {
                self.complete_at = self.complete_at.max(heard_at);
                self.awaited = None;
            }
            // Messages come one by one after an interruption: a beat tells where that ends.
            None if !self.is_stale => self.complete_at = Instant::now(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use log::LogPosition;

    use super::*;

    #[test]
    fn old_sign_of_life_is_none() {
        let mut view = LeaderView::new();
        let last = view.at + Duration::from_millis(100);
        view.note(last);
        assert_eq!(view.at, last);
        view.away = 2;
        view.note(last);
        assert_eq!(view.away, 2, "it is the beat of before");
        view.note(last + Duration::from_millis(250));
        assert_eq!(view.away, 0);
    }

    #[test]
    fn message_of_a_stream_that_is_gone_is_not_awaited() {
        let mut view = LeaderView::new();
        let first = view.at + Duration::from_millis(100);
        view.is_stale = true;
        view.told(2908, first);
        view.has(27);
        assert_ne!(view.complete_at, first, "message 2908 is not here");
        let second = first + Duration::from_millis(250);
        view.told(30, second);
        view.told(31, second + Duration::from_millis(250));
        view.has(29);
        assert_ne!(view.complete_at, second);
        view.has(30);
        assert_eq!(view.complete_at, second);
    }

    #[test]
    fn beats_of_a_leader_whose_log_refuses_records_complete_nothing() {
        let beat = |refused: bool| Beat {
            node: "a".to_owned(),
            role: crate::Role::All,
            version: String::new(),
            term: 1,
            leads: true,
            ready: !refused,
            drained: false,
            refused,
            in_sync: true,
            seq: 7,
            number: 7,
            chain: [0; 16],
            lag_ms: 0,
            sockets: 0,
            formats: crate::Formats::default(),
            at: 0,
        };
        let mut view = LeaderView::new();
        let [complete, second, third] = [0, 1, 2].map(|s| view.at + Duration::from_secs(s));
        view.beat(&beat(true), second, 7);
        assert_eq!((view.at, view.complete_at), (second, complete), "it is alive");
        view.beat(&beat(false), third, 7);
        assert_eq!((view.at, view.complete_at), (third, third));
    }

    #[test]
    fn node_is_called_by_a_hand_over() {
        let called = |node: &str, to: &str| {
            let mut view = LeaderView::new();
            let body = Body::HandOver { position: LogPosition::default(), to: to.to_owned() };
            view.read(&Message { term: 1, node: node.to_owned(), body }, "a");
            assert_eq!(view.leader.as_deref(), Some(node));
            view.is_called
        };
        assert!(called("b", "") && called("b", "a"));
        assert!(!called("b", "c"), "another node is");
        assert!(!called("a", ""), "it has given up the lead itself");
    }
}

//! What is known of each source: its health and its counts.

use std::{collections::VecDeque, sync::Arc};

use fanout::Micros;
use ingest::event::Id;

/// A source's place in the hub's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceNumber(pub usize);

/// How a feed is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feed {
    Live,
    /// Nothing was heard for longer than its deadline.
    Late,
    Down,
    /// It is back, and its image is not complete yet.
    Recovering,
}

#[derive(Debug)]
pub struct Source {
    pub name: Arc<str>,
    /// `simulator`, or the format of a recording.
    pub kind: &'static str,
    pub state: Feed,
    /// When its last message was received.
    pub last: Option<Micros>,
    pub messages: u64,
    pub price_changes: u64,
    pub quarantined: u64,
    /// A recording has been played to its end.
    pub ended: bool,
    /// Something of it changed since it was last published.
    pub(super) changed: bool,
    /// Its matches that have ended and when, by its own time; the first to end in front.
    pub(super) over: VecDeque<(Micros, Id)>,
}

impl Source {
    pub(super) fn new(name: Arc<str>, kind: &'static str) -> Self {
        Self {
            name,
            kind,
            state: Feed::Live,
            last: None,
            messages: 0,
            price_changes: 0,
            quarantined: 0,
            ended: false,
            changed: true,
            over: VecDeque::new(),
        }
    }

    pub(super) fn heard(&mut self, price_changes: u32, received: Micros) {
        self.messages += 1;
        self.price_changes += u64::from(price_changes);
        self.last = Some(received);
        self.changed = true;
    }
}

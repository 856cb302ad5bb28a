//! What a client sent and received, in order.

use std::{
    hash::BuildHasher,
    sync::{Arc, Mutex},
    time::Duration,
};

use fanout::Micros;
use rustc_hash::{FxBuildHasher, FxHashSet};
use serde_json::Value;

/// Interner that several clients received, each of them once.
#[derive(Debug)]
pub(crate) struct Interner {
    parts: [Mutex<FxHashSet<Arc<str>>>; 16],
}

impl Interner {
    pub(crate) fn new() -> Self {
        Self { parts: Default::default() }
    }

    pub(crate) fn intern(&self, text: &str) -> Arc<str> {
        let index = (FxBuildHasher.hash_one(text) >> 32) as usize % self.parts.len();
        let mut part = self.parts[index].lock().expect("no panic while it is held");
        if let Some(interned) = part.get(text) {
            return Arc::clone(interned);
        }
        let text: Arc<str> = text.into();
        part.insert(Arc::clone(&text));
        text
    }
}

/// One step of a client.
#[derive(Debug, Clone)]
pub(crate) enum Entry {
    Connected,
    Sent(Arc<str>),
    Received(Arc<str>),
    /// Disconnected by the hub or by the client.
    Closed(Closing),
    /// ImageRequest an image over HTTP.
    ImageRequest(Box<ImageRequest>),
    /// WaitCall for changes over MCP.
    WaitCall(Box<WaitCall>),
    /// No source pushes any more, and the client had time to read everything.
    Settled,
}

/// A request for an image, and its response.
#[derive(Debug, Clone)]
pub(crate) struct ImageRequest {
    pub(crate) channel: Arc<str>,
    /// The entity tag that the client has.
    pub(crate) tag: Option<Arc<str>>,
    /// The sequence that the client waits for.
    pub(crate) at_least: Option<u64>,
    pub(crate) sent_at: Micros,
    /// How long the response took.
    pub(crate) waited: Duration,
    pub(crate) status: u16,
    /// The node that answered was not ready then: it says of itself that it may be behind the log.
    pub(crate) is_behind: bool,
    pub(crate) new_tag: Option<Arc<str>>,
    pub(crate) body: Arc<str>,
}

/// A call that waits for changes of a match, and its answer.
#[derive(Debug, Clone)]
pub(crate) struct WaitCall {
    pub(crate) match_id: u64,
    /// The positions of the answer before; `null` without one.
    pub(crate) since: Value,
    /// The error of the tool or of the request, if there is no answer.
    pub(crate) answer: Result<Value, String>,
}

impl WaitCall {
    /// The channel of the match.
    pub(crate) fn channel(&self) -> String {
        format!("football/{}", self.match_id)
    }
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Closing {
    /// The code of the hub's close frame, if there was one.
    pub(crate) code: Option<u16>,
    /// The number of the hub's start.
    pub(crate) start: usize,
}

/// The protocol of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `/stream/v1`.
    Stream,
    /// The older sockets.
    Live,
    /// Images over HTTP.
    Rest,
    /// Waiting calls over MCP.
    Mcp,
}

/// Everything that one client did and saw.
#[derive(Debug, Clone)]
pub(crate) struct History {
    pub(crate) client: String,
    pub(crate) dialect: Dialect,
    /// Whether it may be sent a `resync` because it is slow, and may miss frames that later ones supersede.
    pub(crate) may_skip: bool,
    /// Whether the hub may close it because it is slow.
    pub(crate) may_be_closed: bool,
    pub(crate) entries: Vec<Entry>,
    /// Channels in which it had not reached the last position when it gave up.
    pub(crate) unreached: Vec<String>,
}

impl History {
    pub(crate) fn new(client: impl Into<String>, dialect: Dialect) -> Self {
        Self {
            client: client.into(),
            dialect,
            may_skip: false,
            may_be_closed: false,
            entries: Vec::new(),
            unreached: Vec::new(),
        }
    }

    /// The last steps that concern a channel, for a finding.
    pub(crate) fn last_of(&self, channel: &str) -> String {
        // On the older sockets a match has only its number.
        let part = match channel.strip_prefix('~') {
            Some(name) => name.split('/').nth(1).unwrap_or(name).to_owned(),
            None => format!("\"{channel}\""),
        };
        let steps = self.entries.iter().rev().filter_map(|entry| match entry {
            Entry::Connected => Some("connected".to_owned()),
            Entry::Sent(text) if text.contains(&part) => Some(format!("sent {text:.200}")),
            Entry::Received(text) if text.contains(&part) => Some(format!("received {text:.200}")),
            Entry::Closed(_) => Some("closed".to_owned()),
            _ => None,
        });
        let mut steps: Vec<String> = steps.take(8).collect();
        steps.reverse();
        steps.join("; ")
    }
}

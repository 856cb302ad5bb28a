//! The control frames that clients get.

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;

use super::{Code, Refusal, SubscribeOptions};
use crate::{
    Micros,
    channel::{Channel, ChannelId, Pattern, Seq},
    encode::text_frame,
};

pub(super) fn json_frame(value: &impl Serialize) -> Bytes {
    text_frame(|out| {
        serde_json::to_writer(out, value).expect("control frames have string keys only");
    })
}

/// The first frame on a new connection.
#[derive(Debug, Clone, Serialize)]
pub struct Hello<'a> {
    pub conn: &'a str,
    pub server: &'a str,
    pub now: Micros,
    pub beat_ms: u32,
    pub limits: HelloLimits,
    /// What the hub offers beyond the first revision of the protocol.
    #[serde(skip_serializing_if = "<[&str]>::is_empty")]
    pub features: &'a [&'a str],
}

#[derive(Debug, Clone, Copy, Serialize)]
pub struct HelloLimits {
    pub channels: usize,
    pub patterns: usize,
    pub command_bytes: usize,
    /// Bytes of a `subscribe` to a pattern with positions, and of a command with `chs`.
    pub from_bytes: usize,
}

/// The control frames, each a `type` and its fields in the order of the protocol documentation.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ControlFrame<'a> {
    Hello(&'a Hello<'a>),
    Subscribed {
        id: &'a Value,
        ch: &'a str,
        #[serde(flatten)]
        options: ConfirmedOptions<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        epoch: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        seq: Option<Seq>,
        #[serde(skip_serializing_if = "Option::is_none")]
        channels: Option<usize>,
        #[serde(skip_serializing_if = "Option::is_none")]
        not_entitled: Option<usize>,
        #[serde(skip_serializing_if = "Option::is_none")]
        left_out: Option<usize>,
        #[serde(skip_serializing_if = "Option::is_none")]
        resumed: Option<bool>,
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<&'a str>,
    },
    Unsubscribed {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a Value>,
        ch: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<&'a str>,
    },
    Pong {
        id: &'a Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        t: Option<&'a Value>,
        now: Micros,
    },
    Hash {
        id: &'a Value,
        ch: &'a str,
        epoch: String,
        seq: Seq,
        sha256: &'a str,
    },
    Resync {
        ch: &'a str,
        why: &'a str,
        from: Seq,
        to: Seq,
    },
    Beat {
        now: Micros,
        heads: Heads<'a>,
        /// Another part of the same beat follows.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        more: bool,
    },
    Stale {
        since: Micros,
    },
    Lag(Lag),
    Entitlement {
        #[serde(rename = "addons")]
        granted: &'a [&'static str],
        ended: &'a [&'a str],
        channels: usize,
    },
    Error {
        #[serde(skip_serializing_if = "Value::is_null")]
        id: &'a Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        ch: Option<&'a str>,
        code: Code,
        message: &'a str,
        #[serde(rename = "addons", skip_serializing_if = "<[Value]>::is_empty")]
        offers: &'a [Value],
        retry: bool,
    },
    Bye {
        why: &'a str,
        reconnect_after_ms: u32,
    },
}

/// The options that a `subscribed` frame confirms.
#[derive(Debug, Serialize)]
pub(super) struct ConfirmedOptions<'a> {
    every_ms: u32,
    on_slow: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pick: Option<&'a [Box<str>]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    events: Option<Value>,
}

impl<'a> ConfirmedOptions<'a> {
    pub(super) fn new(options: &'a SubscribeOptions) -> Self {
        let pick = options.pick.as_deref();
        Self {
            every_ms: options.rate.every_ms(),
            on_slow: options.on_slow.as_str(),
            pick: pick.and_then(|it| it.paths.as_ref()).map(|paths| &*paths.pointers),
            events: pick.and_then(|it| it.events.to_json()),
        }
    }
}

/// How far a connection is behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Lag {
    /// Bytes queued for its socket.
    pub queued_bytes: usize,
    /// How long the first of them has been queued, in milliseconds.
    pub oldest_ms: u64,
    /// Changes that reached it merged into others since it fell behind.
    pub merged: u64,
}

/// Sequences by channel, as a JSON object.
#[derive(Debug)]
struct Heads<'a>(&'a [(&'a ChannelId, Seq)]);

impl Serialize for Heads<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(channel, seq)| (channel.as_str(), seq)))
    }
}

#[must_use]
pub fn hello(hello: &Hello<'_>) -> Bytes {
    json_frame(&ControlFrame::Hello(hello))
}

/// Confirms a subscription to one channel. `resumed` is `None` if no position was given.
#[must_use]
pub fn subscribed(
    id: &Value,
    options: &SubscribeOptions,
    channel: &Channel,
    head: Seq,
    resumed: Option<Result<(), &str>>,
) -> Bytes {
    json_frame(&ControlFrame::Subscribed {
        id,
        ch: channel.name.as_str(),
        options: ConfirmedOptions::new(options),
        epoch: Some(channel.epoch.to_string()),
        seq: Some(head),
        channels: None,
        not_entitled: None,
        left_out: None,
        resumed: Some(matches!(resumed, Some(Ok(())))),
        why: resumed.and_then(Result::err),
    })
}

/// What the client has from now on, in the host's words, and the channels that end because of that: their names,
/// truncated if there are very many, and their number.
#[must_use]
pub fn entitlement(granted: &[&'static str], ended: &[&str], channels: usize) -> Bytes {
    json_frame(&ControlFrame::Entitlement { granted, ended, channels })
}

/// Counts of the channels that a pattern covers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Coverage {
    /// Those that are followed.
    pub followed: usize,
    /// Those that the client's permission does not cover.
    pub not_entitled: usize,
    /// Those beyond the limit of the socket.
    pub left_out: usize,
}

/// Confirms a subscription to all channels of a pattern.
#[must_use]
pub fn subscribed_all(
    id: &Value,
    options: &SubscribeOptions,
    pattern: &Pattern,
    coverage: Coverage,
) -> Bytes {
    json_frame(&ControlFrame::Subscribed {
        id,
        ch: pattern.as_str(),
        options: ConfirmedOptions::new(options),
        epoch: None,
        seq: None,
        channels: Some(coverage.followed),
        not_entitled: (coverage.not_entitled > 0).then_some(coverage.not_entitled),
        left_out: (coverage.left_out > 0).then_some(coverage.left_out),
        resumed: None,
        why: None,
    })
}

#[must_use]
pub fn unsubscribed(id: &Value, ch: &str) -> Bytes {
    json_frame(&ControlFrame::Unsubscribed { id: Some(id), ch, why: None })
}

/// The channel no longer exists.
#[must_use]
pub fn channel_gone(ch: &str) -> Bytes {
    json_frame(&ControlFrame::Unsubscribed { id: None, ch, why: Some("gone") })
}

#[must_use]
pub fn pong(id: &Value, t: Option<&Value>, now: Micros) -> Bytes {
    json_frame(&ControlFrame::Pong { id, t, now })
}

/// The hash of a channel's document at a sequence, in hexadecimal digits.
#[must_use]
pub fn hash(id: &Value, channel: &Channel, seq: Seq, sha256: &str) -> Bytes {
    let (ch, epoch) = (channel.name.as_str(), channel.epoch.to_string());
    json_frame(&ControlFrame::Hash { id, ch, epoch, seq, sha256 })
}

#[must_use]
pub fn resync(ch: &str, why: &str, from: Seq, to: Seq) -> Bytes {
    json_frame(&ControlFrame::Resync { ch, why, from, to })
}

/// A beat, or a part of one. `more`: another part follows.
#[must_use]
pub fn beat(now: Micros, heads: &[(&ChannelId, Seq)], more: bool) -> Bytes {
    json_frame(&ControlFrame::Beat { now, heads: Heads(heads), more })
}

/// In place of a beat, while the hub cannot know anything new.
#[must_use]
pub fn stale(since: Micros) -> Bytes {
    json_frame(&ControlFrame::Stale { since })
}

#[must_use]
pub fn lag(lag: Lag) -> Bytes {
    json_frame(&ControlFrame::Lag(lag))
}

#[must_use]
pub fn error(refusal: &Refusal) -> Bytes {
    json_frame(&ControlFrame::Error {
        id: &refusal.id,
        ch: refusal.channel.as_deref(),
        code: refusal.code,
        message: &refusal.message,
        offers: &refusal.offers,
        retry: refusal.code.retry(),
    })
}

#[must_use]
pub fn bye(why: &str, reconnect_after_ms: u32) -> Bytes {
    json_frame(&ControlFrame::Bye { why, reconnect_after_ms })
}

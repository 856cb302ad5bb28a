//! The control frames that clients get.

#[cfg(feature = "schema")]
use std::collections::BTreeMap;

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;

#[cfg(feature = "schema")]
use super::values::{
    self, AddonName, AddonOffer, ByeReason, ChannelPattern, CommandId, Epoch, ErrorCode,
    EventChoice, EveryMs, OnSlowChoice, ReplayName, ResumeRefusal, ResyncReason, Timestamp,
};
use super::{Code, Refusal, SubscribeOptions, declare::frames};
use crate::{
    Micros,
    channel::{Channel, ChannelId, Pattern, Seq},
    encode::text_frame,
};

/// A declared frame as a text message.
#[must_use]
pub fn json_frame(value: &impl Serialize) -> Bytes {
    text_frame(|out| {
        serde_json::to_writer(out, value).expect("control frames have string keys only");
    })
}

frames! {
    /// The first frame of a connection.
    HelloFrame<'a> = "hello" {
        /// Identifies the connection, for support.
        conn: &'a str => String,
        /// The name and version of the hub.
        server: &'a str => String,
        /// The hub's clock, which never goes back while the hub runs.
        now: Micros => Timestamp,
        /// Milliseconds between two `beat` frames.
        beat_ms: u32 => u32,
        /// The limits of this socket.
        limits: HelloLimits => HelloLimits,
        /// The optional features of this hub and connection: `batch`, `hash`, `pick`, `replay`, `deflate`. Absent if it has none.
        #[serde(skip_serializing_if = "<[&str]>::is_empty")]
        features: &'a [&'a str] => Option<Vec<String>>,
    }

    /// The limits of a socket.
    #[derive(Clone, Copy)]
    HelloLimits {
        /// Channels that it may follow.
        channels: usize => u64,
        /// Patterns that it may follow.
        patterns: usize => u64,
        /// Bytes of one command.
        command_bytes: usize => u64,
        /// Bytes of a `subscribe` to a pattern with `from`, and of a command with `chs`.
        from_bytes: usize => u64,
    }

    /// The answer to `subscribe` and `set`. For a channel it has `epoch`, `seq` and `resumed`; for a pattern `channels`.
    SubscribedFrame<'a> = "subscribed" {
        /// The id of the command.
        id: &'a Value => CommandId,
        /// The channel or the pattern.
        ch: &'a str => ChannelPattern,
        #[serde(flatten)]
        options: ConfirmedOptions<'a> => ConfirmedOptions<'static>,
        /// The epoch of the channel.
        #[serde(skip_serializing_if = "Option::is_none")] epoch: Option<String> => Option<Epoch>,
        /// The current position of the channel.
        #[serde(skip_serializing_if = "Option::is_none")] seq: Option<Seq> => Option<values::Seq>,
        /// The number of channels that the pattern covers now, or that a `set` applies to.
        #[serde(skip_serializing_if = "Option::is_none")] channels: Option<usize> => Option<u64>,
        /// The number of channels that the pattern would cover with further add-ons.
        #[serde(skip_serializing_if = "Option::is_none")] not_entitled: Option<usize> => Option<u64>,
        /// The number of channels that are left out because of the limit of the socket.
        #[serde(skip_serializing_if = "Option::is_none")] left_out: Option<usize> => Option<u64>,
        /// Whether the updates since `from` follow. Otherwise an image does.
        #[serde(skip_serializing_if = "Option::is_none")] resumed: Option<bool> => Option<bool>,
        /// Why `from` cannot be resumed.
        #[serde(skip_serializing_if = "Option::is_none")] why: Option<&'a str> => Option<ResumeRefusal>,
    }

    /// The options that a `subscribed` frame confirms.
    ConfirmedOptions<'a> {
        /// The rate in effect.
        every_ms: u32 => EveryMs,
        /// The behaviour in effect when this client cannot keep up.
        on_slow: &'a str => OnSlowChoice,
        /// The part of the documents that is picked. Absent: the whole.
        #[serde(skip_serializing_if = "Option::is_none")] pick: Option<&'a [Box<str>]> => Option<Vec<String>>,
        /// The events that are picked. Absent: all.
        #[serde(skip_serializing_if = "Option::is_none")] events: Option<Value> => Option<EventChoice>,
    }

    /// The changes after `from` and up to `to` are not delivered individually. The image follows.
    ResyncFrame<'a> = "resync" {
        /// The channel.
        ch: &'a str => values::Channel,
        /// Why.
        why: &'a str => ResyncReason,
        /// The last sequence that was delivered.
        from: Seq => values::Seq,
        /// The sequence of the channel.
        to: Seq => values::Seq,
    }

    /// A sign of life, with the positions that this connection has reached.
    BeatFrame<'a> = "beat" {
        /// The hub's clock.
        now: Micros => Timestamp,
        /// The sequence that this connection has reached, by channel.
        heads: Heads<'a> => BTreeMap<String, values::Seq>,
        /// True if another part of the same beat follows; otherwise absent.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        #[schemars(extend("const" = true))]
        more: bool => Option<bool>,
    }

    /// This connection's own delay, if one of its subscriptions has `lag`.
    LagFrame = "lag" {
        /// Bytes queued in the hub.
        queued_bytes: usize => u64,
        /// Milliseconds since the oldest of them was queued.
        oldest_ms: u64 => u64,
        /// Changes merged into others since the delay started.
        merged: u64 => u64,
    }

    /// Sent instead of a beat while the hub cannot publish: the data may be outdated until the next update or beat.
    StaleFrame = "stale" {
        /// When this began.
        since: Micros => Timestamp,
    }

    /// The answer to `unsubscribe`; or, without `id`, the channel has ended. Discard its document.
    UnsubscribedFrame<'a> = "unsubscribed" {
        /// The id of the command.
        #[serde(skip_serializing_if = "Option::is_none")] id: Option<&'a Value> => Option<CommandId>,
        /// The channel or the pattern.
        ch: &'a str => ChannelPattern,
        /// `gone` if the channel has ended.
        #[serde(skip_serializing_if = "Option::is_none")] #[schemars(extend("const" = "gone"))] why: Option<&'a str> => Option<String>,
        /// The replay that it belongs to; absent if it is live.
        #[serde(skip_serializing_if = "Option::is_none")] replay: Option<&'a str> => Option<ReplayName>,
    }

    /// An add-on has started or ended, and the subscriptions have changed with it.
    EntitlementFrame<'a> = "entitlement" {
        /// The account's current add-ons.
        addons: &'a [&'static str] => Vec<AddonName>,
        /// The channels whose subscriptions ended, the first 1,000 of them in order. Discard their documents.
        ended: &'a [&'a str] => Vec<values::Channel>,
        /// The number of channels whose subscriptions ended.
        channels: usize => u64,
    }

    /// The answer to `hash`: the client's document is complete if it has the same hash at this sequence.
    HashFrame<'a> = "hash" {
        /// The id of the command.
        id: &'a Value => CommandId,
        /// The channel.
        ch: &'a str => values::Channel,
        /// The epoch of the channel.
        epoch: String => Epoch,
        /// The sequence of the document.
        seq: Seq => values::Seq,
        /// The SHA-256 of the document in the canonical form of RFC 8785, in hexadecimal digits.
        #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
        sha256: &'a str => String,
    }

    /// The answer to `ping`.
    PongFrame<'a> = "pong" {
        /// The id of the command.
        id: &'a Value => CommandId,
        /// The `t` of the command.
        #[serde(skip_serializing_if = "Option::is_none")] t: Option<&'a Value> => Option<Value>,
        /// The hub's clock.
        now: Micros => Timestamp,
    }

    /// A command was rejected, or something else is wrong. The connection stays open unless a close frame follows.
    ErrorFrame<'a> = "error" {
        /// The id of the command.
        #[serde(skip_serializing_if = "Value::is_null")]
        id: &'a Value => Option<CommandId>,
        /// The channel or the pattern that it is about.
        #[serde(skip_serializing_if = "Option::is_none")] ch: Option<&'a str> => Option<String>,
        /// What is wrong.
        code: Code => ErrorCode,
        /// An explanation for people.
        message: &'a str => String,
        /// The add-ons that the channel needs and the account lacks.
        #[serde(skip_serializing_if = "<[Value]>::is_empty")]
        addons: &'a [Value] => Option<Vec<AddonOffer>>,
        /// Whether the same command may succeed later.
        retry: bool => bool,
    }

    /// The hub is about to close the socket.
    ByeFrame<'a> = "bye" {
        /// Why.
        why: &'a str => ByeReason,
        /// Milliseconds to wait before reconnecting.
        reconnect_after_ms: u32 => u32,
    }
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

/// Sequences by channel, as a JSON object.
#[derive(Debug)]
pub struct Heads<'a>(&'a [(&'a ChannelId, Seq)]);

impl Serialize for Heads<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(channel, seq)| (channel.as_str(), seq)))
    }
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
    json_frame(&SubscribedFrame {
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
    json_frame(&EntitlementFrame { addons: granted, ended, channels })
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
    json_frame(&SubscribedFrame {
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
    json_frame(&UnsubscribedFrame { id: Some(id), ch, why: None, replay: None })
}

/// The channel no longer exists; in a replay, if its name is given.
#[must_use]
pub fn channel_gone(ch: &str, replay: Option<&str>) -> Bytes {
    json_frame(&UnsubscribedFrame { id: None, ch, why: Some("gone"), replay })
}

#[must_use]
pub fn pong(id: &Value, t: Option<&Value>, now: Micros) -> Bytes {
    json_frame(&PongFrame { id, t, now })
}

/// The hash of a channel's document at a sequence, in hexadecimal digits.
#[must_use]
pub fn hash(id: &Value, channel: &Channel, seq: Seq, sha256: &str) -> Bytes {
    let (ch, epoch) = (channel.name.as_str(), channel.epoch.to_string());
    json_frame(&HashFrame { id, ch, epoch, seq, sha256 })
}

#[must_use]
pub fn resync(ch: &str, why: &str, from: Seq, to: Seq) -> Bytes {
    json_frame(&ResyncFrame { ch, why, from, to })
}

/// A beat, or a part of one. `more`: another part follows.
#[must_use]
pub fn beat(now: Micros, heads: &[(&ChannelId, Seq)], more: bool) -> Bytes {
    json_frame(&BeatFrame { now, heads: Heads(heads), more })
}

/// In place of a beat, while the hub cannot know anything new.
#[must_use]
pub fn stale(since: Micros) -> Bytes {
    json_frame(&StaleFrame { since })
}

#[must_use]
pub fn error(refusal: &Refusal) -> Bytes {
    json_frame(&ErrorFrame {
        id: &refusal.id,
        ch: refusal.channel.as_deref(),
        code: refusal.code,
        message: &refusal.message,
        addons: &refusal.offers,
        retry: refusal.code.retry(),
    })
}

#[must_use]
pub fn bye(why: &str, reconnect_after_ms: u32) -> Bytes {
    json_frame(&ByeFrame { why, reconnect_after_ms })
}

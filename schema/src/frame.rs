//! The frames from the hub.

use std::{borrow::Cow, collections::BTreeMap};

use hub::wire::values::{Seq, Timestamp};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use crate::{
    command::EventChoice,
    document::Event,
    words::{
        AddonName, ByeReason, Channel, ChannelPattern, CommandId, Epoch, ErrorCode, EveryMs,
        MergeReason, Nullable, OnSlowChoice, ReplayEndReason, ReplayName, ReplaySpeed,
        ResumeRefusal, ResyncReason,
    },
};

/// Declares a frame: its fields, and before them its type.
macro_rules! frame {
    (
        $(#[doc = $doc:literal])+
        $name:ident = $kind:literal { $($fields:tt)* }
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug, JsonSchema)]
        pub struct $name {
            #[doc = concat!("Always `", $kind, "`.")]
            #[schemars(extend("const" = $kind))]
            pub r#type: String,
            $($fields)*
        }
    };
}

/// A frame from the hub, by `type`. Ignore types that you do not know: there will be more.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum Frame {
    Hello(HelloFrame),
    Subscribed(SubscribedFrame),
    SubscribedBatch(SubscribedBatchFrame),
    Image(ImageFrame),
    Update(UpdateFrame),
    Resync(ResyncFrame),
    Beat(BeatFrame),
    Lag(LagFrame),
    Stale(StaleFrame),
    Unsubscribed(UnsubscribedFrame),
    UnsubscribedBatch(UnsubscribedBatchFrame),
    Entitlement(EntitlementFrame),
    Hash(HashFrame),
    Pong(PongFrame),
    Error(ErrorFrame),
    Bye(ByeFrame),
    ReplaySubscribed(ReplaySubscribedFrame),
    ReplayUnsubscribed(ReplayUnsubscribedFrame),
    ReplayEnd(ReplayEndFrame),
}

frame! {
    /// The first frame of a connection.
    HelloFrame = "hello" {
        /// Identifies the connection, for support.
        pub conn: String,
        /// The name and version of the hub.
        pub server: String,
        /// The hub's clock, which never goes back while the hub runs.
        pub now: Timestamp,
        /// Milliseconds between two `beat` frames.
        pub beat_ms: u32,
        /// The limits of this socket.
        pub limits: HelloLimits,
        /// The optional features of this hub and connection: `batch`, `hash`, `pick`, `replay`, `deflate`. Absent if it has none.
        pub features: Option<Vec<String>>,
    }
}

/// The limits of a socket.
#[derive(Debug, JsonSchema)]
pub struct HelloLimits {
    /// Channels that it may follow.
    pub channels: u64,
    /// Patterns that it may follow.
    pub patterns: u64,
    /// Bytes of one command.
    pub command_bytes: u64,
    /// Bytes of a `subscribe` to a pattern with `from`, and of a command with `chs`.
    pub from_bytes: u64,
}

frame! {
    /// The answer to `subscribe` and `set`. For a channel it has `epoch`, `seq` and `resumed`; for a pattern `channels`.
    SubscribedFrame = "subscribed" {
        /// The id of the command.
        pub id: CommandId,
        /// The channel or the pattern.
        pub ch: ChannelPattern,
        /// The rate in effect.
        pub every_ms: EveryMs,
        /// The behaviour in effect when this client cannot keep up.
        pub on_slow: OnSlowChoice,
        /// The part of the documents that is picked. Absent: the whole.
        pub pick: Option<Vec<String>>,
        /// The events that are picked. Absent: all.
        pub events: Option<EventChoice>,
        /// The epoch of the channel.
        pub epoch: Option<Epoch>,
        /// The current position of the channel.
        pub seq: Option<Seq>,
        /// The number of channels that the pattern covers now, or that a `set` applies to.
        pub channels: Option<u64>,
        /// The number of channels that the pattern would cover with further add-ons.
        pub not_entitled: Option<u64>,
        /// The number of channels that are left out because of the limit of the socket.
        pub left_out: Option<u64>,
        /// Whether the updates since `from` follow. Otherwise an image does.
        pub resumed: Option<bool>,
        /// Why `from` cannot be resumed.
        pub why: Option<ResumeRefusal>,
    }
}

frame! {
    /// The answer to `subscribe` with `chs`. Images or updates of its channels follow.
    SubscribedBatchFrame = "subscribed" {
        /// The id of the command.
        pub id: CommandId,
        /// The answer for each entry, by channel or pattern.
        pub chs: BTreeMap<String, BatchAnswer>,
        /// The rate in effect.
        pub every_ms: EveryMs,
        /// The behaviour in effect when this client cannot keep up.
        pub on_slow: OnSlowChoice,
        /// The part of the documents that is picked. Absent: the whole.
        pub pick: Option<Vec<String>>,
        /// The events that are picked. Absent: all.
        pub events: Option<EventChoice>,
    }
}

/// The answer for one entry of a batch: `epoch`, `seq` and `resumed` of a channel, `channels` of a pattern, or `error`.
#[derive(Debug, JsonSchema)]
pub struct BatchAnswer {
    /// The epoch of the channel.
    pub epoch: Option<Epoch>,
    /// The current position of the channel.
    pub seq: Option<Seq>,
    /// The number of channels that the pattern covers now.
    pub channels: Option<u64>,
    /// The number of channels that the pattern would cover with further add-ons.
    pub not_entitled: Option<u64>,
    /// The number of channels that are left out because of the limit of the socket.
    pub left_out: Option<u64>,
    /// Whether the updates since `from` follow. Otherwise an image does.
    pub resumed: Option<bool>,
    /// Why `from` cannot be resumed.
    pub why: Option<ResumeRefusal>,
    /// Why the entry cannot be followed.
    pub error: Option<ErrorCode>,
    /// The add-ons that the channel needs and the account lacks.
    pub addons: Option<Vec<AddonOffer>>,
}

/// Three moments of a change. `in` and `pub` are null in the image at sequence 0 only.
#[derive(Debug, JsonSchema)]
pub struct Moments {
    /// When the source says that it happened; null if it does not say, and far in the past for a recording.
    pub src: Nullable<Timestamp>,
    /// When the hub received it.
    pub r#in: Nullable<Timestamp>,
    /// When the hub published it.
    pub r#pub: Nullable<Timestamp>,
}

/// Refers to a definition that is made from others.
macro_rules! references {
    ($($name:ident: $definition:literal;)+) => {$(
        #[doc = concat!("Refers to `", $definition, "`.")]
        #[derive(Debug)]
        pub struct $name;

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                $definition.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"$ref": concat!("#/$defs/", $definition)})
            }
        }
    )+};
}

references! {
    AnyDocument: "Document";
    AnyPatch: "Patch";
}

frame! {
    /// The whole document of a channel. It replaces the document that the client has.
    ImageFrame = "image" {
        /// The channel.
        pub ch: Channel,
        /// The epoch of the channel.
        pub epoch: Epoch,
        /// The sequence of the document.
        pub seq: Seq,
        /// The moments of the last change.
        pub at: Moments,
        /// The document. `DocumentsByChannel` says which one, by the name of the channel.
        pub data: AnyDocument,
        /// The replay that it belongs to; absent if it is live.
        pub replay: Option<ReplayName>,
    }
}

frame! {
    /// A change of a document, or several merged into one. It applies to a document at any sequence from `prev` up to
    /// before `seq`. `patch` or `events` may be absent, not both.
    UpdateFrame = "update" {
        /// The channel.
        pub ch: Channel,
        /// The sequence to which it leads.
        pub seq: Seq,
        /// The sequence from which it leads.
        pub prev: Seq,
        /// The number of changes, `seq` - `prev`, if there are several.
        #[schemars(range(min = 2))]
        pub n: Option<u64>,
        /// Why several changes are merged.
        pub why: Option<MergeReason>,
        /// The moments of the last change.
        pub at: Moments,
        /// The change as a JSON merge patch (RFC 7396): null deletes a field. `PatchesByChannel` says which one, by the
        /// name of the channel.
        pub patch: Option<AnyPatch>,
        /// What happened. `EventsByChannel` says which events, by the name of the channel.
        pub events: Option<Vec<Event>>,
        /// The replay that it belongs to; absent if it is live.
        pub replay: Option<ReplayName>,
    }
}

frame! {
    /// The changes after `from` and up to `to` are not delivered individually. The image follows.
    ResyncFrame = "resync" {
        /// The channel.
        pub ch: Channel,
        /// Why.
        pub why: ResyncReason,
        /// The last sequence that was delivered.
        pub from: Seq,
        /// The sequence of the channel.
        pub to: Seq,
    }
}

frame! {
    /// A sign of life, with the positions that this connection has reached.
    BeatFrame = "beat" {
        /// The hub's clock.
        pub now: Timestamp,
        /// The sequence that this connection has reached, by channel.
        pub heads: BTreeMap<String, Seq>,
        /// True if another part of the same beat follows; otherwise absent.
        #[schemars(extend("const" = true))]
        pub more: Option<bool>,
    }
}

frame! {
    /// This connection's own delay, if one of its subscriptions has `lag`.
    LagFrame = "lag" {
        /// Bytes queued in the hub.
        pub queued_bytes: u64,
        /// Milliseconds since the oldest of them was queued.
        pub oldest_ms: u64,
        /// Changes merged into others since the delay started.
        pub merged: u64,
    }
}

frame! {
    /// Sent instead of a beat while the hub cannot publish: the data may be outdated until the next update or beat.
    StaleFrame = "stale" {
        /// When this began.
        pub since: Timestamp,
    }
}

frame! {
    /// The answer to `unsubscribe`; or, without `id`, the channel has ended. Discard its document.
    UnsubscribedFrame = "unsubscribed" {
        /// The id of the command.
        pub id: Option<CommandId>,
        /// The channel or the pattern.
        pub ch: ChannelPattern,
        /// `gone` if the channel has ended.
        #[schemars(extend("const" = "gone"))]
        pub why: Option<String>,
        /// The replay that it belongs to; absent if it is live.
        pub replay: Option<ReplayName>,
    }
}

frame! {
    /// The answer to `unsubscribe` with `chs`.
    UnsubscribedBatchFrame = "unsubscribed" {
        /// The id of the command.
        pub id: CommandId,
        /// The channels and patterns.
        pub chs: Vec<ChannelPattern>,
    }
}

frame! {
    /// An add-on has started or ended, and the subscriptions have changed with it.
    EntitlementFrame = "entitlement" {
        /// The account's current add-ons.
        pub addons: Vec<AddonName>,
        /// The channels whose subscriptions ended, the first 1,000 of them in order. Discard their documents.
        pub ended: Vec<Channel>,
        /// The number of channels whose subscriptions ended.
        pub channels: u64,
    }
}

frame! {
    /// The answer to `hash`: the client's document is complete if it has the same hash at this sequence.
    HashFrame = "hash" {
        /// The id of the command.
        pub id: CommandId,
        /// The channel.
        pub ch: Channel,
        /// The epoch of the channel.
        pub epoch: Epoch,
        /// The sequence of the document.
        pub seq: Seq,
        /// The SHA-256 of the document in the canonical form of RFC 8785, in hexadecimal digits.
        #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
        pub sha256: String,
    }
}

frame! {
    /// The answer to `ping`.
    PongFrame = "pong" {
        /// The id of the command.
        pub id: CommandId,
        /// The `t` of the command.
        pub t: Option<Value>,
        /// The hub's clock.
        pub now: Timestamp,
    }
}

frame! {
    /// A command was rejected, or something else is wrong. The connection stays open unless a close frame follows.
    ErrorFrame = "error" {
        /// The id of the command.
        pub id: Option<CommandId>,
        /// The channel or the pattern that it is about.
        pub ch: Option<String>,
        /// What is wrong.
        pub code: ErrorCode,
        /// An explanation for people.
        pub message: String,
        /// The add-ons that the channel needs and the account lacks.
        pub addons: Option<Vec<AddonOffer>>,
        /// Whether the same command may succeed later.
        pub retry: bool,
    }
}

/// An add-on that the account lacks.
#[derive(Debug, JsonSchema)]
pub struct AddonOffer {
    /// The add-on.
    pub addon: AddonName,
    /// The price of a month, as a decimal number.
    pub price: String,
    /// The currency of the price, by ISO 4217.
    pub currency: String,
}

frame! {
    /// The hub is about to close the socket.
    ByeFrame = "bye" {
        /// Why.
        pub why: ByeReason,
        /// Milliseconds to wait before reconnecting.
        pub reconnect_after_ms: u32,
    }
}

frame! {
    /// The answer to a `subscribe` with `replay`, and to `replay`. It has `ch` and its position, or `chs`.
    ReplaySubscribedFrame = "subscribed" {
        /// The id of the command.
        pub id: CommandId,
        /// The channel.
        pub ch: Option<Channel>,
        /// The epoch of the channel at this time; absent if it is not open.
        pub epoch: Option<Epoch>,
        /// The position of the channel at this time; absent if it is not open.
        pub seq: Option<Seq>,
        /// The position of each channel.
        pub chs: Option<BTreeMap<String, ReplayChannel>>,
        /// The name of the replay.
        pub replay: ReplayName,
        /// The span of the film.
        pub span: ReplaySpan,
        /// The recorded time that the replay has reached.
        pub at: Timestamp,
        /// The speed in effect.
        pub speed: ReplaySpeed,
        /// Whether it is paused.
        pub paused: bool,
    }
}

/// The position of a channel in a replay. It is empty if the channel is not open at this time.
#[derive(Debug, JsonSchema)]
pub struct ReplayChannel {
    /// The epoch of the channel.
    pub epoch: Option<Epoch>,
    /// The position of the channel.
    pub seq: Option<Seq>,
    /// Why the channel cannot be played.
    pub error: Option<ErrorCode>,
}

/// The span of a film.
#[derive(Debug, JsonSchema)]
pub struct ReplaySpan {
    /// The time of the first frame.
    pub first: Timestamp,
    /// The time of the last frame.
    pub last: Timestamp,
}

frame! {
    /// The answer to `unsubscribe` of a replay.
    ReplayUnsubscribedFrame = "unsubscribed" {
        /// The id of the command.
        pub id: CommandId,
        /// The name of the replay.
        pub replay: ReplayName,
    }
}

frame! {
    /// The last frame of a replay. Its name is no longer valid.
    ReplayEndFrame = "replay_end" {
        /// The name of the replay.
        pub replay: ReplayName,
        /// Why.
        pub why: ReplayEndReason,
    }
}

//! The commands to the hub.

use std::collections::BTreeMap;

use hub::wire::values::{Seq, Timestamp};
use schemars::JsonSchema;
use serde_json::Value;

use fanout::protocol::values::{
    Channel, ChannelPattern, CommandId, Epoch, EventChoice, EveryMs, Nullable, OnSlowChoice,
    PickPaths, ReplayName, ReplaySpeed,
};

/// Declares a command: its fields, and before them its op and its id.
macro_rules! command {
    (
        $(#[doc = $doc:literal])+
        $name:ident = $op:literal { $($fields:tt)* }
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug, JsonSchema)]
        pub struct $name {
            #[doc = concat!("Always `", $op, "`.")]
            #[schemars(extend("const" = $op))]
            pub op: String,
            /// Repeated in the answer.
            pub id: Option<CommandId>,
            $($fields)*
        }
    };
}

/// A command to the hub, by `op`.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum Command {
    Subscribe(SubscribeCommand),
    SubscribeBatch(SubscribeBatchCommand),
    Set(SetCommand),
    Unsubscribe(UnsubscribeCommand),
    UnsubscribeBatch(UnsubscribeBatchCommand),
    Hash(HashCommand),
    Ping(PingCommand),
    SubscribeReplay(SubscribeReplayCommand),
    Replay(ReplayCommand),
    UnsubscribeReplay(UnsubscribeReplayCommand),
}

command! {
    /// Follow a channel, or all channels of a pattern.
    SubscribeCommand = "subscribe" {
        /// The channel or the pattern.
        pub ch: ChannelPattern,
        /// The client's position of the channel; of a pattern, its positions by channel. Without it an image comes
        /// first.
        pub from: Option<ResumeFrom>,
        #[serde(flatten)]
        pub options: Options,
    }
}

/// The client's position of a channel, or its positions by channel.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum ResumeFrom {
    One(Position),
    Each(BTreeMap<String, Position>),
}

/// A position of a channel.
#[derive(Debug, JsonSchema)]
pub struct Position {
    /// The epoch of the channel.
    pub epoch: Epoch,
    /// The sequence of the last frame that was applied.
    pub seq: Seq,
}

/// The options of a subscription.
#[derive(Debug, JsonSchema)]
pub struct Options {
    /// At most one update of values per channel in this many milliseconds. The default is 0: each change, at once.
    pub every_ms: Option<EveryMs>,
    /// What happens when this client cannot keep up. The default is `merge`.
    pub on_slow: Option<OnSlowChoice>,
    /// Whether `lag` frames report this connection's own delay. The default is false.
    pub lag: Option<bool>,
    /// The part of the documents to send: JSON Pointers in which `*` stands for any one member. The default, and `null`, is the
    /// whole document.
    pub pick: Option<Nullable<PickPaths>>,
    /// The events to send: all of them (the default), none, or those of these kinds. `suspend`, `resume`, `retract` and
    /// `correct` always come.
    pub events: Option<EventChoice>,
}

command! {
    /// Follow many channels and patterns, with one answer for all.
    SubscribeBatchCommand = "subscribe" {
        /// The channels and patterns, each once.
        #[schemars(length(min = 1))]
        pub chs: Vec<BatchEntry>,
        #[serde(flatten)]
        pub options: Options,
    }
}

/// A channel or a pattern, alone or with the client's position.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum BatchEntry {
    Name(ChannelPattern),
    At(BatchPosition),
}

/// A channel or a pattern with the client's position.
#[derive(Debug, JsonSchema)]
pub struct BatchPosition {
    /// The channel or the pattern.
    pub ch: ChannelPattern,
    /// The client's position of the channel; of a pattern, its positions by channel.
    pub from: Option<ResumeFrom>,
}

command! {
    /// Change the options of a subscription, without a gap, and without an image unless it changes what is picked. Options that it omits stay as they are.
    SetCommand = "set" {
        /// The channel or the pattern, as it was subscribed.
        pub ch: ChannelPattern,
        #[serde(flatten)]
        pub options: Options,
    }
}

command! {
    /// Stop following a channel or a pattern.
    UnsubscribeCommand = "unsubscribe" {
        /// The channel or the pattern, as it was subscribed.
        pub ch: ChannelPattern,
    }
}

command! {
    /// Stop following many channels and patterns, with one answer for all.
    UnsubscribeBatchCommand = "unsubscribe" {
        /// The channels and patterns, as they were subscribed.
        #[schemars(length(min = 1))]
        pub chs: Vec<ChannelPattern>,
    }
}

command! {
    /// Ask for the hash of the document of a channel that is followed.
    HashCommand = "hash" {
        /// The channel.
        pub ch: Channel,
    }
}

command! {
    /// Ask for a `pong`.
    PingCommand = "ping" {
        /// Any value, which the answer repeats.
        pub t: Option<Value>,
    }
}

command! {
    /// Play recorded channels: `ch`, or several as `chs` on one clock.
    SubscribeReplayCommand = "subscribe" {
        /// The channel.
        pub ch: Option<Channel>,
        /// The channels.
        #[schemars(length(min = 1, max = 100))]
        pub chs: Option<Vec<Channel>>,
        /// How to play them.
        pub replay: ReplayOptions,
    }
}

/// How to play a replay.
#[derive(Debug, JsonSchema)]
pub struct ReplayOptions {
    /// Where to start. The default is the start of the film.
    pub from: Option<ReplayFrom>,
    /// The speed. The default is 1, the recorded speed.
    pub speed: Option<ReplaySpeed>,
}

/// A position in a film: its start, a recorded time, or a sequence of a channel.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum ReplayFrom {
    Start(ReplayFromStart),
    At(ReplayFromTime),
    Seq(ReplayFromSeq),
}

/// The start of the film.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ReplayFromStart {
    Start,
}

/// A recorded time. One before or after the film means its start or end.
#[derive(Debug, JsonSchema)]
pub struct ReplayFromTime {
    /// The time.
    pub at: Timestamp,
}

/// The time at which a channel reached a sequence.
#[derive(Debug, JsonSchema)]
pub struct ReplayFromSeq {
    /// The sequence.
    pub seq: Seq,
    /// The channel, which is needed if the replay has several.
    pub ch: Option<Channel>,
    /// The epoch. Without it, the first that reached the sequence counts.
    pub epoch: Option<Epoch>,
}

command! {
    /// Change a replay: at least one of `pause`, `speed` and `seek`.
    ReplayCommand = "replay" {
        /// The name of the replay.
        pub replay: ReplayName,
        /// Whether it is paused.
        pub pause: Option<bool>,
        /// The speed.
        pub speed: Option<ReplaySpeed>,
        /// Where to continue.
        pub seek: Option<ReplayFrom>,
    }
}

command! {
    /// End a replay.
    UnsubscribeReplayCommand = "unsubscribe" {
        /// The name of the replay.
        pub replay: ReplayName,
    }
}

//! The protocol of `/stream/v1`: commands that clients send, and the control frames that they get.
//!
//! The host renders updates and the documents of images; everything else on the socket is rendered here.

pub mod batch;
mod declare;
mod document;
pub mod frames;
pub mod replay;
#[cfg(feature = "schema")]
pub mod values;

use std::{collections::HashMap, sync::Arc};

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::{
    channel::{ChannelId, Epoch, Pattern, Position, Rate},
    pick::{EventChoice, Malformed, Paths},
    replay::{ReplayChange, ReplayPosition, ReplaySpeed},
};

pub use crate::pick::Pick;

pub use self::{
    batch::{BatchAnswer, BatchEntry, subscribed_batch, unsubscribed_batch},
    document::image,
    frames::{
        Coverage, HelloFrame, HelloLimits, LagFrame, beat, bye, channel_gone, entitlement, error,
        hash, json_frame, pong, resync, stale, subscribed, subscribed_all, unsubscribed,
    },
    replay::{replay_end, replay_subscribed, replay_unsubscribed},
};

/// The members of a command.
type Fields = Map<String, Value>;

/// A command of a client in the stream protocol.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamCommand {
    Subscribe {
        id: Value,
        channel: Pattern,
        from: StartPoint,
        options: SubscribeOptions,
    },
    Set {
        id: Value,
        channel: Pattern,
        changes: OptionChanges,
    },
    Unsubscribe {
        id: Value,
        channel: Pattern,
    },
    /// Subscribe to many channels and patterns, with one answer.
    SubscribeBatch {
        id: Value,
        entries: Vec<BatchEntry>,
        options: SubscribeOptions,
    },
    UnsubscribeBatch {
        id: Value,
        /// As the client wrote them.
        names: Vec<Box<str>>,
    },
    /// Prove the document of a channel.
    Hash {
        id: Value,
        channel: Pattern,
    },
    Ping {
        id: Value,
        t: Option<Value>,
    },
    /// Play recorded channels.
    SubscribeReplay {
        id: Value,
        channels: Vec<ChannelId>,
        /// They were given as `chs`.
        is_batch: bool,
        from: ReplayPosition,
        speed: ReplaySpeed,
    },
    /// Change a replay; `None` if its name is none of this protocol.
    ChangeReplay {
        id: Value,
        replay: Option<u32>,
        change: ReplayChange,
    },
    UnsubscribeReplay {
        id: Value,
        replay: Option<u32>,
    },
}

/// Where a subscription starts.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum StartPoint {
    #[default]
    Image,
    Position(Position),
    /// For a wildcard: a position for each channel that the client knows.
    Positions(HashMap<ChannelId, Position>),
}

/// The options of a subscription, as `subscribed` confirms them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SubscribeOptions {
    pub rate: Rate,
    pub on_slow: OnSlow,
    /// Whether the client gets `lag` frames about its own delay.
    pub lag: bool,
    /// The part of the documents that it picks; `None`: everything.
    pub pick: Option<Arc<Pick>>,
}

/// The options that a command changes. Those it leaves out stay as they are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OptionChanges {
    pub rate: Option<Rate>,
    pub on_slow: Option<OnSlow>,
    pub lag: Option<bool>,
    /// `Some(None)`: the whole document.
    paths: Option<Option<Paths>>,
    events: Option<EventChoice>,
}

impl OptionChanges {
    /// Returns the options with these changes.
    #[must_use]
    pub fn apply_to(self, options: &SubscribeOptions) -> SubscribeOptions {
        let pick = if self.paths.is_none() && self.events.is_none() {
            options.pick.clone()
        } else {
            let current = options.pick.as_deref();
            let paths = self.paths.unwrap_or_else(|| current.and_then(|it| it.paths.clone()));
            let events = current.map(|it| it.events.clone());
            let events = self.events.or(events).unwrap_or_default();
            Pick::new(paths, events).map(Arc::new)
        };
        SubscribeOptions {
            rate: self.rate.unwrap_or(options.rate),
            on_slow: self.on_slow.unwrap_or(options.on_slow),
            lag: self.lag.unwrap_or(options.lag),
            pick,
        }
    }
}

base::words! {
    /// What happens when a reader cannot keep up.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum OnSlow {
        /// Keep every event and merge values between them.
        #[default]
        Merge = "merge",
        /// Skip what is missing and send the image.
        Resync = "resync",
        /// Close with 4508.
        Close = "close",
    }
}

/// Why a command cannot be carried out, sent to the client in an `error` frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    pub id: Value,
    pub code: Code,
    pub message: Box<str>,
    /// The channel it is about, where there is one.
    pub channel: Option<String>,
    /// The host's offers that would open it.
    pub offers: Box<[Value]>,
}

impl Refusal {
    #[must_use]
    pub fn new(id: &Value, code: Code, message: impl Into<Box<str>>) -> Self {
        Self {
            id: id.clone(),
            code,
            message: message.into(),
            channel: None,
            offers: Box::default(),
        }
    }

    /// Adds the offers that would open the channel.
    #[must_use]
    pub fn with_offers(self, offers: Vec<Value>) -> Self {
        Self { offers: offers.into(), ..self }
    }

    #[must_use]
    pub fn about(mut self, channel: &str) -> Self {
        self.channel = Some(channel.to_owned());
        self
    }
}

/// The `code` of an `error` frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// Not one JSON object, `op` unknown or missing, a field of the wrong form, or a binary message.
    BadCommand,
    /// `ch` is not a valid channel name: letters, digits and `-_.@+:` in segments between `/`, 200 bytes at most; or
    /// a `set` without a subscription on this socket.
    BadChannel,
    /// There is no such channel now; it may open later, so `retry` is true.
    NotTracked,
    /// The account lacks an add-on that the channel needs: `addons` lists the missing ones,
    /// `{"addon":"sports","price":"5.00","currency":"USD"}`, with the price of a month; or a named key lacks a scope,
    /// which `message` names.
    NotEntitled,
    /// Over a limit of the socket or account. With an `id`: the command for one more channel or pattern has no
    /// effect. Without: channels that the pattern in `ch` covers are left out, now or as they open; sent once, until
    /// a tenth of the room is free again. Before closing with 4429: too many sockets of the account.
    Limit,
    /// The reason for which the socket is being closed.
    Host(&'static str),
}

impl Code {
    /// The codes of this crate.
    pub const ALL: [Self; 5] =
        [Self::BadCommand, Self::BadChannel, Self::NotTracked, Self::NotEntitled, Self::Limit];

    /// As `error` frames have it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BadCommand => "bad_command",
            Self::BadChannel => "bad_channel",
            Self::NotTracked => "not_tracked",
            Self::NotEntitled => "not_entitled",
            Self::Limit => "limit",
            Self::Host(code) => code,
        }
    }

    /// Whether the same command may succeed later without another change by the client.
    fn retry(self) -> bool {
        matches!(self, Self::NotTracked)
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The longest `id` of a command that is a string, in bytes.
const ID_BYTES_MAX: usize = 64;

impl StreamCommand {
    /// Reads one text message.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] that names what is wrong, with the command's `id` where it could be read.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let bad = |message: &str| Refusal::new(&Value::Null, Code::BadCommand, message);
        let Ok(value) = serde_json::from_str::<Value>(text) else {
            return Err(bad("a command is one JSON object"));
        };
        let Value::Object(fields) = value else {
            return Err(bad("a command is one JSON object"));
        };
        let id = id(&fields)?;
        match fields.get("op").and_then(Value::as_str) {
            Some("subscribe") if has(&fields, "replay") => Self::subscribe_replay(id, &fields),
            Some("subscribe") if has(&fields, "chs") => Self::subscribe_batch(id, &fields),
            Some("subscribe") => Self::subscribe(id, &fields),
            Some("replay") => Self::change_replay(id, &fields),
            Some("unsubscribe") if has(&fields, "replay") => {
                Ok(Self::UnsubscribeReplay { replay: replay::number(&id, &fields)?, id })
            }
            Some("set") => {
                let channel = pattern(&id, &fields)?;
                let changes = option_changes(&id, &fields)?;
                Ok(Self::Set { id, channel, changes })
            }
            Some("unsubscribe") if has(&fields, "chs") => Self::unsubscribe_batch(id, &fields),
            Some("unsubscribe") => {
                let channel = pattern(&id, &fields)?;
                Ok(Self::Unsubscribe { id, channel })
            }
            Some("hash") => {
                let channel = pattern(&id, &fields)?;
                if channel.is_wildcard() {
                    let message = "hash takes the name of one channel";
                    return Err(Refusal::new(&id, Code::BadChannel, message));
                }
                Ok(Self::Hash { id, channel })
            }
            Some("ping") => Ok(Self::Ping { id, t: fields.get("t").cloned() }),
            Some(_) => Err(Refusal::new(&id, Code::BadCommand, "unknown op")),
            None => Err(Refusal::new(&id, Code::BadCommand, "op is missing or no string")),
        }
    }

    /// The `id` of a command about a replay.
    #[must_use]
    pub fn replay_id(&self) -> Option<&Value> {
        match self {
            Self::SubscribeReplay { id, .. }
            | Self::ChangeReplay { id, .. }
            | Self::UnsubscribeReplay { id, .. } => Some(id),
            Self::Subscribe { .. }
            | Self::Set { .. }
            | Self::Unsubscribe { .. }
            | Self::SubscribeBatch { .. }
            | Self::UnsubscribeBatch { .. }
            | Self::Hash { .. }
            | Self::Ping { .. } => None,
        }
    }

    /// Whether it is about many channels, for which it may be longer than other commands.
    #[must_use]
    pub fn may_be_long(&self) -> bool {
        matches!(
            self,
            Self::Subscribe { from: StartPoint::Positions(_), .. }
                | Self::SubscribeBatch { .. }
                | Self::UnsubscribeBatch { .. }
        )
    }

    fn subscribe(id: Value, fields: &Fields) -> Result<Self, Refusal> {
        let bad = |message: &str| Refusal::new(&id, Code::BadCommand, message);
        let channel = pattern(&id, fields)?;
        let from = starting_point(&channel, fields.get("from")).ok_or_else(|| {
            bad(match channel.is_wildcard() {
                true => "from of a wildcard is an object of channel to {epoch, seq}",
                false => "from is an object {epoch, seq}",
            })
        })?;
        let options = option_changes(&id, fields)?.apply_to(&SubscribeOptions::default());
        Ok(Self::Subscribe { id, channel, from, options })
    }
}

fn has(fields: &Fields, name: &str) -> bool {
    fields.get(name).is_some_and(|value| !value.is_null())
}

/// A member that a command may leave out. `name`: its name, and what it must be.
fn optional<T>(
    id: &Value,
    fields: &Fields,
    (name, expected): (&str, &str),
    parse: impl FnOnce(&Value) -> Option<T>,
) -> Result<Option<T>, Refusal> {
    let Some(value) = fields.get(name) else { return Ok(None) };
    parse(value).map(Some).ok_or_else(|| Refusal::new(id, Code::BadCommand, expected))
}

fn option_changes(id: &Value, fields: &Fields) -> Result<OptionChanges, Refusal> {
    let every = "every_ms is one of 0, 100, 250, 500, 1000, 2000, 5000";
    let rate = optional(id, fields, ("every_ms", every), |ms| Rate::from_ms(ms.as_u64()?))?;
    let lag = optional(id, fields, ("lag", "lag is true or false"), Value::as_bool)?;
    let on_slow = ("on_slow", "on_slow is merge, resync or close");
    let on_slow = optional(id, fields, on_slow, |word| OnSlow::from_word(word.as_str()?))?;
    let malformed = |Malformed(message)| Refusal::new(id, Code::BadCommand, message);
    let paths = fields.get("pick").map(Paths::parse).transpose().map_err(malformed)?;
    let events = fields.get("events").map(EventChoice::parse).transpose().map_err(malformed)?;
    Ok(OptionChanges { rate, on_slow, lag, paths, events })
}

fn id(fields: &Fields) -> Result<Value, Refusal> {
    match fields.get("id") {
        None => Ok(Value::Null),
        Some(id @ (Value::Null | Value::Number(_))) => Ok(id.clone()),
        Some(id @ Value::String(text)) if text.len() <= ID_BYTES_MAX => Ok(id.clone()),
        Some(_) => Err(Refusal::new(
            &Value::Null,
            Code::BadCommand,
            format!("id is a number or a string of at most {ID_BYTES_MAX} bytes"),
        )),
    }
}

fn pattern(id: &Value, fields: &Fields) -> Result<Pattern, Refusal> {
    let Some(name) = fields.get("ch").and_then(Value::as_str) else {
        return Err(Refusal::new(id, Code::BadCommand, "ch is missing or no string"));
    };
    Pattern::parse(name).ok_or_else(|| Refusal::new(id, Code::BadChannel, "ch is no channel name"))
}

/// Where a subscription starts; `None` if `from` does not have the form for it.
fn starting_point(channel: &Pattern, from: Option<&Value>) -> Option<StartPoint> {
    match from {
        None | Some(Value::Null) => Some(StartPoint::Image),
        Some(from) if channel.is_wildcard() => positions(from),
        Some(from) => position(from).map(StartPoint::Position),
    }
}

fn position(value: &Value) -> Option<Position> {
    let epoch = Epoch::parse(value.get("epoch")?.as_str()?);
    Some(Position { epoch, seq: value.get("seq")?.as_u64()? })
}

fn positions(value: &Value) -> Option<StartPoint> {
    let positions = value.as_object()?.iter();
    let each =
        positions.map(|(name, value)| Some((ChannelId::new(name.as_str()), position(value)?)));
    Some(StartPoint::Positions(each.collect::<Option<_>>()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn refused(text: &str) -> (Code, String) {
        let refusal = StreamCommand::parse(text).expect_err(text);
        (refusal.code, refusal.message.into())
    }

    #[test]
    fn subscribe_is_read_with_all_its_fields() {
        let text = r#"{"op":"subscribe","id":1,"ch":"football/7","from":{"epoch":"k3f9","seq":812},
            "every_ms":250,"on_slow":"close","lag":true,"later":[]}"#;
        let Ok(StreamCommand::Subscribe { id, channel, from, options }) =
            StreamCommand::parse(text)
        else {
            panic!("a whole subscribe was refused");
        };
        assert_eq!((id, channel.as_str()), (Value::from(1), "football/7"));
        let position = Position { epoch: Epoch::parse("k3f9"), seq: 812 };
        let expected =
            SubscribeOptions { rate: Rate::Ms250, on_slow: OnSlow::Close, lag: true, pick: None };
        assert_eq!((from, options), (StartPoint::Position(position), expected));
    }

    #[test]
    fn set_changes_only_the_named_options() {
        let text = r#"{"op":"set","id":2,"ch":"football/7","every_ms":1000}"#;
        let Ok(StreamCommand::Set { changes, .. }) = StreamCommand::parse(text) else {
            panic!("a whole set was refused");
        };
        let before = SubscribeOptions { on_slow: OnSlow::Resync, lag: true, ..Default::default() };
        let expected = SubscribeOptions { rate: Rate::Ms1000, ..before.clone() };
        assert_eq!(changes.apply_to(&before), expected);
    }

    #[test]
    fn wildcard_takes_a_position_for_each_channel() {
        let text =
            r#"{"op":"subscribe","ch":"football/*","from":{"football/7":{"epoch":"a","seq":3}}}"#;
        let Ok(StreamCommand::Subscribe { from: StartPoint::Positions(positions), .. }) =
            StreamCommand::parse(text)
        else {
            panic!("positions were not read");
        };
        assert_eq!(positions[&ChannelId::new("football/7")].seq, 3);
    }

    #[test]
    fn errors_name_the_mistake() {
        let check = |text: &str, code: Code, word: &str| {
            let (found, message) = refused(text);
            assert_eq!(found, code, "{text}");
            assert!(message.contains(word), "{text}: {message}");
        };
        check("", Code::BadCommand, "JSON");
        check("[1]", Code::BadCommand, "object");
        check("{}", Code::BadCommand, "op");
        check(r#"{"op":7}"#, Code::BadCommand, "op");
        check(r#"{"op":"dance"}"#, Code::BadCommand, "unknown");
        check(r#"{"op":"subscribe"}"#, Code::BadCommand, "ch");
        check(r#"{"op":"subscribe","ch":"a//b"}"#, Code::BadChannel, "channel");
        check(r#"{"op":"subscribe","ch":"a","from":7}"#, Code::BadCommand, "from");
        check(r#"{"op":"subscribe","ch":"a","every_ms":7}"#, Code::BadCommand, "every_ms");
        check(r#"{"op":"subscribe","ch":"a","on_slow":"x"}"#, Code::BadCommand, "on_slow");
        check(r#"{"op":"subscribe","ch":"a","lag":1}"#, Code::BadCommand, "lag");
        check(r#"{"op":"set","ch":"a","every_ms":7}"#, Code::BadCommand, "every_ms");
        check(r#"{"op":"set","ch":"a","on_slow":"skip"}"#, Code::BadCommand, "on_slow");
        check(r#"{"op":"hash"}"#, Code::BadCommand, "ch");
        check(r#"{"op":"hash","ch":"football/*"}"#, Code::BadChannel, "one");
        check(r#"{"op":"ping","id":{}}"#, Code::BadCommand, "id");
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in ".{0,200}") {
            let _parsed = StreamCommand::parse(&text);
        }
    }
}

//! Commands and frames of replays.

#[cfg(feature = "schema")]
use std::collections::BTreeMap;
use std::collections::HashSet;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Number, Value};

#[cfg(feature = "schema")]
use super::values::{self, CommandId, ErrorCode, ReplayEndReason, ReplayName, Timestamp};
use super::{Code, Fields, Refusal, StreamCommand, declare::frames, has, json_frame, optional};
use crate::{
    Micros,
    channel::{ChannelId, Epoch, Pattern, Seq},
    replay::{
        self, ReplayChange, ReplayChannelStatus, ReplayEnd, ReplayPosition, ReplaySpeed,
        ReplayState,
    },
};

/// Options of live subscriptions that a replay does not have: it sends each frame as it was published, and
/// waits for its reader.
const LIVE_ONLY: [&str; 5] = ["from", "every_ms", "on_slow", "pick", "events"];

/// Entries of `chs`. The host may allow fewer.
const CHANNELS_MAX: usize = 100;

impl StreamCommand {
    pub(super) fn subscribe_replay(id: Value, fields: &Fields) -> Result<Self, Refusal> {
        let bad = |message: &str| Refusal::new(&id, Code::BadCommand, message);
        let Some(options) = fields["replay"].as_object() else {
            return Err(bad("replay is an object {from, speed}"));
        };
        if let Some(name) = LIVE_ONLY.into_iter().find(|name| has(fields, name)) {
            return Err(bad(&format!("`{name}` cannot be used with `replay`")));
        }
        let (names, is_batch) = match (fields.get("ch"), fields.get("chs")) {
            (Some(name), None) => (std::slice::from_ref(name), false),
            (None, Some(Value::Array(names))) if !names.is_empty() => (&names[..], true),
            (None, Some(_)) => return Err(bad("chs is a list of channel names")),
            (Some(_), Some(_)) => return Err(bad("use ch or chs, not both")),
            (None, None) => return Err(bad("ch is missing or no string")),
        };
        if names.len() > CHANNELS_MAX {
            let message = format!("a replay has at most {CHANNELS_MAX} channels");
            return Err(Refusal::new(&id, Code::Limit, message));
        }
        let (mut channels, mut seen) = (Vec::new(), HashSet::new());
        for name in names {
            let name = name.get("ch").unwrap_or(name).as_str();
            let name = name.ok_or_else(|| bad("a channel's name is a string"))?;
            let pattern = Pattern::parse(name).filter(|pattern| !pattern.is_wildcard());
            if pattern.is_none() {
                let message = "replay needs channel names, not patterns";
                return Err(Refusal::new(&id, Code::BadChannel, message).about(name));
            }
            let channel = ChannelId::new(name);
            if seen.insert(channel.clone()) {
                channels.push(channel);
            }
        }
        let from = match options.get("from") {
            None | Some(Value::Null) => ReplayPosition::Start,
            Some(from) => position(from)
                .ok_or_else(|| bad("replay.from is \"start\", {\"seq\":..} or {\"at\":..}"))?,
        };
        let speed = match options.get("speed") {
            None | Some(Value::Null) => ReplaySpeed::RECORDED,
            Some(value) => speed(value).ok_or_else(|| bad(SPEED))?,
        };
        Ok(Self::SubscribeReplay { id, channels, is_batch, from, speed })
    }

    pub(super) fn change_replay(id: Value, fields: &Fields) -> Result<Self, Refusal> {
        let replay = number(&id, fields)?;
        let pause = ("pause", "pause is true or false");
        let seek = ("seek", "seek is \"start\", {\"seq\":..} or {\"at\":..}");
        let change = ReplayChange {
            pause: optional(&id, fields, pause, Value::as_bool)?,
            speed: optional(&id, fields, ("speed", SPEED), speed)?,
            seek: optional(&id, fields, seek, position)?,
        };
        if change == ReplayChange::default() {
            let message = "replay needs pause, speed or seek";
            return Err(Refusal::new(&id, Code::BadCommand, message));
        }
        Ok(Self::ChangeReplay { id, replay, change })
    }
}

const SPEED: &str = "speed is a number from 0.1 to 100, or \"max\"";

/// The number of the replay that a command names; `None` if it can be none of this session.
pub(super) fn number(id: &Value, fields: &Fields) -> Result<Option<u32>, Refusal> {
    let Some(name) = fields.get("replay").and_then(Value::as_str) else {
        return Err(Refusal::new(id, Code::BadCommand, "replay is the name of a replay"));
    };
    let number = name.strip_prefix('r').and_then(|number| number.parse::<u32>().ok());
    Ok(number.filter(|number| replay::name(*number) == name))
}

fn position(value: &Value) -> Option<ReplayPosition> {
    if value.as_str() == Some("start") {
        return Some(ReplayPosition::Start);
    }
    let fields = value.as_object()?;
    match (fields.get("seq"), fields.get("at")) {
        (Some(seq), None) => {
            let channel = match fields.get("ch") {
                None => None,
                Some(name) => Some(ChannelId::new(name.as_str()?)),
            };
            let epoch = match fields.get("epoch") {
                None => None,
                Some(epoch) => Some(Epoch::parse(epoch.as_str()?)?),
            };
            Some(ReplayPosition::Seq { channel, epoch, seq: seq.as_u64()? })
        }
        (None, Some(at)) => Some(ReplayPosition::At(at.as_i64()?)),
        _ => None,
    }
}

fn speed(value: &Value) -> Option<ReplaySpeed> {
    if value.as_str() == Some("max") {
        return Some(ReplaySpeed::Unlimited);
    }
    let thousandths = (value.as_f64()? * 1000.0).round();
    let is_valid =
        (f64::from(ReplaySpeed::MIN)..=f64::from(ReplaySpeed::MAX)).contains(&thousandths);
    is_valid.then_some(ReplaySpeed::Thousandths(thousandths as u32))
}

frames! {
    /// The answer to a `subscribe` with `replay`, and to `replay`. It has `ch` and its position, or `chs`.
    ReplaySubscribedFrame<'a> = "subscribed" {
        /// The id of the command.
        id: &'a Value => CommandId,
        /// The channel.
        #[serde(skip_serializing_if = "Option::is_none")] ch: Option<&'a str> => Option<values::Channel>,
        /// The epoch of the channel at this time; absent if it is not open.
        #[serde(skip_serializing_if = "Option::is_none")] epoch: Option<String> => Option<values::Epoch>,
        /// The position of the channel at this time; absent if it is not open.
        #[serde(skip_serializing_if = "Option::is_none")] seq: Option<Seq> => Option<values::Seq>,
        #[serde(skip_serializing_if = "Option::is_none")] #[schemars(skip)] error: Option<Code> => Option<ErrorCode>,
        /// The position of each channel.
        #[serde(skip_serializing_if = "Option::is_none")] chs: Option<Entries<'a>> => Option<BTreeMap<String, ReplayChannel>>,
        /// The name of the replay.
        replay: String => ReplayName,
        /// The span of the film.
        span: ReplaySpan => ReplaySpan,
        /// The recorded time that the replay has reached.
        at: Micros => Timestamp,
        /// The speed in effect.
        speed: Speed => values::ReplaySpeed,
        /// Whether it is paused.
        paused: bool => bool,
    }

    /// The position of a channel in a replay. It is empty if the channel is not open at this time.
    #[derive(Default)]
    ReplayChannel {
        /// The epoch of the channel.
        #[serde(skip_serializing_if = "Option::is_none")] epoch: Option<String> => Option<values::Epoch>,
        /// The position of the channel.
        #[serde(skip_serializing_if = "Option::is_none")] seq: Option<Seq> => Option<values::Seq>,
        /// Why the channel cannot be played.
        #[serde(skip_serializing_if = "Option::is_none")] error: Option<Code> => Option<ErrorCode>,
    }

    /// The span of a film.
    ReplaySpan {
        /// The time of the first frame.
        first: Micros => Timestamp,
        /// The time of the last frame.
        last: Micros => Timestamp,
    }

    /// The answer to `unsubscribe` of a replay.
    ReplayUnsubscribedFrame<'a> = "unsubscribed" {
        /// The id of the command.
        id: &'a Value => CommandId,
        /// The name of the replay.
        replay: String => ReplayName,
    }

    /// The last frame of a replay. Its name is no longer valid.
    ReplayEndFrame<'a> = "replay_end" {
        /// The name of the replay.
        replay: String => ReplayName,
        /// Why.
        why: &'a str => ReplayEndReason,
    }
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Speed {
    Max(&'static str),
    Times(Number),
}

/// Positions by channel, as a JSON object.
#[derive(Debug)]
pub struct Entries<'a>(&'a [replay::ReplayChannel]);

impl Serialize for Entries<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entries = self.0.iter();
        serializer.collect_map(entries.map(|it| (it.name.as_str(), ReplayChannel::new(it))))
    }
}

impl ReplayChannel {
    fn new(channel: &replay::ReplayChannel) -> Self {
        let (position, error) = match channel.status {
            ReplayChannelStatus::Played { position, .. } => (position, None),
            ReplayChannelStatus::NotTracked => (None, Some(Code::NotTracked)),
            ReplayChannelStatus::NotEntitled { .. } => (None, Some(Code::NotEntitled)),
        };
        Self {
            epoch: position.and_then(|it| it.epoch).map(|epoch| epoch.to_string()),
            seq: position.map(|it| it.seq),
            error,
        }
    }
}

impl Speed {
    fn new(speed: ReplaySpeed) -> Self {
        match speed {
            ReplaySpeed::Unlimited => Self::Max("max"),
            ReplaySpeed::Thousandths(speed) if speed.is_multiple_of(1000) => {
                Self::Times((speed / 1000).into())
            }
            ReplaySpeed::Thousandths(speed) => {
                let times = Number::from_f64(f64::from(speed) / 1000.0);
                times.map_or(Self::Max("max"), Self::Times)
            }
        }
    }
}

/// Confirms a replay or a change of it.
#[must_use]
pub fn replay_subscribed(id: &Value, replay: u32, is_batch: bool, state: &ReplayState) -> Bytes {
    let (ch, ReplayChannel { epoch, seq, error }, chs) = match &state.channels[..] {
        [channel] if !is_batch => (Some(channel.name.as_str()), ReplayChannel::new(channel), None),
        channels => (None, ReplayChannel::default(), Some(Entries(channels))),
    };
    json_frame(&ReplaySubscribedFrame {
        id,
        ch,
        epoch,
        seq,
        error,
        chs,
        replay: replay::name(replay),
        span: ReplaySpan { first: state.span.0, last: state.span.1 },
        at: state.at,
        speed: Speed::new(state.speed),
        paused: state.is_paused,
    })
}

#[must_use]
pub fn replay_unsubscribed(id: &Value, replay: u32) -> Bytes {
    json_frame(&ReplayUnsubscribedFrame { id, replay: replay::name(replay) })
}

/// The replay is over.
#[must_use]
pub fn replay_end(replay: u32, why: ReplayEnd) -> Bytes {
    json_frame(&ReplayEndFrame { replay: replay::name(replay), why: why.as_str() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(command: &Value) -> StreamCommand {
        StreamCommand::parse(&command.to_string()).expect("a good command")
    }

    #[test]
    fn replay_is_read_with_all_its_fields() {
        let command = json!({"op": "subscribe", "id": 1, "chs": ["football/7", {"ch": "football/8"},
            "football/7"], "replay": {"from": {"at": -5}, "speed": 0.1}});
        let expected = StreamCommand::SubscribeReplay {
            id: 1.into(),
            channels: ["football/7", "football/8"].map(ChannelId::new).to_vec(),
            is_batch: true,
            from: ReplayPosition::At(-5),
            speed: ReplaySpeed::Thousandths(100),
        };
        assert_eq!(parse(&command), expected);
        let command = json!({"op": "replay", "replay": "r12", "pause": false, "speed": "max",
            "seek": {"seq": 9, "epoch": "k3", "ch": "football/7"}});
        let seek = ReplayPosition::Seq {
            channel: Some(ChannelId::new("football/7")),
            epoch: Epoch::parse("k3"),
            seq: 9,
        };
        let change = ReplayChange {
            pause: Some(false),
            speed: Some(ReplaySpeed::Unlimited),
            seek: Some(seek),
        };
        let expected = StreamCommand::ChangeReplay { id: Value::Null, replay: Some(12), change };
        assert_eq!(parse(&command), expected);
    }

    #[test]
    fn errors_name_the_mistake() {
        let check = |command: &Value, code: Code, word: &str| {
            let refusal = StreamCommand::parse(&command.to_string()).expect_err("a bad command");
            assert_eq!(refusal.code, code, "{command}");
            assert!(refusal.message.contains(word), "{command}: {}", refusal.message);
        };
        let subscribe = |replay: Value, more: Value| {
            let mut command = json!({"op": "subscribe", "ch": "a/1", "replay": replay});
            let fields = command.as_object_mut().expect("an object");
            fields.extend(more.as_object().expect("an object").clone());
            command
        };
        for (replay, more, word) in [
            (json!(true), json!({}), "object"),
            (json!({"from": 7}), json!({}), "replay.from"),
            (json!({"from": {"seq": 1, "at": 1}}), json!({}), "replay.from"),
            (json!({"from": {"seq": -1}}), json!({}), "replay.from"),
            (json!({"speed": 0.09}), json!({}), "0.1 to 100"),
            (json!({"speed": 101}), json!({}), "0.1 to 100"),
            (json!({"speed": "fast"}), json!({}), "0.1 to 100"),
            (json!({}), json!({"every_ms": 100}), "every_ms"),
            (json!({}), json!({"from": {"epoch": "a", "seq": 1}}), "from"),
            (json!({}), json!({"chs": []}), "chs"),
            (json!({}), json!({"ch": 7}), "string"),
        ] {
            check(&subscribe(replay, more), Code::BadCommand, word);
        }
        check(&subscribe(json!({}), json!({"ch": "a/*"})), Code::BadChannel, "not patterns");
        // Also if it is the same channel each time.
        let many = json!({"op": "subscribe", "chs": vec!["a/1"; CHANNELS_MAX + 1], "replay": {}});
        check(&many, Code::Limit, "at most 100");
        for (command, word) in [
            (json!({"op": "replay"}), "name of a replay"),
            (json!({"op": "replay", "replay": "r1"}), "pause, speed or seek"),
            (json!({"op": "replay", "replay": "r1", "pause": 1}), "pause"),
            (json!({"op": "replay", "replay": "r1", "speed": 0}), "speed"),
            (json!({"op": "replay", "replay": "r1", "seek": "end"}), "seek"),
            (json!({"op": "unsubscribe", "replay": 1}), "name of a replay"),
        ] {
            check(&command, Code::BadCommand, word);
        }
        for name in ["r", "r01", "r+1", "1", "r99999999999"] {
            let command = parse(&json!({"op": "unsubscribe", "replay": name}));
            let expected = StreamCommand::UnsubscribeReplay { id: Value::Null, replay: None };
            assert_eq!(command, expected, "{name}");
        }
    }
}

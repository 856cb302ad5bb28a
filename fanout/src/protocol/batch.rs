//! Commands and frames about many channels at once: `chs` in place of `ch`.

#[cfg(feature = "schema")]
use std::collections::BTreeMap;
use std::collections::HashSet;

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;

#[cfg(feature = "schema")]
use super::values::{self, AddonOffer, ChannelPattern, CommandId, Epoch, ErrorCode, ResumeRefusal};
use super::{
    Code, Coverage, Fields, Refusal, StartPoint, StreamCommand, SubscribeOptions,
    declare::frames,
    frames::{ConfirmedOptions, json_frame},
    option_changes, starting_point,
};
use crate::{
    catch_up::Verdict,
    channel::{Channel, Pattern, Seq},
};

/// One entry of the `chs` of a `subscribe`.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchEntry {
    /// The channel or pattern, as the client wrote it.
    pub name: Box<str>,
    /// What it stands for and where it starts, or why it is refused. The other entries do not depend on it.
    pub target: Result<(Pattern, StartPoint), Code>,
}

impl StreamCommand {
    pub(super) fn subscribe_batch(id: Value, fields: &Fields) -> Result<Self, Refusal> {
        let list = list(&id, fields)?;
        let options = option_changes(&id, fields)?.apply_to(&SubscribeOptions::default());
        let mut names = HashSet::new();
        let mut entries = Vec::with_capacity(list.len());
        for value in list {
            let (name, from) = match value {
                Value::Object(entry) => (entry.get("ch"), entry.get("from")),
                name => (Some(name), None),
            };
            let Some(name) = name.and_then(Value::as_str) else {
                let message = "an entry of chs is a name, or an object {ch, from}";
                return Err(Refusal::new(&id, Code::BadCommand, message));
            };
            if !names.insert(name) {
                // The answer is an object with the names as its keys.
                let message = "chs names a channel twice";
                return Err(Refusal::new(&id, Code::BadCommand, message).about(name));
            }
            let target = Pattern::parse(name).ok_or(Code::BadChannel).and_then(|pattern| {
                let from = starting_point(&pattern, from).ok_or(Code::BadCommand)?;
                Ok((pattern, from))
            });
            entries.push(BatchEntry { name: name.into(), target });
        }
        Ok(Self::SubscribeBatch { id, entries, options })
    }

    pub(super) fn unsubscribe_batch(id: Value, fields: &Fields) -> Result<Self, Refusal> {
        let names = list(&id, fields)?.iter().map(|name| name.as_str().map(Box::from));
        let names = names.collect::<Option<Vec<Box<str>>>>();
        match names {
            Some(names) => Ok(Self::UnsubscribeBatch { id, names }),
            None => Err(Refusal::new(&id, Code::BadCommand, "an entry of chs is a name")),
        }
    }
}

fn list<'a>(id: &Value, fields: &'a Fields) -> Result<&'a [Value], Refusal> {
    let message = match (fields.get("ch"), &fields["chs"]) {
        (None, Value::Array(list)) if !list.is_empty() => return Ok(list),
        (None, _) => "chs is a list of channels that is not empty",
        (Some(_), _) => "use ch or chs, not both",
    };
    Err(Refusal::new(id, Code::BadCommand, message))
}

frames! {
    /// The answer for one entry of a batch: `epoch`, `seq` and `resumed` of a channel, `channels` of a pattern, or `error`.
    #[derive(Clone, PartialEq, Default)]
    BatchAnswer {
        /// The epoch of the channel.
        #[serde(skip_serializing_if = "Option::is_none")] epoch: Option<String> => Option<Epoch>,
        /// The current position of the channel.
        #[serde(skip_serializing_if = "Option::is_none")] seq: Option<Seq> => Option<values::Seq>,
        /// The number of channels that the pattern covers now.
        #[serde(skip_serializing_if = "Option::is_none")] channels: Option<usize> => Option<u64>,
        /// The number of channels that the pattern would cover with further add-ons.
        #[serde(skip_serializing_if = "Option::is_none")] not_entitled: Option<usize> => Option<u64>,
        /// The number of channels that are left out because of the limit of the socket.
        #[serde(skip_serializing_if = "Option::is_none")] left_out: Option<usize> => Option<u64>,
        /// Whether the updates since `from` follow. Otherwise an image does.
        #[serde(skip_serializing_if = "Option::is_none")] resumed: Option<bool> => Option<bool>,
        /// Why `from` cannot be resumed.
        #[serde(skip_serializing_if = "Option::is_none")] why: Option<&'static str> => Option<ResumeRefusal>,
        /// Why the entry cannot be followed.
        #[serde(skip_serializing_if = "Option::is_none")] error: Option<Code> => Option<ErrorCode>,
        /// The add-ons that the channel needs and the account lacks.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        addons: Vec<Value> => Option<Vec<AddonOffer>>,
    }

    /// The answer to `subscribe` with `chs`. Images or updates of its channels follow.
    SubscribedBatchFrame<'a> = "subscribed" {
        /// The id of the command.
        id: &'a Value => CommandId,
        /// The answer for each entry, by channel or pattern.
        chs: Answers<'a> => BTreeMap<String, BatchAnswer>,
        #[serde(flatten)]
        options: ConfirmedOptions<'a> => ConfirmedOptions<'static>,
    }

    /// The answer to `unsubscribe` with `chs`.
    UnsubscribedBatchFrame<'a> = "unsubscribed" {
        /// The id of the command.
        id: &'a Value => CommandId,
        /// The channels and patterns.
        chs: &'a [Box<str>] => Vec<ChannelPattern>,
    }
}

impl BatchAnswer {
    /// A channel is followed.
    #[must_use]
    pub fn channel(channel: &Channel, head: Seq, verdict: Verdict) -> Self {
        let why = if let Verdict::Refused(gap) = verdict { Some(gap.as_str()) } else { None };
        Self {
            epoch: Some(channel.epoch.to_string()),
            seq: Some(head),
            resumed: Some(verdict == Verdict::Resumed),
            why,
            ..Self::default()
        }
    }

    /// A pattern is followed.
    #[must_use]
    pub fn pattern(coverage: Coverage) -> Self {
        let Coverage { followed, not_entitled, left_out } = coverage;
        Self {
            channels: Some(followed),
            not_entitled: (not_entitled > 0).then_some(not_entitled),
            left_out: (left_out > 0).then_some(left_out),
            ..Self::default()
        }
    }

    /// The entry is refused. `offers`: the host's offers that would open it.
    #[must_use]
    pub fn refused(code: Code, offers: Vec<Value>) -> Self {
        Self { error: Some(code), addons: offers, ..Self::default() }
    }
}

/// The answers by name, as a JSON object.
#[derive(Debug)]
pub struct Answers<'a>(&'a [(Box<str>, BatchAnswer)]);

impl Serialize for Answers<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, answer)| (name, answer)))
    }
}

/// Confirms a batch, with an answer for each of its entries.
#[must_use]
pub fn subscribed_batch(
    id: &Value,
    options: &SubscribeOptions,
    answers: &[(Box<str>, BatchAnswer)],
) -> Bytes {
    let options = ConfirmedOptions::new(options);
    json_frame(&SubscribedBatchFrame { id, chs: Answers(answers), options })
}

#[must_use]
pub fn unsubscribed_batch(id: &Value, names: &[Box<str>]) -> Bytes {
    json_frame(&UnsubscribedBatchFrame { id, chs: names })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::{Epoch, Position};

    fn entries(text: &str) -> Vec<BatchEntry> {
        match StreamCommand::parse(text) {
            Ok(StreamCommand::SubscribeBatch { entries, .. }) => entries,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn entries_are_names_patterns_and_positions() {
        let entries = entries(
            r#"{"op":"subscribe","chs":["football",{"ch":"football/7","from":{"epoch":"k3f9","seq":8}},
            {"ch":"football/*","from":{"football/9":{"epoch":"a","seq":1}}}],"every_ms":250}"#,
        );
        let starts: Vec<_> = entries.iter().map(|entry| entry.target.as_ref().unwrap()).collect();
        assert_eq!(starts[0].1, StartPoint::Image);
        let position = Position { epoch: Epoch::parse("k3f9"), seq: 8 };
        assert_eq!(starts[1].1, StartPoint::Position(position));
        let StartPoint::Positions(positions) = &starts[2].1 else { panic!("{:?}", starts[2]) };
        assert_eq!(positions.len(), 1);
    }

    #[test]
    fn bad_entry_does_not_fail_the_others() {
        let entries = entries(
            r#"{"op":"subscribe","chs":["a//b","football/7",{"ch":"football/8","from":7}]}"#,
        );
        let codes: Vec<_> = entries.iter().map(|entry| entry.target.as_ref().err()).collect();
        assert_eq!(codes, [Some(&Code::BadChannel), None, Some(&Code::BadCommand)]);
    }

    #[test]
    fn malformed_list_is_refused() {
        for (text, word) in [
            (r#"{"op":"subscribe","chs":[]}"#, "empty"),
            (r#"{"op":"subscribe","chs":"football"}"#, "list"),
            (r#"{"op":"subscribe","chs":["a"],"ch":"b"}"#, "both"),
            (r#"{"op":"subscribe","chs":["a","a"]}"#, "twice"),
            (r#"{"op":"subscribe","chs":[7]}"#, "name"),
            (r#"{"op":"unsubscribe","chs":[{"ch":"a"}]}"#, "name"),
            (r#"{"op":"set","chs":["a"],"every_ms":0}"#, "ch"),
        ] {
            let refusal = StreamCommand::parse(text).expect_err(text);
            assert_eq!(refusal.code, Code::BadCommand, "{text}");
            assert!(refusal.message.contains(word), "{text}: {}", refusal.message);
        }
    }
}

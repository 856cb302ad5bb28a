//! A frame of the hub as a client reads it: the fields of all types, most of them absent.

use std::{borrow::Cow, collections::BTreeMap};

use serde::{Deserialize, Deserializer, de};
use serde_json::value::RawValue;

/// Documents, patches and events stay text until they are needed.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Frame<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Cow<'a, str>,
    pub id: Option<u64>,
    #[serde(deserialize_with = "text")]
    pub ch: Option<Cow<'a, str>>,
    /// `subscribed`: the answers by channel, each with the fields of a frame. `unsubscribed`: a list.
    pub chs: Option<&'a RawValue>,
    #[serde(deserialize_with = "text")]
    pub epoch: Option<Cow<'a, str>>,
    pub seq: Option<u64>,
    pub prev: Option<u64>,
    /// The number of changes in a merged update.
    pub n: Option<u64>,
    pub at: Option<Timestamps>,
    pub data: Option<&'a RawValue>,
    pub patch: Option<&'a RawValue>,
    pub events: Option<&'a RawValue>,
    pub resumed: Option<bool>,
    /// How many channels a pattern covers.
    pub channels: Option<u64>,
    #[serde(deserialize_with = "text")]
    pub why: Option<Cow<'a, str>>,
    /// The code of an `error`.
    #[serde(deserialize_with = "text")]
    pub code: Option<Cow<'a, str>>,
    /// The code in an answer of `chs`.
    #[serde(deserialize_with = "text")]
    pub error: Option<Cow<'a, str>>,
    pub retry: bool,
    pub heads: BTreeMap<String, u64>,
    /// Whether further parts of this beat follow.
    pub more: bool,
    pub ended: Vec<String>,
    pub beat_ms: Option<u64>,
    pub limits: FrameLimits,
    pub features: Vec<String>,
    pub reconnect_after_ms: Option<u64>,
}

/// What `hello` says of the size of commands.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub struct FrameLimits {
    pub channels: Option<usize>,
    pub command_bytes: Option<usize>,
    pub from_bytes: Option<usize>,
}

/// When a change happened, as its source says, and when it was published, in microseconds.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub struct Timestamps {
    pub src: Option<i64>,
    #[serde(rename = "pub")]
    pub published: Option<i64>,
}

impl<'a> Frame<'a> {
    /// Reads a text message. Fields of types that a session does not handle may have any form: if one has another form than here,
    /// only the type is read.
    ///
    /// # Errors
    ///
    /// If it is not a JSON object with a type, or if a field of a type that a session handles has another form.
    pub fn parse(bytes: &'a [u8]) -> serde_json::Result<Self> {
        let frame = serde_json::from_slice(bytes).or_else(|error| {
            let FrameType { kind } = serde_json::from_slice(bytes)?;
            match &*kind {
                "hello" | "subscribed" | "image" | "update" | "resync" | "beat" | "stale"
                | "unsubscribed" | "entitlement" | "error" | "bye" => Err(error),
                _ => Ok(Self { kind, ..Self::default() }),
            }
        })?;
        let has_type = |frame: &Self| !frame.kind.is_empty();
        Some(frame).filter(has_type).ok_or_else(|| de::Error::custom("a frame lacks its type"))
    }
}

#[derive(Deserialize)]
struct FrameType<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// A text that is borrowed unless it has escapes, or null.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Cow<'de, str>>, D::Error> {
    Ok(Option::<Text<'de>>::deserialize(deserializer)?.map(|text| text.0))
}

/// How an update relates to a position in its channel: what is old, and what a gap is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdateOrder {
    /// It brings nothing new.
    Old,
    /// It applies.
    Next,
    /// Something before it is missing.
    Gap,
}

impl UpdateOrder {
    /// The order of an update that leads from `prev` to `seq`.
    #[inline]
    #[must_use]
    pub const fn new(position: u64, prev: u64, seq: u64) -> Self {
        if seq <= position {
            Self::Old
        } else if prev <= position {
            Self::Next
        } else {
            Self::Gap
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<(&str, Option<&str>)>) {
        let frame = Frame::parse(text.as_bytes()).ok();
        let found = frame.as_ref().map(|frame| (&*frame.kind, frame.ch.as_deref()));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn frame_may_have_escapes_nulls_and_more_fields() {
        check(r#"{"type":"image","ch":"a\/b"}"#, Some(("image", Some("a/b"))));
        check(r#"{"type":"error","id":null,"ch":null,"x":[1]}"#, Some(("error", None)));
        check("{", None);
    }

    #[test]
    fn fields_of_other_types_may_have_any_form() {
        check(r#"{"type":"poll","ch":["a"],"seq":"x"}"#, Some(("poll", None)));
        check(r#"{"type":"poll","ch":["a"]"#, None);
        check(r#"{"ch":["a"]}"#, None);
    }

    #[test]
    fn fields_of_types_that_are_handled_have_their_form() {
        check(r#"{"type":"beat","heads":{"a":-1}}"#, None);
        check(r#"{"type":"error","id":"x","ch":"a"}"#, None);
        check(r#"{"type":"hello","limits":[{}]}"#, None);
    }

    #[test]
    fn frame_has_a_type() {
        for text in ["{}", r#"{"type":"","ch":"a"}"#, r#"{"type":"","ch":["a"]}"#, "[]", "7"] {
            check(text, None);
        }
    }

    #[test]
    fn update_is_old_next_or_after_a_gap() {
        let orders = [(9, 10), (8, 11), (10, 11), (11, 12)]
            .map(|(prev, seq)| UpdateOrder::new(10, prev, seq));
        let expected = [UpdateOrder::Old, UpdateOrder::Next, UpdateOrder::Next, UpdateOrder::Gap];
        assert_eq!(orders, expected);
    }
}

//! Events of channels, and their kinds.

use std::{fmt, str::FromStr};

use base::Micros;
use fanout::{ChannelId, Epoch};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::value::RawValue;

base::words! {
    /// What a webhook can be about, with its name in requests and in the database.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum EventKind {
        Goal = "goal",
        Card = "card",
        /// An earlier event did not happen: a goal that the VAR overturned.
        Retract = "retract",
        /// An earlier event was different.
        Correct = "correct",
        MatchEnd = "match_end",
        /// A market or a whole book is suspended.
        Suspend = "suspend",
        Resume = "resume",
        /// A price meets a condition of the webhook.
        Price = "price",
        /// A source is late or down.
        FeedDown = "feed_down",
        /// It is live again.
        FeedUp = "feed_up",
    }
}

/// The word names no kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no such kind of event")]
pub struct UnknownEventKind;

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for EventKind {
    type Err = UnknownEventKind;

    fn from_str(name: &str) -> Result<Self, UnknownEventKind> {
        Self::from_word(name).ok_or(UnknownEventKind)
    }
}

/// An event of a channel.
#[derive(Debug, Clone)]
pub struct Event {
    pub kind: EventKind,
    pub channel: ChannelId,
    pub epoch: Epoch,
    /// Unique within the channel and the epoch.
    pub eid: String,
    /// When the hub published it.
    pub at: Micros,
    /// The event itself, as JSON text.
    pub json: Box<RawValue>,
}

/// The body of a request.
#[derive(Debug, Serialize)]
struct Body<'a> {
    #[serde(rename = "type")]
    kind: String,
    timestamp: String,
    data: BodyData<'a>,
}

#[derive(Debug, Serialize)]
struct BodyData<'a> {
    ch: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    epoch: Option<String>,
    eid: &'a str,
    event: &'a RawValue,
}

impl Event {
    /// The body of the requests about it.
    #[must_use]
    pub(crate) fn body(&self) -> String {
        let ch = self.channel.as_str();
        let root = ch.split('/').next().unwrap_or_default();
        let epoch = Some(self.epoch.to_string());
        body(
            format!("{root}.{}", self.kind),
            self.at,
            BodyData { ch, epoch, eid: &self.eid, event: &self.json },
        )
    }
}

/// The body of a test.
pub(crate) fn test_body(eid: &str, at: Micros) -> String {
    let event = RawValue::from_string(r#"{"kind":"test"}"#.to_owned()).expect("it is JSON");
    body("test".to_owned(), at, BodyData { ch: "test", epoch: None, eid, event: &event })
}

fn body(kind: String, at: Micros, data: BodyData<'_>) -> String {
    let timestamp = Timestamp::from_microsecond(at).unwrap_or_default().to_string();
    serde_json::to_string(&Body { kind, timestamp, data }).expect("text and JSON can be written")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_kinds_round_trip() {
        for kind in EventKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        assert_eq!("goals".parse::<EventKind>(), Err(UnknownEventKind));
    }

    #[test]
    fn body_has_the_event_as_it_is_on_the_stream() {
        let json = r#"{"kind":"goal","eid":"g1","minute":18}"#.to_owned();
        let event = Event {
            kind: EventKind::Goal,
            channel: ChannelId::new("football/7"),
            epoch: Epoch(35),
            eid: "g1".to_owned(),
            at: 1_788_280_000_000_000,
            json: RawValue::from_string(json).unwrap(),
        };
        assert_eq!(
            event.body(),
            r#"{"type":"football.goal","timestamp":"2026-09-01T16:26:40Z","data":{"ch":"football/7","epoch":"z","eid":"g1","event":{"kind":"goal","eid":"g1","minute":18}}}"#
        );
    }
}

//! The commands of the older sockets, on which a client follows matches by their ids, and the replies.
//!
//! To the fan-out a match is a group of channels, and the prices of one bookmaker are its companion.

use bytes::Bytes;
use fanout::{
    ChannelId, Epoch, Position,
    dialect::{Companion, HostDialect, HostedCommand, Notice},
    encode::text_frame,
    permission::Offer,
};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::channels::BOOK_PRICES;

/// `/live/football/`.
pub static FOOTBALL: Sports = Sports(&["football"]);

/// `/ws/live/`.
pub static FOOTBALL_AND_TENNIS: Sports = Sports(&["football", "tennis"]);

/// The number of matches that one socket may follow at a time.
pub const EVENTS_MAX: usize = 10;

/// The sports of a socket, by their names in commands. The first is the default: commands and frames
/// about it need not name it.
#[derive(Debug, PartialEq, Eq)]
pub struct Sports(pub &'static [&'static str]);

/// A match as commands name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    pub id: u64,
    /// As named in frames; `None` for the default sport.
    pub sport: Option<&'static str>,
    default_sport: &'static str,
}

/// Why a command cannot be carried out, sent to the client in an `error` frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub code: Code,
    pub message: String,
    pub event: Option<Event>,
}

/// The `code` of an `error` frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// No key. Closes with 4401.
    AuthRequired,
    /// An invalid key, or two different ones. Closes with 4401.
    AuthFailed,
    /// The WebSocket add-on is missing, or has expired during the connection: closes with 4402. Or prices of one
    /// bookmaker need the Odds add-on, unless the odds are free: that `subscribe` has no effect, and without
    /// `bookmaker_slug` it succeeds. If that add-on ends during the connection, the prices end, and the match continues.
    SubscriptionRequired,
    /// `No live tracking for event N`: the hub does not have the match, or it is of another sport.
    NotTracked,
    /// The socket already has ten matches. Or the account has too many sockets: closes with 4429.
    Limit,
    /// Not a JSON object, a binary message, an invalid `action`: `Unknown action: None` if it is missing.
    BadAction,
    /// `event_id` is missing or no integer.
    BadEventId,
    /// No source reports prices of this bookmaker for the match. That `subscribe` has no effect; an existing
    /// subscription continues unchanged.
    UnknownBookmaker,
    /// There is no socket at this address; in this form below `/live/` and `/ws/`, in that of `/stream/v1` elsewhere.
    /// Closes with 4404.
    NotFound,
}

/// The first character of channel names of this dialect. No pattern of the stream protocol may contain it.
const MARK: char = '~';

impl Event {
    /// The channel of its frames.
    #[must_use]
    pub fn channel(&self) -> ChannelId {
        let sport = self.sport.unwrap_or(self.default_sport);
        ChannelId::new(format!("{MARK}{sport}/{}", self.id))
    }
}

/// What the name of a channel of this dialect stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventChannel<'a> {
    pub sport: &'a str,
    pub id: u64,
    /// The bookmaker, if it is a channel of prices.
    pub book: Option<&'a str>,
}

impl<'a> EventChannel<'a> {
    /// `None` for a channel of the stream protocol.
    #[must_use]
    pub fn parse(channel: &'a str) -> Option<Self> {
        let mut parts = channel.strip_prefix(MARK)?.splitn(3, '/');
        let (sport, id) = (parts.next()?, parts.next()?.parse().ok()?);
        Some(Self { sport, id, book: parts.next() })
    }

    /// The match as commands on a socket with these sports name it.
    fn event(&self, sports: &Sports) -> Option<Event> {
        sports.event(self.id, self.sport)
    }
}

impl Sports {
    fn event(&self, id: u64, sport: &str) -> Option<Event> {
        let default_sport = self.0.first()?;
        let sport = self.0.iter().find(|name| **name == sport)?;
        Some(Event { id, sport: (sport != default_sport).then_some(sport), default_sport })
    }
}

impl Refusal {
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), event: None }
    }

    #[must_use]
    pub fn about(self, event: Event) -> Self {
        Self { event: Some(event), ..self }
    }

    fn not_tracked(event: Event) -> Self {
        let message = format!("No live tracking for event {}", event.id);
        Self::new(Code::NotTracked, message).about(event)
    }
}

/// The longest text from a client that an error repeats, in characters.
const REPEATED_MAX: usize = 64;

impl HostDialect for Sports {
    fn name(&self) -> &'static str {
        "live"
    }

    fn groups_max(&self) -> usize {
        EVENTS_MAX
    }

    fn parse(&self, text: &str) -> Result<HostedCommand, Bytes> {
        self.command(text).map_err(|refusal| error(&refusal))
    }

    fn render(&self, notice: Notice<'_>) -> Option<Bytes> {
        let (refusal, channel) = match notice {
            Notice::BinaryMessage { .. } => {
                (Refusal::new(Code::BadAction, "commands are text messages"), None)
            }
            Notice::TooManyGroups { channel, of_socket: true } => {
                let message = format!("At most {EVENTS_MAX} matches at a time on one socket");
                (Refusal::new(Code::Limit, message), Some(channel))
            }
            Notice::TooManyGroups { channel, of_socket: false } => {
                let message = "The sockets of the account follow as many channels as they may";
                (Refusal::new(Code::Limit, message), Some(channel))
            }
            Notice::NotEntitled { channel, offers } => {
                let message = format!("Prices of one bookmaker need {}", titles(offers));
                (Refusal::new(Code::SubscriptionRequired, message), channel)
            }
            Notice::NotTracked { channel } => {
                return Some(error(&Refusal::not_tracked(self.event_of(channel)?)));
            }
            Notice::UnknownCompanion { channel, name } => {
                let message = format!("Unknown bookmaker: {name}");
                (Refusal::new(Code::UnknownBookmaker, message), Some(channel))
            }
            // The prices of a bookmaker end without a frame.
            Notice::Gone { channel } => {
                return Some(unsubscribed(self.event_of(channel)?, Some("gone")));
            }
            Notice::Closing { message, .. } => {
                (Refusal::new(Code::SubscriptionRequired, message), None)
            }
        };
        let event = channel.and_then(|channel| self.event_of(channel));
        Some(error(&Refusal { event, ..refusal }))
    }
}

fn titles(offers: &[&Offer]) -> String {
    offers.iter().map(|offer| &*offer.title).collect::<Vec<_>>().join(" and ")
}

impl Sports {
    /// Reads one text message.
    fn command(&self, text: &str) -> Result<HostedCommand, Refusal> {
        let Ok(Value::Object(fields)) = serde_json::from_str(text) else {
            return Err(Refusal::new(Code::BadAction, "A message is one JSON object"));
        };
        match fields.get("action") {
            Some(Value::String(action)) if action == "ping" => Ok(HostedCommand::Reply(pong())),
            Some(Value::String(action)) if action == "subscribe" => {
                let channel = event(&fields, self)?.channel();
                let book = fields.get("bookmaker_slug").and_then(Value::as_str);
                let book = book.filter(|slug| !slug.is_empty());
                let companion =
                    book.map(|slug| Companion { name: slug.into(), needs: BOOK_PRICES });
                Ok(HostedCommand::Follow { channel, companion, from: position(&fields) })
            }
            Some(Value::String(action)) if action == "unsubscribe" => {
                let event = event(&fields, self)?;
                let reply = unsubscribed(event, None);
                Ok(HostedCommand::Unfollow { channel: event.channel(), reply })
            }
            other => Err(unknown_action(other)),
        }
    }

    /// The match whose channel this is.
    fn event_of(&self, channel: &ChannelId) -> Option<Event> {
        let name = EventChannel::parse(channel.as_str()).filter(|name| name.book.is_none())?;
        name.event(self)
    }
}

fn unknown_action(action: Option<&Value>) -> Refusal {
    let action: String = match action {
        None | Some(Value::Null) => "None".to_owned(),
        Some(Value::String(action)) => action.chars().take(REPEATED_MAX).collect(),
        Some(other) => other.to_string().chars().take(REPEATED_MAX).collect(),
    };
    Refusal::new(Code::BadAction, format!("Unknown action: {action}"))
}

/// An id is an integer or a string that contains one.
fn event(fields: &Map<String, Value>, sports: &Sports) -> Result<Event, Refusal> {
    let id = match fields.get("event_id") {
        Some(Value::Number(id)) => id.as_u64(),
        Some(Value::String(id)) => id.trim().parse().ok(),
        _ => None,
    };
    let Some(id) = id else {
        return Err(Refusal::new(Code::BadEventId, "event_id is missing or no integer"));
    };
    let default_sport = sports.0.first().copied().unwrap_or_default();
    let unnamed = Event { id, sport: None, default_sport };
    match fields.get("sport") {
        None | Some(Value::Null) => Ok(unnamed),
        Some(Value::String(sport)) => {
            sports.event(id, sport).ok_or_else(|| Refusal::not_tracked(unnamed))
        }
        Some(_) => Err(Refusal::not_tracked(unnamed)),
    }
}

/// Anything but `{epoch, seq}` counts as no position.
fn position(fields: &Map<String, Value>) -> Option<Position> {
    let from = fields.get("from")?;
    let epoch = Epoch::parse(from.get("epoch")?.as_str()?);
    Some(Position { epoch, seq: from.get("seq")?.as_u64()? })
}

// ------------------------------------------------------------------------- frames to the client

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ReplyFrame<'a> {
    Unsubscribed {
        event_id: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        sport: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<&'a str>,
    },
    Pong,
    Error {
        code: Code,
        message: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        event_id: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        sport: Option<&'a str>,
    },
}

fn json_frame(value: &impl Serialize) -> Bytes {
    text_frame(|out| {
        serde_json::to_writer(out, value).expect("reply frames have string keys only");
    })
}

/// `why`: present unless the client unsubscribed.
#[must_use]
pub fn unsubscribed(event: Event, why: Option<&str>) -> Bytes {
    json_frame(&ReplyFrame::Unsubscribed { event_id: event.id, sport: event.sport, why })
}

#[must_use]
pub fn pong() -> Bytes {
    json_frame(&ReplyFrame::Pong)
}

#[must_use]
pub fn error(refusal: &Refusal) -> Bytes {
    json_frame(&ReplyFrame::Error {
        code: refusal.code,
        message: &refusal.message,
        event_id: refusal.event.map(|event| event.id),
        sport: refusal.event.and_then(|event| event.sport),
    })
}

#[cfg(test)]
mod tests {
    use fanout::{Pattern, encode::payload};

    use super::{FOOTBALL as ONE, FOOTBALL_AND_TENNIS as BOTH, *};

    fn check(text: &str, sports: &Sports, expected: &str) {
        let channel = match sports.parse(text).expect(text) {
            HostedCommand::Follow { channel, .. } | HostedCommand::Unfollow { channel, .. } => {
                channel
            }
            HostedCommand::Reply(_) => panic!("{text} is no ping"),
        };
        assert_eq!(channel.as_str(), expected, "{text}");
    }

    fn refused(text: &str, sports: &Sports, expected: &str) {
        let refusal = sports.parse(text).expect_err(text);
        assert_eq!(payload(&refusal), expected, "{text}");
    }

    #[test]
    fn commands_of_existing_clients_are_understood() {
        check(r#"{"action":"subscribe","event_id":7}"#, &ONE, "~football/7");
        check(r#"{"action":"subscribe","event_id":"7","sport":null}"#, &ONE, "~football/7");
        check(r#"{"action":"subscribe","event_id":7,"sport":"football"}"#, &BOTH, "~football/7");
        check(r#"{"action":"unsubscribe","event_id":7,"sport":"tennis"}"#, &BOTH, "~tennis/7");
        let ping = ONE.parse(r#"{"action":"ping","more":1}"#);
        assert_eq!(ping, Ok(HostedCommand::Reply(pong())));
    }

    #[test]
    fn position_needs_an_epoch_and_a_sequence_number() {
        let check = |from: &str, expected: Option<Position>| {
            let text = format!(r#"{{"action":"subscribe","event_id":7,"from":{from}}}"#);
            let Ok(HostedCommand::Follow { from, .. }) = ONE.parse(&text) else {
                panic!("{text} is a subscribe");
            };
            assert_eq!(from, expected, "{text}");
        };
        let epoch = Epoch::parse("k3f9");
        check(r#"{"epoch":"k3f9","seq":8}"#, Some(Position { epoch, seq: 8 }));
        check(r#"{"epoch":"K3F9","seq":8}"#, Some(Position { epoch: None, seq: 8 }));
        for nothing in ["8", "null", "{}", r#"{"seq":8}"#, r#"{"epoch":"k3f9","seq":-1}"#] {
            check(nothing, None);
        }
    }

    #[test]
    fn errors_use_the_texts_that_existing_clients_expect() {
        let none = r#"{"type":"error","code":"bad_action","message":"Unknown action: None"}"#;
        refused("{}", &ONE, none);
        refused(r#"{"action":null}"#, &ONE, none);
        let cheer = r#"{"type":"error","code":"bad_action","message":"Unknown action: cheer"}"#;
        refused(r#"{"action":"cheer"}"#, &ONE, cheer);
        let no_object =
            r#"{"type":"error","code":"bad_action","message":"A message is one JSON object"}"#;
        refused("[]", &ONE, no_object);
        refused("ping", &ONE, no_object);
        let bad_id = r#"{"type":"error","code":"bad_event_id","message":"event_id is missing or no integer"}"#;
        for id in ["", r#","event_id":-1"#, r#","event_id":1.5"#, r#","event_id":"x""#] {
            refused(&format!(r#"{{"action":"subscribe"{id}}}"#), &ONE, bad_id);
        }
        let tennis = r#"{"action":"subscribe","event_id":7,"sport":"tennis"}"#;
        let not_here = r#"{"type":"error","code":"not_tracked","message":"No live tracking for event 7","event_id":7}"#;
        refused(tennis, &ONE, not_here);
    }

    #[test]
    fn long_words_are_not_repeated() {
        let text = format!(r#"{{"action":"{}"}}"#, "x".repeat(5000));
        let refusal = ONE.command(&text).expect_err("no such action");
        assert!(refusal.message.len() < 100, "{}", refusal.message);
    }

    #[test]
    fn channel_names_are_parsed_back_to_the_match() {
        let event = BOTH.event(7, "tennis").expect("a sport of the socket");
        let name = ChannelId::new(format!("{}/bet-fair", event.channel()));
        let read = EventChannel::parse(name.as_str()).expect("a channel of this dialect");
        assert_eq!(read, EventChannel { sport: "tennis", id: 7, book: Some("bet-fair") });
        assert_eq!(read.event(&BOTH), Some(event));
        for other in ["football/7", "~football", "~football/x", "feeds"] {
            assert_eq!(EventChannel::parse(other), None, "{other}");
        }
        assert!(Pattern::parse(name.as_str()).is_none(), "no pattern matches it");
    }
}

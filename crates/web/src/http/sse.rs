//! Server-sent events: the stream protocol for networks that break WebSockets.
//!
//! A request follows channels as one `subscribe` with `chs` does, and its events are the frames of a socket. The fan-out
//! serves one end of a local pair of sockets, and this module copies from the other end to the response as fast as the
//! reader takes it. So the budget, slow readers, revocations and the drain are those of every socket.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap, HashSet},
    convert::Infallible,
    fmt::Write as _,
    mem,
    os::unix::net::UnixStream,
    sync::Arc,
    time::Duration,
};

use axum::{
    Extension,
    body::Body,
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use fanout::{
    ChannelId, Dialect,
    channel::{Pattern, Rate},
    socket::Stream,
};
use futures_util::{FutureExt as _, SinkExt as _, StreamExt as _, stream};
use hyper::{
    HeaderMap, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue},
};
use serde::Deserialize;
use serde_json::{Value, json};
use socket2::SockRef;
use tokio::{net, sync::OwnedSemaphorePermit, time::Instant};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Message,
        protocol::{Role, WebSocketConfig},
    },
};

pub(super) use self::frames::FrameRooms;
use self::frames::{FrameReader, LONG_BYTES};
use super::{
    Shared, close,
    error::HttpError,
    peer::Peer,
    ws::{self, Verdict},
};
use accounts::Caller;

mod frames;

/// Each event carries the positions of so many channels, about 500 bytes; those of more channels come with beats.
const ID_CHANNELS_EACH: usize = 20;

/// Longer positions are neither sent nor accepted: clients repeat them in a header, which has a limit.
const ID_BYTES_MAX: usize = 16 * 1024;

/// Comparisons of positions with patterns in one request. Channels whose positions are not compared begin with an image.
const COMPARISONS_MAX: usize = 65_536;

/// What the kernel buffers between the fan-out and the response, in bytes. More would hide a slow reader.
const PAIR_BYTES: usize = 16 * 1024;

/// Events that are ready are written together, until they have so many bytes.
const CHUNK_BYTES: usize = 64 * 1024;

/// What an event has besides its frame, usually.
const EVENT_BYTES: usize = 1024;

/// Channels of the client's last event of which nothing has come for so long have ended.
const CATCH_UP_WITHIN: Duration = Duration::from_secs(60);

/// When a client reconnects after a loss of the connection, in milliseconds.
const RETRY_MS: u32 = 1_000;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Follows channels by server-sent events.
///
/// The events are the frames of the stream protocol. `Last-Event-ID`, which browsers send by themselves, resumes.
#[utoipa::path(
    get, path = "/stream/v1/sse/",
    params(
        ("ch" = Vec<String>, Query, description = "A channel, or a pattern in which `*` stands for one segment; may be repeated: a request has at most 200 parameters, and 8 KiB of them", example = json!(["football"])),
        ("every_ms" = Option<u64>, Query, description = "At most one update of values for each channel in so many milliseconds: 0, 100, 250, 500, 1000, 2000 or 5000"),
        ("on_slow" = Option<String>, Query, description = "What happens if the client is too slow: `merge`, `resync` or `close`"),
        ("pick" = Option<Vec<String>>, Query, description = "A JSON pointer to a part of the documents, in which `*` stands for any one member; may be repeated", example = json!(["/score"])),
        ("events" = Option<Vec<String>>, Query, description = "A kind of events to send; may be repeated, and an empty one stands for none. Without it all are sent"),
        ("Last-Event-ID" = Option<String>, Header, description = "The `id` of the last event, to go on behind it"),
    ),
    responses(
        (status = 200, description = "Events, without an end", body = String, content_type = "text/event-stream"),
        (status = 429, description = "The account has as many sockets open as it may"),
    )
)]
pub(crate) async fn events(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Extension(peer): Extension<Peer>,
    request: Request,
) -> Result<Response, HttpError> {
    let query = EventsQuery::parse(request.uri().query().unwrap_or_default())?;
    let (positions, starts) = Positions::of_request(request.headers(), &query.channels)?;
    let verdict = ws::admit(&shared, caller, peer, Dialect::Stream, false);
    if let Verdict::Refuse(_, reason) = verdict {
        // The add-on was checked before.
        return Err(if reason == close::TOO_MANY_SOCKETS {
            let message = "the account has as many sockets open as it may";
            HttpError::Refused(StatusCode::TOO_MANY_REQUESTS, message)
        } else {
            HttpError::Unavailable
        });
    }
    let unavailable = |error: std::io::Error| {
        base::log_limited!(warn, %error, "events cannot be served");
        HttpError::Unavailable
    };
    let (served, local) = UnixStream::pair().map_err(unavailable)?;
    SockRef::from(&served).set_send_buffer_size(PAIR_BYTES).map_err(unavailable)?;
    local.set_nonblocking(true).map_err(unavailable)?;
    let local = net::UnixStream::from_std(local).map_err(unavailable)?;
    let local = FrameReader::new(local, shared.frame_rooms.get(caller.account));
    ws::hand_over(&shared, Stream::Unix(served), Vec::new(), verdict).await;
    let no_limits = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
    let no_limits = no_limits.read_buffer_size(PAIR_BYTES);
    let mut socket = WebSocketStream::from_raw_socket(local, Role::Client, Some(no_limits)).await;
    // If it fails, the fan-out has closed the socket, and the first event says why.
    socket.send(Message::text(query.command(starts))).await.ok();

    let beginning = Some(format!("retry: {RETRY_MS}\n\n").into());
    let events = Events { socket, positions, beginning };
    let body = stream::unfold(events, |mut events| async move {
        let chunk = events.next().await?;
        Some((Ok::<Bytes, Infallible>(chunk), events))
    });
    let mut response = Body::from_stream(body).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // nginx would collect them.
    headers.insert(ACCEL_BUFFERING, HeaderValue::from_static("no"));
    Ok(response)
}

/// What a request asks for.
#[derive(Debug, PartialEq, Eq, Default)]
struct EventsQuery {
    channels: Vec<Pattern>,
    every_ms: u64,
    on_slow: String,
    /// Pointers, as in a `subscribe`.
    pick: Vec<String>,
    /// Kinds, as in a `subscribe`. An empty one stands for none.
    events: Vec<String>,
}

impl EventsQuery {
    fn parse(query: &str) -> Result<Self, HttpError> {
        let mut parsed = Self { on_slow: "merge".to_owned(), ..Self::default() };
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "ch" => {
                    let pattern = Pattern::parse(&value);
                    let message = "ch is the name of a channel, or a pattern";
                    parsed.channels.push(pattern.ok_or(HttpError::BadRequest(message))?);
                }
                "every_ms" => {
                    let rate = value.parse().ok().and_then(Rate::from_ms);
                    let message = "every_ms is one of 0, 100, 250, 500, 1000, 2000, 5000";
                    let rate = rate.ok_or(HttpError::BadRequest(message))?;
                    parsed.every_ms = rate.every_ms().into();
                }
                "on_slow" => {
                    if !["merge", "resync", "close"].contains(&&*value) {
                        return Err(HttpError::BadRequest("on_slow is merge, resync or close"));
                    }
                    parsed.on_slow = value.into_owned();
                }
                "pick" => parsed.pick.push(value.into_owned()),
                "events" => parsed.events.push(value.into_owned()),
                _ => {}
            }
        }
        let mut seen = HashSet::new();
        parsed.channels.retain(|channel| seen.insert(channel.clone()));
        // Their number is limited as that of all parameters.
        match parsed.channels.is_empty() {
            true => Err(HttpError::BadRequest("ch is missing: the channels to follow")),
            false => Ok(parsed),
        }
    }

    /// The command of the stream protocol that follows the channels.
    fn command(&self, starts: Vec<Value>) -> String {
        let entry = |(channel, from): (&Pattern, Value)| match from {
            Value::Null => json!(channel.as_str()),
            from => json!({"ch": channel.as_str(), "from": from}),
        };
        let chs: Vec<Value> = self.channels.iter().zip(starts).map(entry).collect();
        let (every_ms, on_slow) = (self.every_ms, &self.on_slow);
        let mut command = json!({
            "op": "subscribe", "id": 0, "chs": chs, "every_ms": every_ms, "on_slow": on_slow,
        });
        if !self.pick.is_empty() {
            command["pick"] = json!(self.pick);
        }
        if !self.events.is_empty() {
            let kinds: Vec<&String> = self.events.iter().filter(|it| !it.is_empty()).collect();
            command["events"] = json!(kinds);
        }
        command.to_string()
    }
}

/// The rest of a response.
struct Events {
    socket: WebSocketStream<FrameReader<net::UnixStream>>,
    positions: Positions,
    beginning: Option<Bytes>,
}

impl Events {
    /// The next events, as one chunk; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(beginning) = self.beginning.take() {
            return Some(beginning);
        }
        let (mut chunk, mut room) = (String::new(), None);
        while chunk.is_empty() {
            let mut next = Some(self.socket.next().await?);
            while let Some(message) = next {
                // Pings are answered by the library. After a close or an error the stream ends.
                if let Ok(Message::Text(text)) = message {
                    if text.len() > LONG_BYTES {
                        chunk.reserve_exact(text.len() + EVENT_BYTES);
                        room = self.socket.get_mut().take_room();
                    }
                    self.positions.write_event(&text, &mut chunk);
                }
                next = match chunk.len() {
                    CHUNK_BYTES.. => None,
                    _ => self.socket.next().now_or_never().flatten(),
                };
            }
        }
        self.socket.get_mut().stop_waiting();
        Some(Bytes::from_owner(Chunk { text: chunk, _room: room }))
    }
}

/// Events that are being written. The last one may be long.
struct Chunk {
    text: String,
    /// That of the long one.
    _room: Option<OwnedSemaphorePermit>,
}

impl AsRef<[u8]> for Chunk {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

/// The positions that the reader has after the events so far, which `Last-Event-ID` brings back.
#[derive(Debug, Default)]
struct Positions {
    /// Epoch and sequence by channel.
    by_name: BTreeMap<String, (String, u64)>,
    /// Channels of the client's last event of which nothing has come yet: they have not caught up, or have ended meanwhile.
    unheard: HashSet<String>,
    /// Until when they may catch up.
    catch_up_until: Option<Instant>,
}

/// What matters here of a frame.
#[derive(Debug, Deserialize)]
struct Frame<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    ch: Option<Cow<'a, str>>,
    epoch: Option<&'a str>,
    seq: Option<u64>,
    #[serde(default)]
    heads: BTreeMap<String, u64>,
    reconnect_after_ms: Option<u32>,
}

impl Positions {
    /// Those of the last event that the client has, as far as it follows these channels; and the `from` of each
    /// channel, null without one. A position is given to its channel, otherwise to the first pattern that covers
    /// it, so the command is no longer than both lists together.
    fn of_request(
        headers: &HeaderMap,
        channels: &[Pattern],
    ) -> Result<(Self, Vec<Value>), HttpError> {
        let id = headers.get(LAST_EVENT_ID).and_then(|id| id.to_str().ok()).unwrap_or_default();
        if id.len() > ID_BYTES_MAX {
            let message = "Last-Event-ID is longer than any id that the hub sends";
            return Err(HttpError::BadRequest(message));
        }
        let entry = |entry: &str| {
            let (name, position) = entry.split_once('=')?;
            let (epoch, seq) = position.split_once('.')?;
            Some((name.to_owned(), (epoch.to_owned(), seq.parse().ok()?)))
        };
        let given: BTreeMap<String, (String, u64)> = id.split(',').filter_map(entry).collect();
        let indexes = || channels.iter().enumerate();
        let names: HashMap<_, _> = indexes()
            .filter(|(_, channel)| !channel.is_wildcard())
            .map(|(index, channel)| (channel.as_str(), index))
            .collect();
        let patterns: Vec<_> = indexes().filter(|(_, channel)| channel.is_wildcard()).collect();
        let mut compared = 0..COMPARISONS_MAX / patterns.len().max(1);
        let (mut by_name, mut starts) = (BTreeMap::new(), vec![Value::Null; channels.len()]);
        for (name, (epoch, seq)) in given {
            let from = json!({"epoch": epoch, "seq": seq});
            if let Some(start) = names.get(&*name).and_then(|index| starts.get_mut(*index)) {
                *start = from;
            } else {
                if compared.next().is_none() {
                    continue;
                }
                let channel = ChannelId::new(&*name);
                let covers = |(_, pattern): &&(usize, &Pattern)| pattern.matches(&channel);
                let Some((index, _)) = patterns.iter().find(covers) else { continue };
                let Some(start) = starts.get_mut(*index) else { continue };
                start[&name] = from;
            }
            by_name.insert(name, (epoch, seq));
        }
        let unheard = by_name.keys().cloned().collect();
        let catch_up_until = Some(Instant::now() + CATCH_UP_WITHIN);
        Ok((Self { by_name, unheard, catch_up_until }, starts))
    }

    /// Appends a frame as an event.
    fn write_event(&mut self, text: &str, out: &mut String) {
        let Ok(frame) = serde_json::from_str::<Frame<'_>>(text) else { return };
        if let Some(ms) = frame.reconnect_after_ms {
            writeln!(out, "retry: {ms}").expect("a string takes it");
        }
        if self.apply(frame)
            && let Some(id) = self.id()
        {
            writeln!(out, "id: {id}").expect("a string takes it");
        }
        write!(out, "data: {text}\n\n").expect("a string takes it");
    }

    /// Applies a frame to the positions. Returns whether its event carries them.
    fn apply(&mut self, frame: Frame<'_>) -> bool {
        match (frame.kind, frame.ch, frame.seq) {
            ("image", Some(ch), Some(seq)) => {
                self.unheard.remove(&*ch);
                let epoch = frame.epoch.unwrap_or_default().to_owned();
                self.by_name.insert(ch.into_owned(), (epoch, seq));
            }
            ("update", Some(ch), Some(seq)) => {
                self.unheard.remove(&*ch);
                if let Some((_, position)) = self.by_name.get_mut(&*ch) {
                    *position = seq;
                }
            }
            ("unsubscribed", Some(ch), _) => {
                self.by_name.remove(&*ch);
            }
            ("beat", ..) => {
                for name in frame.heads.keys() {
                    self.unheard.remove(name);
                }
                if self.catch_up_until.is_some_and(|until| Instant::now() >= until) {
                    for name in mem::take(&mut self.unheard) {
                        self.by_name.remove(&name);
                    }
                }
                return true;
            }
            _ => return false,
        }
        self.by_name.len() <= ID_CHANNELS_EACH
    }

    /// All positions as the `id` of an event, unless they are too long for a header.
    fn id(&self) -> Option<String> {
        let mut id = String::new();
        for (name, (epoch, seq)) in &self.by_name {
            let comma = if id.is_empty() { "" } else { "," };
            write!(id, "{comma}{name}={epoch}.{seq}").expect("a string takes it");
        }
        (!id.is_empty() && id.len() <= ID_BYTES_MAX).then_some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resumed(id: &str, channels: &[&str]) -> Result<(Positions, Vec<Value>), HttpError> {
        let mut headers = HeaderMap::new();
        headers.insert(LAST_EVENT_ID, HeaderValue::from_str(id).expect("a header's value"));
        let channels: Vec<Pattern> =
            channels.iter().map(|name| Pattern::parse(name).expect("a name")).collect();
        Positions::of_request(&headers, &channels)
    }

    fn positions(id: &str, channels: &[&str]) -> Positions {
        resumed(id, channels).expect("a valid id").0
    }

    /// A command is bounded by the lists of its request, not by their product.
    #[test]
    fn each_position_is_given_to_one_channel_or_pattern() {
        let at = |seq: u64| json!({"epoch": "e", "seq": seq});
        for (id, channels, starts) in [
            ("a/1=e.1", &["a/1", "a/*", "*/1"][..], vec![at(1), Value::Null, Value::Null]),
            ("a/1=e.1", &["a/*", "a/1", "*/1"], vec![Value::Null, at(1), Value::Null]),
            (
                "a/1=e.1,b/1=e.2",
                &["a/*", "*/*", "*/1"],
                vec![json!({"a/1": at(1)}), json!({"b/1": at(2)}), Value::Null],
            ),
            ("c=e.1", &["a/*", "a/1"], vec![Value::Null, Value::Null]),
            ("a/*=e.1", &["a/*"], vec![json!({"a/*": at(1)})]),
        ] {
            assert_eq!(resumed(id, channels).expect("a valid id").1, starts, "{id}, {channels:?}");
        }
    }

    #[test]
    fn comparisons_are_limited_and_channels_beyond_begin_anew() {
        let patterns: Vec<String> = (0..190).map(|number| format!("a/*/{number}")).collect();
        let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
        let id = |entries: usize| {
            (0..entries).map(|number| format!("a/{number}/7=e.1")).collect::<Vec<_>>().join(",")
        };
        for (entries, patterns, kept) in
            [(300, &patterns[..], 300), (900, &patterns[..], 344), (900, &patterns[..8], 900)]
        {
            let positions = positions(&id(entries), patterns);
            assert_eq!(positions.by_name.len(), kept, "{entries} with {} patterns", patterns.len());
        }
    }

    #[test]
    fn id_brings_the_positions_back() {
        let mut first = Positions::default();
        let mut events = String::new();
        for frame in [
            r#"{"type":"image","ch":"football/7","epoch":"k3f9","seq":8,"at":{},"data":{"a":[1]}}"#,
            r#"{"type":"update","ch":"football/7","seq":9,"prev":8,"at":{},"patch":{"a":null}}"#,
            r#"{"type":"image","ch":"football","epoch":"a","seq":1,"at":{},"data":{}}"#,
        ] {
            first.write_event(frame, &mut events);
        }
        let ids: Vec<&str> = events.lines().filter_map(|line| line.strip_prefix("id: ")).collect();
        assert_eq!(
            ids,
            ["football/7=k3f9.8", "football/7=k3f9.9", "football=a.1,football/7=k3f9.9"]
        );

        let query = EventsQuery::parse("ch=football&ch=football/*&ch=tennis&every_ms=250").unwrap();
        let channels = ["football", "football/*", "tennis"];
        let command = query.command(resumed(ids[2], &channels).expect("a valid id").1);
        let expected = json!({"op": "subscribe", "id": 0, "every_ms": 250, "on_slow": "merge", "chs": [
            {"ch": "football", "from": {"epoch": "a", "seq": 1}},
            {"ch": "football/*", "from": {"football/7": {"epoch": "k3f9", "seq": 9}}},
            "tennis",
        ]});
        assert_eq!(serde_json::from_str::<Value>(&command).unwrap(), expected);
    }

    #[test]
    fn foreign_ids_are_ignored() {
        for id in ["", "7", "football", "football=", "football=a.x", "tennis=a.1", ",,=.,"] {
            assert!(positions(id, &["football"]).by_name.is_empty(), "{id}");
        }
    }

    #[test]
    fn many_positions_come_with_beats() {
        let mut all = Positions::default();
        let mut events = String::new();
        for number in 0..100 {
            let frame = format!(r#"{{"type":"image","ch":"c/{number}","epoch":"a","seq":1}}"#);
            all.write_event(&frame, &mut events);
        }
        let ids = events.lines().filter(|line| line.starts_with("id: ")).count();
        assert_eq!(ids, ID_CHANNELS_EACH);
        events.clear();
        all.write_event(r#"{"type":"beat","now":1,"heads":{"c/1":1}}"#, &mut events);
        let id = events.lines().find_map(|line| line.strip_prefix("id: ")).expect("a beat has it");
        assert_eq!(id.split(',').count(), 100);
    }

    #[test]
    fn channels_that_have_ended_meanwhile_are_left_out_when_all_others_have_caught_up() {
        let mut resumed = positions("c/1=a.1,c/2=a.5,c/3=a.7", &["c/*"]);
        let last_id = |resumed: &mut Positions, frame: &str| {
            let mut events = String::new();
            resumed.write_event(frame, &mut events);
            events.lines().find_map(|line| line.strip_prefix("id: ")).map(ToOwned::to_owned)
        };
        let beat = r#"{"type":"beat","now":1,"heads":{"c/1":1}}"#;
        // The others may still be caught up.
        assert_eq!(last_id(&mut resumed, beat).as_deref(), Some("c/1=a.1,c/2=a.5,c/3=a.7"));
        let update = r#"{"type":"update","ch":"c/2","seq":6,"prev":5}"#;
        assert_eq!(last_id(&mut resumed, update).as_deref(), Some("c/1=a.1,c/2=a.6,c/3=a.7"));
        resumed.catch_up_until = Some(Instant::now());
        assert_eq!(last_id(&mut resumed, beat).as_deref(), Some("c/1=a.1,c/2=a.6"));
    }

    #[test]
    fn bye_names_the_time_to_reconnect() {
        let mut events = String::new();
        let bye = r#"{"type":"bye","why":"drain","reconnect_after_ms":7300}"#;
        Positions::default().write_event(bye, &mut events);
        assert_eq!(events, format!("retry: 7300\ndata: {bye}\n\n"));
    }

    #[test]
    fn bad_parameters_are_refused() {
        for query in ["", "every_ms=0", "ch=a//b", "ch=a&every_ms=7", "ch=a&on_slow=skip"] {
            assert!(matches!(EventsQuery::parse(query), Err(HttpError::BadRequest(_))), "{query}");
        }
        let twice = EventsQuery::parse("ch=a&ch=a&other=1").unwrap();
        assert_eq!(twice.channels.len(), 1);
    }
}

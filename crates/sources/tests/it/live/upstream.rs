//! Another hub as a source, against a scripted peer that speaks the protocol.

use std::{net::SocketAddr, time::Duration};

use base::{secret::Secret, tls};
use facts::event::{Fact, MarketChange, MarketStatus};
use futures_util::{SinkExt, StreamExt};
use ingest::normalize::matchwire::Matchwire;
use serde_json::{Value, json};
use sources::{
    upstream::{self, UpstreamSettings},
    websocket::SocketLimits,
};
use tokio::{
    net::TcpStream,
    time::{Instant, timeout},
};
use tokio_tungstenite::{
    WebSocketStream, accept_hdr_async,
    tungstenite::{
        Message,
        handshake::server::{ErrorResponse, Request, Response},
        protocol::{CloseFrame, frame::coding::CloseCode},
    },
};

use super::socket::Peer;
use crate::support::{Listener, PATIENCE, Report, SECRET, goals};

const MATCH: &str = "football/7";
const BOOK: &str = "football/7/odds/larkodds";

struct Hub(Peer);

impl Hub {
    async fn start_on(port: u16) -> Self {
        Self(Peer::start_on(port).await)
    }

    fn addr(&self) -> SocketAddr {
        self.0.addr
    }

    /// Greets a client with the right key.
    async fn accept(&self) -> Client {
        let stream = self.0.connection().await;
        let mut client = Client(accept_hdr_async(stream, check_key).await.expect("a handshake"));
        let limits = json!({"channels": 1000, "command_bytes": 16384});
        let hello = json!({"type": "hello", "conn": "0-1", "now": 1, "beat_ms": 200});
        let mut hello = hello;
        hello["limits"] = limits;
        client.say(&hello).await;
        client
    }
}

#[expect(clippy::result_large_err, reason = "the library's own signature")]
fn check_key(request: &Request, response: Response) -> Result<Response, ErrorResponse> {
    assert_eq!(request.headers()["authorization"], format!("Token {SECRET}"));
    assert_eq!(request.uri().path(), "/stream/v1");
    Ok(response)
}

struct Client(WebSocketStream<TcpStream>);

impl Client {
    async fn say(&mut self, frame: &Value) {
        self.0.send(Message::text(frame.to_string())).await.expect("it listens");
    }

    async fn command(&mut self) -> Value {
        loop {
            let message = timeout(PATIENCE, self.0.next()).await.expect("no command arrives");
            if let Message::Text(text) = message.expect("it is there").expect("a message") {
                return serde_json::from_str(&text).expect("JSON");
            }
        }
    }

    async fn image(&mut self, ch: &str, seq: u64, data: Value) {
        let at = json!({"src": null, "in": 1, "pub": 1});
        self.say(
            &json!({"type": "image", "ch": ch, "epoch": "e", "seq": seq, "at": at, "data": data}),
        )
        .await;
    }

    async fn update(&mut self, ch: &str, prev: u64, seq: u64, patch: Value) {
        let at = json!({"src": null, "in": 1, "pub": 1});
        self.say(
            &json!({"type": "update", "ch": ch, "prev": prev, "seq": seq, "at": at, "patch": patch}),
        )
        .await;
    }

    async fn score(&mut self, prev: u64, seq: u64, home: u16) {
        self.update(MATCH, prev, seq, json!({"score": {"home": home, "away": 0}})).await;
    }

    /// Reads both subscriptions, and confirms each with a number of channels: that of books, and that of matches.
    async fn subscribed(&mut self, channels: [u32; 2]) -> [Value; 2] {
        let commands = [self.command().await, self.command().await];
        for (command, channels) in commands.iter().zip(channels) {
            let (id, ch) = (&command["id"], &command["ch"]);
            self.say(&json!({"type": "subscribed", "id": id, "ch": ch, "channels": channels}))
                .await;
        }
        commands
    }

    async fn beat(&mut self, heads: Value) {
        self.say(&json!({"type": "beat", "now": 1, "heads": heads})).await;
    }

    /// Answers both subscriptions, each with an image.
    async fn join(&mut self) {
        let commands = self.subscribed([1, 1]).await;
        for (command, ch) in commands.iter().zip(["*/*/odds/*", "football/*"]) {
            assert_eq!(*command, json!({"op": "subscribe", "id": command["id"], "ch": ch}));
        }
        let data = json!({
            "refs": {"simulator": "1"}, "feed": "live", "status": "first_half",
            "score": {"home": 0, "away": 0},
        });
        self.image(MATCH, 10, data).await;
        self.image(BOOK, 20, book()).await;
        self.beat(json!({MATCH: 10, BOOK: 20})).await;
    }
}

fn book() -> Value {
    json!({
        "feed": "live", "suspended": false,
        "markets": {"winner": {
            "kind": "match_winner", "status": "open", "in_play": true,
            "selections": {"home": {"status": "active", "outcome": "home", "price": "2.10"}},
        }},
    })
}

fn start(addr: SocketAddr) -> Listener {
    let trust = tls::client(None).expect("the system has root certificates");
    let limits = SocketLimits {
        backoff_first: Duration::from_millis(10),
        backoff_most: Duration::from_millis(100),
        ..SocketLimits::new(trust)
    };
    let channels = ["football/*", "*/*/odds/*"].map(str::to_owned).to_vec();
    let token = Secret::from(SECRET.to_owned());
    let url = format!("ws://{addr}/stream/v1");
    let settings = UpstreamSettings::new(&url, &token, channels, limits).expect("an address");
    assert!(!format!("{settings:?}").contains(SECRET));
    Listener::start(|reports| upstream::run(settings, Box::new(Matchwire::default()), reports))
}

/// The definitions of the markets.
fn statuses(reports: &[Report]) -> Vec<MarketStatus> {
    let batches = reports.iter().filter_map(|report| match report {
        Report::Batch(batch) => Some(batch),
        _ => None,
    });
    let facts = batches.flat_map(|batch| &batch.events).filter_map(|event| match &event.fact {
        Fact::Odds(odds) => Some(&odds.change),
        _ => None,
    });
    let statuses = facts.filter_map(|change| match change {
        MarketChange::Define(definition) => Some(definition.status),
        _ => None,
    });
    statuses.collect()
}

#[tokio::test]
async fn source_follows_repairs_a_gap_and_resumes_after_a_crash() {
    let hub = Hub::start_on(0).await;
    let addr = hub.addr();
    let mut listener = start(addr);
    let mut client = hub.accept().await;
    assert_eq!(listener.next().await, Report::Recovering);
    client.join().await;
    let reports = listener.until_live().await;
    assert_eq!((goals(&reports), statuses(&reports)), (vec![0], vec![MarketStatus::Open]));

    // Without its position a document is of no use.
    let at = json!({"src": null, "in": 1, "pub": 1});
    let patch = json!({"score": {"home": 9, "away": 0}});
    let malformed =
        json!({"type": "update", "ch": MATCH, "prev": 10, "seq": "11", "at": at, "patch": patch});
    client.say(&malformed).await;
    // 12 is lost in transit: the messages after it are not used, and the missing part is sent
    // again.
    client.score(10, 11, 1).await;
    client.score(12, 13, 3).await;
    let command = client.command().await;
    assert_eq!(
        (&command["ch"], &command["from"]),
        (&json!(MATCH), &json!({"epoch": "e", "seq": 11}))
    );
    let id = &command["id"];
    let answer = json!({"type": "subscribed", "id": id, "ch": MATCH, "seq": 13, "resumed": true});
    client.say(&answer).await;
    client.score(11, 13, 3).await;
    // The malformed frame might have been a part of the first.
    for _ in 0..2 {
        client.beat(json!({MATCH: 13, BOOK: 20})).await;
    }
    let reports = listener.until_live().await;
    assert_eq!(goals(&reports), [1, 3]);
    assert!(reports.contains(&Report::Recovering), "{reports:?}");

    // The other hub no longer trusts its odds.
    client.update(BOOK, 20, 21, json!({"feed": "down"})).await;
    let reports = listener.until(|report| matches!(report, Report::Batch(_))).await;
    assert_eq!(statuses(&reports), [MarketStatus::Suspended]);

    drop((client, hub));
    listener.until_down().await;
    let hub = Hub::start_on(addr.port()).await;
    let mut client = hub.accept().await;
    let commands = client.subscribed([0, 1]).await;
    let positions = commands.each_ref().map(|command| &command["from"]);
    let book = json!({BOOK: {"epoch": "e", "seq": 21}});
    assert_eq!(positions, [&book, &json!({MATCH: {"epoch": "e", "seq": 13}})]);
    // A new epoch of the channel: its image includes what happened in between.
    let data = json!({"refs": {"simulator": "1"}, "status": "first_half", "score": {"home": 5, "away": 0}});
    client.say(&json!({"type": "resync", "ch": MATCH, "why": "epoch"})).await;
    client.image(MATCH, 2, data).await;
    client.beat(json!({MATCH: 2})).await;
    assert_eq!(goals(&listener.until_live().await), [5]);
    listener.stop().await;
}

#[tokio::test]
async fn book_that_ended_while_disconnected_is_not_left_open() {
    let hub = Hub::start_on(0).await;
    let mut listener = start(hub.addr());
    let mut client = hub.accept().await;
    client.join().await;
    listener.until_live().await;
    drop(client);
    let mut client = hub.accept().await;
    client.subscribed([0, 1]).await;
    client.beat(json!({MATCH: 10})).await;
    let reports = listener.until_live().await;
    assert_eq!(statuses(&reports), [MarketStatus::Suspended]);
    listener.stop().await;
}

#[tokio::test]
async fn source_reconnects_when_the_peer_requests_it() {
    let hub = Hub::start_on(0).await;
    let mut listener = start(hub.addr());
    let mut client = hub.accept().await;
    client.say(&json!({"type": "bye", "why": "drain", "reconnect_after_ms": 500})).await;
    let left = Instant::now();
    assert_eq!(listener.until_down().await.1, "the peer says good-bye: drain");
    hub.accept().await;
    assert!(left.elapsed() >= Duration::from_millis(490), "{:?}", left.elapsed());
    listener.stop().await;
}

#[tokio::test]
async fn an_invalid_key_and_a_limit_are_reported() {
    let hub = Hub::start_on(0).await;
    let mut listener = start(hub.addr());
    let mut client = hub.accept().await;
    client
        .say(&json!({"type": "error", "code": "auth_failed", "message": "no", "retry": false}))
        .await;
    let frame = CloseFrame { code: CloseCode::from(4401), reason: "auth_failed".into() };
    client.0.close(Some(frame)).await.expect("it listens");
    let why = "access was denied: closed with 4401 auth_failed";
    assert_eq!(listener.until_down().await.1, why);
    let mut client = hub.accept().await;
    client.command().await;
    let command = client.command().await;
    client
        .say(&json!({"type": "error", "id": command["id"], "code": "limit", "retry": false}))
        .await;
    assert_eq!(listener.until_down().await.1, "access was denied: football/*: limit");
    listener.stop().await;
}

#[tokio::test]
async fn a_hub_whose_beats_stop_is_disconnected() {
    let hub = Hub::start_on(0).await;
    let mut listener = start(hub.addr());
    let mut client = hub.accept().await;
    client.join().await;
    listener.until_live().await;
    // The other end does not read, so not even a ping is answered.
    let (_, why) = listener.until_down().await;
    assert_eq!(why, "nothing was heard for 2.4s");
    listener.stop().await;
}

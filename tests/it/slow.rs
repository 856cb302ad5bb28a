//! Readers that cannot keep up, and their effect on the others.

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio_tungstenite::tungstenite::Message;

use crate::support::{
    ChannelState, Client, Closed, Hub, QUIET, Setting, ended,
    feed::{self, Market},
};

/// Small enough that a recording of 20,000 changes overruns it many times.
const NARROW: [Setting; 4] = [
    ("FANOUT_OUTBOX_BYTES", "16384"),
    ("FANOUT_WRITE_BYTES_MAX", "16384"),
    ("HUB_TAIL_BYTES", "67108864"),
    // Who does not read is not closed while others read everything.
    ("FANOUT_STALL_MS", "600000"),
];

pub(crate) const BOOKS: &str = "tennis/*/odds/betfair";

/// A hub that holds a long recording until a client follows it.
fn hub() -> (Hub, String) {
    hub_with(&Market { event: 30 }.busy(20_000, 100), &[])
}

pub(crate) fn hub_with(lines: &[String], more: &[Setting]) -> (Hub, String) {
    let folder = Arc::new(tempfile::tempdir().expect("a temporary folder"));
    let path = feed::write(folder.path(), "feed.json", lines);
    let path = path.to_str().expect("a path of text");
    let arguments = ["replay", "--speed", "max", "--hold", path];
    let hub = Hub::start_in_with(folder, &arguments, &[&NARROW[..], more].concat());
    let key = hub.key(&crate::support::ALL_ADDONS);
    (hub, key)
}

/// A client that has requested the book and stops reading.
pub(crate) async fn idle(hub: &Hub, key: &str, on_slow: &str) -> Client {
    let mut client = Client::connect_narrow(&hub.address, key).await;
    client.next_of("hello").await;
    let command = json!({"op": "subscribe", "id": 1, "ch": BOOKS, "on_slow": on_slow});
    client.send(&command).await;
    client
}

/// Follows the recording from its first change to the end while others do not read; returns the
/// hub's final book.
pub(crate) async fn follow(hub: &Hub, key: &str) -> (Client, Value) {
    let mut client = Client::connect(&hub.address, key).await;
    client.subscribe(BOOKS).await;
    client.subscribe("feeds").await;
    client.until(ended).await;
    let image = last_image(hub, key, &client).await;
    client.until(|client| has_come_to(client, &image)).await;
    (client, image)
}

pub(crate) fn has_come_to(client: &Client, image: &Value) -> bool {
    book(client).is_some_and(|(_, book)| image["seq"] == book.seq)
}

fn book(client: &Client) -> Option<(&String, &ChannelState)> {
    client.channels.iter().find(|(name, _)| name.starts_with("tennis/"))
}

/// The hub's final book.
async fn last_image(hub: &Hub, key: &str, reader: &Client) -> Value {
    let (name, _) = book(reader).expect("a book");
    hub.get(&format!("/stream/v1/channels/{name}?token={key}")).await.json()
}

#[tokio::test]
async fn slow_reader_ends_in_the_image_with_every_event() {
    let (hub, key) = hub();
    let mut slow = idle(&hub, &key, "merge").await;
    let (reader, image) = follow(&hub, &key).await;

    let mut merged = 0;
    while !has_come_to(&slow, &image) {
        let frame = slow.next().await.expect("it is not cut off");
        assert_ne!(frame["type"], "resync", "nothing was to be left out: {frame}");
        // The client checks that `n` adds up.
        if let Some(why) = frame.get("why") {
            assert_eq!((&frame["type"], why), (&json!("update"), &json!("slow")), "{frame}");
            merged += 1;
        }
    }
    assert!(merged > 0, "it was never slow, so nothing was shown");
    for (who, client) in [("the slow one", &slow), ("the other", &reader)] {
        let (_, book) = book(client).expect("a book");
        assert_eq!(book.data, image["data"], "{who}");
        let kinds = book.events.iter().map(|event| event["kind"].as_str());
        let suspends: Vec<_> = kinds.filter(|kind| *kind == Some("suspend")).collect();
        assert_eq!(suspends.len(), 200, "{who}");
    }
    assert_eq!(book(&slow).map(|it| &it.1.events), book(&reader).map(|it| &it.1.events));
}

#[tokio::test]
async fn slow_reader_with_resync_gets_images() {
    let (hub, key) = hub();
    let mut slow = idle(&hub, &key, "resync").await;
    let (_, image) = follow(&hub, &key).await;

    let resync = slow.next_of("resync").await;
    assert_eq!(resync["why"], "slow");
    assert_eq!(resync["from"].as_u64(), book(&slow).map(|it| it.1.seq), "{resync}");
    let next = slow.next().await.expect("a frame");
    assert_eq!((&next["type"], &next["seq"]), (&json!("image"), &resync["to"]));
    slow.until(|slow| has_come_to(slow, &image)).await;
    assert_eq!(book(&slow).expect("a book").1.data, image["data"]);
}

#[tokio::test]
async fn slow_reader_with_close_is_closed() {
    let (hub, key) = hub();
    let mut slow = idle(&hub, &key, "close").await;
    hub.until_counted(r#"matchwire_closes_total{reason="slow"}"#).await;
    let bye = slow.next_of("bye").await;
    assert_eq!((&bye["why"], &bye["reconnect_after_ms"]), (&json!("slow"), &json!(0)));
    assert_eq!(slow.until_closed().await, Closed(Some((4508, "slow".to_owned()))));

    // It reconnects and resumes.
    let mut again = Client::connect(&hub.address, &key).await.knowing(slow.channels);
    again.subscribe(BOOKS).await;
    again.subscribe("feeds").await;
    again.until(ended).await;
    let image = last_image(&hub, &key, &again).await;
    again.until(|again| has_come_to(again, &image)).await;
    assert!(again.others.iter().all(|frame| frame["type"] != "resync"), "{:?}", again.others);
    assert_eq!(book(&again).expect("a book").1.data, image["data"]);
}

#[tokio::test]
async fn stalled_reader_is_closed() {
    // Events are never merged. These are more than the network buffers, and the tail holds them all: an
    // image in their place would fit.
    let lines = Market { event: 30 }.busy(12_000, 1);
    let (hub, key) = hub_with(&lines, &[("FANOUT_STALL_MS", "100")]);
    let mut slow = idle(&hub, &key, "merge").await;
    hub.until_counted(r#"matchwire_closes_total{reason="slow"}"#).await;
    assert_eq!(slow.next_of("bye").await["why"], "slow");
}

/// A client that did not read receives the report of its delay before the queued frames, and the
/// end of the delay after them.
#[tokio::test]
async fn delay_is_reported_to_readers_who_subscribed_to_it() {
    let settings = [("FANOUT_BEAT_MS", "100")];
    // Without a suspension, which would preempt these frames.
    let (hub, key) = hub_with(&Market { event: 30 }.busy(20_000, 30_000), &settings);
    let mut slow = Client::connect_narrow(&hub.address, &key).await;
    slow.next_of("hello").await;
    slow.send(&json!({"op": "subscribe", "id": 1, "ch": BOOKS, "lag": true})).await;
    // While there was no room for this many beats the hub checked its delay.
    hub.until_counted_to("matchwire_beats_skipped_total", 4.0).await;
    // Only when everything is published does the image show the slow client's final state.
    let mut other = Client::connect(&hub.address, &key).await;
    other.subscribe("feeds").await;
    other.until(ended).await;
    let (_, image) = follow(&hub, &key).await;
    // The end suspends the book, which preempts earlier frames; the next frame goes first again.
    let before = hub.metric("matchwire_lag_frames_total").await;
    hub.until_counted_to("matchwire_lag_frames_total", before + 1.0).await;

    let mut lags = vec![slow.next_of("lag").await];
    assert!(!has_come_to(&slow, &image), "it was sent after the queued frames");
    while !has_come_to(&slow, &image) || lags.last().is_some_and(|lag| lag["queued_bytes"] != 0) {
        lags.push(slow.next_of("lag").await);
    }
    assert_ne!(lags[0]["queued_bytes"], 0, "{lags:?}");
    let over = &lags[lags.len() - 1];
    assert_eq!(over["oldest_ms"], 0, "{lags:?}");
    assert!(over["merged"].as_u64() > Some(0), "{lags:?}");
}

/// A client that sends without reading is not read further, costs no memory, and gets all its
/// responses later.
#[tokio::test]
async fn client_that_does_not_read_its_replies_is_not_read() {
    const COUNT: u64 = 5_000;
    let weight = "x".repeat(10_000);
    let hub = Hub::start_with(&["serve"], &[QUIET, NARROW[0], NARROW[1]]);
    let key = hub.key(&crate::support::ALL_ADDONS);
    let before = hub.memory_peak();
    let deaf = Client::connect_narrow(&hub.address, &key).await;
    let (mut sink, mut stream) = deaf.socket.split();
    let sending = tokio::spawn(async move {
        for id in 0..COUNT {
            let text = json!({"op": "ping", "id": id, "t": weight}).to_string();
            sink.feed(Message::text(text)).await.expect("the socket takes a command");
        }
        sink.flush().await.expect("the socket takes the last command");
    });
    let mut other = Client::connect(&hub.address, &key).await;
    for id in 0..100 {
        other.ask(&json!({"op": "ping", "id": id})).await;
    }
    assert!(!sending.is_finished(), "the hub read on without an end");
    let mut next = 0;
    while next < COUNT {
        let message = stream.next().await.expect("it stays open").expect("it stays whole");
        let frame: Value = serde_json::from_str(message.to_text().expect("text")).expect("JSON");
        if frame["type"] == "pong" {
            assert_eq!(frame["id"], next, "answers come in order");
            next += 1;
        }
    }
    sending.await.expect("all was sent");
    let grown = hub.memory_peak().saturating_sub(before);
    assert!(grown < 32 << 20, "the hub took {grown} bytes for it");
}

//! Readers who asked for fewer updates, and the steady source that loads are measured with.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::support::{
    Client, Hub, ended,
    feed::{self, Market},
};

const BOOKS: &str = "*/*/odds/*";

/// Plays a busy market in real time, and what two clients hold at its end: one takes each change,
/// the other asked for four in a second. With the frames of the second.
async fn played() -> (Client, Client, Vec<Value>) {
    let folder = Arc::new(tempfile::tempdir().expect("a temporary folder"));
    let lines = Market { event: 9 }.busy(2_000, 450);
    let path = feed::write(folder.path(), "feed.json", &lines);
    let arguments = ["replay", "--speed", "1", "--hold", path.to_str().expect("a path of text")];
    let hub = Hub::start_in(folder, &arguments);
    let key = hub.key(&["websocket"]);
    let mut each = Client::connect(&hub.address, &key).await;
    let mut modest = Client::connect(&hub.address, &key).await;
    let command = json!({"op": "subscribe", "id": 1, "ch": BOOKS, "every_ms": 250});
    assert_eq!(modest.ask(&command).await["every_ms"], 250);
    each.subscribe(BOOKS).await;
    for client in [&mut each, &mut modest] {
        client.subscribe("*").await;
    }
    let mut updates = Vec::new();
    let follow = async {
        while !ended(&modest) {
            let frame = modest.next().await.expect("the hub stays up");
            if frame["type"] == "update" && frame["ch"] != "feeds" {
                updates.push(frame);
            }
        }
    };
    tokio::join!(follow, each.until(ended));
    (each, modest, updates)
}

#[tokio::test]
async fn modest_reader_gets_less_and_ends_alike() {
    let (each, modest, updates) = played().await;
    let books = |client: &Client| -> Vec<_> {
        let books = client.channels.iter().filter(|(name, _)| name.contains("/odds/"));
        books.map(|(_, it)| (it.seq, it.data.clone(), it.events.clone())).collect()
    };
    let (own, all) = (books(&modest), books(&each));
    assert_eq!(own, all);
    let [(seq, _, events)] = &own[..] else { panic!("there is one book") };
    assert_eq!(events.iter().filter(|event| event["kind"] == "suspend").count(), 4);
    let merged: Vec<_> = updates.iter().filter(|frame| frame.get("n").is_some()).collect();
    assert!(!merged.is_empty() && merged.iter().all(|frame| frame["why"] == "rate"), "{merged:?}");
    assert!(updates.iter().all(|it| it.get("n").is_none() || it.get("events").is_none()));
    assert!((updates.len() as u64) < seq / 10, "{} frames for {seq} changes", updates.len());
}

//! Rate-limited readers, and the steady source for load tests.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::{Value, json};

use crate::support::{
    Client, Hub, ended,
    feed::{self, Market},
};

const BOOKS: &str = "*/*/odds/*";

/// Plays a busy market in real time, and returns the final states of two clients, one with every
/// change, the other limited to four updates a second, with the frames of the second.
async fn played() -> (Client, Client, Vec<Value>) {
    let folder = Arc::new(tempfile::tempdir().expect("a temporary folder"));
    let lines = Market { event: 9 }.busy(2_000, 450);
    let path = feed::write(folder.path(), "feed.json", &lines);
    let arguments = ["replay", "--speed", "1", "--hold", path.to_str().expect("a path of text")];
    let hub = Hub::start_in(folder, &arguments);
    let key = hub.key(&crate::support::ALL_ADDONS);
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
async fn rate_limited_reader_gets_fewer_frames_and_the_same_state() {
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
    // The first frames may be those that caught it up to its start, and the suspensions overtake what still waits to
    // be sent: how much that is depends on the machine.
    let by_rate = merged.iter().filter(|frame| frame["why"] == "rate").count();
    assert!(by_rate * 2 > merged.len(), "{by_rate} of {} by rate: {merged:?}", merged.len());
    let foreign =
        merged.iter().find(|it| ["rate", "resume", "slow"].iter().all(|why| it["why"] != *why));
    assert!(foreign.is_none(), "merged for another reason: {foreign:?}");
    assert!(updates.iter().all(|it| it.get("n").is_none() || it.get("events").is_none()));
    assert!((updates.len() as u64) < seq / 10, "{} frames for {seq} changes", updates.len());
}

#[tokio::test]
async fn steady_load_keeps_its_schedule() {
    const CHANGES: usize = 2_000;
    let hub = Hub::start(&["serve", "--bench-rate", "4000", "--bench-channels", "5"]);
    let mut client = Client::connect(&hub.address, &hub.said("demo key").await).await;
    let command = json!({"op": "subscribe", "id": 1, "ch": hub.said("channels").await});
    assert_eq!(client.ask(&command).await["channels"], 5);
    let (mut seen, mut in_turn, mut slugs) = (0, 0, BTreeSet::new());
    // When the last change of each channel was due, unless changes were merged since.
    let mut last = BTreeMap::new();
    while in_turn < CHANGES / 2 {
        let frame = client.next().await.expect("the hub stays up");
        let channel = frame["ch"].as_str().map(str::to_owned);
        // Those from before this client are merged, and what waits for one that is slow.
        if frame["type"] != "update" || frame.get("n").is_some() {
            last.remove(&channel);
            continue;
        }
        let at = |which: &str| frame["at"][which].as_i64().expect("a moment");
        assert!(at("src") <= at("in"), "{frame} comes before its time");
        slugs.insert(channel.clone());
        seen += 1;
        if let Some(last) = last.insert(channel, at("src"))
            && seen > CHANGES / 2
        {
            assert_eq!(at("src") - last, 5 * 250, "{frame}");
            in_turn += 1;
        }
    }
    assert_eq!(slugs.len(), 5);
}

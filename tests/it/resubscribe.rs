//! Subscriptions whose options change while they are active.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};

use crate::support::{
    ChannelState, Client, Hub, ended,
    feed::{self, Market},
};

const BOOKS: &str = "tennis/*/odds/betfair";

fn book(client: &Client) -> Option<(&String, &ChannelState)> {
    client.channels.iter().find(|(name, _)| name.starts_with("tennis/"))
}

/// Reads on to an update that fulfils the condition.
async fn update_where(client: &mut Client, condition: impl Fn(&Value) -> bool) {
    loop {
        let update = client.next_of("update").await;
        if condition(&update) {
            return;
        }
    }
}

/// Changes the rate of the book and reads on to the sequence from which it applies, which is
/// returned.
async fn set_rate(client: &mut Client, every_ms: u64) -> u64 {
    let (name, followed) = book(client).expect("a book");
    let (name, epoch) = (name.clone(), followed.epoch.clone());
    let command = json!({"op": "set", "id": every_ms, "ch": name, "every_ms": every_ms});
    let answer = client.ask(&command).await;
    assert_eq!((&answer["type"], &answer["ch"]), (&json!("subscribed"), &json!(name)), "{answer}");
    assert_eq!((&answer["every_ms"], &answer["resumed"]), (&json!(every_ms), &json!(true)));
    assert_eq!((&answer["epoch"], &answer["on_slow"]), (&json!(epoch), &json!("merge")));
    let seq = answer["seq"].as_u64().expect("a position");
    let seq_of = |client: &Client| book(client).map_or(0, |(_, book)| book.seq);
    assert!(seq_of(client) <= seq, "it went on before the answer");
    client.until(|client| seq_of(client) >= seq).await;
    assert_eq!(seq_of(client), seq, "what was missing leads to where the answer said");
    seq
}

#[tokio::test]
async fn rate_changes_in_flight() {
    let folder = Arc::new(tempfile::tempdir().expect("a temporary folder"));
    let path = feed::write(folder.path(), "feed.json", &Market { event: 9 }.busy(4_000, 450));
    let arguments = ["replay", "--speed", "1", "--hold", path.to_str().expect("a path of text")];
    let hub = Hub::start_in(folder, &arguments);
    let key = hub.key(&crate::support::ALL_ADDONS);
    let mut each = Client::connect(&hub.address, &key).await;
    let mut changed = Client::connect(&hub.address, &key).await;
    for client in [&mut each, &mut changed] {
        client.subscribe(BOOKS).await;
        client.subscribe("feeds").await;
    }
    let change = async {
        update_where(&mut changed, |it| it["ch"] != "feeds").await;
        let seq = set_rate(&mut changed, 1000).await;
        update_where(&mut changed, |it| it["why"] == "rate" && it["prev"].as_u64() >= Some(seq))
            .await;
        let seq = set_rate(&mut changed, 0).await;
        let is_single = |it: &Value| it["ch"] != "feeds" && it.get("n").is_none();
        update_where(&mut changed, |it| is_single(it) && it["prev"].as_u64() >= Some(seq)).await;
        changed.until(ended).await;
    };
    tokio::join!(change, each.until(ended));
    let (limited, all) = (book(&changed).expect("a book"), book(&each).expect("a book"));
    let image = hub.get(&format!("/stream/v1/channels/{}?token={key}", limited.0)).await.json();
    for (_, it) in [limited, all] {
        assert_eq!((&image["seq"], &image["data"]), (&json!(it.seq), &it.data));
    }
    // The client checks that none arrived twice.
    assert_eq!(limited.1.events, all.1.events);
    let suspends = limited.1.events.iter().filter(|event| event["kind"] == "suspend");
    assert_eq!(suspends.count(), 8);
}

#[tokio::test]
async fn set_of_a_pattern_applies_to_channels_it_alone_covers() {
    let hub = Hub::start(&["serve", "--bench-rate", "300", "--bench-channels", "3"]);
    let mut client = Client::connect(&hub.address, &hub.said("demo key").await).await;
    let pattern = hub.said("channels").await;
    client.ask(&json!({"op": "subscribe", "id": 0, "ch": pattern})).await;
    client.until(|client| client.channels.len() == 3).await;

    let answer = client.ask(&json!({"op": "set", "id": 1, "ch": pattern, "every_ms": 1000})).await;
    assert_eq!((&answer["every_ms"], &answer["channels"]), (&json!(1000), &json!(3)), "{answer}");
    // Each channel changes a hundred times a second.
    let mut longest = BTreeMap::new();
    while longest.len() < 3 || longest.values().any(|n| *n < 50) {
        let update = client.next_of("update").await;
        let n: &mut u64 = longest.entry(update["ch"].to_string()).or_default();
        *n = update["n"].as_u64().unwrap_or(1).max(*n);
    }

    // A channel set by name no longer belongs only to the pattern.
    let name = client.channels.keys().next().expect("a channel").clone();
    let answer = client.ask(&json!({"op": "set", "id": 2, "ch": name, "every_ms": 0})).await;
    let seq = answer["seq"].as_u64();
    assert!(seq.is_some(), "{answer}");
    let answer = client.ask(&json!({"op": "set", "id": 3, "ch": pattern, "every_ms": 500})).await;
    assert_eq!((&answer["every_ms"], &answer["channels"]), (&json!(500), &json!(2)), "{answer}");
    update_where(&mut client, |frame| {
        frame["ch"] == *name && frame.get("n").is_none() && frame["prev"].as_u64() > seq
    })
    .await;
}

#[tokio::test]
async fn set_requires_a_subscription_by_the_same_name() {
    let hub = Hub::quiet();
    let mut client = Client::connect(&hub.address, &hub.key(&crate::support::ALL_ADDONS)).await;
    let set = |id: u32, ch: &str, field: &str, value: Value| {
        let mut command = json!({"op": "set", "id": id, "ch": ch});
        command[field] = value;
        command
    };
    let answer = client.ask(&set(1, "feeds", "every_ms", json!(100))).await;
    assert_eq!((&answer["code"], &answer["ch"]), (&json!("bad_channel"), &json!("feeds")));
    assert_eq!(answer["retry"], false);

    client.ask(&json!({"op": "subscribe", "id": 2, "ch": "feeds"})).await;
    // The pattern covers it, but it was not set through the pattern.
    let answer = client.ask(&set(3, "*", "every_ms", json!(100))).await;
    assert_eq!((&answer["code"], &answer["ch"]), (&json!("bad_channel"), &json!("*")));
    let answer = client.ask(&set(4, "feeds", "every_ms", json!(123))).await;
    assert_eq!(answer["code"], "bad_command");

    // Options that a command omits stay unchanged.
    client.ask(&set(5, "feeds", "on_slow", json!("resync"))).await;
    let answer = client.ask(&set(6, "feeds", "every_ms", json!(250))).await;
    assert_eq!((&answer["every_ms"], &answer["on_slow"]), (&json!(250), &json!("resync")));
    assert_eq!(answer["resumed"], true);
}

//! Limits of channels, patterns and lengths, and many commands at once.

use std::collections::BTreeSet;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::{LIMITED, held, quiet, stays_open};
use crate::support::{Client, Closed, Hub, QUIET, ended, feed::Market};

#[tokio::test]
async fn limit_of_channels_holds_for_names_and_wildcards() {
    let markets = [Market { event: 30 }, Market { event: 31 }, Market { event: 32 }];
    let lines: Vec<String> = markets.iter().map(|market| market.defined("OPEN", 0)).collect();
    let (hub, key) = held(&lines, &[("FANOUT_CHANNELS_MAX", "3")]);
    let mut client = Client::connect(&hub.address, &key).await;
    client.subscribe("feeds").await;
    client.until(ended).await;

    let all = "tennis/*/odds/*";
    let answer = client.ask(&json!({"op": "subscribe", "id": 1, "ch": all})).await;
    assert_eq!((&answer["channels"], &answer["left_out"]), (&json!(2), &json!(1)), "{answer}");
    let error = client.next_of("error").await;
    assert_eq!((&error["code"], &error["ch"]), (&json!("limit"), &json!(all)));
    assert_eq!(error.get("id"), None, "it is no answer: {error}");
    let answer = client.ask(&json!({"op": "unsubscribe", "id": 5, "ch": all})).await;
    assert_eq!(answer["type"], "unsubscribed");
    let mut watcher = Client::connect(&hub.address, &key).await;
    watcher.subscribe("tennis/*/odds/betfair").await;
    watcher.until(|client| client.channels.len() == 3).await;
    let names: Vec<&String> = watcher.channels.keys().collect();
    for (name, kind) in names.into_iter().zip(["subscribed", "subscribed", "error"]) {
        let answer = client.ask(&json!({"op": "subscribe", "id": name, "ch": name})).await;
        assert_eq!(answer["type"], kind, "{answer}");
    }
    let again = client.ask(&json!({"op": "subscribe", "id": 2, "ch": "feeds"})).await;
    assert_eq!(again["type"], "subscribed", "what is followed takes no further place");
    client.ask(&json!({"op": "unsubscribe", "id": 3, "ch": "feeds"})).await;
    let last = watcher.channels.keys().next_back().expect("three channels");
    let answer = client.ask(&json!({"op": "subscribe", "id": 4, "ch": last})).await;
    assert_eq!(answer["type"], "subscribed", "a place was given up");
}

/// One `error` reports all channels that open beyond the limit, not one each.
#[tokio::test]
async fn pattern_reports_too_many_new_channels_once() {
    let lines: Vec<String> = (30..36).map(|event| Market { event }.defined("OPEN", 0)).collect();
    let (hub, key) = held(&lines, &[("FANOUT_CHANNELS_MAX", "2")]);
    let (mut client, mut watcher) =
        tokio::join!(Client::connect(&hub.address, &key), Client::connect(&hub.address, &key));
    let pattern = "tennis/*/odds/betfair";
    client.subscribe(pattern).await;
    watcher.subscribe("feeds").await;
    watcher.until(ended).await;
    let has_error = |client: &Client| client.others.iter().any(|it| it["type"] == "error");
    client.until(|client| client.channels.len() == 2 && has_error(client)).await;
    client.ask(&json!({"op": "ping", "id": 9})).await;
    assert_eq!(client.channels.len(), 2);
    let errors: Vec<&Value> = client.others.iter().filter(|it| it["type"] == "error").collect();
    let [error] = errors[..] else { panic!("not one error: {errors:?}") };
    assert_eq!((&error["code"], &error["ch"]), (&json!("limit"), &json!(pattern)));
}

#[tokio::test]
async fn patterns_have_a_separate_limit() {
    let hub = Hub::shared(&["serve"], &LIMITED);
    let mut client = Client::connect(&hub.address, &hub.key(&crate::support::ALL_ADDONS)).await;
    let mut ask = async |op: &str, ch: &str| {
        let answer = client.ask(&json!({"op": op, "id": ch, "ch": ch})).await;
        let word = answer["code"].as_str().or_else(|| answer["type"].as_str());
        word.expect("a word").to_owned()
    };
    assert_eq!(ask("subscribe", "nobody/*").await, "subscribed");
    assert_eq!(ask("subscribe", "none/*/odds").await, "subscribed");
    assert_eq!(ask("subscribe", "nothing/*").await, "limit");
    assert_eq!(ask("subscribe", "nobody/*").await, "subscribed", "it is followed already");
    assert_eq!(ask("subscribe", "feeds").await, "subscribed", "a name is no pattern");
    assert_eq!(ask("unsubscribe", "nobody/*").await, "unsubscribed");
    assert_eq!(ask("subscribe", "nothing/*").await, "subscribed", "a place was given up");
}

/// Only the part with positions may exceed the length of other commands.
#[tokio::test]
async fn long_command_is_allowed_only_for_positions() {
    let (hub, client) = quiet().await;
    let key = hub.key(&crate::support::ALL_ADDONS);
    let mut clients = vec![client];
    clients.push(Client::connect(&hub.address, &key).await);
    clients.push(Client::connect(&hub.address, &key).await);
    let positions: serde_json::Map<String, Value> =
        (0..3_000).map(|id| (format!("football/{id}"), json!({"epoch": "a", "seq": 1}))).collect();
    let long = json!({"op": "subscribe", "id": 1, "ch": "football/*", "from": positions});
    assert!(long.to_string().len() > 100_000);
    let answer = clients[0].ask(&long).await;
    assert_eq!(answer["type"], "subscribed", "{answer}");
    let padded = json!({"op": "ping", "id": 1, "t": "x".repeat(17_000)});
    clients[1].send(&padded).await;
    let too_long: serde_json::Map<String, Value> =
        (0..9_000).map(|id| (format!("football/{id}"), json!({"epoch": "a", "seq": 1}))).collect();
    clients[2].send(&json!({"op": "subscribe", "ch": "football/*", "from": too_long})).await;
    for client in &mut clients[1..] {
        assert_eq!(client.until_closed().await, Closed(Some((4413, "command_too_large".into()))));
    }
}

#[tokio::test]
async fn ten_thousand_subscribes_are_all_answered() {
    // Of its own, since its memory is measured.
    let hub = Hub::start_with(&["serve"], &[QUIET]);
    let client = Client::connect(&hub.address, &hub.key(&crate::support::ALL_ADDONS)).await;
    let before = hub.memory_peak();
    let (mut sink, mut stream) = client.socket.split();
    const COUNT: u64 = 10_000;
    let sending = async {
        for id in 0..COUNT {
            let channel = if id % 2 == 0 { "feeds".to_owned() } else { format!("football/{id}") };
            let command = json!({"op": "subscribe", "id": id, "ch": channel}).to_string();
            sink.feed(Message::text(command)).await.expect("the socket takes a command");
        }
        sink.flush().await.expect("the socket takes the last command");
    };
    let reading = async {
        let mut answered = BTreeSet::new();
        while (answered.len() as u64) < COUNT {
            let message = stream.next().await.expect("it stays open").expect("it stays whole");
            let frame: Value =
                serde_json::from_str(message.to_text().expect("text")).expect("JSON");
            if let Some(id) = frame["id"].as_u64() {
                assert!(answered.insert(id), "answered twice: {frame}");
                let kind = if id % 2 == 0 { "subscribed" } else { "error" };
                assert_eq!(frame["type"], kind, "{frame}");
            }
        }
    };
    futures_util::future::join(sending, reading).await;
    let grown = hub.memory_peak().saturating_sub(before);
    assert!(grown < 64 << 20, "the hub took {grown} bytes for it");
}

#[tokio::test]
async fn flood_of_pings_is_answered_and_delays_no_client() {
    let (hub, client) = quiet().await;
    let (mut sink, mut stream) = client.socket.split();
    const COUNT: u32 = 50_000;
    let sending = async {
        for number in 0..COUNT {
            let payload = number.to_be_bytes().to_vec();
            sink.feed(Message::Ping(payload.into())).await.expect("the socket takes a ping");
        }
        sink.flush().await.expect("the socket takes the last ping");
    };
    let reading = async {
        // One pong may answer several pings; the latest has to be answered.
        loop {
            let message = stream.next().await.expect("it stays open").expect("it stays whole");
            if let Message::Pong(payload) = message
                && payload[..] == (COUNT - 1).to_be_bytes()
            {
                return;
            }
        }
    };
    futures_util::future::join(sending, reading).await;
    let mut other = Client::connect(&hub.address, &hub.key(&crate::support::ALL_ADDONS)).await;
    stays_open(&mut other).await;
}

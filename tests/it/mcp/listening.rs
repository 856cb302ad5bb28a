//! `subscriptions/listen`: tells what has changed, coalesced, and costs no more if nobody reads.

use std::time::Duration;

use futures_util::future::select_all;
use serde_json::{Value, json};
use tokio::{
    net::{TcpSocket, TcpStream},
    time::Instant,
};

use super::{
    client::{EventStream, McpClient, send_on},
    stage::{Stage, card, goal},
};
use crate::support::{PATIENCE, Setting, pause, until};

const LISTEN: &str = "subscriptions/listen";

fn filter(uris: &[String]) -> Value {
    json!({"notifications": {"resourceSubscriptions": uris}})
}

fn uri(path: &str) -> String {
    format!("matchwire://{path}")
}

/// A stream that is acknowledged, with what is followed.
async fn listen(client: &McpClient, wanted: &Value) -> (EventStream, Value) {
    let mut stream = EventStream::open(client, LISTEN, wanted).await;
    assert!(stream.is_stream(), "{stream:?}");
    let first = stream.next().await.expect("a message");
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "{first}");
    check_subscription(&first);
    let honoured = first["params"]["notifications"].clone();
    (stream, honoured)
}

/// Every message names its stream.
fn check_subscription(message: &Value) {
    let id = &message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    assert!(*id == json!(7) || *id == json!("7"), "{message}");
}

fn meta(message: &Value) -> &Value {
    assert_eq!(message["method"], "notifications/resources/updated", "{message}");
    check_subscription(message);
    &message["params"]["_meta"]
}

fn seq(message: &Value) -> u64 {
    meta(message)["org.matchwire/seq"].as_u64().unwrap_or_else(|| panic!("no position: {message}"))
}

fn ball(x: u32) -> Value {
    json!({"football": {"ball": {"x": x, "y": 500, "side": "home", "situation": "attack"}}})
}

async fn head(stage: &Stage, channel: &str) -> u64 {
    let image = stage.hub.json(&stage.key, &format!("/stream/v1/channels/{channel}")).await;
    image["seq"].as_u64().expect("a sequence")
}

#[tokio::test]
async fn events_are_sent_at_once_with_their_position() {
    // Values would take an hour.
    let stage = Stage::new(&[("MCP_NOTIFY_MS", "3600000")]);
    let id = stage.football("m", ["Home", "Away"]).await;
    let channel = format!("football/{id}");
    let channel_uri = uri(&channel);
    let wanted = [channel_uri.clone(), uri("tennis/1"), uri("nothing"), "file:///x".to_owned()];
    let (mut stream, honoured) = listen(&stage.client(), &filter(&wanted)).await;
    assert_eq!(honoured["resourceSubscriptions"], json!([channel_uri]), "only what is followed");
    assert_eq!(stream.header("x-accel-buffering"), Some("no"));
    assert_eq!(stream.header("content-encoding"), None);
    for (index, eid) in ["g1", "g2", "g3"].into_iter().enumerate() {
        let score = u32::try_from(index + 1).expect("a few");
        stage.push("football", "m", &[goal(eid, score, [score, 0])[0].clone()]).await;
        let sent = stream.next().await.expect("a message");
        assert_eq!(sent["params"]["uri"], channel_uri, "{sent}");
        assert_eq!(meta(&sent)["org.matchwire/events"], true, "{sent}");
        let image = stage.hub.json(&stage.key, &format!("/stream/v1/channels/{channel}")).await;
        assert_eq!(meta(&sent)["org.matchwire/epoch"], image["epoch"], "{sent}");
        assert_eq!(Some(seq(&sent)), image["seq"].as_u64(), "{sent}");
    }
    // The position leads to what has happened.
    let client = stage.client();
    stage.push("football", "m", &[card("c1", 9)]).await;
    let sent = stream.next().await.expect("a message");
    let since = json!({"epoch": meta(&sent)["org.matchwire/epoch"], "seq": seq(&sent) - 1});
    let answer = client
        .answer("wait_for_change", json!({"match_id": id, "since": since, "timeout_s": 9}))
        .await;
    assert_eq!(answer["data"]["events"][0]["eid"], "c1", "{answer}");
}

#[tokio::test]
async fn values_are_coalesced_to_the_last_one() {
    const NOTIFY_MS: u64 = 200;
    let stage = Stage::new(&[("MCP_NOTIFY_MS", "200")]);
    let id = stage.football("m", ["Home", "Away"]).await;
    let channel = format!("football/{id}");
    let (mut stream, _) = listen(&stage.client(), &filter(&[uri(&channel)])).await;
    let began = Instant::now();
    let pushing = async {
        for x in 1..=60 {
            stage.push("football", "m", &[ball(x)]).await;
        }
        head(&stage, &channel).await
    };
    let reading = async {
        let mut sent: Vec<Value> = Vec::new();
        let mut last = None;
        let mut pushing = std::pin::pin!(pushing);
        while last.is_none() || sent.last().map(seq) < last {
            tokio::select! {
                head = &mut pushing, if last.is_none() => last = Some(head),
                message = stream.next() => sent.push(message.expect("a message")),
            }
        }
        (sent, last)
    };
    let read = tokio::time::timeout(PATIENCE, reading).await;
    let (sent, last) = read.expect("the last value is sent");
    let windows = u64::try_from(began.elapsed().as_millis()).expect("a while") / NOTIFY_MS;
    assert!(sent.len() as u64 <= windows + 2, "{} messages in {windows} windows", sent.len());
    assert!(sent.iter().all(|it| meta(it)["org.matchwire/events"] == false), "{sent:?}");
    let seqs: Vec<u64> = sent.iter().map(seq).collect();
    assert!(seqs.is_sorted_by(|a, b| a < b), "{seqs:?}");
    assert_eq!(seqs.last().copied(), last);
    // Nothing more comes of what is known.
    assert_eq!(stream.next_within(Duration::from_millis(2 * NOTIFY_MS)).await, None);
}

#[tokio::test]
async fn beginning_and_end_of_matches_change_the_list() {
    let stage = Stage::new(&[]);
    stage.football("m", ["Home", "Away"]).await;
    let wanted = json!({"notifications": {"resourcesListChanged": true, "toolsListChanged": true}});
    let (mut stream, honoured) = listen(&stage.client(), &wanted).await;
    assert_eq!(honoured, json!({"resourcesListChanged": true}), "tools do not change");
    stage.football("m2", ["Other", "Side"]).await;
    let sent = stream.next().await.expect("a message");
    assert_eq!(sent["method"], "notifications/resources/list_changed", "{sent}");
    check_subscription(&sent);
}

#[tokio::test]
async fn streams_of_an_account_are_limited_and_released() {
    let stage = Stage::new(&[("MCP_LISTENS_MAX_PER_ACCOUNT", "4")]);
    let id = stage.football("m", ["Home", "Away"]).await;
    let wanted = filter(&[uri(&format!("football/{id}"))]);
    let client = stage.client();
    // A refusal comes behind the acknowledgement, before which no stream has its place: any of five may be the one. Those that
    // are open send nothing more.
    let mut open = Vec::new();
    for _ in 0..5 {
        open.push(listen(&client, &wanted).await.0);
    }
    let messages = open.iter_mut().map(|stream| Box::pin(stream.next_within(PATIENCE)));
    let (refused, index, _) = select_all(messages).await;
    let refused = refused.expect("a refusal");
    assert_eq!(refused["error"]["data"]["code"], "too_many_streams", "{refused}");
    open.remove(index);
    // The code with which a further stream is refused.
    let refusal = async |within: Duration| {
        let mut fifth = EventStream::open(&client, LISTEN, &wanted).await;
        while let Some(message) = fifth.next_within(within).await {
            if let Some(error) = message.get("error") {
                return Some(error["data"]["code"].clone());
            }
        }
        None
    };
    assert_eq!(refusal(PATIENCE).await, Some(json!("too_many_streams")));
    let other = McpClient::new(&stage.hub, &stage.hub.key(&[]));
    listen(&other, &wanted).await;
    open.pop();
    until("a place", async || refusal(Duration::from_secs(1)).await.is_none()).await;
}

/// The stream ends with the response to its request, so that a client knows that it ended in order.
#[tokio::test]
async fn stop_ends_streams_with_a_result() {
    let mut stage = Stage::new(&[]);
    let id = stage.football("m", ["Home", "Away"]).await;
    let mut streams = Vec::new();
    for _ in 0..4 {
        streams.push(listen(&stage.client(), &filter(&[uri(&format!("football/{id}"))])).await.0);
    }
    stage.hub.terminate();
    for mut stream in streams {
        let mut last = Value::Null;
        while let Some(message) = stream.next().await {
            last = message;
        }
        assert_eq!(last["id"], 7, "the last message is no response: {last}");
        assert!(last["result"].is_object(), "{last}");
    }
    assert_eq!(stage.own_hub().wait(), Some(0));
}

/// A client that does not read gets a bounded number of notifications, costs nobody else anything, and its
/// connection is closed.
#[tokio::test]
async fn listener_that_never_reads_costs_bounded_memory() {
    const ROUNDS: u32 = 150;
    let settings: [Setting; 3] = [
        ("MCP_NOTIFY_MS", "1"),
        ("SERVER_WRITE_TIMEOUT_MS", "1500"),
        ("MCP_LISTENS_MAX_PER_ACCOUNT", "2"),
    ];
    let stage = Stage::new(&settings);
    let mut names = Vec::new();
    for number in 0..50 {
        let home = format!("H{number}");
        let id = stage.football(&format!("m{number}"), [&home, "Away"]).await;
        names.push((format!("m{number}"), id));
    }
    let uris: Vec<String> = names.iter().map(|(_, id)| uri(&format!("football/{id}"))).collect();
    let deaf = send_on(narrow(&stage).await, &stage.client(), LISTEN, &filter(&uris)).await;
    let (mut reader, _) = listen(&stage.client(), &filter(&uris[..1])).await;
    let before = stage.hub.memory_peak();
    // Every event of every match is a notification: far more than a narrow socket takes.
    for round in 0..ROUNDS {
        let lines: Vec<String> = names
            .iter()
            .map(|(name, _)| super::stage::line("football", name, &card(&format!("c{round}"), 1)))
            .collect();
        stage.hub.push(&stage.feed_key, &lines).await;
    }
    let grown = stage.hub.memory_peak().saturating_sub(before);
    assert!(grown < 48 << 20, "the hub took {grown} bytes for it");
    // The one that reads has the last event.
    let last = head(&stage, &format!("football/{}", names[0].1)).await;
    while seq(&reader.next().await.expect("a message")) < last {}
    // The place of the deaf one is free again, since it was cut off.
    let wanted = filter(&uris[..1]);
    let has_room = async || {
        let mut stream = EventStream::open(&stage.client(), LISTEN, &wanted).await;
        let mut messages = stream.all_within(Duration::from_millis(200)).await;
        !messages.iter_mut().any(|it| it.get("error").is_some())
    };
    until("the end of the deaf one", has_room).await;
    drop(deaf);
}

/// A connection whose client has almost no room for what arrives.
async fn narrow(stage: &Stage) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(2048).expect("a small buffer");
    let address = stage.hub.address.parse().expect("an address");
    let connected = socket.connect(address).await.expect("it connects");
    pause().await;
    connected
}

/// More resources than a stream may name are not followed, and the acknowledgement says which are.
#[tokio::test]
async fn stream_follows_so_many_resources() {
    let stage = Stage::new(&[("MCP_LISTEN_RESOURCES_MAX", "3")]);
    let uris: Vec<String> = (1..=5).map(|id| uri(&format!("football/{id}"))).collect();
    let (_stream, honoured) = listen(&stage.client(), &filter(&uris)).await;
    assert_eq!(honoured["resourceSubscriptions"], json!(uris[..3]));
}

/// An older client has no such method: it calls `wait_for_change`.
#[tokio::test]
async fn older_clients_cannot_subscribe_to_resources() {
    let stage = Stage::shared();
    let legacy = stage.client().with_era(super::client::Era::Legacy);
    let (_, error) = legacy.error("resources/subscribe", json!({"uri": uri("football")})).await;
    assert_eq!(error["code"], -32601, "{error}");
}

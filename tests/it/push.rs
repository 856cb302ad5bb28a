//! Pushing sources: over requests and sockets, with lines that are refused, repeated, too many.

use std::{
    io::Write as _,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use flate2::{Compression, write::GzEncoder};
use futures_util::{SinkExt, StreamExt};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use tokio_tungstenite::{
    connect_async,
    tungstenite::{Message, client::IntoClientRequest},
};

use crate::support::{
    Answer, Client, Hub, PATIENCE, QUIET, Setting, TestDatabase, cluster::Cluster,
};

fn line(number: u32, fact: &str) -> String {
    let at = 1_788_280_000_000_000_u64 + u64::from(number);
    format!(r#"{{"at":{at},"sport":"hockey","match":"m1","fact":{fact}}}"#)
}

fn fixture() -> String {
    line(0, r#"{"fixture":{"sides":[{"name":"Bears"},{"name":"Wolves"}]}}"#)
}

fn score(number: u32) -> String {
    line(number, &format!(r#"{{"scoreboard":{{"status":"live","score":[{number},0]}}}}"#))
}

/// A hub without its own sources, and a key for the source `acme`.
fn hub_with(settings: &[Setting]) -> (Hub, String) {
    let hub = Hub::start_with(&["serve"], &[&[QUIET], settings].concat());
    let key = hub.feed_key("acme", &[]);
    (hub, key)
}

/// The hub that tests share, a source that no other test has, and its key.
fn shared() -> (Arc<Hub>, String, String) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let hub = Hub::shared_by("push", &["serve"], &[QUIET]);
    let source = format!("acme{}", COUNT.fetch_add(1, Ordering::Relaxed));
    let key = hub.feed_key(&source, &[]);
    (hub, source, key)
}

async fn post(hub: &Hub, key: &str, body: impl AsRef<[u8]>) -> Answer {
    post_with(hub, "acme", key, &[], body).await
}

async fn post_with(
    hub: &Hub,
    source: &str,
    key: &str,
    headers: &[(&str, &str)],
    body: impl AsRef<[u8]>,
) -> Answer {
    let token = format!("Token {key}");
    let headers = [&[("authorization", &*token)], headers].concat();
    hub.post(&format!("/ingest/v1/{source}"), &headers, body.as_ref()).await
}

/// Accepted, duplicate, refused.
#[track_caller]
fn counts(answer: &Value) -> [u64; 3] {
    ["accepted", "duplicate", "refused"]
        .map(|name| answer[name].as_u64().unwrap_or_else(|| panic!("no {name} in {answer}")))
}

#[tokio::test]
async fn pushed_lines_are_published() {
    let (hub, key) = hub_with(&[]);
    let client_key = hub.key(&crate::support::ALL_ADDONS);
    let mut client = Client::connect(&hub.address, &client_key).await;
    client.next_of("hello").await;
    client.subscribe("feeds").await;
    let answer = post(&hub, &key, [fixture(), score(1)].join("\n")).await;
    assert_eq!((answer.status, counts(&answer.json())), (200, [2, 0, 0]), "{answer:?}");
    client
        .until(|client| {
            let Some(feeds) = client.channels.get("feeds") else { return false };
            let source = &feeds.data["sources"]["acme"];
            source["kind"] == "push" && source["messages"] == 2
        })
        .await;
    client.subscribe("hockey").await;
    client.subscribe("hockey/*").await;
    let shown = |client: &Client, score: Value| {
        client.channels.len() == 3
            && client.channels.iter().filter(|(name, _)| *name != "feeds").all(|(name, channel)| {
                let document = match name.as_str() {
                    "hockey" => {
                        channel.data["matches"].as_object().and_then(|all| all.values().next())
                    }
                    _ => Some(&channel.data),
                };
                document.is_some_and(|it| it["score"] == score && it["home"]["name"] == "Bears")
            })
    };
    client.until(|client| shown(client, json!({"home": 1, "away": 0}))).await;
    post(&hub, &key, score(2)).await;
    client.until(|client| shown(client, json!({"home": 2, "away": 0}))).await;
    let events = client.channels.values().flat_map(|it| &it.events);
    let events: Vec<_> = events.map(|it| (&it["kind"], &it["eid"])).collect();
    assert_eq!(events, [(&"score".into(), &"score-2-0".into())]);
}

/// A source that stops is late, as soon as its answers have said, and an empty batch makes it live again.
#[tokio::test]
async fn source_that_stops_is_late_until_its_next_push() {
    let settings = [("INGEST_DEADLINE_MS", "1500"), ("INGEST_PRICES_DEADLINE_MS", "600000")];
    let (hub, key) = hub_with(&settings);
    let client_key = hub.key(&crate::support::ALL_ADDONS);
    let mut client = Client::connect(&hub.address, &client_key).await;
    client.next_of("hello").await;
    client.subscribe("feeds").await;
    let is = |client: &Client, state: &str| {
        let feeds = client.channels.get("feeds");
        feeds.is_some_and(|feeds| feeds.data["sources"]["acme"]["state"] == state)
    };
    let deadline_ms = |answer: &Answer| answer.json()["deadline_ms"].clone();
    let token = format!("Token {key}");
    let push = async |query: &str, body: String| {
        let path = format!("/ingest/v1/acme{query}");
        hub.post(&path, &[("authorization", &token)], body.as_bytes()).await
    };
    assert_eq!(deadline_ms(&push("", fixture()).await), Value::Null);
    let define = json!({"kind": "match_winner", "status": "open", "selections": []});
    let odds = json!({"odds": {"book": "acme", "market": "m", "change": {"define": define}}});
    assert_eq!(deadline_ms(&push("", line(1, &odds.to_string())).await), 600_000);
    assert_eq!(deadline_ms(&push("", score(1)).await), 1_500);
    client.until(|client| is(client, "late")).await;
    let keep_alive = r#"{"batch":[]}"#;
    for _ in 0..2 {
        // The second one is a repetition.
        let answer = push("?deadline_ms=86400000", keep_alive.to_owned()).await;
        assert_eq!(deadline_ms(&answer), 86_400_000);
        client.until(|client| is(client, "live")).await;
    }
    assert_eq!(push("?deadline_ms=1", keep_alive.to_owned()).await.status, 400);
    assert_eq!(deadline_ms(&push("", score(2)).await), 1_500);
    client.until(|client| is(client, "late")).await;

    // Operators are told of each change.
    let history = || {
        let mut command = crate::support::program();
        let output = command.args(["feeds", "history", "acme", "--db"]).arg(hub.db()).output();
        String::from_utf8(output.expect("the command runs").stdout).expect("an answer is text")
    };
    let states = |history: &str| -> Vec<String> {
        let cell = |row: &str| row.split('\t').skip(2).collect::<Vec<_>>().join(" ");
        history.lines().skip(1).map(cell).collect()
    };
    let late = "late silent for 1500 ms";
    let expected = [late, "live -", late];
    let is_told = async || states(&history()) == expected;
    crate::support::until("the history of the source", is_told).await;
    assert!(hub.metric("matchwire_feed_messages_total{source=\"acme\"}").await >= 4.0);
}

/// How late messages are is measured by source and by bookmaker, if they say when it happened.
#[tokio::test]
async fn delays_of_pushed_lines_are_measured() {
    let (hub, source, key) = shared();
    let lines = |at: Option<i64>| {
        let selections =
            ["home", "away"].map(|id| json!({"id": id, "status": "active", "outcome": id}));
        let define = json!({"kind": "match_winner", "status": "open", "selections": selections});
        let prices = json!({"selections": [{"id": "home", "price": "1.90"}]});
        let odds =
            |change: Value| json!({"odds": {"book": "delayed", "market": "m", "change": change}});
        let facts = [
            json!({"fixture": {"sides": [{"name": "Bears"}, {"name": "Wolves"}]}}),
            odds(json!({"define": define})),
            odds(json!({"prices": prices})),
        ];
        let batch = facts.map(|fact| json!({"sport": "hockey", "match": "m1", "fact": fact}));
        let mut line = json!({"batch": batch});
        line.as_object_mut().expect("an object").extend(at.map(|at| ("at".to_owned(), at.into())));
        line.to_string()
    };
    let now = Timestamp::now().as_microsecond();
    const SECOND_US: i64 = 1_000_000;
    // Without a time, of another day, and late by more than 30 s.
    for at in [None, Some(now - 48 * 3600 * SECOND_US), Some(now - 40 * SECOND_US)] {
        let answer = post_with(&hub, &source, &key, &[], lines(at)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    let names = [
        &*format!(r#"matchwire_source_delay_seconds_bucket{{source="{source}""#),
        r#"matchwire_bookmaker_delay_seconds_bucket{bookmaker="delayed""#,
    ];
    for name in names {
        let counts = [
            hub.metric(&format!(r#"{name},le="30"}}"#)).await,
            hub.metric(&format!(r#"{name},le="300"}}"#)).await,
            hub.metric(&format!(r#"{name},le="+Inf"}}"#)).await,
        ];
        assert_eq!(counts, [0.0, 1.0, 1.0], "{name}");
    }
}

#[tokio::test]
async fn every_example_of_the_page_is_accepted() {
    let (hub, source, key) = shared();
    let page = include_str!("../../docs/INGEST.md");
    let blocks = page.split("```json\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut lines = 0;
    for block in blocks.filter(|block| block.contains("\"fact\"")) {
        let answer = post_with(&hub, &source, &key, &[], block).await.json();
        let all = block.lines().count() as u64;
        assert_eq!(counts(&answer), [all, 0, 0], "{answer}, of {block}");
        lines += all;
    }
    assert!(lines > 25, "only {lines} examples");
}

#[tokio::test]
async fn invalid_lines_do_not_affect_others() {
    let (hub, key) = hub_with(&[("INGEST_LINE_BYTES_MAX", "300")]);
    let body = [
        score(1),
        fixture(),
        "no line".to_owned(),
        String::new(),
        score(2).replace("hockey", "tennis"),
        score(3),
        format!("\"{}\"", "x".repeat(300)),
        score(4).replace("\"match\"", "\"provider\":\"other\",\"match\""),
    ];
    let answer = post(&hub, &key, body.join("\r\n")).await.json();
    assert_eq!(counts(&answer), [2, 0, 5], "{answer}");
    let refused: Vec<_> = answer["refusals"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| (it["line"].as_u64().unwrap_or(0), it["kind"].as_str().unwrap_or("")))
        .collect();
    let mut sorted = refused.clone();
    sorted.sort_unstable();
    let expected = [(1, "unknown"), (3, "syntax"), (5, "value"), (7, "too_long"), (8, "value")];
    assert_eq!(sorted, expected);
    // A line refused because of an unknown match does not count as sent before.
    let answer = post(&hub, &key, score(1)).await.json();
    assert_eq!(counts(&answer), [1, 0, 0], "{answer}");
}

#[tokio::test]
async fn repeated_push_changes_nothing() {
    let (hub, source, key) = shared();
    let bare = |text: &str| {
        format!(
            r#"{{"sport":"hockey","match":"m1","fact":{{"scoreboard":{{"status":"{text}"}}}}}}"#
        )
    };
    let named = |status: &str| bare(status).replacen('{', "{\"id\":\"n1\",", 1);
    let check = async |body: &[String], expected: [u64; 3]| {
        let answer = post_with(&hub, &source, &key, &[], body.join("\n")).await.json();
        assert_eq!(counts(&answer), expected, "{answer}, of {body:?}");
    };
    let whole = [fixture(), score(1), named("live"), bare("interrupted"), bare("live")];
    check(&whole, [5, 0, 0]).await;
    check(&whole, [0, 5, 0]).await;
    check(&[score(1), score(1), score(2), score(2)], [1, 3, 0]).await;
    check(&[named("finished")], [0, 1, 0]).await;
    // New, although the text was sent before.
    check(&[bare("interrupted")], [1, 0, 0]).await;
    check(&[bare("live")], [1, 0, 0]).await;
    check(&[bare("interrupted")], [1, 0, 0]).await;
    check(&[bare("interrupted")], [0, 1, 0]).await;
}

#[tokio::test]
async fn number_of_remembered_lines_is_limited() {
    let (hub, key) = hub_with(&[("INGEST_IDS_MAX", "2")]);
    let answer = post(&hub, &key, [fixture(), score(1), score(2)].join("\n")).await.json();
    assert_eq!(counts(&answer), [3, 0, 0]);
    let answer = post(&hub, &key, [score(2), fixture()].join("\n")).await.json();
    assert_eq!(counts(&answer), [1, 1, 0], "the fixture was forgotten, and changes nothing");
}

#[tokio::test]
async fn feed_key_is_valid_only_for_its_source() {
    let (hub, source, key) = shared();
    let client_key = hub.key(&crate::support::ALL_ADDONS);
    let body = fixture();
    let path = format!("/ingest/v1/{source}");
    assert_eq!(post_with(&hub, "other", &key, &[], &body).await.status, 403);
    assert_eq!(post_with(&hub, &source, &client_key, &[], &body).await.status, 401);
    assert_eq!(post_with(&hub, &source, "nonsense", &[], &body).await.status, 401);
    assert_eq!(hub.post(&path, &[], body.as_bytes()).await.status, 401);
    let token = format!("Token {key}");
    let headers = [("authorization", &*token)];
    assert_eq!(hub.request("GET", "/stream/v1/channels/feeds", &headers).await.status, 401);
    assert_eq!(hub.request("POST", "/api/v2/stream/ticket/", &headers).await.status, 401);
    assert_eq!(hub.request("GET", &path, &headers).await.status, 426);
    assert_eq!(hub.request("PUT", &path, &headers).await.status, 405);
    assert_eq!(post_with(&hub, &source, &key, &[], &body).await.status, 200);
    hub.revoke_feed_keys(&source);
    assert_eq!(post_with(&hub, &source, &key, &[], &body).await.status, 401);
}

#[tokio::test]
async fn key_for_all_matches_may_name_other_providers() {
    let (hub, source, _) = shared();
    let key = hub.feed_key("wide", &["--all-matches"]);
    let body = fixture().replace("\"match\"", &format!("\"provider\":\"{source}\",\"match\""));
    let answer = post_with(&hub, "wide", &key, &[], body).await.json();
    assert_eq!(counts(&answer), [1, 0, 0], "{answer}");
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::default());
    out.write_all(bytes).expect("memory takes all");
    out.finish().expect("memory takes all")
}

#[tokio::test]
async fn bodies_may_be_compressed_and_are_bounded() {
    let (hub, key) = hub_with(&[
        ("INGEST_BODY_BYTES_MAX", "10000"),
        ("INGEST_LINE_BYTES_MAX", "10000"),
        ("INGEST_BODY_MS", "2000"),
    ]);
    let encoding = |name| [("content-encoding", name)];
    let whole = gzip(fixture().as_bytes());
    let answer = post_with(&hub, "acme", &key, &encoding("gzip"), &whole).await;
    assert_eq!(counts(&answer.json()), [1, 0, 0], "{answer:?}");
    let cut = &whole[..whole.len() - 5];
    assert_eq!(post_with(&hub, "acme", &key, &encoding("gzip"), cut).await.status, 400);
    assert_eq!(post_with(&hub, "acme", &key, &encoding("br"), &whole).await.status, 415);
    let bomb = gzip(&vec![b' '; 10_001]);
    assert_eq!(post_with(&hub, "acme", &key, &encoding("gzip"), bomb).await.status, 413);
    assert_eq!(post(&hub, &key, vec![b' '; 10_001]).await.status, 413);
    let mut endless = chunked(&hub, &key).await;
    let part = format!("1388\r\n{}\r\n", " ".repeat(5000));
    endless.write_all(part.repeat(3).as_bytes()).await.expect("it takes parts");
    assert!(rest(endless).await.starts_with("HTTP/1.1 413"));
    // A body that neither ends nor arrives.
    let mut chunked = chunked(&hub, &key).await;
    chunked.write_all(b"5\r\n     \r\n").await.expect("it takes a part");
    assert!(rest(chunked).await.starts_with("HTTP/1.1 408"));
    assert_eq!(counts(&post(&hub, &key, "").await.json()), [0, 0, 0]);
}

async fn chunked(hub: &Hub, key: &str) -> TcpStream {
    let mut stream = TcpStream::connect(&hub.address).await.expect("it connects");
    let head = format!(
        "POST /ingest/v1/acme HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
         authorization: Token {key}\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.expect("it takes a head");
    stream
}

async fn rest(mut stream: TcpStream) -> String {
    let mut text = String::new();
    let read = timeout(PATIENCE, stream.read_to_string(&mut text)).await;
    read.expect("an answer in time").expect("an answer");
    text
}

#[tokio::test]
async fn second_push_waits_for_the_first() {
    let (hub, key) = hub_with(&[("INGEST_WAIT_MS", "200")]);
    let mut first = chunked(&hub, &key).await;
    let body = fixture();
    let part = format!("{:x}\r\n{body}\r\n", body.len());
    first.write_all(part.as_bytes()).await.expect("it takes a part");
    // Requests in between wait, but not forever. The first may not have started yet.
    let second = async {
        loop {
            let answer = post(&hub, &key, "").await;
            if answer.status != 200 {
                return answer;
            }
        }
    };
    let second = timeout(PATIENCE, second).await.expect("the first holds its turn");
    assert_eq!(second.status, 409, "{second:?}");
    first.write_all(b"0\r\n\r\n").await.expect("it takes the end");
    let answer = rest(first).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"accepted\":1"), "{answer}");
}

#[tokio::test]
async fn socket_answers_each_message() {
    let (hub, key) =
        hub_with(&[("INGEST_BODY_BYTES_MAX", "5000"), ("INGEST_LINE_BYTES_MAX", "5000")]);
    let request = |key: &str| {
        let url = format!("ws://{}/ingest/v1/acme", hub.address);
        let mut request = url.into_client_request().expect("a URL");
        let token = format!("Token {key}").parse().expect("a header's value");
        request.headers_mut().insert("authorization", token);
        request
    };
    let client_key = hub.key(&crate::support::ALL_ADDONS);
    assert!(connect_async(request(&client_key)).await.is_err(), "a client's key opens it");
    let (mut socket, _) = connect_async(request(&key)).await.expect("it connects");
    let mut ask = async |text: String| {
        socket.send(Message::text(text)).await.expect("it takes a message");
        timeout(PATIENCE, socket.next()).await.expect("in time").expect("an answer")
    };
    let json = |message: Result<Message, _>| -> Value {
        let message: Message = message.expect("a message");
        serde_json::from_str(message.to_text().expect("text")).expect("JSON")
    };
    let expected = json!({"message": 1, "accepted": 1, "duplicate": 0, "refused": 0, "refusals": [], "deadline_ms": null});
    assert_eq!(json(ask(fixture()).await), expected);
    let answer = json(ask([score(1), "x".to_owned(), score(1)].join("\n")).await);
    assert_eq!((answer["message"].as_u64(), counts(&answer)), (Some(2), [1, 1, 1]), "{answer}");
    let over = ask(" ".repeat(5001)).await;
    let Ok(Message::Close(Some(frame))) = over else { panic!("not closed: {over:?}") };
    assert_eq!(u16::from(frame.code), 1009);

    let (mut socket, _) = connect_async(request(&key)).await.expect("it connects");
    hub.revoke_feed_keys("acme");
    let closed = timeout(PATIENCE, socket.next()).await.expect("it is closed in time");
    let Some(Ok(Message::Close(Some(frame)))) = closed else { panic!("not closed: {closed:?}") };
    assert_eq!(u16::from(frame.code), 4410);
}

/// Its messages do not wait for a database that does not answer.
#[tokio::test]
#[ignore = "needs PostgreSQL: make test-systems runs it"]
async fn push_socket_outlives_the_database() {
    let Some(mut cluster) = Cluster::start_or_skipped() else { return };
    let database = TestDatabase::postgres(&cluster.url());
    // A query takes longer than the test.
    let hub = Hub::start_on(&database, &["serve"], &[QUIET, ("DATABASE_ACQUIRE_MS", "600000")]);
    let key = hub.feed_key("acme", &[]);
    let url = format!("ws://{}/ingest/v1/acme?token={key}", hub.address);
    let (mut socket, _) = connect_async(url).await.expect("it connects");
    let mut push = async |text: String| {
        socket.send(Message::text(text)).await.expect("it takes a message");
        let answer = timeout(PATIENCE, socket.next()).await.expect("in time").expect("an answer");
        let answer: Value =
            serde_json::from_str(answer.expect("a message").to_text().expect("text"))
                .expect("JSON");
        assert_eq!(counts(&answer), [1, 0, 0], "{answer}");
    };
    push(fixture()).await;
    cluster.stop();
    for number in 1..=10 {
        push(score(number)).await;
    }
    cluster.start();
    push(score(11)).await;
    hub.revoke_feed_keys("acme");
    let closed = timeout(PATIENCE, socket.next()).await.expect("it is closed in time");
    let Some(Ok(Message::Close(Some(frame)))) = closed else { panic!("not closed: {closed:?}") };
    assert_eq!(u16::from(frame.code), 4410);
}

#[tokio::test]
async fn large_pushes_are_applied_in_order() {
    let (hub, key) = hub_with(&[("HUB_INBOX_BATCHES", "1")]);
    let body: Vec<String> = std::iter::once(fixture()).chain((1..=5_000).map(score)).collect();
    let answer = post(&hub, &key, body.join("\n")).await.json();
    assert_eq!(counts(&answer), [5_001, 0, 0], "{answer}");
    let metric = "matchwire_pushed_lines_total{source=\"acme\",outcome=\"accepted\"}";
    assert!(hub.metric(metric).await > 5_000.0);
}

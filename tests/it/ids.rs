//! Ids: each fits a signed 32-bit integer, and stays the same across restarts and when another
//! provider joins.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    live_sockets::legacy_client::LegacyClient,
    support::{Client, Hub, QUIET, Setting, TestDatabase, on_sqlite, poll_until},
};

/// So that football is in play at the start.
const IN_PLAY: Setting = ("DEMO_HEAD_START_MINUTES", "30");

fn is_id(name: &str) -> bool {
    name == "id" || name.ends_with("_id")
}

/// The number of ids in a document, all of which fit.
fn check(value: &Value, source: &str) -> usize {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| {
                if !(is_id(name) && value.is_number()) {
                    return check(value, source);
                }
                let id = value.as_i64().and_then(|id| i32::try_from(id).ok());
                assert!(
                    id.is_some_and(|id| id > 0),
                    "{source}: {name} {value} does not fit 32 bits"
                );
                1
            })
            .sum(),
        Value::Array(items) => items.iter().map(|item| check(item, source)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

async fn ask(hub: &Hub, key: &str, path: &str) -> Option<Value> {
    let answer = hub.get_as(key, path).await;
    let is_json = answer.header("content-type").is_some_and(|it| it.contains("json"));
    (answer.status == 200 && is_json).then(|| answer.json())
}

/// The rows of a list in any shape.
fn rows(answer: &Value) -> &[Value] {
    let lists = ["results", "events", "matches", "races"].into_iter();
    let list = lists.map(|name| &answer[name]).chain([answer]).find_map(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

/// Requests every path of the document; ids come from the first rows of the parent list.
#[tokio::test]
async fn every_id_of_every_answer_of_the_demo_fits_32_bits() {
    let hub = Hub::start_with(&["serve"], &[IN_PLAY]);
    let key = hub.key(&["sports", "odds", "websocket"]);
    let live = async || ask(&hub, &key, "/api/v2/events/live/").await.unwrap_or_default();
    poll_until("football in play", live, |found| rows(found).len() > 3).await;
    let document = hub.get("/api/schema/").await.json();
    let paths = document["paths"].as_object().expect("paths");
    let paths = paths.iter().filter(|(path, item)| !item["get"].is_null() && !path.contains("img"));
    let paths: Vec<&String> = paths.map(|(path, _)| path).collect();
    let mut counts = BTreeMap::new();
    let mut ids: BTreeMap<String, i64> = BTreeMap::new();
    for path in paths.iter().filter(|path| !path.contains('{')) {
        let Some(answer) = ask(&hub, &key, path).await else { continue };
        counts.insert((*path).clone(), check(&answer, path));
        if let Some(id) = rows(&answer).first().and_then(|row| row["id"].as_i64()) {
            ids.insert((*path).clone(), id);
        }
    }
    for path in paths.iter().filter(|path| path.matches('{').count() == 1) {
        let (list, more) = path.split_once('{').expect("it has one");
        let more = more.split_once('}').expect("it ends").1;
        let Some(id) = ids.get(list) else { continue };
        let address = format!("{list}{id}{more}");
        let Some(answer) = ask(&hub, &key, &address).await else { continue };
        counts.insert(address.clone(), check(&answer, &address));
    }
    let with_ids = counts.values().filter(|count| **count > 0).count();
    let all: usize = counts.values().sum();
    assert!(
        counts.len() > 80 && with_ids > 50 && all > 1_000,
        "{} paths: {counts:?}",
        counts.len()
    );

    check_stream(&hub, &key).await;
    check_older_socket(&hub, &key).await;
}

/// Names of channels, boards and documents of the stream.
async fn check_stream(hub: &Hub, key: &str) {
    let mut client = Client::connect(&hub.address, key).await;
    for sport in ["football", "tennis", "hockey", "horseracing", "signals"] {
        client.send(&json!({"op": "subscribe", "ch": sport})).await;
        let image = client.next_of("image").await;
        assert!(sport == "signals" || check(&image, sport) > 0, "{image}");
        let lines = image["data"].get("matches").or_else(|| image["data"].get("signals"));
        let lines = lines.and_then(Value::as_object).expect("lines");
        for id in lines.keys() {
            assert!(id.parse::<i32>().is_ok_and(|id| id > 0), "{sport}/{id}");
        }
        for signal in lines.values().filter(|_| sport == "signals") {
            assert!(
                signal["match"].as_i64().is_some_and(|id| i32::try_from(id).is_ok()),
                "{signal}"
            );
        }
        if let Some(id) = lines.keys().next().filter(|_| sport != "signals") {
            let channel = format!("{sport}/{id}");
            client.send(&json!({"op": "subscribe", "ch": channel})).await;
            let mut image = client.next_of("image").await;
            while image["ch"] != *channel {
                image = client.next_of("image").await;
            }
            assert!(check(&image, &channel) > 1, "{image}");
            assert_eq!(image["data"]["id"].to_string(), *id);
        }
    }
}

async fn check_older_socket(hub: &Hub, key: &str) {
    let live = ask(hub, key, "/api/v2/events/live/").await.expect("matches in play");
    let id = rows(&live)[0]["id"].as_u64().expect("an id");
    let mut client = LegacyClient::football(hub, key).await;
    client.subscribe(id).await;
    let begun = client.next().await.expect("a snapshot");
    assert_eq!(begun["event_id"], json!(id), "{begun}");
    assert!(check(&begun, "subscribed") > 2, "{begun}");
    for _ in 0..3 {
        let frame = client.next().await.expect("a frame");
        check(&frame, "frame");
    }
}

/// A source's facts about a match between two sides.
fn lines(matches: &[(&str, [&str; 2])]) -> String {
    let line = |(at, (name, sides)): (usize, &(&str, [&str; 2]))| {
        let sides = sides.map(|side| json!({"name": side, "key": format!("{name} {side}")}));
        let competition = json!({"name": "A League", "key": "l", "season": "2026/27"});
        let start = 1_788_280_000_000_000_u64;
        let fixture = json!({"competition": competition, "start": start, "sides": sides});
        json!({"at": start + at as u64, "sport": "football", "match": name, "fact": {"fixture": fixture}})
            .to_string()
    };
    matches.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
}

async fn push(hub: &Hub, source: &str, matches: &[(&str, [&str; 2])]) {
    let token = format!("Token {}", hub.feed_key(source, &[]));
    let headers = [("authorization", token.as_str())];
    let path = format!("/ingest/v1/{source}");
    let answer = hub.post(&path, &headers, lines(matches).as_bytes()).await;
    assert_eq!(answer.json()["accepted"], json!(matches.len()), "{}", answer.body);
}

/// For each home side the ids of its match, of both sides, and of the competition.
async fn board(hub: &Hub, key: &str) -> BTreeMap<String, Value> {
    let board = ask(hub, key, "/stream/v1/channels/football").await.expect("a board");
    let mut found = BTreeMap::new();
    for (id, line) in board["data"]["matches"].as_object().expect("lines") {
        let path = format!("/stream/v1/channels/football/{id}");
        let detail = ask(hub, key, &path).await.expect("a match");
        let ids = json!([
            id,
            line["home"]["id"],
            line["away"]["id"],
            detail["data"]["competition"]["id"]
        ]);
        found.insert(line["home"]["name"].as_str().expect("a name").to_owned(), ids);
    }
    found
}

const MATCHES: [(&str, [&str; 2]); 3] =
    [("1", ["Ajax", "Feyenoord"]), ("2", ["Bears", "Wolves"]), ("3", ["Celtic", "Rangers"])];

#[tokio::test]
async fn kill_right_after_the_first_push_changes_no_id() {
    on_sqlite(async |database| {
        let mut hub = Hub::start_on(&database, &["serve"], &[QUIET]);
        let key = hub.key(&["websocket"]);
        push(&hub, "acme", &MATCHES).await;
        let before = board(&hub, &key).await;
        hub.kill();
        assert_eq!(before.len(), 3);
        drop(hub);
        let hub = Hub::start_on(&database, &["serve"], &[QUIET]);
        let [one, two, three] = MATCHES;
        push(&hub, "acme", &[three, two, one]).await;
        assert_eq!(board(&hub, &key).await, before);
        let stored: Vec<(i64, i64)> = sqlx::query_as("SELECT own, id FROM public_ids")
            .fetch_all(&database.pool().await)
            .await
            .expect("they are stored");
        assert!(stored.len() >= 10, "{stored:?}");
        assert!(
            stored.iter().all(|(_, id)| i32::try_from(*id).is_ok_and(|id| id > 0)),
            "{stored:?}"
        );
    })
    .await;
}

#[tokio::test]
async fn second_provider_of_a_match_changes_no_id_in_any_order() {
    let database = TestDatabase::file();
    let mut hub = Hub::start_on(&database, &["serve"], &[QUIET]);
    let key = hub.key(&["websocket"]);
    push(&hub, "acme", &MATCHES).await;
    let before = board(&hub, &key).await;
    push(&hub, "other", &MATCHES).await;
    assert_eq!(board(&hub, &key).await, before);
    let id = before["Ajax"][0].as_str().expect("an id");
    let detail = ask(&hub, &key, &format!("/stream/v1/channels/football/{id}")).await;
    let refs = detail.expect("the match")["data"]["refs"].clone();
    assert_eq!(refs, json!({"acme": "1", "other": "1"}), "they are one match");
    assert_eq!(hub.stop(), Some(0));
    drop(hub);
    let hub = Hub::start_on(&database, &["serve"], &[QUIET]);
    push(&hub, "other", &MATCHES).await;
    assert_eq!(board(&hub, &key).await, before, "the second is the first now");
}

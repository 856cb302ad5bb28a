//! The channels below `test/`, beside the list of what they publish.

use std::{collections::HashMap, time::Duration};

use serde_json::{Value, json};

use crate::support::{ALL_ADDONS, Client, Hub, QUIET, TestDatabase};

/// A round with at least so much time left is long enough for a test.
const ENOUGH: Duration = Duration::from_secs(60);

/// The epoch of the running round, with enough time left.
async fn running_epoch(hub: &Hub, client: &mut Client) -> String {
    let rounds = hub.get("/test/").await.json();
    let left = rounds["rounds"][0]["ends"].as_u64().expect("a time")
        - rounds["now"].as_u64().expect("a time");
    let mut epoch = rounds["rounds"][0]["epoch"].as_str().expect("an epoch").to_owned();
    if u128::from(left) < ENOUGH.as_micros() {
        // The next one opens its channels with images.
        client.subscribe("test/*").await;
        let before = epoch.clone();
        while epoch == before {
            client.next().await.expect("the hub stays up");
            if let Some(state) = client.channels.get("test/football") {
                epoch.clone_from(&state.epoch);
            }
        }
    }
    epoch
}

/// Each frame of a round with the hash of the document after it, by channel and sequence.
async fn truth(hub: &Hub, epoch: &str) -> HashMap<(String, u64), (String, String)> {
    let response = hub.get(&format!("/test/{epoch}/")).await;
    assert_eq!(response.status, 200);
    let mut lines = HashMap::new();
    for text in response.body.lines() {
        let line: Value = serde_json::from_str(text).expect("a line of JSON");
        let frame = &line["frame"];
        let name = frame["ch"].as_str().expect("a channel").to_owned();
        let sha256 = line["sha256"].as_str().expect("a hash").to_owned();
        // The bytes of the frame, up to the end of the line.
        let at = text.find(r#""frame":"#).expect("a frame") + r#""frame":"#.len();
        let bytes = text[at..text.len() - 1].to_owned();
        lines.insert((name, frame["seq"].as_u64().expect("a sequence")), (sha256, bytes));
    }
    lines
}

/// Reads frames of the match until there were so many updates of it, and compares each with the list.
async fn compare(
    client: &mut Client,
    truth: &HashMap<(String, u64), (String, String)>,
    updates: usize,
) {
    let mut compared = 0;
    while compared < updates {
        let text = client.next_text().await.expect("the hub stays up");
        let frame: Value = serde_json::from_str(&text).expect("a frame is JSON");
        let Some(name) = frame["ch"].as_str().map(str::to_owned) else { continue };
        let state = client.channels.entry(name.clone()).or_default();
        match frame["type"].as_str() {
            Some("image") => state.image(&frame),
            Some("update") => {
                state.update(&name, &frame);
                // Without `n` it is one change, as it was published.
                if frame.get("n").is_none() {
                    assert_eq!(truth[&(name.clone(), state.seq)].1, text);
                }
                compared += usize::from(name == "test/football");
            }
            _ => continue,
        }
        if !name.starts_with("test/") {
            continue;
        }
        let sha256 = crate::resume::sha256(&state.data);
        assert_eq!(truth[&(name, state.seq)].0, sha256, "after {text}");
    }
}

#[tokio::test]
async fn test_match_matches_its_list_also_after_a_kill() {
    let database = TestDatabase::file();
    let mut hub = Hub::start_on(&database, &["serve"], &[QUIET]);
    // Without any add-on but the socket.
    let key = hub.key(&["websocket"]);
    let mut client = Client::connect(&hub.address, &key).await;
    let epoch = running_epoch(&hub, &mut client).await;
    let truth = truth(&hub, &epoch).await;
    let mut client = Client::connect(&hub.address, &key).await;
    client.subscribe("test/football").await;
    client.subscribe("test/football/odds/*").await;
    compare(&mut client, &truth, 10).await;
    assert!(client.channels.len() > 1, "there are no books: {:?}", client.channels.keys());
    let proof = client.ask(&json!({"op": "hash", "id": 7, "ch": "test/football"})).await;
    let seq = proof["seq"].as_u64().expect("a sequence");
    assert_eq!(proof["sha256"], truth[&("test/football".to_owned(), seq)].0);

    hub.kill();
    let hub = Hub::start_on(&database, &["serve"], &[QUIET]);
    let channels = client.channels;
    let before = channels["test/football"].seq;
    let mut client = Client::connect(&hub.address, &key).await.knowing(channels);
    client.subscribe_batch(1, &["test/football".to_owned(), "feeds".to_owned()]).await;
    let answer = client.next_of("subscribed").await;
    let confirmed = &answer["chs"]["test/football"];
    assert_eq!(
        (&confirmed["epoch"], &confirmed["resumed"]),
        (&json!(epoch), &json!(true)),
        "{answer}"
    );
    assert!(answer["chs"]["feeds"]["epoch"].is_string(), "one of the hub's own: {answer}");
    compare(&mut client, &truth, 5).await;
    assert!(client.channels["test/football"].seq > before);
    assert!(client.channels.contains_key("feeds"));
}

#[tokio::test]
async fn patterns_of_real_channels_do_not_cover_test_channels() {
    let hub = Hub::demo();
    let mut client = Client::connect(&hub.address, &hub.key(&ALL_ADDONS)).await;
    for (id, pattern) in [(1, "*/*"), (2, "*/*/odds"), (3, "*")] {
        client.ask(&json!({"op": "subscribe", "id": id, "ch": pattern})).await;
    }
    let answer = client.ask(&json!({"op": "subscribe", "id": 4, "ch": "test/*"})).await;
    // The match, `feeds` and perhaps `signals`.
    assert!(answer["channels"].as_u64() >= Some(2), "{answer}");
    client.until(|client| client.channels.contains_key("test/football")).await;
    let names: Vec<_> = client.channels.keys().filter(|it| it.starts_with("test/")).collect();
    assert!(names.iter().all(|it| it.split('/').count() == 2), "{names:?}");
}

#[tokio::test]
async fn hub_without_test_channels_says_so() {
    let database = TestDatabase::file();
    let hub = Hub::start_on(&database, &["serve"], &[QUIET, ("SERVER_TEST_CHANNELS", "false")]);
    let mut client = Client::connect(&hub.address, &hub.key(&ALL_ADDONS)).await;
    let command = json!({"op": "subscribe", "id": 1, "ch": "test/football"});
    let answer = client.ask(&command).await;
    assert_eq!((&answer["type"], &answer["code"]), (&json!("error"), &json!("not_tracked")));
    assert_eq!(hub.get("/test/").await.status, 404);
    let hub = Hub::demo();
    for path in ["/test/nothing/", "/test/1/", "/test/-/"] {
        assert_eq!(hub.get(path).await.status, 404, "{path}");
    }
}

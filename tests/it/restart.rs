//! Starts that cannot go on where the process before ended, and stops that cannot write the log. What goes on
//! without a gap is tested by `tests/crash`.

use std::{fs, path::PathBuf, sync::Arc};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    full_disk::Disk,
    support::{Client, Hub, QUIET, Setting, TestDatabase, clock::Clock, on_sqlite},
};

const ADDONS: [&str; 2] = ["websocket", "odds"];

/// A line about the match `derby`, of this minute.
fn line(minute: u64, fact: &Value) -> String {
    let at = 1_788_280_000_000_000 + minute * 60_000_000;
    json!({ "at": at, "sport": "football", "match": "derby", "fact": fact }).to_string()
}

fn kick_off() -> Vec<String> {
    let fixture = json!({ "fixture": { "sides": [{ "name": "Arden" }, { "name": "Brook" }] } });
    vec![line(0, &fixture), line(0, &json!({ "football": { "status": "first_half" } }))]
}

fn goal(minute: u64) -> String {
    line(minute, &json!({ "football": { "score": { "goals": [1, 0] } } }))
}

/// The board, on which everything stands.
async fn board(hub: &Hub, key: &str) -> Value {
    let mut client = Client::connect(&hub.address, key).await;
    client.subscribe("football").await;
    client.until(|client| client.channels.contains_key("football")).await;
    let state = &client.channels["football"];
    json!({ "epoch": state.epoch, "seq": state.seq, "matches": state.data["matches"] })
}

/// Starts a hub without sources of its own, and pushes the beginning of a match.
async fn pushed(database: &TestDatabase, settings: &[Setting]) -> (Hub, String, String) {
    let hub = Hub::start_on(database, &["serve"], &[&[QUIET], settings].concat());
    let (feed, key) = (hub.feed_key("acme", &[]), hub.key(&ADDONS));
    hub.push(&feed, &kick_off()).await;
    (hub, feed, key)
}

fn log_folder(database: &TestDatabase) -> PathBuf {
    format!("{}-log", database.db()).into()
}

pub(crate) fn verify(database: &TestDatabase) -> String {
    let output = database.program().args(["log", "verify", "--db", &database.db()]).output();
    let output = output.expect("it runs");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    printed
}

#[tokio::test]
async fn unproven_log_keeps_the_matches_and_begins_epochs_that_it_has_itself() {
    let database = TestDatabase::file();
    let (mut hub, feed, key) = pushed(&database, &[]).await;
    let before = board(&hub, &key).await;
    hub.kill();
    fs::remove_file(log_folder(&database).join("head")).expect("there is a head");
    let mut hub = Hub::start_on(&database, &["serve"], &[QUIET]);
    hub.until_printed("all channels begin new epochs").await;
    let after = board(&hub, &key).await;
    assert_ne!(after["epoch"], before["epoch"]);
    assert_eq!(after["matches"], before["matches"]);
    // Later updates count on, and the film of the match has both epochs.
    hub.push(&feed, &[goal(1)]).await;
    let latest = board(&hub, &key).await;
    assert_eq!(latest["epoch"], after["epoch"]);
    assert!(latest["seq"].as_u64() > after["seq"].as_u64(), "{latest} after {after}");
    assert_eq!(hub.stop(), Some(0));
    let printed = verify(&database);
    assert!(printed.contains("replayed"), "{printed}");
    let hub = Hub::start_on(&database, &["serve"], &[QUIET]);
    assert_eq!(board(&hub, &key).await, latest);
    let replays = hub.json(&key, "/stream/v1/replays/?sport=football").await;
    let channels = replays["replays"][0]["channels"].as_array().expect("a film");
    let of_the_match = channels.iter().filter(|it| it["ch"] == replays["replays"][0]["match"]);
    assert_eq!(of_the_match.count(), 2, "an epoch is missing: {replays}");
}

#[tokio::test]
async fn log_of_another_database_is_not_used() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path: &'static str = folder.path().join("log").display().to_string().leak();
    let settings = [("LOG_FOLDER", path)];
    let (first, second) = (TestDatabase::file(), TestDatabase::file());
    let (mut hub, ..) = pushed(&first, &settings).await;
    assert_eq!(hub.stop(), Some(0));
    let mut hub = Hub::start_on(&second, &["serve"], &[QUIET, settings[0]]);
    hub.until_printed("the log belongs to another database").await;
    let (feed, key) = (hub.feed_key("acme", &[]), hub.key(&ADDONS));
    let metric = hub.metric("matchwire_matches").await;
    assert!(metric.abs() < f64::EPSILON, "it has {metric} matches of another database");
    hub.push(&feed, &kick_off()).await;
    let before = board(&hub, &key).await;
    hub.kill();
    let hub = Hub::start_on(&second, &["serve"], &[QUIET, settings[0]]);
    assert_eq!(board(&hub, &key).await, before, "from now on it is its own");
}

#[tokio::test]
async fn clock_that_was_set_back_before_a_start_is_followed() {
    on_sqlite(async |database| {
        let Some(clock) = Clock::at_or_skipped("2026-09-05T12:00:00Z", database.folder.path())
        else {
            return;
        };
        let clock = Arc::new(clock);
        let database = database.by(&clock);
        let (mut hub, feed, key) = pushed(&database, &[]).await;
        let before = board(&hub, &key).await;
        hub.kill();
        // A minute is made up for slowly, as in a process that runs.
        clock.set("2026-09-05T11:59:00Z");
        let mut hub = Hub::start_on(&database, &["serve"], &[QUIET]);
        assert_eq!(board(&hub, &key).await, before);
        let mut client = Client::connect(&hub.address, &key).await;
        client.ask(&json!({ "op": "subscribe", "id": 1, "ch": "football", "every_ms": 100 })).await;
        client.until(|client| client.channels.contains_key("football")).await;
        hub.push(&feed, &[goal(1)]).await;
        let seq = before["seq"].as_u64().expect("a number");
        client.until(|client| client.channels["football"].seq > seq).await;
        drop(client);
        hub.kill();
        // Hours are not, so the log is set aside.
        clock.set("2026-09-05T08:00:00Z");
        let hub = Hub::start_on(&database, &["serve"], &[QUIET]);
        hub.until_printed("the log is ahead of the clock").await;
        hub.push(&feed, &kick_off()).await;
        let after = board(&hub, &key).await;
        assert_ne!(after["epoch"], before["epoch"]);
        assert_eq!(after["matches"].as_object().map(serde_json::Map::len), Some(1));
    })
    .await;
}

#[tokio::test]
async fn full_disk_is_reported_and_does_not_delay_the_stop() {
    let Some(disk) = Disk::mount_or_skipped() else { return };
    let path: &'static str = disk.path().display().to_string().leak();
    let settings =
        [QUIET, ("LOG_FOLDER", path), ("SERVER_DRAIN_MS", "300"), ("INGEST_WAIT_MS", "500")];
    let folder: Arc<TempDir> = Arc::new(tempfile::tempdir().expect("a temporary folder"));
    let mut hub = Hub::start_in_with(Arc::clone(&folder), &["serve"], &settings);
    let (feed, key) = (hub.feed_key("acme", &[]), hub.key(&ADDONS));
    hub.push(&feed, &kick_off()).await;
    let before = board(&hub, &key).await;
    disk.fill();
    hub.until_counted("matchwire_log_refused").await;
    let readiness = hub.get("/readyz").await;
    assert_eq!(readiness.status, 503);
    assert!(readiness.body.contains("No space left on device"), "{readiness:?}");
    assert_eq!(board(&hub, &key).await, before, "a new reader gets what the log has");
    let token = format!("Token {key}");
    let path = "/stream/v1/channels/football";
    let image = hub.request("GET", path, &[("authorization", &token)]).await;
    assert_eq!((image.status, &image.json()["seq"]), (200, &before["seq"]), "{image:?}");
    assert!(image.header("x-matchwire-stale-since").is_some(), "{image:?}");
    let line = br#"{"sport":"hockey","match":"m","fact":{"fixture":{}}}"#;
    let token = format!("Token {feed}");
    let pushed = hub.post("/ingest/v1/acme", &[("authorization", &token)], line).await;
    assert_eq!((pushed.status, pushed.header("retry-after")), (503, Some("1")), "{pushed:?}");
    hub.terminate();
    assert_eq!(hub.until_ended().await, Some(0), "{}", hub.printed());
    disk.free();
    let hub = Hub::start_in_with(folder, &["serve"], &settings);
    assert_eq!(board(&hub, &key).await, before, "what was shown is there");
}

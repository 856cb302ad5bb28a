//! The running hub on each kind of database: changes by one program reach the other at once.

use std::time::Duration;

use futures_util::StreamExt;
use serde_json::json;
use tokio::time::timeout;
use tokio_tungstenite::{connect_async, tungstenite};

use crate::support::{
    Answer, Client, Closed, Hub, PATIENCE, QUIET, TestDatabase, cluster::Cluster, on_each, pause,
    postgres_or_skipped, program, until,
};

/// A well-formed key that does not exist.
const WRONG: &str = "mw_000000000000000000000000000000000000000000000000";

/// Requests the image of `feeds`, which requires the WebSocket add-on.
async fn image(hub: &Hub, key: &str) -> Answer {
    hub.get_as(key, "/stream/v1/channels/feeds").await
}

/// SPEC section 3: the old key stops working immediately.
#[tokio::test]
async fn key_works_until_another_program_revokes_it() {
    on_each(async |database| {
        let hub = Hub::start_on(&database, &["serve"], &[QUIET]);
        let (key, other) = (hub.key(&["websocket"]), hub.key(&["websocket"]));
        let mut client = Client::connect(&hub.address, &key).await;
        let mut stays = Client::connect(&hub.address, &other).await;
        assert_eq!(image(&hub, &key).await.status, 200);
        assert_eq!(image(&hub, &hub.key(&[])).await.status, 402);
        assert_eq!(image(&hub, WRONG).await.status, 401);

        hub.revoke(&key);
        assert_eq!(client.next_of("bye").await["why"], "token_revoked");
        let closed = client.until_closed().await;
        assert_eq!(closed, Closed(Some((4410, "token_revoked".to_owned()))));
        assert_eq!(image(&hub, &key).await.status, 401);
        stays.ask(&json!({"op": "ping", "id": 1})).await;
    })
    .await;
}

/// PostgreSQL notifies; there is no polling. The polling interval of SQLite does not matter there.
#[tokio::test]
#[ignore = "needs PostgreSQL: make test-systems runs it"]
async fn postgresql_notifies_of_a_revocation() {
    const AT_ONCE: Duration = Duration::from_secs(60);
    let Some(server) = postgres_or_skipped() else { return };
    let database = TestDatabase::postgres(&server);
    let settings = [QUIET, ("ACCOUNTS_WATCH_MS", "3600000")];
    let hub = Hub::start_on(&database, &["serve"], &settings);
    let key = hub.key(&["websocket"]);
    let mut client = Client::connect(&hub.address, &key).await;
    client.next_of("hello").await;
    hub.revoke(&key);
    timeout(AT_ONCE, client.next_of("bye")).await.expect("it is notified at once");
}

#[tokio::test]
async fn feed_keys_work_until_they_are_revoked() {
    on_each(async |database| {
        let hub = Hub::start_on(&database, &["serve"], &[QUIET]);
        let key = hub.feed_key("acme", &[]);
        let header = format!("Token {key}");
        let push = async || {
            let headers = [("authorization", &*header)];
            hub.post("/ingest/v1/acme", &headers, b"").await.status
        };
        let before = push().await;
        assert!(before < 300, "{before}");
        hub.revoke_feed_keys("acme");
        assert_eq!(push().await, 401);
    })
    .await;
}

#[tokio::test]
async fn match_commands_reach_the_running_hub() {
    on_each(async |database| {
        let hub = Hub::start_on(&database, &["serve"], &[QUIET]);
        let matches = |words: &[&str]| {
            let mut command = database.program();
            let output = command.args(["matches", words[0], "--db", &hub.db()]).args(&words[1..]);
            let output = output.output().expect("it runs");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).expect("text")
        };
        for number in 1..4 {
            matches(&["join", &format!("acme/{number}"), &format!("other/{number}")]);
        }
        let followed = async {
            while matches(&["list"]).matches("\toperator\t").count() < 3 {
                pause().await;
            }
        };
        timeout(PATIENCE, followed).await.expect("every order is followed");
    })
    .await;
}

#[tokio::test]
async fn demo_keeps_its_key_over_a_restart() {
    on_each(async |database| {
        let mut hub = Hub::start_on(&database, &["serve"], &[]);
        let key = hub.said("demo key").await;
        assert_eq!(image(&hub, &key).await.status, 200);
        assert_eq!(hub.stop(), Some(0));
        let hub = Hub::start_on(&database, &["serve"], &[]);
        assert_eq!(hub.said("demo key").await, key);
        assert_eq!(image(&hub, &key).await.status, 200);
    })
    .await;
}

/// Cached keys keep working, sockets stay open, and an unknown key is not called wrong. Changes
/// made before the hub listens again are found.
#[tokio::test]
#[ignore = "needs PostgreSQL: make test-systems runs it"]
async fn hub_outlives_its_database() {
    let Some(mut cluster) = Cluster::start_or_skipped() else { return };
    let database = TestDatabase::postgres(&cluster.url());
    // So that the responses below come from the cache for as long as the test may take.
    let settings = [QUIET, ("DATABASE_ACQUIRE_MS", "3000"), ("ACCOUNTS_CACHE_MS", "600000")];
    let hub = Hub::start_on(&database, &["serve"], &settings);
    let (used_key, other) = (hub.key(&["websocket"]), hub.key(&["websocket"]));
    assert_eq!(image(&hub, &used_key).await.status, 200);
    let mut client = Client::connect(&hub.address, &used_key).await;
    client.next_of("hello").await;
    // A change that does not concern the known key.
    let revoked = hub.key(&["websocket"]);
    assert_eq!(image(&hub, &revoked).await.status, 200);
    hub.revoke(&revoked);
    until("the revocation", async || image(&hub, &revoked).await.status == 401).await;

    let (feed, new_feed) = (hub.feed_key("acme", &[]), hub.feed_key("acme", &[]));
    let push = async |key: &str| {
        let header = format!("Token {key}");
        hub.post("/ingest/v1/acme", &[("authorization", &header)], b"").await.status
    };
    assert_eq!(push(&feed).await, 200);

    cluster.stop();
    assert_eq!(image(&hub, &used_key).await.status, 200);
    assert_eq!((push(&feed).await, push(&new_feed).await), (200, 503));
    let url = format!("ws://{}/ingest/v1/acme?token={feed}", hub.address);
    let (mut pushing, _) = connect_async(url).await.expect("a key that works opens a socket");
    client.ask(&json!({"op": "ping", "id": 1})).await;
    let mut second = Client::connect(&hub.address, &used_key).await;
    second.next_of("hello").await;
    for key in [&*other, WRONG] {
        let answer = image(&hub, key).await;
        assert_eq!((answer.status, answer.header("retry-after")), (503, Some("5")), "{answer:?}");
        assert_eq!(answer.fields(), ["detail", "error", "status"]);
    }
    assert_eq!(image(&hub, "nonsense").await.status, 401, "what is no key needs no database");
    // Both are still open after the time in which the database should have answered.
    client.ask(&json!({"op": "ping", "id": 2})).await;
    second.ask(&json!({"op": "ping", "id": 2})).await;
    let refused = connect_async(format!("ws://{}/stream/v1?token={other}", hub.address)).await;
    let Err(tungstenite::Error::Http(answer)) = refused else { panic!("{refused:?}") };
    assert_eq!(answer.status(), 503);
    assert_eq!(answer.headers()["retry-after"], "5");

    pushing.close(None).await.expect("it was open");

    cluster.start();
    hub.revoke_feed_keys("acme");
    until("the revocation of the feed", async || push(&feed).await == 401).await;
    hub.revoke(&used_key);
    assert_eq!(client.next_of("bye").await["why"], "token_revoked");
    assert_eq!(image(&hub, &used_key).await.status, 401);
    assert_eq!(image(&hub, &other).await.status, 200);
    let mut again = Client::connect(&hub.address, &other).await;
    hub.revoke(&other);
    assert_eq!(again.next_of("bye").await["why"], "token_revoked", "it listens again");
}

/// A hub with one connection answers all clients, one after the other.
#[tokio::test]
async fn one_connection_is_enough() {
    on_each(async |database| {
        let settings = [QUIET, ("DATABASE_CONNECTIONS_MAX", "1"), ("DATABASE_ACQUIRE_MS", "60000")];
        let hub = Hub::start_on(&database, &["serve"], &settings);
        let keys: Vec<String> = (0..10).map(|_| hub.key(&["websocket"])).collect();
        let asking = futures_util::stream::iter(&keys).map(|key| image(&hub, key));
        let answers: Vec<Answer> = asking.buffer_unordered(10).collect().await;
        assert!(answers.iter().all(|answer| answer.status == 200), "{answers:?}");
    })
    .await;
}

#[tokio::test]
#[ignore = "needs PostgreSQL: make test-systems runs it"]
async fn password_of_the_database_is_shown_nowhere() {
    let Some(server) = postgres_or_skipped() else { return };
    let database = TestDatabase::postgres(&server);
    let Some((user, _)) = server.split_once("://").and_then(|(_, rest)| rest.split_once('@'))
    else {
        panic!("the test's server has a user")
    };
    let password = user.split_once(':').map_or("none was given", |(_, password)| password);
    let mut hub = Hub::start_on(&database, &["serve"], &[]);
    hub.said("demo key").await;
    assert_eq!(hub.stop(), Some(0));
    let printed = hub.printed();
    assert!(!printed.contains(password), "{printed}");

    for arguments in
        [&["serve", "--db"][..], &["key", "list", "--db"], &["matches", "list", "--db"]]
    {
        let nowhere = "postgres://me:s3cret-word@127.0.0.1:1/db?password=s3cret-too";
        let mut command = program();
        let output = command.args(arguments).arg(nowhere).env("MATCHWIRE_LOGGING_FILTER", "trace");
        let output = output.env("MATCHWIRE_DATABASE_ACQUIRE_MS", "100").output().expect("it runs");
        let said = format!("{output:?}");
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("postgres://127.0.0.1:1/db"), "it says which database: {said}");
        assert!(!said.contains("s3cret"), "{said}");
    }
}

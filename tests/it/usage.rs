//! The usage of accounts, as `GET /api/v2/account/` reports it.

use serde_json::{Value, json};

use crate::support::{
    Client, Hub, QUIET, Setting, TestDatabase, ended,
    feed::{self, Market},
    on_sqlite, until,
};

/// Waiting means polling here.
const UNLIMITED: Setting = ("LIMITS_ADDRESS_PER_SECOND", "0");

/// The response of `/api/v2/account/` for this key.
async fn account(hub: &Hub, key: &str) -> Value {
    let header = format!("Bearer {key}");
    let answer = hub.request("GET", "/api/v2/account/", &[("authorization", &header)]).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    answer.json()
}

async fn call(hub: &Hub, key: &str) {
    let answer = hub.get(&format!("/stream/v1/channels/feeds?token={key}")).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
}

/// The number of calls in the database.
async fn stored_calls(database: &TestDatabase) -> i64 {
    let pool = database.pool().await;
    let calls = sqlx::query_scalar("SELECT CAST(coalesce(sum(calls), 0) AS BIGINT) FROM usage");
    let calls = calls.fetch_one(&pool).await.expect("the database answers");
    pool.close().await;
    calls
}

/// SPEC section 2: the 30-day usage figure. A message is a frame that advances a channel, counted
/// once; other frames do not count.
#[tokio::test]
async fn messages_of_a_socket_are_counted_once_each() {
    on_sqlite(async |database| {
        let path =
            feed::write(database.folder.path(), "feed.json", &Market { event: 30 }.busy(300, 100));
        let path = path.to_str().expect("a path of text");
        let settings = [UNLIMITED, ("FANOUT_BEAT_MS", "50")];
        let hub =
            Hub::start_on(&database, &["replay", "--speed", "max", "--hold", path], &settings);
        let key = hub.key(&crate::support::ALL_ADDONS);
        let mut client = Client::connect(&hub.address, &key).await;
        client.subscribe("tennis/*/odds/*").await;
        client.subscribe("feeds").await;
        client.until(ended).await;
        // When these responses have arrived, nothing else is in flight.
        client.ask(&json!({"op": "unsubscribe", "id": 1, "ch": "tennis/*/odds/*"})).await;
        client.ask(&json!({"op": "unsubscribe", "id": 2, "ch": "feeds"})).await;
        let messages = client.data_frames;
        assert!(messages > 2, "only {messages} came");
        drop(client);
        let counted = async || account(&hub, &key).await["usage"]["total"]["messages"] == messages;
        until("the count", counted).await;
        let answer = account(&hub, &key).await;
        assert_eq!(answer["usage"]["total"]["calls"], 0, "asking for the account is no call");
        assert_eq!(answer["usage"]["products"][0]["product"], "websocket");
        assert_eq!(answer["usage"]["products"].as_array().map(Vec::len), Some(1));
    })
    .await;
}

/// The beats of a socket report its open time while it is open.
#[tokio::test]
async fn open_socket_is_counted_while_it_is_open() {
    let hub = Hub::start_with(&["serve"], &[QUIET, UNLIMITED, ("FANOUT_BEAT_MS", "50")]);
    let key = hub.key(&["websocket"]);
    let mut client = Client::connect(&hub.address, &key).await;
    client.next_of("hello").await;
    let minutes = async || account(&hub, &key).await["usage"]["total"]["socket_minutes"].as_f64();
    until("a minute's hundredth", async || minutes().await >= Some(0.01)).await;
    assert_eq!(account(&hub, &key).await["usage"]["total"]["messages"], 0, "nothing was followed");
}

/// Issue 5, point 10: no write per call; nothing is lost at a stop, and at a crash only the calls
/// since the last write.
#[tokio::test]
async fn stop_writes_all_usage_and_kill_loses_what_was_unwritten() {
    on_sqlite(async |database| {
        let settings = [QUIET, ("USAGE_FLUSH_MS", "10000")];
        let mut hub = Hub::start_on(&database, &["serve"], &settings);
        let key = hub.key(&["websocket"]);
        Client::connect(&hub.address, &key).await.next_of("hello").await;
        for _ in 0..5 {
            call(&hub, &key).await;
        }
        assert_eq!(account(&hub, &key).await["usage"]["total"]["calls"], 5);
        assert_eq!(hub.stop(), Some(0));
        assert_eq!(stored_calls(&database).await, 5, "a stop writes everything");

        let mut hub = Hub::start_on(&database, &["serve"], &[QUIET, ("USAGE_FLUSH_MS", "50")]);
        Client::connect(&hub.address, &key).await.next_of("hello").await;
        for _ in 0..3 {
            call(&hub, &key).await;
        }
        until("the write", async || stored_calls(&database).await == 8).await;
        hub.kill();

        let mut hub = Hub::start_on(&database, &["serve"], &settings);
        Client::connect(&hub.address, &key).await.next_of("hello").await;
        assert_eq!(
            account(&hub, &key).await["usage"]["total"]["calls"],
            8,
            "what was written stays"
        );
        for _ in 0..2 {
            call(&hub, &key).await;
        }
        hub.kill();
        assert!((8..=10).contains(&stored_calls(&database).await));
    })
    .await;
}

/// SPEC section 5, rule 1.
#[tokio::test]
async fn account_is_shown_only_to_its_key() {
    let hub = Hub::quiet();
    let key = hub.key(&[]);
    let answer = hub.get("/api/v2/account/").await;
    assert_eq!((answer.status, &answer.json()["code"]), (401, &json!("authentication_required")));
    let answer = account(&hub, &key).await;
    assert_eq!(answer["key_prefix"], key[..11]);
    assert_eq!(answer["founder"], false);
    let addons = answer["addons"].as_array().expect("a list");
    assert!(addons.iter().all(|it| it["active"] == false && it["expires"] == Value::Null));
    assert!(!answer.to_string().contains(&key), "the key is shown");
    hub.revoke(&key);
    let refused = async || hub.get(&format!("/api/v2/account/?token={key}")).await.status == 401;
    until("the end of the key", refused).await;
}

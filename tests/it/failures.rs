//! Panics in parts of the running program, and signals.
//!
//! The program panics on demand, see `supervisor::fault`: the environment names a part, and SIGUSR1
//! makes it panic. Only a debug build does this.

#![cfg(debug_assertions)]

use std::{fs, sync::Arc};

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::support::{
    Client, Hub, PATIENCE, QUIET, Setting,
    feed::{self, Market},
};

const FAILED: Option<i32> = Some(70);

/// Makes the part panic that the hub's environment names.
async fn inject(hub: &Hub) {
    hub.signal("-USR1");
    hub.until_printed("SIGUSR1").await;
}

/// It has exited with the exit code of a failure and one line that names the part.
async fn failed(hub: &mut Hub, part: &str) {
    let code = hub.until_ended().await;
    let printed = hub.printed();
    assert_eq!(code, FAILED, "{part}: {printed}");
    let lines: Vec<&str> = printed.lines().filter(|it| it.contains("panicked")).collect();
    let [line] = lines[..] else { panic!("{part}: one line, not {lines:#?}") };
    let expected = format!("matchwire: part {part:?} panicked: injected fault (crates/base/src/");
    assert!(line.starts_with(&expected), "{part}: {line}");
    assert!(line.ends_with("; the process ends"), "{part}: {line}");
}

/// The hub with this fault exits as specified. `act`: wakes a part that only waits.
async fn check(part: &'static str, settings: &[Setting], act: impl AsyncFnOnce(&Hub)) {
    let settings = [settings, &[("FAULT", part), ("SERVER_DRAIN_MS", "100")]].concat();
    let mut hub = Hub::start_with(&["serve"], &settings);
    assert_eq!(hub.get("/readyz").await.status, 200, "{part}");
    inject(&hub).await;
    act(&hub).await;
    failed(&mut hub, part).await;
}

async fn nothing(_hub: &Hub) {}

/// Tasks: they are woken from any wait.
#[tokio::test]
async fn panic_of_any_task_ends_the_process() {
    for part in ["archive", "signals", "identity", "metrics", "usage", "key-watcher", "revocation"]
    {
        check(part, &[QUIET], nothing).await;
    }
    for part in ["database", "accounts", "predictor", "order-watcher", "orders", "payments", "http"]
    {
        check(part, &[QUIET], nothing).await;
    }
}

#[tokio::test]
async fn panic_of_the_mail_ends_the_process() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path: &str = folder.path().to_str().expect("text").to_owned().leak();
    for part in ["mail", "mail-sweep"] {
        check(part, &[QUIET, ("MAIL_FOLDER", path)], nothing).await;
    }
}

#[tokio::test]
async fn panic_of_any_thread_ends_the_process() {
    check("writer", &[QUIET], nothing).await;
    check("load", &[("BENCH_RATE", "100")], nothing).await;
    // It waits for connections.
    check("acceptor", &[QUIET], async |hub: &Hub| drop(TcpStream::connect(&hub.address).await))
        .await;
}

/// The thread that plays a recording.
#[tokio::test]
async fn panic_of_a_player_ends_the_process() {
    let folder = Arc::new(tempfile::tempdir().expect("a temporary folder"));
    let path = feed::write(folder.path(), "feed.json", &Market { event: 30 }.busy(10_000, 100));
    let arguments = ["replay", "--loop", "--speed", "10", path.to_str().expect("text")];
    let mut hub = Hub::start_in_with(folder, &arguments, &[("FAULT", "player")]);
    inject(&hub).await;
    failed(&mut hub, "player").await;
}

#[tokio::test]
async fn panic_of_a_live_source_ends_the_process() {
    let folder = Arc::new(tempfile::tempdir().expect("a temporary folder"));
    let file = folder.path().join("matchwire.toml");
    // The address does not listen: it retries.
    let table = "[[source]]\nname = \"lines\"\nkind = \"websocket\"\nurl = \"ws://127.0.0.1:9\"\n";
    fs::write(&file, table).expect("a file of settings");
    let arguments = ["serve", "--config", file.to_str().expect("text")];
    let mut hub = Hub::start_in_with(folder, &arguments, &[("FAULT", "source lines")]);
    inject(&hub).await;
    failed(&mut hub, "source lines").await;
}

/// Sockets of other shards are closed, and nothing waits for the dead shard.
#[tokio::test]
async fn panic_of_a_shard_ends_the_process() {
    let settings =
        [QUIET, ("FAULT", "shard-0"), ("FANOUT_SHARDS", "2"), ("SERVER_DRAIN_MS", "5000")];
    let mut hub = Hub::start_with(&["serve"], &settings);
    let key = hub.key(&crate::support::ALL_ADDONS);
    // One on each shard.
    let mut clients =
        [Client::connect(&hub.address, &key).await, Client::connect(&hub.address, &key).await];
    for client in &mut clients {
        client.subscribe("feeds").await;
        client.next_of("image").await;
    }
    inject(&hub).await;
    let mut restart_closes = 0;
    for client in &mut clients {
        // Its shard forwards its requests to the hub.
        client.subscribe("*/*").await;
    }
    for mut client in clients {
        restart_closes +=
            usize::from(client.until_closed().await.0.is_some_and(|(code, _)| code == 4503));
    }
    assert_eq!(restart_closes, 1, "the socket on the other shard is asked to reconnect");
    failed(&mut hub, "shard-0").await;
}

#[tokio::test]
async fn failed_hub_is_not_ready() {
    let settings = [QUIET, ("FAULT", "archive"), ("SERVER_DRAIN_MS", "60000")];
    let mut hub = Hub::start_with(&["serve"], &settings);
    let key = hub.key(&crate::support::ALL_ADDONS);
    // It does not read, so that the hub has to wait for it.
    let _silent = Client::connect(&hub.address, &key).await;
    inject(&hub).await;
    let asking = async {
        loop {
            match hub.get("/readyz").await.status {
                200 => crate::support::pause().await,
                status => return status,
            }
        }
    };
    let status = tokio::time::timeout(PATIENCE, asking).await.expect("it hears of the failure");
    assert_eq!(status, 503);
    assert_eq!(hub.get("/healthz").await.status, 200);
    failed(&mut hub, "archive").await;
}

/// With any part hanging.
#[tokio::test]
async fn watchdog_ends_a_process_that_cannot_stop() {
    let settings = [QUIET, ("FAULT", "writer+hang"), ("SERVER_FAILURE_EXIT_MS", "300")];
    let mut hub = Hub::start_with(&["serve"], &settings);
    inject(&hub).await;
    failed(&mut hub, "writer").await;
}

#[tokio::test]
async fn panic_of_a_request_closes_only_its_connection() {
    let mut hub = Hub::start_with(&["serve"], &[QUIET, ("FAULT", "request")]);
    let mut client = Client::connect(&hub.address, &hub.key(&crate::support::ALL_ADDONS)).await;
    client.next_of("hello").await;
    inject(&hub).await;
    let mut unlucky = TcpStream::connect(&hub.address).await.expect("it connects");
    unlucky.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await.ok();
    let mut answer = Vec::new();
    // Closed or reset, without a response.
    unlucky.read_to_end(&mut answer).await.ok();
    assert!(answer.is_empty(), "{}", String::from_utf8_lossy(&answer));
    assert_eq!(hub.get("/readyz").await.status, 200);
    assert!((hub.metric("matchwire_panics_total").await - 1.0).abs() < 0.1);
    client.ask(&json!({"op": "ping", "id": 1})).await;
    drop(client);
    assert_eq!(hub.stop(), Some(0));
}

#[tokio::test]
async fn unused_signals_are_logged_and_ignored() {
    let mut hub = Hub::start_with(&["serve"], &[QUIET]);
    let mut client = Client::connect(&hub.address, &hub.key(&crate::support::ALL_ADDONS)).await;
    client.next_of("hello").await;
    for signal in ["USR1", "USR2"] {
        hub.signal(&format!("-{signal}"));
        hub.until_printed(&format!("SIG{signal}")).await;
    }
    hub.signal("-PIPE");
    client.ask(&json!({"op": "ping", "id": 1})).await;
    assert_eq!(hub.get("/readyz").await.status, 200);
    drop(client);
    assert_eq!(hub.stop(), Some(0));
}

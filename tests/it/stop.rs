//! How the hub stops, and what survives a restart.

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader, Read},
    process::{Command, Stdio},
    sync::Arc,
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::support::{
    Client, Closed, Hub, PATIENCE, QUIET, Setting,
    feed::{self, Market},
    program, raw,
};

#[tokio::test]
async fn clients_are_closed_and_given_a_reconnect_time() {
    const SOCKETS: u64 = 8;
    const WINDOW_MS: u64 = 60_000;
    let settings = [QUIET, ("SERVER_DRAIN_MS", "60000"), ("FANOUT_SHARDS", "2")];
    let mut hub = Hub::start_with(&["serve"], &settings);
    let key = hub.key(&crate::support::ALL_ADDONS);
    let mut clients = Vec::new();
    for _ in 0..SOCKETS {
        let mut client = Client::connect(&hub.address, &key).await;
        client.subscribe("feeds").await;
        client.next_of("image").await;
        clients.push(client);
    }
    assert_eq!(hub.get("/readyz").await.status, 200);
    hub.terminate();
    let mut delays = BTreeSet::new();
    for mut client in clients {
        let bye = client.next_of("bye").await;
        assert_eq!(bye["why"], "drain");
        delays.insert(bye["reconnect_after_ms"].as_u64().expect("a delay"));
        assert_eq!(client.until_closed().await, Closed(Some((4503, "drain".to_owned()))));
    }
    let even: BTreeSet<u64> = (0..SOCKETS).map(|share| share * WINDOW_MS / SOCKETS).collect();
    assert_eq!(delays, even, "each its own, spread over the window");
    assert_eq!(hub.wait(), Some(0));
    assert!(TcpStream::connect(&hub.address).await.is_err(), "it still takes connections");
}

#[tokio::test]
async fn stopping_hub_is_not_ready() {
    let mut hub = Hub::start_with(&["serve"], &[QUIET]);
    let mut client = Client::connect(&hub.address, &hub.key(&crate::support::ALL_ADDONS)).await;
    client.next_of("hello").await;
    hub.terminate();
    client.next_of("bye").await;
    // The listener is closed before any client is.
    assert!(TcpStream::connect(&hub.address).await.is_err(), "it still takes connections");
    drop(client);
    assert_eq!(hub.wait(), Some(0));
}

/// Clients that connect while the others are closed are closed too, and delay nothing.
#[tokio::test]
async fn socket_that_connects_during_the_drain_is_closed() {
    let mut hub = Hub::start_with(&["serve"], &[QUIET, ("SERVER_DRAIN_MS", "600000")]);
    let key = hub.key(&crate::support::ALL_ADDONS);
    let mut late = TcpStream::connect(&hub.address).await.expect("it connects");
    late.write_all(b"GET /stream/v1 HTTP/1.1\r\nhost: x\r\n").await.expect("it takes half a head");
    let mut client = Client::connect(&hub.address, &key).await;
    client.next_of("hello").await;
    hub.terminate();
    client.next_of("bye").await;
    let rest = format!(
        "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
         authorization: Token {key}\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    late.write_all(rest.as_bytes()).await.expect("it takes the rest");
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains(r#""why":"drain""#) {
        assert_ne!(late.read_buf(&mut seen).await.expect("it lasts"), 0, "cut off without a bye");
    }
    drop((late, client));
    assert_eq!(hub.wait(), Some(0));
}

#[tokio::test]
async fn client_that_does_not_close_is_disconnected() {
    let mut hub = Hub::start_with(&["serve"], &[QUIET, ("SERVER_DRAIN_MS", "100")]);
    let _deaf = Client::connect(&hub.address, &hub.key(&crate::support::ALL_ADDONS)).await;
    assert_eq!(hub.stop(), Some(0));
}

#[tokio::test]
async fn held_replay_stops_before_anyone_follows() {
    let folder = Arc::new(tempfile::tempdir().expect("a temporary folder"));
    let path = feed::write(folder.path(), "feed.json", &[Market { event: 30 }.defined("OPEN", 0)]);
    let path = path.to_str().expect("a path of text");
    let mut hub = Hub::start_in(folder, &["replay", "--hold", path]);
    assert_eq!(hub.stop(), Some(0));
}

#[tokio::test]
async fn replay_stops_in_the_middle() {
    let folder = Arc::new(tempfile::tempdir().expect("a temporary folder"));
    let path = feed::write(folder.path(), "feed.json", &Market { event: 30 }.busy(300_000, 100));
    let path = path.to_str().expect("a path of text");
    for speed in ["1", "max"] {
        let mut hub =
            Hub::start_in(Arc::clone(&folder), &["replay", "--hold", "--speed", speed, path]);
        let mut client = Client::connect(&hub.address, &hub.key(&crate::support::ALL_ADDONS)).await;
        client.subscribe("tennis/*/odds/betfair").await;
        client.next_of("update").await;
        hub.terminate();
        assert_eq!(client.until_closed().await, Closed(Some((4503, "drain".to_owned()))));
        drop(client);
        assert_eq!(hub.wait(), Some(0), "speed {speed}");
    }
}

#[test]
fn exit_code_distinguishes_wrong_usage_from_failure() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    let (db, missing, empty, text) = (path("hub.db"), path("missing"), path("empty"), path("text"));
    std::fs::write(&empty, "").expect("an empty file");
    std::fs::write(&text, "Dear diary\n").expect("a text");
    let check = |arguments: &[&str], code: i32, word: &str| {
        let output = Command::output(program().args(arguments)).expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(word), "{arguments:?}: {said}");
    };
    let replay = ["replay", "--listen", "127.0.0.1:0", "--db", db.as_str()];
    let with_file = |file: &str| [&replay[..], &[file]].concat().join("\u{0}");
    for (file, word) in [(&missing, "missing"), (&empty, "empty"), (&text, "format")] {
        check(&with_file(file).split('\u{0}').collect::<Vec<_>>(), 1, word);
    }
    check(&["dance"], 2, "dance");
    check(&["replay"], 2, "FILE");
    check(&["replay", "--speed", "0", &text], 2, "speed");
    check(&["serve", "--listen", "nowhere"], 2, "nowhere");
    check(&["serve", "--config", &missing], 2, "missing");
    check(&["key", "create", "--db", &db, "--addon", "gold"], 2, "gold");
    check(&["key", "list", "--db", &missing], 1, "missing");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = taken.local_addr().expect("an address").to_string();
    check(&["serve", "--db", &db, "--listen", &taken], 1, &taken);
}

#[tokio::test]
async fn restart_keeps_keys() {
    let mut hub = Hub::start_with(&["serve"], &[QUIET]);
    let (key, revoked) =
        (hub.key(&crate::support::ALL_ADDONS), hub.key(&crate::support::ALL_ADDONS));
    hub.revoke(&revoked);
    assert_eq!(hub.stop(), Some(0));
    let hub = Hub::start_in_with(Arc::clone(&hub.folder), &["serve"], &[QUIET]);
    assert_eq!(Client::connect(&hub.address, &key).await.next_of("hello").await["type"], "hello");
    let mut refused = Client::connect(&hub.address, &revoked).await;
    assert_eq!(refused.next_of("error").await["code"], "auth_failed");
}

/// Everything that the demo shows except the health of its sources, which is per process.
const DEMO: [&str; 4] = ["football", "tennis", "*/*", "*/*/*/*"];

/// One command requests the state of all books of all sports.
const LONG_COMMANDS: Setting = ("SERVER_COMMAND_BYTES_MAX", "262144");

/// Every subscription is answered, and a beat confirms that all covered channels have arrived.
async fn all_has_come(client: &mut Client) {
    let answered = |frame: &&Value| frame["type"] == "subscribed";
    client.until(|it| it.others.iter().filter(answered).count() == DEMO.len()).await;
    client.next_of("beat").await;
}

#[tokio::test]
async fn demo_continues_after_a_restart() {
    let mut hub = Hub::start_with(&["serve"], &[LONG_COMMANDS]);
    let key = hub.key(&crate::support::ALL_ADDONS);
    let mut client = Client::connect(&hub.address, &key).await;
    for pattern in DEMO {
        client.subscribe(pattern).await;
    }
    all_has_come(&mut client).await;
    hub.terminate();
    client.until_closed().await;
    assert_eq!(hub.wait(), Some(0));

    let hub = Hub::start_in_with(Arc::clone(&hub.folder), &["serve"], &[LONG_COMMANDS]);
    let before = client.channels;
    let mut client = Client::connect(&hub.address, &key).await.knowing(before.clone());
    for pattern in DEMO {
        client.subscribe(pattern).await;
    }
    // From here on the client fails at any gap; an image or a resync would hide one.
    all_has_come(&mut client).await;
    for frame in &client.others {
        assert_ne!(frame["type"], "resync", "{frame}");
        if frame["type"] == "subscribed" && frame.get("epoch").is_some() {
            assert_eq!(frame["resumed"], true, "{frame}");
        }
    }
    for (name, was) in &before {
        let is = &client.channels[name];
        assert_eq!(is.epoch, was.epoch, "{name}");
        assert!(is.seq >= was.seq, "{name}: from {} to {}", was.seq, is.seq);
    }
    client.until(|it| before.iter().any(|(name, was)| it.channels[name].seq > was.seq)).await;
    for name in ["football", "tennis"] {
        compare_with_image(&hub, &key, &mut client, name).await;
    }
}

/// The resumed documents equal the hub's, at the same sequence.
async fn compare_with_image(hub: &Hub, key: &str, client: &mut Client, name: &str) {
    loop {
        let image = hub.get(&format!("/stream/v1/channels/{name}?token={key}")).await.json();
        let seq = image["seq"].as_u64().expect("a sequence");
        client.until(|client| client.channels[name].seq >= seq).await;
        if client.channels[name].seq == seq {
            assert_eq!(client.channels[name].data, image["data"], "{name}");
            return;
        }
    }
}

#[tokio::test]
async fn another_day_has_another_epoch() {
    let mut hub = Hub::start_with(&["serve"], &[("DEMO_SEED", "1")]);
    let key = hub.key(&crate::support::ALL_ADDONS);
    let mut client = Client::connect(&hub.address, &key).await;
    client.subscribe("football").await;
    client.next_of("image").await;
    hub.terminate();
    client.until_closed().await;
    hub.wait();
    let settings = [("DEMO_SEED", "2")];
    let hub = Hub::start_in_with(Arc::clone(&hub.folder), &["serve"], &settings);
    let was = client.channels["football"].epoch.clone();
    let mut client = Client::connect(&hub.address, &key).await.knowing(client.channels);
    client.subscribe("football").await;
    let subscribed = client.next_of("subscribed").await;
    let answer: [&Value; 2] = [&subscribed["resumed"], &subscribed["why"]];
    assert_eq!(answer, [&json!(false), &json!("epoch")]);
    assert_ne!(client.next_of("image").await["epoch"], was);
}

/// A stuck log collector: a pipe on standard error that nobody reads.
#[tokio::test]
async fn log_that_nobody_reads_delays_nothing() {
    /// Most of the 64 KiB that a pipe holds: lines that cross a page leave a part of it empty.
    const PIPE_BYTES: usize = 48 * 1024;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command = program();
    command.args(["serve", "--listen", "127.0.0.1:0", "--db"]).arg(folder.path().join("hub.db"));
    command.env("MATCHWIRE_LOGGING_FILTER", "trace").env("MATCHWIRE_DEMO_ENABLED", "false");
    let mut hub = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut stdout = BufReader::new(hub.stdout.take().expect("its output is piped"));
    let mut first = String::new();
    stdout.read_line(&mut first).expect("its output is text");
    let address = first.trim().trim_start_matches("listening on http://").to_owned();
    // Each writes a line.
    for _ in 0..2_000 {
        drop(TcpStream::connect(&address).await.expect("it connects"));
    }
    let request = timeout(PATIENCE, raw(&address, "GET", "/healthz", &[]));
    assert_eq!(request.await.expect("it answers").status, 200);
    let pid = hub.id().to_string();
    Command::new("kill").args(["-TERM", &pid]).status().expect("kill runs");
    assert_eq!(hub.wait().expect("it ends").code(), Some(0));
    let mut written = Vec::new();
    hub.stderr.take().expect("a pipe").read_to_end(&mut written).expect("what the pipe held");
    assert!(written.len() >= PIPE_BYTES, "the pipe was never full: {} bytes", written.len());
}

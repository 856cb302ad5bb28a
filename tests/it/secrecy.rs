//! The secret part of a key appears nowhere, at any point of the key's life and with any log
//! level.

use std::{fs, os::unix::fs::PermissionsExt, sync::Arc};

use serde_json::json;
use tokio_tungstenite::{connect_async, tungstenite::client::IntoClientRequest};

use crate::support::{
    Client, Closed, Hub,
    feed::{self, Market},
};

/// The public part of a key: what `key list` shows.
const PREFIX: usize = "mw_00000000".len();

/// A key as sent, and its part that must not appear.
struct Key(String);

impl Key {
    fn secret(&self) -> &str {
        &self.0[PREFIX..]
    }
}

/// The key of a pushing source.
struct Feed(String);

impl Feed {
    fn secret(&self) -> &str {
        &self.0["mwf_00000000".len()..]
    }
}

/// Authenticates in every way with this key, and returns all responses.
async fn all_ways(hub: &Hub, Key(key): &Key) -> String {
    let mut seen = String::new();
    let token = format!("Token {key}");
    let bearer = format!("Bearer {key}");
    let list = format!("matchwire.v1, token, {key}");
    let short = format!("token, {key}");
    let protocol = "sec-websocket-protocol";
    let ways: [(&[(&'static str, &str)], String); 7] = [
        (&[("authorization", &token)], "/stream/v1".into()),
        (&[("authorization", &bearer)], "/stream/v1".into()),
        (&[(protocol, &list)], "/stream/v1".into()),
        (&[(protocol, &short)], "/stream/v1".into()),
        (&[], format!("/stream/v1?token={key}")),
        (&[], format!("/stream/v1?ticket={key}")),
        (&[], format!("/nowhere?token={key}")),
    ];
    for (headers, path) in ways {
        let url = format!("ws://{}{path}", hub.address);
        let mut request = url.into_client_request().expect("a URL");
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().expect("a header's value"));
        }
        let mut client = Client::connect_with(request).await;
        seen += &format!("{:?}", client.handshake);
        let first = client.next().await.expect("a frame comes first");
        seen += &first.to_string();
        if first["type"] == "error" {
            seen += &format!("{:?}", client.until_closed().await);
            continue;
        }
        // A key in the wrong field must not be echoed in an error.
        for command in [
            json!({"op": "subscribe", "id": 1, "ch": "feeds"}).to_string(),
            json!({"op": key, "id": 2}).to_string(),
            json!({"op": "subscribe", "id": 3, "ch": "feeds", "on_slow": key}).to_string(),
            format!("Token {key}"),
        ] {
            client.send_text(&command).await;
        }
        for _ in 0..3 {
            seen += &client.next_of("error").await.to_string();
        }
    }
    for path in [
        "/stream/v1/channels/feeds",
        "/stream/v1/channels/nobody",
        "/nowhere",
        "/stream/v1",
        "/api/v2/nothing/",
        "/api/v2/account",
        "/tennis/api/v2/matches/",
    ] {
        let query = format!("{path}?token={key}");
        let in_code = format!("{path}?%74oken={key}&ticket={key}");
        seen += &format!("{:?}", hub.request("GET", &in_code, &[("cookie", &bearer)]).await);
        seen += &format!("{:?}", hub.get(&query).await);
        seen += &format!("{:?}", hub.request("GET", path, &[("authorization", &token)]).await);
        seen += &format!("{:?}", hub.request("POST", &query, &[]).await);
    }
    for (path, headers) in [
        ("/ingest/v1/acme", &[("authorization", &*token)][..]),
        ("/ingest/v1/other", &[("authorization", &*bearer)]),
        (&format!("/ingest/v1/acme?token={key}"), &[]),
    ] {
        // A key as a name in a body must only be returned where it was stored as a name.
        seen += &format!("{:?}", hub.post(path, headers, b"{\"batch\":[]}").await);
        let url = format!("ws://{}{path}", hub.address);
        let mut request = url.into_client_request().expect("a URL");
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().expect("a header's value"));
        }
        match connect_async(request).await {
            Ok((_, handshake)) => seen += &format!("{handshake:?}"),
            Err(error) => seen += &format!("{error:?}"),
        }
    }
    seen
}

#[tokio::test]
async fn keys_appear_in_no_output() {
    let folder = Arc::new(tempfile::tempdir().expect("a temporary folder"));
    let lines = [Market { event: 30 }.defined("OPEN", 0), "no message".to_owned()];
    let path = feed::write(folder.path(), "feed.json", &lines);
    let path = path.to_str().expect("a path of text");
    let mut hub = Hub::start_in(Arc::clone(&folder), &["replay", "--speed", "max", path]);

    let good = Key(hub.key(&["websocket"]));
    let poor = Key(hub.key(&["odds"]));
    let wrong = Key(format!("mw_{}", "5ec2e7".repeat(8)));
    let malformed = Key(format!("{}-and-something-else", "5ec2e7".repeat(8)));
    let pushes = Feed(hub.feed_key("acme", &[]));
    let keys = [&good, &poor, &wrong, &malformed];

    let mut seen = String::new();
    for key in keys {
        seen += &all_ways(&hub, key).await;
    }
    seen += &all_ways(&hub, &Key(pushes.0.clone())).await;
    let authorization = format!("Token {}", good.0);
    let headers = [("authorization", authorization.as_str())];
    let bought = hub.request("POST", "/api/v2/stream/ticket/", &headers).await;
    let bought = bought.json()["ticket"].as_str().expect("a ticket").to_owned();
    let url = format!("ws://{}/stream/v1?ticket={bought}", hub.address);
    let mut client = Client::connect_with(url.as_str()).await;
    client.next_of("hello").await;
    hub.revoke(&good.0);
    seen += &client.next_of("bye").await.to_string();
    let closed = client.until_closed().await;
    assert!(matches!(closed, Closed(Some((4410, _)))), "{closed:?}");
    seen += &format!("{closed:?}");
    seen += &all_ways(&hub, &good).await;
    seen += &hub.get("/metrics").await.body;
    drop(client);

    assert_eq!(hub.stop(), Some(0));
    let printed = hub.printed();
    assert!(printed.contains("DEBUG"), "nothing was logged, so nothing was shown: {printed}");
    let mut locations =
        vec![("what was printed".to_owned(), printed), ("an answer".to_owned(), seen)];
    let mut folders = vec![folder.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = fs::read(&path).expect("a file");
            locations
                .push((path.display().to_string(), String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
    let files = locations.iter().filter(|(name, _)| name.contains("hub.db")).count();
    assert!(files >= 2, "the database or the quarantine is missing");
    for (location, text) in &locations {
        let secrets = keys.map(Key::secret).into_iter();
        for secret in secrets.chain([bought.as_str(), pushes.secret()]) {
            if let Some(at) = text.find(secret) {
                let line = text[..at].lines().next_back().unwrap_or_default();
                panic!("a secret is in {location}, behind {line:?}");
            }
        }
    }
}

/// Whatever the mask of the process that starts the program.
#[test]
fn files_of_the_hub_are_readable_by_its_owner_only() {
    let mut hub = Hub::start(&["serve"]);
    assert_eq!(hub.stop(), Some(0));
    let mut folders = vec![hub.folder.path().to_owned()];
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let entry = entry.expect("an entry");
            let about = entry.metadata().expect("it is there");
            assert_eq!(about.permissions().mode() & 0o077, 0, "{}", entry.path().display());
            folders.extend(about.is_dir().then(|| entry.path()));
            count += 1;
        }
    }
    assert!(count > 5, "{count} files: the log, its snapshot and films, and the database");
}

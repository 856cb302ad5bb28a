//! The hub's buffers for HTTP clients that do not read, and what it reveals to browsers and
//! unauthenticated clients.

use std::io;

use futures_util::future::join_all;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    time::timeout,
};

use crate::{
    docs_formats::PUBLIC,
    support::{Client, Hub, PATIENCE, QUIET, Setting, raw, read_until, until},
};

/// The hub's largest file: 1.5 MB.
const LARGE: &str = "/api/docs/swagger-ui-bundle.js";

const MIB: u64 = 1024 * 1024;

const BROWSER: (&str, &str) =
    ("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8");

fn ask(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n")
}

/// A connection that has requested this and reads hardly anything of the response.
async fn ask_and_leave(hub: &Hub, request: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4096).expect("a small buffer");
    let address = hub.address.parse().expect("an address");
    let mut stream = socket.connect(address).await.expect("it connects");
    stream.write_all(request.as_bytes()).await.expect("it takes a request");
    stream
}

/// Reads to the end of the connection, however it ends.
async fn read_all(stream: &mut TcpStream) -> (Vec<u8>, io::Result<()>) {
    let mut read = Vec::new();
    let reading = timeout(PATIENCE, stream.read_to_end(&mut read)).await;
    let ended = reading.expect("the hub ends the connection").map(|_| ());
    (read, ended)
}

/// 300 clients request 1.5 MB each and read nothing: 0.45 GB for minutes, if each has a copy.
#[tokio::test]
async fn unread_answers_take_no_memory_and_end() {
    let settings = [QUIET, ("SERVER_WRITE_TIMEOUT_MS", "10000")];
    let hub = Hub::start_with(&["serve"], &settings);
    let key = hub.key(&["websocket"]);
    let whole = hub.get(LARGE).await;
    assert_eq!((whole.status, whole.body.len() > 1_000_000), (200, true));
    let before = hub.memory_peak();

    let request = ask(LARGE);
    let mut unread = join_all((0..300).map(|_| ask_and_leave(&hub, &request))).await;
    until("300 connections", async || hub.metric("matchwire_http_connections").await >= 300.0)
        .await;
    assert_eq!(hub.get("/healthz").await.status, 200, "while they are held");
    let mut follower = Client::connect(&hub.address, &key).await;
    follower.next_of("hello").await;

    hub.until_counted_to("matchwire_http_stalled_total", 300.0).await;
    let grown = hub.memory_peak().saturating_sub(before);
    assert!(grown < 40 * MIB, "300 unread answers took {} MiB", grown / MIB);
    until("their end", async || hub.metric("matchwire_http_connections").await <= 1.0).await;
    for stream in &mut unread {
        let (read, _) = read_all(stream).await;
        assert!(read.len() < whole.body.len(), "it was sent all of it");
    }
    assert_eq!(hub.get(LARGE).await.body.len(), whole.body.len(), "for who reads it");
}

/// What a reader has no room for waits, and it gets everything. Unit tests of the hub move the clock: however slow it is.
#[tokio::test]
async fn reader_of_small_parts_is_served_to_the_end() {
    let hub = Hub::start_with(&["serve"], &[QUIET, ("FANOUT_SEND_BUFFER_BYTES", "16384")]);
    let request = format!("GET {LARGE} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    let mut stream = ask_and_leave(&hub, &request).await;
    let (read, ended) = read_all(&mut stream).await;
    ended.expect("it is not cut off");
    assert!(read.len() > 1_000_000, "only {} bytes came", read.len());
}

#[tokio::test]
async fn large_file_is_compressed_once_for_each_coding() {
    let hub = Hub::start_with(&["serve"], &[QUIET]);
    for (coding, sooner) in [("br", 0.0), ("gzip", 1.0), ("zstd", 2.0)] {
        let headers = [("accept-encoding", coding)];
        let answers = join_all((0..8).map(|_| raw(&hub.address, "GET", LARGE, &headers))).await;
        for answer in &answers {
            assert_eq!((answer.status, answer.header("content-encoding")), (200, Some(coding)));
            assert_eq!(answer.body, answers[0].body);
        }
        let compressed = hub.metric("matchwire_http_compressions_total").await;
        assert_eq!(compressed, sooner + 1.0, "{coding}: 8 requests at once");
    }
}

/// Loopback is a trusted proxy by default, and any client may be behind it.
const NO_PROXIES: Setting = ("SERVER_TRUSTED_PROXIES", "");

#[tokio::test]
async fn connections_per_address_are_limited() {
    let settings = [QUIET, NO_PROXIES, ("SERVER_CONNECTIONS_MAX_PER_ADDRESS", "3")];
    let hub = Hub::start_with(&["serve"], &settings);
    let mut open = Vec::new();
    for _ in 0..3 {
        let mut stream = ask_and_leave(&hub, &ask("/healthz")).await;
        read_until(&mut stream, "ok").await;
        open.push(stream);
    }
    let mut fourth = TcpStream::connect(&hub.address).await.expect("the kernel takes it");
    fourth.write_all(ask("/healthz").as_bytes()).await.ok();
    let (read, _) = read_all(&mut fourth).await;
    assert_eq!(read, b"", "one too many is not answered");
    open.pop();
    let again = async || {
        let Ok(mut stream) = TcpStream::connect(&hub.address).await else { return false };
        stream.write_all(ask("/healthz").as_bytes()).await.ok();
        let mut part = [0; 12];
        stream.read_exact(&mut part).await.is_ok() && &part == b"HTTP/1.1 200"
    };
    until("room again", again).await;
}

#[tokio::test]
async fn health_and_sockets_are_served_while_all_connections_are_in_use() {
    let hub = Hub::start_with(&["serve"], &[QUIET, ("SERVER_CONNECTIONS_MAX", "4")]);
    let key = hub.key(&["websocket"]);
    // Unfinished or idle ones, or those of an account with several, would make room.
    let mut open = Vec::new();
    for _ in 0..4 {
        let events = format!(
            "GET /stream/v1/sse/?ch=football HTTP/1.1\r\nhost: x\r\nauthorization: Token {}\r\n\r\n",
            hub.key(&["websocket"])
        );
        let mut stream = ask_and_leave(&hub, &events).await;
        read_until(&mut stream, "text/event-stream").await;
        open.push(stream);
    }
    let refused = hub.get("/pricing/").await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    refused_while_sending(&hub, "/mcp", "503").await;
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(hub.get(path).await.status, 200, "{path}");
    }
    Client::connect(&hub.address, &key).await.next_of("hello").await;
    drop(open);
    until("room again", async || hub.get("/pricing/").await.status == 200).await;
}

/// Strangers that send unfinished heads, as many as they can.
#[tokio::test]
async fn connections_leave_descriptors_to_the_log() {
    let hub = Hub::start_with_descriptors(256, &[QUIET, ("LOG_SNAPSHOT_MS", "100")]);
    hub.until_printed("server.connections_max is more than the process may have open").await;
    let feed_key = hub.feed_key("acme", &[]);
    // Those that have sent nothing are closed for others.
    let mut pusher = TcpStream::connect(&hub.address).await.expect("it connects");
    push(&mut pusher, &feed_key, 0).await;
    let mut strangers = Vec::new();
    for _ in 0..400 {
        let mut stranger = TcpStream::connect(&hub.address).await.expect("it connects");
        // Those beyond the descriptors for connections are closed already.
        stranger.write_all(b"GET /stream/v1").await.ok();
        strangers.push(stranger);
    }
    hub.until_printed("closed a connection: too many files are open").await;
    // The log and its snapshots need new files meanwhile.
    for number in 1..40 {
        push(&mut pusher, &feed_key, number).await;
    }
    assert!(!hub.printed().contains("Too many open files"), "{}", hub.printed());
    drop(strangers);
}

async fn push(stream: &mut TcpStream, feed_key: &str, number: usize) {
    let line = format!(
        r#"{{"sport":"hockey","match":"m{number}","fact":{{"fixture":{{"start":1788280000000000}}}}}}"#
    );
    let request = format!(
        "POST /ingest/v1/acme HTTP/1.1\r\nhost: x\r\nauthorization: Token {feed_key}\r\n\
         content-length: {}\r\n\r\n{line}",
        line.len()
    );
    stream.write_all(request.as_bytes()).await.expect("it takes a push");
    let answer = read_until(stream, r#""refusals":[]"#).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// Strangers whose heads do not end or who ask no more, and one account whose bodies do not come: everyone else is answered
/// at once.
#[tokio::test]
async fn connections_that_wait_are_closed_for_others() {
    let settings = [QUIET, NO_PROXIES, ("SERVER_CONNECTIONS_MAX", "16")];
    let hub = Hub::start_with(&["serve"], &settings);
    let body = format!(
        "POST /mcp HTTP/1.1\r\nhost: {}\r\nauthorization: Token {}\r\naccept: application/json, \
         text/event-stream\r\ncontent-type: application/json\r\ncontent-length: 65000\r\n\r\n",
        hub.address,
        hub.key(&crate::support::ALL_ADDONS)
    );
    let finished = ask("/healthz");
    for (sent, is_answered) in
        [("GET / HTTP/1.1\r\nhost: a\r\n", false), (&*body, false), (&*finished, true)]
    {
        let mut held = Vec::new();
        for number in 1..=40 {
            let socket = TcpSocket::new_v4().expect("a socket");
            let source = format!("127.0.1.{number}:0").parse().expect("an address");
            socket.bind(source).expect("all of 127.0.0.0/8 are loopback");
            let address = hub.address.parse().expect("an address");
            let mut stream = socket.connect(address).await.expect("it connects");
            stream.write_all(sent.as_bytes()).await.expect("it takes a part");
            held.push(stream);
            assert_eq!(hub.get("/pricing/").await.status, 200, "{sent:?} {number}");
        }
        // The first is closed.
        let (read, _) = read_all(&mut held[0]).await;
        assert_eq!(!read.is_empty(), is_answered, "{sent:?}");
    }
}

/// Sends a part of a long body, whose request is refused. The client gets the answer, which announces the end of the connection,
/// and no reset.
async fn refused_while_sending(hub: &Hub, path: &str, status: &str) {
    let mut stream = TcpStream::connect(&hub.address).await.expect("it connects");
    let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n");
    stream.write_all(head.as_bytes()).await.expect("it takes a head");
    let sent = stream.write_all(&[b'x'; 48 * 1024]).await;
    let (read, ended) = read_all(&mut stream).await;
    assert!(sent.is_ok() && ended.is_ok(), "{path}: {sent:?}, {ended:?}");
    let read = String::from_utf8_lossy(&read);
    assert!(read.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {read}");
    assert!(read.contains("\r\nconnection: close\r\n"), "{path}: {read}");
}

#[tokio::test]
async fn refusal_arrives_while_the_body_is_still_coming() {
    let hub = Hub::quiet();
    for path in ["/api/v2/webhooks/", "/mcp", "/ingest/v1/nobody", "/nothing/"] {
        refused_while_sending(&hub, path, if path == "/nothing/" { "404" } else { "401" }).await;
    }
}

/// Every route that reads a body, by how it is read.
#[tokio::test]
async fn body_that_does_not_come_gets_408() {
    let settings = [QUIET, ("SERVER_BODY_TIMEOUT_MS", "500"), ("INGEST_BODY_MS", "500")];
    let hub = Hub::start_with(&["serve"], &settings);
    let key = hub.key(&crate::support::ALL_ADDONS);
    let feed_key = hub.feed_key("acme", &[]);
    let json = "application/json";
    let form = "application/x-www-form-urlencoded";
    let routes = [
        ("/mcp", &*key, json),
        ("/tennis/mcp", &*key, json),
        ("/api/v2/webhooks/", &*key, json),
        ("/ingest/v1/acme", &*feed_key, json),
        ("/ingest/v1/acme/", &*feed_key, json),
        ("/oauth/token/", &*key, form),
        ("/oauth/revoke/", &*key, form),
    ];
    let asked = routes.map(async |(path, key, kind)| {
        let mut stream = TcpStream::connect(&hub.address).await.expect("it connects");
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Token {key}\r\n\
             accept: application/json, text/event-stream\r\ncontent-type: {kind}\r\n\
             content-length: 100\r\n\r\nhalf",
            hub.address
        );
        stream.write_all(head.as_bytes()).await.expect("it takes a head");
        let (read, _) = read_all(&mut stream).await;
        let read = String::from_utf8_lossy(&read);
        assert!(read.starts_with("HTTP/1.1 408 "), "{path}: {read}");
        assert!(read.contains("\r\nconnection: close\r\n"), "{path}: {read}");
    });
    join_all(asked).await;
}

#[tokio::test]
async fn idle_connection_is_closed() {
    let settings =
        [QUIET, ("SERVER_HANDSHAKE_TIMEOUT_MS", "1000"), ("SERVER_KEEP_ALIVE_MS", "1000")];
    let hub = Hub::start_with(&["serve"], &settings);
    let whole = "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
    for (begun, status) in [
        (whole, "HTTP/1.1 200"),
        ("", ""),
        ("GET /heal", "HTTP/1.1 408"),
        ("GET /stream/v1 HT", ""),
    ] {
        let mut stream = TcpStream::connect(&hub.address).await.expect("it connects");
        stream.write_all(begun.as_bytes()).await.expect("it takes a piece");
        let (read, _) = read_all(&mut stream).await;
        let read = String::from_utf8_lossy(&read);
        assert!(
            read.starts_with(status) && read.is_empty() == status.is_empty(),
            "{begun:?}: {read}"
        );
        assert_eq!(read.contains("keep-alive: timeout=1\r\n"), begun == whole, "{read}");
    }
}

/// The host that a request claims appears in no response that may be served to others.
#[tokio::test]
async fn forged_host_is_not_cached() {
    let forged = [("x-forwarded-host", "evil.test"), ("x-forwarded-proto", "https")];
    let proxy = ("SERVER_FORWARDED_HEADER", "x-forwarded-for");
    let hub = Hub::shared(&["serve"], &[QUIET, proxy]);
    for path in ["/api/schema/", "/api/schema/?format=yaml", "/api/asyncapi/"] {
        let answer = hub.request("GET", path, &forged).await;
        assert_eq!(answer.header("cache-control"), Some("private, no-store"), "{path}");
        let vary: Vec<_> = answer.headers("vary").collect();
        assert!(vary.join(", ").contains("x-forwarded-host"), "{path}: {vary:?}");
    }
    let refused = hub.request("GET", "/api/v2/events/", &forged).await;
    let register_url = format!("http://{}/register/", hub.address);
    assert_eq!(
        refused.json()["register"],
        register_url,
        "401 names the address that is listened on"
    );

    let hub = Hub::start_with(&["serve"], &[QUIET, proxy, PUBLIC]);
    // Of two hosts neither is believed.
    let both = [&forged[..], &[("host", "evil.test")]].concat();
    assert_eq!(hub.request("GET", "/api/schema/", &both).await.status, 400);
    let headers = forged;
    for path in ["/api/schema/", "/api/schema/?format=yaml", "/api/asyncapi/", "/docs/rest/"] {
        let answer = hub.request("GET", path, &headers).await;
        assert_eq!(answer.status, 200, "{path}");
        assert!(!answer.body.contains("evil.test"), "{path}");
        assert!(answer.body.contains("api.test"), "{path}");
    }
    let schema = hub.get("/api/schema/").await;
    assert_eq!(schema.header("cache-control"), Some("public, max-age=300"));
    let refused = hub.request("GET", "/api/v2/events/", &headers).await;
    assert_eq!(refused.json()["register"], "https://api.test/register/");
    let key = format!("Token {}", hub.key(&[]));
    let headers = [&headers[..], &[("authorization", &*key)]].concat();
    let unpaid = hub.request("GET", "/tennis/api/v2/matches/", &headers).await;
    assert_eq!(
        (unpaid.status, &unpaid.json()["pricing_url"]),
        (402, &"https://api.test/pricing/".into())
    );
}

#[tokio::test]
async fn hsts_is_sent_where_clients_use_tls() {
    let check = async |settings: &[Setting], expected: Option<&str>| {
        let hub = Hub::shared(&["serve"], &[&[QUIET], settings].concat());
        for path in ["/healthz", "/", "/nothing"] {
            let answer = hub.get(path).await;
            assert_eq!(answer.header("strict-transport-security"), expected, "{settings:?} {path}");
        }
    };
    check(&[PUBLIC], Some("max-age=31536000")).await;
    check(&[PUBLIC, ("SERVER_HSTS_DAYS", "0")], None).await;
    check(&[("SERVER_PUBLIC_URL", "https://localhost:8443")], None).await;
    check(&[], None).await;
}

#[tokio::test]
async fn errors_are_pages_for_browsers_and_json_for_programs() {
    let hub = Hub::quiet();
    let long = format!("/{}", "a".repeat(3_000));
    for (method, path, status) in
        [("GET", "/nothing", 404), ("POST", "/pricing/", 405), ("GET", &*long, 414)]
    {
        let page = hub.request(method, path, &[BROWSER]).await;
        assert_eq!(page.status, status, "{path}");
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"), "{path}");
        assert!(page.body.contains(r#"<a href="/">"#), "{path}: no way back in {}", page.body);
        for accept in ["*/*", "application/json"] {
            let answer = hub.request(method, path, &[("accept", accept)]).await;
            assert_eq!((answer.status, answer.json()["status"].clone()), (status, status.into()));
        }
    }
    for path in ["/api/nothing/", "/ingest/v1/nobody", "/stream/v1", "/static/nothing"] {
        let answer = hub.request("GET", path, &[BROWSER]).await;
        assert_eq!(answer.header("content-type"), Some("application/json"), "{path}");
    }
}

#[tokio::test]
async fn icon_and_robots_are_served() {
    let hub = Hub::quiet();
    let icon = raw(&hub.address, "GET", "/favicon.ico", &[]).await;
    assert_eq!((icon.status, icon.header("content-type")), (200, Some("image/x-icon")));
    assert_eq!(icon.body[..6], [0, 0, 1, 0, 1, 0], "one image");
    let offset = u32::from_le_bytes(icon.body[18..22].try_into().expect("four bytes")) as usize;
    assert_eq!(&icon.body[offset..offset + 4], b"\x89PNG");
    let robots = hub.get("/robots.txt").await;
    assert_eq!(
        (robots.status, robots.header("content-type")),
        (200, Some("text/plain; charset=utf-8"))
    );
    assert!(robots.body.contains("Disallow: /api/"));
}

/// Every prefix in the README serves its paths, and each of the addresses exists.
#[tokio::test]
async fn prefixes_answer_an_index() {
    let hub = Hub::quiet();
    let key = format!("Token {}", hub.key(&["sports"]));
    let sports = ["tennis", "csgo", "darts", "hockey", "basketball", "horseracing"];
    let prefixes = sports.map(|sport| format!("/{sport}/api/v2/"));
    for prefix in [&["/api/v2/".to_owned()], &prefixes[..]].concat() {
        assert_eq!(hub.get(&prefix).await.status, 401, "{prefix} without a key");
        let authorization = [("authorization", &*key)];
        let index = hub.request("GET", &prefix, &authorization).await;
        assert_eq!(index.status, 200, "{prefix}");
        let index = index.json();
        let named = index.as_object().expect("an object");
        assert!(named.len() >= 3, "{prefix}: {index}");
        for (name, url) in named {
            let url = url.as_str().expect("an address");
            let path = url.strip_prefix(&format!("http://{}", hub.address)).expect(url);
            assert_eq!(path, format!("{prefix}{name}/"));
            let listed = hub.request("GET", path, &authorization).await;
            assert!([200, 400].contains(&listed.status), "{path}: {}", listed.status);
        }
    }
}

/// A 404 and a 405 do not count as usage, neither as a REST call nor over MCP.
#[tokio::test]
async fn unknown_paths_are_not_counted() {
    let hub = Hub::quiet();
    let key = format!("Token {}", hub.key(&["sports"]));
    let authorization = [("authorization", &*key)];
    let ask = async |path: &str| hub.request("GET", path, &authorization).await;
    for path in ["/mcp/nothing/", "/api/v2/nothing/", "/tennis/api/v2/nothing/"] {
        assert_eq!(ask(path).await.status, 404, "{path}");
    }
    for path in ["/mcp/", "/api/mcp/", "/tennis/mcp/"] {
        assert_eq!(ask(path).await.status, 405, "{path}");
    }
    let total = async || ask("/api/v2/account/").await.json()["usage"]["total"].clone();
    let nothing = total().await;
    assert_eq!((&nothing["calls"], &nothing["mcp_calls"]), (&0.into(), &0.into()), "{nothing}");
    assert_eq!(ask("/tennis/api/v2/matches/").await.status, 200);
    assert_eq!(ask("/api/v2/events/1/").await.status, 404, "a path that is there");
    assert_eq!(total().await["calls"], 2);
}

#[tokio::test]
async fn wrong_feed_keys_are_limited_and_good_ones_are_not() {
    let hub = Hub::start_with(&["serve"], &[QUIET, ("LIMITS_WRONG_KEYS_PER_MINUTE", "4")]);
    let good = hub.feed_key("acme", &[]);
    let push = async |key: &str| {
        let token = format!("Token {key}");
        hub.post("/ingest/v1/acme", &[("authorization", &*token)], b"").await
    };
    assert_eq!(push(&good).await.status, 200);
    let (start, last) = good.split_at(good.len() - 1);
    let other_digits: Vec<_> =
        "01234567".chars().filter(|&digit| !last.starts_with(digit)).collect();
    let mut statuses = Vec::new();
    for number in 0..8 {
        // A well-formed one, and a malformed one.
        let wrong = [format!("{start}{}", other_digits[number / 2]), "nonsense".to_owned()];
        statuses.push(push(&wrong[number % 2]).await.status);
    }
    assert_eq!(statuses, [401, 401, 401, 429, 429, 429, 429, 429], "the good one was a first, too");
    assert_eq!(push(&good).await.status, 200, "it has worked before");
    let refused = push("nonsense").await;
    assert_eq!((refused.json()["code"].as_str(), refused.status), (Some("rate_limited"), 429));
    assert!(refused.header("retry-after").is_some());
}

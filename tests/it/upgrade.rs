//! The two paths of a connection: WebSocket directly from the first request, and through the
//! router.

use tokio::{io::AsyncWriteExt, net::TcpStream};

use crate::support::{Hub, read_until};

/// A valid upgrade request to this path.
fn upgrade(path: &str, key: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         authorization: Token {key}\r\n\r\n"
    )
}

/// A text frame, masked with zeros.
fn frame(text: &str) -> Vec<u8> {
    let length = u8::try_from(text.len()).expect("a short text") | 0x80;
    [&[0x81, length, 0, 0, 0, 0], text.as_bytes()].concat()
}

/// An offer of compressed messages.
const DEFLATE: &str = "sec-websocket-extensions: permessage-deflate";

/// A text frame whose payload is compressed, as a stored block (RFC 7692, 7.2.3.3), masked with zeros.
fn stored(text: &str) -> Vec<u8> {
    let length = u8::try_from(text.len()).expect("a short text");
    let block = [&[0, length, 0, !length, 0xff], text.as_bytes(), &[0]].concat();
    let framed = u8::try_from(block.len()).expect("a short block") | 0x80;
    [&[0xc1, framed, 0, 0, 0, 0], &*block].concat()
}

#[tokio::test]
async fn head_may_arrive_in_pieces_and_with_frames_after_it() {
    let hub = Hub::quiet();
    let request = upgrade("/stream/v1", &hub.key(&["websocket"]));
    let ping = frame(r#"{"op":"ping","id":7}"#);
    for cut in [1, 20, request.len() / 2, request.len() - 1, request.len()] {
        let mut stream = TcpStream::connect(&hub.address).await.expect("it connects");
        let (first, second) = request.as_bytes().split_at(cut);
        stream.write_all(first).await.expect("it takes a piece");
        stream.flush().await.expect("it is sent");
        tokio::task::yield_now().await;
        stream.write_all(&[second, &ping].concat()).await.expect("it takes the rest");
        let seen = read_until(&mut stream, r#""type":"pong","id":7"#).await;
        assert!(seen.starts_with("HTTP/1.1 101 "), "cut at {cut}: {seen}");
        assert!(seen.contains(r#""type":"hello""#), "cut at {cut}: {seen}");
    }
}

#[tokio::test]
async fn socket_may_follow_requests_on_the_same_connection() {
    let hub = Hub::quiet();
    let mut stream = TcpStream::connect(&hub.address).await.expect("it connects");
    let plain = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
    stream.write_all(plain).await.expect("it takes a request");
    read_until(&mut stream, r#"{"status":"ok"}"#).await;
    let request = upgrade("/stream/v1", &hub.key(&["websocket"]));
    let ping = frame(r#"{"op":"ping","id":7}"#);
    stream.write_all(&[request.as_bytes(), &ping].concat()).await.expect("it takes a request");
    read_until(&mut stream, r#""type":"pong","id":7"#).await;
}

/// A request for this path with these fields.
fn get(path: &str, fields: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: x\r\n{fields}\r\n")
}

async fn sent(hub: &Hub, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(&hub.address).await.expect("it connects");
    stream.write_all(request.as_bytes()).await.expect("it takes a request");
    stream
}

/// RFC 9110 and 9112: what odd requests get, from the first byte on. They go to the router.
#[tokio::test]
async fn unusual_requests_get_the_status_of_http() {
    let hub = Hub::quiet();
    let check = async |request: &str, status: &str, fields: &[&str], absent: &[&str]| {
        let seen = read_until(&mut sent(&hub, request).await, "\r\n\r\n").await;
        assert!(seen.starts_with(&format!("HTTP/1.{status} ")), "{request:?}: {seen}");
        for field in fields {
            assert!(seen.contains(&format!("\r\n{field}")), "{request:?} lacks {field}: {seen}");
        }
        for field in absent {
            assert!(!seen.contains(&format!("\r\n{field}")), "{request:?} has {field}: {seen}");
        }
    };
    let close = "connection: close\r\n";
    for (request, status, fields, absent) in [
        // The request line.
        (get("/stream/v1", ""), "1 426", vec!["upgrade: websocket"], vec![]),
        ("GET /stream/v1 nonsense\r\n\r\n".to_owned(), "1 400", vec![close], vec![]),
        ("nonsense\r\n\r\n".to_owned(), "1 400", vec![close], vec![]),
        (get("/healthz", "").replace("GET ", "GET  "), "1 400", vec![close], vec![]),
        (format!("\r\n{}", get("/healthz", "")), "1 200", vec![], vec![]),
        (get("/healthz", "").replace("\r\n", "\n"), "1 200", vec![], vec![]),
        (get("/healthz", "").replace("GET", "get"), "1 501", vec![], vec![]),
        (get("/healthz", "").replace("GET", "BREW"), "1 501", vec![], vec![]),
        (get("/healthz", "").replace("GET", "TRACE"), "1 405", vec!["allow: "], vec![]),
        (get("*", "").replace("GET", "OPTIONS"), "1 204", vec!["allow: GET, HEAD"], vec![]),
        (get("*", ""), "1 400", vec![], vec![]),
        (get("http://x/healthz", ""), "1 200", vec![], vec![]),
        (get("ftp://x/healthz", ""), "1 400", vec![], vec![]),
        (get("http://a@x/healthz", ""), "1 400", vec![], vec![]),
        (get(&format!("/{}", "y".repeat(70_000)), ""), "1 431", vec![close], vec![]),
        // Fields.
        (get("/healthz", "x: a\r\n b\r\n"), "1 400", vec![close], vec![]),
        (get("/healthz", "x : a\r\n"), "1 400", vec![close], vec![]),
        (get("/healthz", ": a\r\n"), "1 400", vec![close], vec![]),
        (get("/healthz", "x: a\rb\r\n"), "1 400", vec![close], vec![]),
        (get("/healthz", "x: a\0b\r\n"), "1 400", vec![close], vec![]),
        (get("/healthz", &"x: y\r\n".repeat(150)), "1 431", vec![close], vec![]),
        (get("/stream/v1", &format!("x: {}\r\n", "y".repeat(20_000))), "1 426", vec![], vec![]),
        (get("/api/v2/leagues/", "expect: 200-ok\r\n"), "1 401", vec!["www-auth"], vec![]),
        // Connections.
        (get("/healthz", ""), "1 200", vec!["keep-alive: timeout="], vec!["connection:"]),
        (get("/healthz", close), "1 200", vec![close], vec!["keep-alive:"]),
        (
            get("/healthz", "connection: keep-alive\r\n").replace("/1.1", "/1.0"),
            "0 200",
            vec!["connection: keep-alive", "keep-alive: timeout="],
            vec![],
        ),
        // HTTP/1.0 needs no host.
        ("GET /healthz HTTP/1.0\r\n\r\n".to_owned(), "0 200", vec![], vec!["keep-alive:"]),
        // Later versions are read as 1.1, and other ones refused.
        (get("/healthz", "").replace("/1.1", "/1.2"), "1 200", vec![close], vec!["keep-alive:"]),
        (get("/healthz", "").replace("/1.1", "/3.0"), "1 505", vec![close], vec![]),
        // Bodies.
        (get("/healthz", "content-length: 1\r\n") + "x", "1 200", vec![], vec![]),
        (get("/healthz", "content-length: 1, 1\r\n"), "1 400", vec![close], vec![]),
        (get("/healthz", "content-length: +1\r\n"), "1 400", vec![close], vec![]),
        (
            get("/healthz", "content-length: 1\r\ncontent-length: 2\r\n"),
            "1 400",
            vec![close],
            vec![],
        ),
        (
            get("/healthz", "content-length: 2\r\ntransfer-encoding: chunked\r\n") + "0\r\n\r\n",
            "1 200",
            vec![close],
            vec![],
        ),
        (get("/healthz", "transfer-encoding: identity\r\n"), "1 400", vec![close], vec![]),
        (
            get("/healthz", "transfer-encoding: gzip, chunked\r\n") + "0\r\n\r\n",
            "1 501",
            vec![],
            vec![],
        ),
        (
            get("/healthz", "transfer-encoding: chunked\r\n").replace("/1.1", "/1.0"),
            "1 400",
            vec![close],
            vec![],
        ),
        // `Expect: 100-continue`: the body is wanted, and it is not.
        (
            get(
                "/oauth/token/",
                "content-type: application/x-www-form-urlencoded\r\ncontent-length: 3\r\n\
                 expect: 100-continue\r\n",
            )
            .replace("GET", "POST"),
            "1 100",
            vec![],
            vec![],
        ),
        (
            get("/mcp", "content-length: 3\r\nexpect: 100-continue\r\n").replace("GET", "POST"),
            "1 401",
            vec![close],
            vec!["keep-alive:"],
        ),
    ] {
        check(&request, status, &fields, &absent).await;
    }
    // Requests that follow each other at once: the answer to HEAD has no body, and chunks have extensions and trailers.
    let head = get("/healthz", "").replace("GET", "HEAD");
    let chunks = get("/healthz", "transfer-encoding: chunked\r\n")
        + "3;x=\"y\"\r\nabc\r\n0\r\nx-sum: 1\r\n\r\n";
    for (first, body) in [(head, ""), (chunks, r#"{"status":"ok"}"#)] {
        let mut stream = sent(&hub, &(first + &get("/nothing", ""))).await;
        let seen = read_until(&mut stream, "HTTP/1.1 404").await;
        let (head, rest) = seen.split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with("HTTP/1.1 200 "), "{seen}");
        assert!(rest.starts_with(&format!("{body}HTTP/1.1 404")), "{seen}");
    }
}

/// RFC 6455, 4.2.1, and RFC 9112, 3.2: the first bytes of the answer to a handshake are its status, also if it is not valid, and
/// whether its body has come or not.
#[tokio::test]
async fn handshakes_are_answered_before_any_frame() {
    let hub = Hub::quiet();
    let valid = upgrade("/stream/v1", &hub.key(&["websocket"]));
    let with =
        |field: &str, body: &str| valid.replace("\r\n\r\n", &format!("\r\n{field}\r\n\r\n")) + body;
    let other = |from: &str, to: &str| valid.replace(from, to);
    for (what, request, status, field) in [
        ("a body that is missing", with("content-length: 5", ""), 400, ""),
        ("a body", with("content-length: 5", "hello"), 400, ""),
        ("chunks that are missing", with("transfer-encoding: chunked", ""), 400, ""),
        ("an empty chunked body", with("transfer-encoding: chunked", "0\r\n\r\n"), 400, ""),
        ("an empty body", with("content-length: 0", ""), 101, "upgrade: websocket"),
        ("HTTP/1.0", other("HTTP/1.1", "HTTP/1.0"), 426, "upgrade: websocket"),
        ("no host", other("host: x\r\n", ""), 400, ""),
        ("two hosts", with("host: y", ""), 400, ""),
        ("POST", other("GET ", "POST "), 405, "allow: GET, HEAD"),
        ("a short key", other("dGhlIHNhbXBsZSBub25jZQ==", "short"), 400, ""),
        ("two keys", with("sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==", ""), 400, ""),
        ("version 8", other("version: 13", "version: 8"), 426, "sec-websocket-version: 13"),
        ("no connection", other("connection: upgrade\r\n", ""), 426, "connection: upgrade"),
        ("no upgrade", other("\nupgrade: websocket\r", "\nx: y\r"), 426, "upgrade: websocket"),
        ("a list", other("n: upgrade", "n: keep-alive, Upgrade"), 101, "upgrade: websocket"),
        ("two fields", with("connection: keep-alive", ""), 101, "upgrade: websocket"),
        ("another case", other(": websocket", ": WebSocket"), 101, "upgrade: websocket"),
        ("two upgrades", other(": websocket", ": h2c, websocket"), 101, "upgrade: websocket"),
        ("a version of it", other(": websocket", ": websocket/13"), 426, "upgrade: websocket"),
        ("a URL", other("/stream/v1", "http://x/stream/v1"), 101, "upgrade: websocket"),
        ("80 fields", with(&["x: y"; 80].join("\r\n"), ""), 101, "upgrade: websocket"),
        ("an extension", with(DEFLATE, ""), 101, "sec-websocket-extensions: permessage-deflate;"),
        ("a wrong window", with(&format!("{DEFLATE}; client_max_window_bits=7"), ""), 101, ""),
    ] {
        let seen = read_until(&mut sent(&hub, &request).await, "\r\n\r\n").await;
        assert_eq!(seen.get(9..12), Some(&*status.to_string()), "{what}: {seen}");
        assert!(seen.contains(field), "{what}: {seen}");
    }
    // The older sockets compress as well, in both directions.
    for path in ["/live/football/", "/ws/live/", "/live/football", "/ws/live"] {
        let offer =
            valid.replace("/stream/v1", path).replace("host: x", &format!("host: x\r\n{DEFLATE}"));
        let mut stream = sent(&hub, &offer).await;
        let seen = read_until(&mut stream, "\r\n\r\n").await;
        assert!(seen.contains("sec-websocket-extensions: permessage-deflate;"), "{path}: {seen}");
        let ping = stored(r#"{"action":"ping"}"#);
        stream.write_all(&ping).await.expect("it takes a frame");
        read_until(&mut stream, r#"{"type":"pong"}"#).await;
    }
}

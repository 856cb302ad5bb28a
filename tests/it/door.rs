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

#[tokio::test]
async fn requests_without_upgrade_go_to_the_router_from_the_first_byte() {
    let hub = Hub::quiet();
    let check = async |request: &str, answer: &str| {
        let mut stream = TcpStream::connect(&hub.address).await.expect("it connects");
        stream.write_all(request.as_bytes()).await.expect("it takes a request");
        let seen = read_until(&mut stream, "\r\n\r\n").await;
        assert!(seen.starts_with(answer), "{request:?}: {seen}");
    };
    check("GET /stream/v1 HTTP/1.1\r\nhost: x\r\n\r\n", "HTTP/1.1 426 ").await;
    check("GET /stream/v1 nonsense\r\n\r\n", "HTTP/1.1 400 ").await;
    check("nonsense\r\n\r\n", "HTTP/1.1 400 ").await;
    let long = format!("GET /stream/v1 HTTP/1.1\r\nhost: x\r\nx: {}\r\n\r\n", "y".repeat(20_000));
    check(&long, "HTTP/1.1 426 ").await;
}

/// RFC 6455, 4.2.1, and RFC 9112, 3.2: the first bytes of the answer to a request that is not a valid handshake are its status,
/// whether its body has come or not.
#[tokio::test]
async fn invalid_handshakes_are_refused_before_any_frame() {
    let hub = Hub::quiet();
    let valid = upgrade("/stream/v1", &hub.key(&["websocket"]));
    let with =
        |field: &str, body: &str| valid.replace("\r\n\r\n", &format!("\r\n{field}\r\n\r\n")) + body;
    let other = |own: &str, other: &str| valid.replace(own, other);
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
    ] {
        let mut stream = TcpStream::connect(&hub.address).await.expect("it connects");
        stream.write_all(request.as_bytes()).await.expect("it takes a request");
        let seen = read_until(&mut stream, "\r\n\r\n").await;
        assert_eq!(seen.get(9..12), Some(&*status.to_string()), "{what}: {seen}");
        assert!(seen.contains(field), "{what}: {seen}");
    }
    // A request of HTTP/1.0 needs no host.
    let mut stream = TcpStream::connect(&hub.address).await.expect("it connects");
    stream.write_all(b"GET /healthz HTTP/1.0\r\n\r\n").await.expect("it takes a request");
    assert!(read_until(&mut stream, "\r\n\r\n").await.starts_with("HTTP/1.0 200"));
}

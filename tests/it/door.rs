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
    let long = format!("GET /stream/v1 HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(20_000));
    check(&long, "HTTP/1.1 426 ").await;
}

//! WebSocket frames that no library sends: endless fragments, and close frames of every kind.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::support::{Client, Hub, PATIENCE, QUIET};

const TEXT: u8 = 0x1;
const CLOSE: u8 = 0x8;
const PING: u8 = 0x9;
const PONG: u8 = 0xa;
const FIN: u8 = 0x80;

/// A short frame, masked with zeros.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).expect("a short payload");
    [&[first, 0x80 | length, 0, 0, 0, 0], payload].concat()
}

/// A socket on the stream, after its `hello`, that is read and written byte by byte.
struct RawSocket {
    stream: TcpStream,
    read: Vec<u8>,
}

impl RawSocket {
    async fn connect(hub: &Hub, key: &str) -> Self {
        let mut stream = TcpStream::connect(&hub.address).await.expect("it connects");
        let request = format!(
            "GET /stream/v1 HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
             sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
             authorization: Token {key}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.expect("it takes a request");
        let mut socket = Self { stream, read: Vec::new() };
        while !socket.read.ends_with(b"\r\n\r\n") {
            let byte = timeout(PATIENCE, socket.stream.read_u8()).await.expect("a head in time");
            socket.read.push(byte.expect("it lasts"));
        }
        socket.read.clear();
        let (opcode, hello) = socket.next().await;
        assert!(opcode == TEXT && hello.starts_with(br#"{"type":"hello""#), "{hello:?}");
        socket
    }

    async fn send(&mut self, bytes: &[u8]) {
        // The hub may have closed already.
        let _sent = self.stream.write_all(bytes).await;
    }

    /// The next frame that is not a beat: its opcode and payload.
    async fn next(&mut self) -> (u8, Vec<u8>) {
        let reading = async {
            loop {
                let (opcode, payload) = self.read_frame().await;
                if !payload.starts_with(br#"{"type":"beat""#) {
                    return (opcode, payload);
                }
            }
        };
        timeout(PATIENCE, reading).await.expect("a frame in time")
    }

    async fn read_frame(&mut self) -> (u8, Vec<u8>) {
        let first = self.stream.read_u8().await.expect("a frame");
        let length = match self.stream.read_u8().await.expect("a length") {
            126 => self.stream.read_u16().await.expect("a length"),
            short => short.into(),
        };
        let mut payload = vec![0; length.into()];
        self.stream.read_exact(&mut payload).await.expect("a payload");
        (first & 0xf, payload)
    }

    async fn close_code(&mut self) -> u16 {
        loop {
            let (opcode, payload) = self.next().await;
            if opcode == CLOSE {
                return u16::from_be_bytes(payload[..2].try_into().expect("a code"));
            }
        }
    }
}

#[tokio::test]
async fn endless_message_is_closed_as_too_large() {
    let hub = Hub::quiet();
    let key = hub.key(&crate::support::ALL_ADDONS);
    for fragment in [&b""[..], b"x", b"a hundred bytes and some more, to reach the limit of bytes"]
    {
        let mut socket = RawSocket::connect(&hub, &key).await;
        let endless = frame(0, fragment).repeat(1_100);
        socket.send(&[frame(TEXT, b""), endless].concat()).await;
        assert_eq!(socket.close_code().await, 4413, "fragments of {} bytes", fragment.len());
    }
}

/// Eight sockets hold an unfinished message with the maximum number of fragments, and send control
/// frames as fast as the hub reads them. They share the shard with an honest client.
#[tokio::test]
async fn client_is_answered_while_others_flood_the_shard() {
    let hub = Hub::start_with(&["serve"], &[QUIET, ("FANOUT_SHARDS", "1")]);
    let key = hub.key(&crate::support::ALL_ADDONS);
    let sent = Arc::new(AtomicU64::new(0));
    let mut floods = Vec::new();
    for _ in 0..8 {
        let mut socket = RawSocket::connect(&hub, &key).await;
        let message = [frame(TEXT, b"x"), frame(0, b"x").repeat(1_000)].concat();
        socket.send(&[message, frame(FIN | PING, b"taken")].concat()).await;
        assert_eq!(socket.next().await, (PONG, b"taken".to_vec()), "pings pass between fragments");
        let sent = Arc::clone(&sent);
        floods.push(tokio::spawn(async move {
            let pongs = frame(FIN | PONG, b"").repeat(4_096);
            while socket.stream.write_all(&pongs).await.is_ok() {
                sent.fetch_add(1, Ordering::Relaxed);
            }
        }));
    }
    let mut client = Client::connect(&hub.address, &key).await;
    client.ask(&json!({"op": "ping", "id": 0})).await;
    let before = sent.load(Ordering::Relaxed);
    let mut id = 0;
    // Until the shard has also read some 16 MB of the floods.
    while sent.load(Ordering::Relaxed) < before + 640 {
        id += 1;
        client.ask(&json!({"op": "ping", "id": id})).await;
    }
    assert!(floods.iter().all(|flood| !flood.is_finished()), "a flood was closed");
    assert!(id >= 20, "{id} answers while 16 MB were read from others");
    floods.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test]
async fn close_frames_are_answered_by_rfc_6455() {
    let hub = Hub::quiet();
    let key = hub.key(&crate::support::ALL_ADDONS);
    let check = async |payload: &[u8], code: u16| {
        let mut socket = RawSocket::connect(&hub, &key).await;
        socket.send(&frame(FIN | CLOSE, payload)).await;
        assert_eq!(socket.close_code().await, code, "{payload:?}");
    };
    check(b"", 1000).await;
    check(&[0x03], 1002).await;
    check(b"\x03\xe8\xc3\x28", 1007).await;
    for code in [1000_u16, 1001, 1011, 1014, 3000, 4999] {
        check(&code.to_be_bytes(), code).await;
    }
    for code in [0_u16, 999, 1004, 1005, 1006, 1015, 2999, 5000] {
        check(&code.to_be_bytes(), 1002).await;
    }
}

//! The commands of a client on the socket, and their responses.

mod limits;
mod messages;
mod subscriptions;

use std::sync::Arc;

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::support::{Client, Hub, QUIET, Setting, feed};

/// Limits that a test reaches.
const LIMITED: [Setting; 4] =
    [QUIET, ("FANOUT_CHANNELS_MAX", "7"), ("FANOUT_PATTERNS_MAX", "2"), ("FANOUT_BEAT_MS", "1234")];

async fn quiet() -> (Arc<Hub>, Client) {
    let hub = Hub::quiet();
    let key = hub.key(&crate::support::ALL_ADDONS);
    let mut client = Client::connect(&hub.address, &key).await;
    client.next_of("hello").await;
    (hub, client)
}

/// The socket still works.
async fn stays_open(client: &mut Client) {
    let pong = client.ask(&json!({"op": "ping", "id": "still there?"})).await;
    assert_eq!(pong["type"], "pong");
}

/// A hub that waits with these lines until a client follows them.
fn held(lines: &[String], settings: &[Setting]) -> (Hub, String) {
    held_at("max", lines, settings)
}

/// The same, played at this speed then.
fn held_at(speed: &str, lines: &[String], settings: &[Setting]) -> (Hub, String) {
    let folder = Arc::new(tempfile::tempdir().expect("a temporary folder"));
    let path = feed::write(folder.path(), "feed.json", lines);
    let path = path.to_str().expect("a path of text");
    let arguments = ["replay", "--speed", speed, "--hold", path];
    let hub = Hub::start_in_with(folder, &arguments, settings);
    let key = hub.key(&crate::support::ALL_ADDONS);
    (hub, key)
}

/// The hub's HTTP image of a channel.
async fn image(hub: &Hub, key: &str, channel: &str) -> Value {
    hub.get(&format!("/stream/v1/channels/{channel}?token={key}")).await.json()
}

#[tokio::test]
async fn hello_comes_first_with_its_fields() {
    let hub = Hub::shared(&["serve"], &LIMITED);
    let mut client = Client::connect(&hub.address, &hub.key(&crate::support::ALL_ADDONS)).await;
    let hello = client.next().await.expect("a frame");
    assert_eq!(hello["type"], "hello");
    assert!(hello["conn"].as_str().is_some_and(|conn| !conn.is_empty()), "{hello}");
    assert_eq!(hello["server"], concat!("matchwire/", env!("CARGO_PKG_VERSION")));
    assert!(hello["now"].as_i64().is_some_and(|now| now > 1_700_000_000_000_000), "{hello}");
    assert_eq!(hello["beat_ms"], 1234);
    let limits =
        json!({"channels": 7, "patterns": 2, "command_bytes": 16384, "from_bytes": 262144});
    assert_eq!(hello["limits"], limits);
}

#[tokio::test]
async fn invalid_commands_are_answered_and_the_socket_stays_open() {
    let (_hub, mut client) = quiet().await;
    let mut check = async |text: &str, id: Value, code: &str| {
        client.send_text(text).await;
        let error = client.next_of("error").await;
        assert_eq!((&error["id"], &error["code"]), (&id, &json!(code)), "{text}: {error}");
        assert_eq!(error["retry"], code == "not_tracked", "{text}: {error}");
        assert!(error["message"].is_string(), "{text}: {error}");
    };
    let long = format!(r#"{{"op":"ping","id":"{}"}}"#, "x".repeat(65));
    for (text, id, code) in [
        ("", Value::Null, "bad_command"),
        ("hello", Value::Null, "bad_command"),
        ("{\"op\":\"ping\"", Value::Null, "bad_command"),
        ("[1]", Value::Null, "bad_command"),
        ("null", Value::Null, "bad_command"),
        ("{}", Value::Null, "bad_command"),
        (r#"{"op":7,"id":1}"#, json!(1), "bad_command"),
        (r#"{"op":"dance","id":2}"#, json!(2), "bad_command"),
        (r#"{"op":"subscribe","id":"a"}"#, json!("a"), "bad_command"),
        (r#"{"op":"subscribe","id":3,"ch":["feeds"]}"#, json!(3), "bad_command"),
        (r#"{"op":"subscribe","id":4,"ch":""}"#, json!(4), "bad_channel"),
        (r#"{"op":"subscribe","id":5,"ch":"football//1"}"#, json!(5), "bad_channel"),
        (r#"{"op":"subscribe","id":6,"ch":"foot ball"}"#, json!(6), "bad_channel"),
        (r#"{"op":"subscribe","id":7,"ch":"football/**"}"#, json!(7), "bad_channel"),
        (r#"{"op":"subscribe","id":8,"ch":"football/nobody"}"#, json!(8), "not_tracked"),
        (r#"{"op":"subscribe","id":9,"ch":"feeds","from":1}"#, json!(9), "bad_command"),
        (
            r#"{"op":"subscribe","id":10,"ch":"feeds","from":{"epoch":"a"}}"#,
            json!(10),
            "bad_command",
        ),
        (r#"{"op":"subscribe","id":11,"ch":"*","from":{"feeds":1}}"#, json!(11), "bad_command"),
        (r#"{"op":"subscribe","id":12,"ch":"feeds","every_ms":7}"#, json!(12), "bad_command"),
        (r#"{"op":"subscribe","id":13,"ch":"feeds","on_slow":"x"}"#, json!(13), "bad_command"),
        (r#"{"op":"subscribe","id":14,"ch":"feeds","lag":"yes"}"#, json!(14), "bad_command"),
        (r#"{"op":"unsubscribe","id":15}"#, json!(15), "bad_command"),
        (r#"{"op":"ping","id":{}}"#, Value::Null, "bad_command"),
        (&long, Value::Null, "bad_command"),
    ] {
        check(text, id, code).await;
    }
    stays_open(&mut client).await;
}

#[tokio::test]
async fn binary_message_is_refused_and_the_socket_stays_open() {
    let (_hub, mut client) = quiet().await;
    client.send_message(Message::binary(br#"{"op":"ping","id":1}"#.to_vec())).await;
    assert_eq!(client.next_of("error").await["code"], "bad_command");
    stays_open(&mut client).await;
}

#[tokio::test]
async fn pong_echoes_the_ping() {
    let (_hub, mut client) = quiet().await;
    for (id, t) in [(json!(1), json!(1.5)), (json!("a"), json!({"any": ["thing"]}))] {
        let pong = client.ask(&json!({"op": "ping", "id": id, "t": t})).await;
        assert_eq!((&pong["type"], &pong["t"]), (&json!("pong"), &t));
        assert!(pong["now"].is_i64(), "{pong}");
    }
    let pong = client.ask(&json!({"op": "ping", "id": 2})).await;
    assert_eq!(pong.get("t"), None);
}

#[tokio::test]
async fn commands_right_after_the_handshake_are_all_executed() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let (hub, _) = quiet().await;
    let key = hub.key(&crate::support::ALL_ADDONS);
    let mut bytes = format!(
        "GET /stream/v1?token={key} HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\n\
         upgrade: websocket\r\nsec-websocket-version: 13\r\n\
         sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    .into_bytes();
    const COUNT: usize = 100;
    for id in 0..COUNT {
        let command = json!({"op": "ping", "id": format!("id-{id}")}).to_string();
        let length = u8::try_from(command.len()).expect("a short command");
        bytes.extend([0x81, 0x80 | length, 0, 0, 0, 0]);
        bytes.extend(command.bytes());
    }
    let mut stream = tokio::net::TcpStream::connect(&hub.address).await.expect("it connects");
    stream.write_all(&bytes).await.expect("it takes all at once");
    let mut seen = Vec::new();
    let last = format!("id-{}", COUNT - 1).into_bytes();
    let reading = async {
        while !seen.windows(last.len()).any(|window| window == last) {
            assert_ne!(stream.read_buf(&mut seen).await.expect("it lasts"), 0, "cut off");
        }
    };
    let read = tokio::time::timeout(crate::support::PATIENCE, reading).await;
    assert!(read.is_ok(), "not all commands were answered: {}", String::from_utf8_lossy(&seen));
}

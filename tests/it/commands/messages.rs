//! WebSocket messages as RFC 6455 has them: sizes, fragments, closing, and broken frames.

use futures_util::StreamExt;
use tokio_tungstenite::tungstenite::{
    Message,
    protocol::frame::{
        CloseFrame, Frame,
        coding::{CloseCode, Data, OpCode},
    },
};

use super::quiet;
use crate::support::{Client, Closed};

#[tokio::test]
async fn message_that_is_too_large_closes_with_4413() {
    let too_large = Closed(Some((4413, "command_too_large".to_owned())));
    let (hub, mut client) = quiet().await;
    client.send_text(&"x".repeat(1 << 20)).await;
    assert_eq!(client.until_closed().await, too_large, "1 MiB");

    let key = hub.key(&crate::support::ALL_ADDONS);
    let mut client = Client::connect(&hub.address, &key).await;
    let part = |opcode| Frame::message(vec![b' '; 10_000], OpCode::Data(opcode), false);
    client.send_message(Message::Frame(part(Data::Text))).await;
    // Longer than a command with positions may be, which shows only at the end of the message.
    for _ in 0..26 {
        client.send_message(Message::Frame(part(Data::Continue))).await;
    }
    assert_eq!(client.until_closed().await, too_large, "27 fragments");

    let mut client = Client::connect(&hub.address, &key).await;
    client.send_bytes(&[0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]).await;
    client.send_bytes(&[0, 0, 0, 0]).await;
    assert_eq!(client.until_closed().await, too_large, "a length of 2^63");

    let mut client = Client::connect(&hub.address, &key).await;
    let padded = format!("{:16384}", r#"{"op":"ping","id":1}"#);
    client.send_text(&padded).await;
    assert_eq!(client.next_of("pong").await["id"], 1, "just as large as is allowed");
}

#[tokio::test]
async fn fragments_make_one_command_with_control_frames_between() {
    let (_hub, mut client) = quiet().await;
    let fragment = |text: &'static str, opcode, last| {
        Message::Frame(Frame::message(text.as_bytes(), OpCode::Data(opcode), last))
    };
    client.send_message(fragment(r#"{"op":"#, Data::Text, false)).await;
    client.send_message(Message::Ping("between".into())).await;
    client.send_message(fragment(r#""ping","#, Data::Continue, false)).await;
    client.send_message(Message::Pong("unasked".into())).await;
    client.send_message(fragment(r#""id":1}"#, Data::Continue, true)).await;
    let is_beat = |message: &Message| {
        message.to_text().is_ok_and(|text| text.starts_with(r#"{"type":"beat""#))
    };
    let mut message = client.socket.next().await.expect("an answer").expect("a frame");
    while is_beat(&message) {
        message = client.socket.next().await.expect("an answer").expect("a frame");
    }
    assert_eq!(message, Message::Pong("between".into()), "a ping is answered at once");
    assert_eq!(client.next_of("pong").await["id"], 1);
}

#[tokio::test]
async fn close_is_answered_in_kind() {
    let (_hub, mut client) = quiet().await;
    let close = CloseFrame { code: CloseCode::Away, reason: "bye".into() };
    client.send_message(Message::Close(Some(close))).await;
    let Closed(Some((code, _))) = client.until_closed().await else {
        panic!("cut off without an answer");
    };
    assert_eq!(code, 1001, "a valid code is echoed");
}

#[tokio::test]
async fn broken_frames_close_with_a_protocol_error() {
    let (hub, _) = quiet().await;
    let key = hub.key(&crate::support::ALL_ADDONS);
    let check = async |what: &str, bytes: &[u8], code: u16| {
        let mut client = Client::connect(&hub.address, &key).await;
        client.send_bytes(bytes).await;
        match client.until_closed().await {
            Closed(Some((found, _))) => assert_eq!(found, code, "{what}"),
            Closed(None) => panic!("{what}: cut off without a close frame"),
        }
    };
    check("unmasked", &[0x81, 0x02, b'{', b'}'], 1002).await;
    check("a reserved bit", &[0xc1, 0x80, 0, 0, 0, 0], 1002).await;
    check("a reserved opcode", &[0x83, 0x80, 0, 0, 0, 0], 1002).await;
    check("a continuation of nothing", &[0x80, 0x80, 0, 0, 0, 0], 1002).await;
    check("a fragmented ping", &[0x09, 0x80, 0, 0, 0, 0], 1002).await;
    check("no UTF-8", &[0x81, 0x82, 0, 0, 0, 0, 0xc3, 0x28], 1007).await;
}

#[tokio::test]
async fn message_inside_another_is_a_protocol_error() {
    let (_hub, mut client) = quiet().await;
    let begun = || Message::Frame(Frame::message("{", OpCode::Data(Data::Text), false));
    client.send_message(begun()).await;
    client.send_message(begun()).await;
    assert!(matches!(client.until_closed().await, Closed(Some((1002, _)))));
}

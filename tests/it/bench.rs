//! The bench port: bare channels, in order and complete, and the echo.

use futures_util::{SinkExt, StreamExt};
use tokio::time::timeout;
use tokio_tungstenite::{
    connect_async,
    tungstenite::{
        Message,
        protocol::frame::{
            Frame,
            coding::{Data, OpCode},
        },
    },
};

use crate::{
    ports::free_ports,
    support::{Hub, PATIENCE, QUIET},
};

const MESSAGES: u32 = 5_000;

fn message(channel: &str, number: u32) -> Message {
    Message::binary(format!("!{channel}{number:010}").into_bytes())
}

/// Text and binary messages are echoed unchanged, with every encoding of the frame length and in
/// fragments.
#[tokio::test]
async fn echo_returns_each_message() {
    let [port] = free_ports();
    let _hub = Hub::start_with(&["serve", "--bench-port", &port.to_string()], &[QUIET]);
    let (mut socket, _) =
        connect_async(format!("ws://127.0.0.1:{port}/echo")).await.expect("it is upgraded");
    let mut check = async |sent: Vec<Message>, expected: Message| {
        for message in sent {
            socket.feed(message).await.expect("it is taken");
        }
        socket.flush().await.expect("it is taken");
        let got = timeout(PATIENCE, socket.next()).await.expect("a message in time");
        let got = got.expect("it stays open").expect("a frame");
        assert!(got == expected, "{} bytes came of {}", got.len(), expected.len());
    };
    for length in [0, 1, 125, 126, 65_535, 65_536, 1 << 20] {
        let text = Message::text("ä".repeat(length / 2));
        check(vec![text.clone()], text).await;
        let binary = Message::binary(vec![0xa5; length]);
        check(vec![binary.clone()], binary).await;
    }
    let fragment = |opcode: Data, is_final| {
        Message::Frame(Frame::message(&b"fragment"[..], OpCode::Data(opcode), is_final))
    };
    let mut sent = vec![fragment(Data::Continue, false); 10_000];
    sent[0] = fragment(Data::Text, false);
    sent[9_999] = fragment(Data::Continue, true);
    check(sent, Message::text("fragment".repeat(10_000))).await;
}

#[tokio::test]
async fn every_message_reaches_the_followers_of_its_channel_in_order() {
    let [port] = free_ports();
    let hub = Hub::start_with(&["serve", "--bench-port", &port.to_string()], &[QUIET]);
    let connect = async |path: &str| {
        connect_async(format!("ws://127.0.0.1:{port}{path}")).await.map(|(socket, _)| socket)
    };
    assert!(connect("/sub/12345").await.is_err(), "five digits");
    assert!(connect("/stream/v1").await.is_err(), "the stream's address");
    let mut readers = Vec::new();
    for channel in ["000001", "000001", "999999"] {
        let mut socket = connect(&format!("/sub/{channel}")).await.expect("it is upgraded");
        readers.push(tokio::spawn(async move {
            for number in 0..MESSAGES {
                let got = timeout(PATIENCE, socket.next()).await.expect("a message in time");
                let got = got.expect("it stays open").expect("a frame");
                assert_eq!(got, message(channel, number), "{channel}");
            }
        }));
    }
    let mut publisher = connect("/pub").await.expect("it is upgraded");
    for nonsense in [&b""[..], b"!00000", b"!00000x."] {
        publisher.feed(Message::binary(nonsense)).await.expect("it is taken");
    }
    for number in 0..MESSAGES {
        for channel in ["000001", "999999", "777777"] {
            publisher.feed(message(channel, number)).await.expect("it is taken");
        }
    }
    publisher.flush().await.expect("it is taken");
    for reader in readers {
        reader.await.expect("all came");
    }
    assert_eq!(hub.metric("matchwire_bench_ignored_total").await, 3.0);
}

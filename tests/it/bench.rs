//! The measuring door: bare channels, in order and complete.

use futures_util::{SinkExt, StreamExt};
use tokio::{net::TcpListener, time::timeout};
use tokio_tungstenite::{connect_async, tungstenite::Message};

use crate::support::{Hub, PATIENCE, QUIET};

const MESSAGES: u32 = 5_000;

fn message(channel: &str, number: u32) -> Message {
    Message::binary(format!("!{channel}{number:010}").into_bytes())
}

/// A port that was free a moment ago.
async fn free_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    listener.local_addr().expect("an address").port().to_string()
}

#[tokio::test]
async fn every_message_reaches_the_followers_of_its_channel_in_order() {
    let port = free_port().await;
    let hub = Hub::start_with(&["serve", "--bench-port", &port], &[QUIET]);
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

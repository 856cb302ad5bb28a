//! The WebSocket source against a server that disconnects, stays silent, and refuses.

use std::{sync::Arc, time::Duration};

use base::{secret::Secret, tls};
use futures_util::{SinkExt, StreamExt};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::PrivateKeyDer;
use sources::websocket::{self, Address, LiveWhen, SocketLimits, WebSocketSettings};
use tokio_rustls::TlsAcceptor;
use tokio_tungstenite::{
    accept_hdr_async,
    tungstenite::{
        Message,
        http::StatusCode,
        protocol::{CloseFrame, frame::coding::CloseCode},
    },
};

use super::socket::{Peer, check_headers, say};
use crate::support::{Listener, Report, SECRET, Small, goals};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn settings(url: &str) -> WebSocketSettings {
    let headers = [("x-key".to_owned(), Secret::from(SECRET.to_owned()))];
    let address = Address::new(url, &headers).expect("an address");
    let trust = tls::client(None).expect("the system has root certificates");
    let limits =
        SocketLimits { backoff_first: ms(10), backoff_most: ms(100), ..SocketLimits::new(trust) };
    let settings = WebSocketSettings::new(address, limits);
    assert!(!format!("{settings:?}").contains(SECRET));
    settings
}

fn start(settings: WebSocketSettings) -> Listener {
    Listener::start(|reports| websocket::run(settings, Box::new(Small), reports))
}

#[tokio::test]
async fn source_subscribes_goes_live_and_resubscribes_after_a_cut() {
    let peer = Peer::start().await;
    let mut settings = settings(&peer.url());
    settings.first = ["log in", "subscribe"].map(|text| Secret::from(text.to_owned())).to_vec();
    let mut listener = start(settings);
    for goals_then in [1, 2] {
        let mut socket = peer.accept().await;
        assert_eq!(socket.next().await.unwrap().unwrap(), Message::text("log in"));
        assert_eq!(socket.next().await.unwrap().unwrap(), Message::text("subscribe"));
        assert_eq!(listener.next().await, Report::Recovering);
        say(&mut socket, &format!(r#"{{"goals":{goals_then}}}"#)).await;
        assert_eq!(goals(&[listener.next().await]), [goals_then]);
        say(&mut socket, r#"{"signal":"fresh"}"#).await;
        assert_eq!(listener.next().await, Report::Live);
        // Dropped without a closing handshake, as by a crash.
        drop(socket);
        let (before, why) = listener.until_down().await;
        assert_eq!(before, []);
        assert!(why.starts_with("the connection broke"), "{why}");
    }
    listener.stop().await;
}

#[tokio::test]
async fn lines_of_a_frame_are_messages_and_the_first_may_go_live() {
    let peer = Peer::start().await;
    let mut settings = settings(&peer.url());
    settings.lines = true;
    settings.live = LiveWhen::FirstMessage;
    let mut listener = start(settings);
    let mut socket = peer.accept().await;
    say(&mut socket, "{\"goals\":1}\r\nnot JSON\n\n{\"goals\":2}\n").await;
    let reports = listener.until_live().await;
    assert_eq!(goals(&reports), [1, 2]);
    let refused: Vec<_> = reports
        .iter()
        .filter_map(|report| match report {
            Report::Refused(refusal) => Some((refusal.location.line, refusal.bytes.as_slice())),
            _ => None,
        })
        .collect();
    assert_eq!(refused, [(2, b"not JSON".as_slice())]);
    listener.stop().await;
}

#[tokio::test]
async fn peer_that_does_not_answer_pings_is_disconnected() {
    let peer = Peer::start().await;
    let mut settings = settings(&peer.url());
    settings.limits.silence = ms(1000);
    let mut listener = start(settings);
    let mut socket = peer.accept().await;
    assert_eq!(listener.next().await, Report::Recovering);
    // The library answers pings while the connection is read.
    assert_eq!(socket.next().await.unwrap().unwrap(), Message::Ping(Default::default()));
    socket.flush().await.unwrap();
    assert_eq!(listener.next().await, Report::Heartbeat);
    let (_, why) = listener.until_down().await;
    assert_eq!(why, "nothing was heard for 1s");
    let _again = peer.accept().await;
    assert_eq!(listener.next().await, Report::Recovering);
    listener.stop().await;
}

#[tokio::test]
async fn close_reason_of_the_peer_is_reported() {
    let peer = Peer::start().await;
    let mut settings = settings(&peer.url());
    settings.limits.message_bytes_max = 1000;
    let mut listener = start(settings);

    let mut socket = peer.accept().await;
    let frame = CloseFrame { code: CloseCode::Restart, reason: "moving house".into() };
    socket.close(Some(frame)).await.unwrap();
    assert_eq!(listener.until_down().await.1, "closed with 1012 moving house");

    let mut socket = peer.accept().await;
    say(&mut socket, &" ".repeat(1001)).await;
    assert_eq!(listener.until_down().await.1, "a message of 1001 bytes is longer than 1000");

    peer.refuse(StatusCode::SERVICE_UNAVAILABLE).await;
    assert_eq!(listener.until_down().await.1, "answered 503");
    listener.stop().await;
}

#[tokio::test]
async fn a_peer_that_denies_access_is_retried_rarely() {
    let peer = Peer::start().await;
    let mut settings = settings(&peer.url());
    settings.limits.backoff_most = ms(700);
    let mut listener = start(settings);
    let first = peer.refuse(StatusCode::UNAUTHORIZED).await;
    assert_eq!(listener.until_down().await.1, "access was denied: answered 401");
    let waited = peer.refuse(StatusCode::FORBIDDEN).await - first;
    assert!(waited >= ms(700), "{waited:?}");
    listener.stop().await;
}

#[tokio::test]
async fn source_reconnects_to_a_killed_peer() {
    let peer = Peer::start().await;
    let (url, port) = (peer.url(), peer.addr.port());
    let mut listener = start(settings(&url));
    let socket = peer.accept().await;
    assert_eq!(listener.next().await, Report::Recovering);
    drop((socket, peer));
    let refused = listener.until(|report| format!("{report:?}").contains("cannot connect")).await;
    assert!(refused.len() > 1, "the lost connection was reported first");
    let peer = Peer::start_on(port).await;
    let mut socket = peer.accept().await;
    say(&mut socket, r#"{"goals":4,"signal":"fresh"}"#).await;
    assert_eq!(goals(&listener.until_live().await), [4]);
    listener.stop().await;
}

#[tokio::test]
async fn only_the_configured_certificate_authority_is_trusted() {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let peer = Peer::start().await;
    let url = format!("wss://localhost:{}/live?key={SECRET}", peer.addr.port());

    let mut stranger = start(settings(&url));
    let (stream, _) = peer.listener.accept().await.unwrap();
    acceptor.accept(stream).await.expect_err("the certificate is not trusted");
    let why = stranger.until_down().await.1;
    assert!(why.starts_with("cannot connect: invalid peer certificate"), "{why}");
    stranger.stop().await;

    let pem = std::env::temp_dir().join(format!("matchwire-live-{}.pem", std::process::id()));
    std::fs::write(&pem, cert.pem()).unwrap();
    let mut trusting = settings(&url);
    trusting.limits.tls = tls::client(Some(&pem)).unwrap();
    std::fs::remove_file(&pem).unwrap();
    let mut listener = start(trusting);
    let (stream, _) = peer.listener.accept().await.unwrap();
    let stream = acceptor.accept(stream).await.expect("the certificate is trusted");
    let mut socket = accept_hdr_async(stream, check_headers).await.unwrap();
    say(&mut socket, r#"{"goals":1,"signal":"fresh"}"#).await;
    assert_eq!(goals(&listener.until_live().await), [1]);
    listener.stop().await;
}

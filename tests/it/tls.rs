//! The hub's own TLS: the same pages and the same sockets.

use std::{fs, path::Path, sync::Arc};

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{ClientConfig, RootCertStore, crypto::ring, pki_types::CertificateDer},
};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Message, client::IntoClientRequest},
};

use crate::support::{Hub, QUIET, program, until};

/// A certificate for `localhost` and its key, as files of the folder.
struct Identity {
    certificate: String,
    key: String,
    der: CertificateDer<'static>,
}

fn identity(folder: &Path, name: &str) -> Identity {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let write = |ending: &str, text: String| {
        let path = folder.join(format!("{name}.{ending}"));
        fs::write(&path, text).expect("a file");
        path.to_str().expect("a path of text").to_owned()
    };
    Identity {
        certificate: write("pem", made.cert.pem()),
        key: write("key", made.signing_key.serialize_pem()),
        der: made.cert.der().clone(),
    }
}

async fn connect(hub: &Hub, identity: &Identity) -> TlsStream<TcpStream> {
    connect_trusting(hub, &[identity]).await
}

async fn connect_trusting(hub: &Hub, trusted: &[&Identity]) -> TlsStream<TcpStream> {
    let mut roots = RootCertStore::empty();
    for identity in trusted {
        roots.add(identity.der.clone()).expect("a root");
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let tcp = TcpStream::connect(&hub.address).await.expect("it connects");
    let name = "localhost".try_into().expect("a name");
    let connected = TlsConnector::from(Arc::new(config)).connect(name, tcp).await;
    connected.expect("a handshake")
}

/// One request through the router, and the next one on the same connection.
async fn page(stream: &mut TlsStream<TcpStream>) -> String {
    let request = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    stream.write_all(request).await.expect("it takes a request");
    let mut seen = Vec::new();
    while !seen.ends_with(b"}") {
        assert_ne!(stream.read_buf(&mut seen).await.expect("it lasts"), 0, "cut off");
    }
    String::from_utf8(seen).expect("text")
}

type Socket = WebSocketStream<TlsStream<TcpStream>>;

/// An upgrade on the connection.
async fn upgrade(stream: TlsStream<TcpStream>, key: &str) -> Socket {
    let mut request = "wss://localhost/stream/v1".into_client_request().expect("a URL");
    let value = format!("Token {key}").parse().expect("a header's value");
    request.headers_mut().insert("authorization", value);
    let (mut socket, _) = client_async(request, stream).await.expect("it is upgraded");
    assert_eq!(next(&mut socket).await["type"], "hello");
    socket
}

async fn send(socket: &mut Socket, command: Value) {
    socket.send(Message::text(command.to_string())).await.expect("it takes a command");
}

async fn next(socket: &mut Socket) -> Value {
    let message = socket.next().await.expect("a message").expect("a frame");
    serde_json::from_str(message.to_text().expect("text")).expect("JSON")
}

/// An upgrade on the connection, and a command with its response.
async fn socket(stream: TlsStream<TcpStream>, key: &str) {
    let mut socket = upgrade(stream, key).await;
    send(&mut socket, json!({"op": "ping", "id": 1})).await;
    assert_eq!(next(&mut socket).await["type"], "pong");
}

#[tokio::test]
async fn page_and_sockets_are_served_over_tls() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let pair = identity(folder.path(), "own");
    let arguments = ["serve", "--tls-certificate", &pair.certificate, "--tls-key", &pair.key];
    let hub = Hub::start_with(&arguments, &[QUIET]);
    let key = hub.key(&["websocket"]);

    socket(connect(&hub, &pair).await, &key).await;
    let mut stream = connect(&hub, &pair).await;
    assert!(page(&mut stream).await.ends_with(r#"{"status":"ok"}"#));
    socket(stream, &key).await;

    // A plain HTTP client gets no plain-text response.
    let mut plain = TcpStream::connect(&hub.address).await.expect("it connects");
    plain.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.expect("it takes a request");
    let mut seen = Vec::new();
    plain.read_to_end(&mut seen).await.ok();
    assert!(!seen.starts_with(b"HTTP"));

    // The certificate is not for this address, which the hub's own probe does not mind.
    let options =
        ["--listen", &hub.address, "--tls-certificate", &pair.certificate, "--tls-key", &pair.key];
    let probe = program().arg("probe").args(options).output().expect("it runs");
    assert!(probe.status.success(), "{}", String::from_utf8_lossy(&probe.stderr));
}

#[tokio::test]
async fn reader_over_tls_follows_at_a_rate() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let pair = identity(folder.path(), "own");
    let load = ["serve", "--bench-rate", "1000", "--bench-channels", "2"];
    let tls = ["--tls-certificate", &pair.certificate, "--tls-key", &pair.key];
    let hub = Hub::start(&[&load[..], &tls].concat());
    let mut socket = upgrade(connect(&hub, &pair).await, &hub.said("demo key").await).await;
    let pattern = hub.said("channels").await;
    send(&mut socket, json!({"op": "subscribe", "id": 1, "ch": pattern, "every_ms": 100})).await;
    let mut merged = 0;
    while merged < 10 {
        let frame = next(&mut socket).await;
        let span = frame["seq"].as_u64().zip(frame["prev"].as_u64()).map(|(seq, prev)| seq - prev);
        if frame["type"] == "update" && frame["why"] == "rate" {
            assert_eq!(frame["n"].as_u64(), span, "{frame}");
            merged += 1;
        }
    }
}

#[test]
fn unusable_certificate_fails_the_start() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (pair, other) = (identity(folder.path(), "own"), identity(folder.path(), "other"));
    let db = folder.path().join("hub.db");
    let check = |certificate: &str, key: &str, words: &str| {
        let output = program()
            .args(["serve", "--listen", "127.0.0.1:0", "--db"])
            .arg(&db)
            .args(["--tls-certificate", certificate, "--tls-key", key])
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(words), "{said}");
    };
    check("missing.pem", &pair.key, "no certificate can be read from missing.pem");
    check(&pair.key, &pair.key, "no certificate can be read from");
    check(&pair.certificate, "missing.key", "no private key can be read from missing.key");
    check(&pair.certificate, &pair.certificate, "no private key can be read from");
    check(&pair.certificate, &other.key, "cannot be used with the key");
}

/// The certificate that a new connection is shown.
async fn shown(hub: &Hub, roots: &[&Identity]) -> CertificateDer<'static> {
    let stream = connect_trusting(hub, roots).await;
    let (_, session) = stream.get_ref();
    session.peer_certificates().expect("a certificate")[0].clone().into_owned()
}

/// Replaces the certificate files of a hub, the key first. `signal`: whether a signal makes the hub read them.
async fn renew(watch_ms: &'static str, signal: bool) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [pair, renewed] = ["own", "renewed"].map(|name| identity(folder.path(), name));
    let roots = [&pair, &renewed];
    let arguments = ["serve", "--tls-certificate", &pair.certificate, "--tls-key", &pair.key];
    let hub = Hub::start_with(&arguments, &[QUIET, ("TLS_WATCH_MS", watch_ms)]);
    let mut open = connect(&hub, &pair).await;
    page(&mut open).await;

    // A key without its certificate is not used.
    fs::copy(&renewed.key, &pair.key).expect("a copy");
    if signal {
        hub.signal("-HUP");
        hub.until_printed("not reloaded: all settings stay as they are").await;
    } else {
        hub.until_printed("the one before stays in use").await;
    }
    assert_eq!(shown(&hub, &roots).await, pair.der);

    fs::copy(&renewed.certificate, &pair.certificate).expect("a copy");
    if signal {
        hub.signal("-HUP");
    }
    until("the new certificate", async || shown(&hub, &roots).await == renewed.der).await;
    // Connections that are open stay.
    assert!(page(&mut open).await.ends_with(r#"{"status":"ok"}"#));
}

#[tokio::test]
async fn renewed_certificate_is_used_for_new_connections() {
    renew("20", false).await;
}

#[tokio::test]
async fn reload_takes_a_renewed_certificate() {
    renew("0", true).await;
}

//! The hub behind the proxies of `examples/`, each the real program with the shipped file: only
//! addresses, ports and paths are replaced.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use futures_util::{SinkExt, StreamExt, future::join_all};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{sleep, timeout},
};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{ClientConfig, RootCertStore, crypto::ring, pki_types::CertificateDer},
};
use tokio_tungstenite::{
    client_async,
    tungstenite::{Message, client::IntoClientRequest},
};

use crate::{
    ports::free_ports,
    support::{Hub, PATIENCE, QUIET},
};

/// The name in the files.
const NAME: &str = "api.example.org";

/// A running proxy, stopped on drop.
struct Proxy {
    process: Child,
    port: u16,
    authority: CertificateDer<'static>,
    _folder: tempfile::TempDir,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let pid = self.process.id().to_string();
        // An orderly stop, so that its workers stop as well.
        Command::new("kill").args(["-TERM", &pid]).status().ok();
        self.process.wait().ok();
    }
}

/// The program of Debian's package; `None`, with a message, if it is not installed.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn installed(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from("/usr/sbin").join(name);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: {name} is not installed");
    None
}

/// The shipped file with these replacements, each of which must apply.
fn changed(file: &str, changes: &[(&str, &str)]) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(file);
    let mut text = fs::read_to_string(path).expect("an example");
    for (from, to) in changes {
        assert!(text.contains(from), "{file} has no {from:?}");
        text = text.replace(from, to);
    }
    text
}

impl Proxy {
    async fn nginx(hub: &Hub) -> Option<Self> {
        let program = installed("nginx")?;
        Some(
            Self::start(&program, |folder, plain, secure| {
                let at = |name: &str| folder.join(name).display().to_string();
                let listen = |port: u16| format!("listen 127.0.0.1:{port}");
                let text = changed(
                    "nginx.conf",
                    &[
                        ("listen 80", &listen(plain)),
                        ("listen 443", &listen(secure)),
                        ("127.0.0.1:8080;", &format!("{};", hub.address)),
                        ("/etc/ssl/matchwire/fullchain.pem", &at("chain.pem")),
                        ("/etc/ssl/matchwire/privkey.pem", &at("key.pem")),
                        ("/run/nginx.pid", &at("pid")),
                        ("/var/log/nginx/error.log", &at("error.log")),
                        ("/var/log/nginx/access.log", &at("access.log")),
                        ("worker_processes auto", "worker_processes 1"),
                        ("worker_rlimit_nofile 200000;", ""),
                        ("worker_connections 65536", "worker_connections 256"),
                    ],
                );
                fs::write(folder.join("nginx.conf"), text).expect("it is written");
                let rest = "daemon off;";
                vec!["-p".into(), at(""), "-c".into(), at("nginx.conf"), "-g".into(), rest.into()]
            })
            .await,
        )
    }

    async fn haproxy(hub: &Hub) -> Option<Self> {
        let program = installed("haproxy")?;
        let proxy = Self::start(&program, |folder, plain, secure| {
            let at = |name: &str| folder.join(name).display().to_string();
            let text = changed(
                "haproxy.cfg",
                &[
                    ("bind :80", &format!("bind 127.0.0.1:{plain}")),
                    ("bind :443", &format!("bind 127.0.0.1:{secure}")),
                    ("127.0.0.1:8080", &hub.address),
                    ("/etc/ssl/matchwire/all.pem", &at("all.pem")),
                    ("log /dev/log local0", "log stderr format raw local0"),
                    ("maxconn 100000", "maxconn 256"),
                    ("option httpchk", "option log-health-checks\n    option httpchk"),
                ],
            );
            fs::write(folder.join("haproxy.cfg"), text).expect("it is written");
            vec!["-W".into(), "-db".into(), "-f".into(), at("haproxy.cfg")]
        })
        .await;
        // Until its first check has passed, one that fails takes the hub out.
        let passed = async {
            let is_up = |line: &str| line.contains(" succeeded, ") && line.ends_with(" UP.");
            while !proxy.said().lines().any(is_up) {
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(PATIENCE, passed).await.expect("the hub is ready");
        Some(proxy)
    }

    /// What it has logged.
    fn said(&self) -> String {
        fs::read_to_string(self._folder.path().join("said")).unwrap_or_default()
    }

    /// Starts it, and waits until it responds.
    async fn start(program: &Path, set_up: impl Fn(&Path, u16, u16) -> Vec<String>) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let made = rcgen::generate_simple_self_signed([NAME.to_owned()]).expect("a certificate");
        let (chain, key) = (made.cert.pem(), made.signing_key.serialize_pem());
        for (name, text) in
            [("chain.pem", &chain), ("key.pem", &key), ("all.pem", &format!("{chain}{key}"))]
        {
            fs::write(folder.path().join(name), text).expect("it is written");
        }
        let [plain, port] = free_ports();
        let arguments = set_up(folder.path(), plain, port);
        let log = fs::File::create(folder.path().join("said")).expect("a file");
        let process = Command::new(program)
            .args(&arguments)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a file"))
            .stderr(log)
            .spawn()
            .expect("the proxy starts");
        let authority = made.cert.der().clone();
        let mut proxy = Self { process, port, authority, _folder: folder };
        let answering = async {
            while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
                let ended = proxy.process.try_wait().expect("its state can be read");
                let said = fs::read_to_string(proxy._folder.path().join("said"));
                assert!(ended.is_none(), "the proxy ended: {said:?}");
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(PATIENCE, answering).await.expect("the proxy answers");
        proxy
    }

    /// A TLS connection with this server name.
    async fn connect(&self, name: &str) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(self.authority.clone()).expect("a root");
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let tcp = TcpStream::connect(("127.0.0.1", self.port)).await?;
        let name = name.to_owned().try_into().expect("a name");
        TlsConnector::from(Arc::new(config)).connect(name, tcp).await
    }

    /// The status and the body of one request.
    async fn get(&self, path: &str, host: &str, headers: &[(&str, &str)]) -> (u16, String) {
        let mut stream = self.connect(NAME).await.expect("a handshake");
        let fields: String =
            headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{fields}\r\n");
        stream.write_all(request.as_bytes()).await.expect("it takes a request");
        let mut seen = Vec::new();
        timeout(PATIENCE, stream.read_to_end(&mut seen)).await.expect("an answer").ok();
        let seen = String::from_utf8_lossy(&seen).into_owned();
        let status = seen.split(' ').nth(1).and_then(|status| status.parse().ok());
        let body = seen.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        (status.unwrap_or(0), body.to_owned())
    }

    async fn socket(&self, key: &str) {
        let mut request = format!("wss://{NAME}/stream/v1").into_client_request().expect("a URL");
        let value = format!("Token {key}").parse().expect("a header's value");
        request.headers_mut().insert("authorization", value);
        let stream = self.connect(NAME).await.expect("a handshake");
        let (mut socket, _) = client_async(request, stream).await.expect("it is upgraded");
        let ping = json!({"op": "ping", "id": 1}).to_string();
        socket.send(Message::text(ping)).await.expect("it takes a command");
        for expected in ["hello", "pong"] {
            let message = timeout(PATIENCE, socket.next()).await.expect("a frame in time");
            let message = message.expect("a message").expect("a frame");
            let frame: Value =
                serde_json::from_str(message.to_text().expect("text")).expect("JSON");
            assert_eq!(frame["type"], expected);
        }
    }
}

fn hub() -> Hub {
    let settings = [
        QUIET,
        ("SERVER_PUBLIC_URL", "https://api.example.org"),
        ("SERVER_FORWARDED_HEADER", "x-forwarded-for"),
        ("SERVER_TRUSTED_PROXIES", "127.0.0.1, ::1"),
        ("LIMITS_ADDRESS_PER_SECOND", "1"),
        ("LIMITS_ADDRESS_BURST", "3"),
    ];
    Hub::start_with(&["serve"], &settings)
}

async fn check(hub: &Hub, proxy: &Proxy) {
    let key = hub.key(&["websocket"]);
    proxy.socket(&key).await;
    let authorization = format!("Token {key}");
    let (status, body) =
        proxy.get("/api/v2/account/", NAME, &[("authorization", &authorization)]).await;
    assert_eq!(status, 200, "{body}");
    let (status, body) = proxy.get("/", NAME, &[]).await;
    assert!(status == 200 && body.contains("</html>"), "{status} {body}");

    // Each request claims another address, and would otherwise never be rate-limited.
    let statuses = join_all((0..20).map(async |number| {
        let forged = format!("203.0.113.{number}");
        let headers = [("x-forwarded-for", &*forged), ("x-real-ip", &*forged)];
        proxy.get("/api/v2/events/", NAME, &headers).await.0
    }))
    .await;
    let waiting = statuses.iter().filter(|status| **status == 429).count();
    assert!(waiting >= 8, "a client chooses its own address: {statuses:?}");

    let (status, _) = proxy.get("/healthz", "evil.test", &[]).await;
    assert_ne!(status, 200, "another name reaches the hub");
    let headers = [("x-forwarded-host", "evil.test")];
    let (_, schema) = proxy.get("/api/schema/", NAME, &headers).await;
    assert!(!schema.contains("evil.test"));
}

#[tokio::test]
#[ignore = "needs nginx: make test-systems runs it"]
async fn nginx_passes_rest_and_sockets_on_and_no_forged_address() {
    let hub = hub();
    let Some(proxy) = Proxy::nginx(&hub).await else { return };
    check(&hub, &proxy).await;
}

#[tokio::test]
#[ignore = "needs HAProxy: make test-systems runs it"]
async fn haproxy_passes_rest_and_sockets_on_and_no_forged_address() {
    let hub = hub();
    let Some(proxy) = Proxy::haproxy(&hub).await else { return };
    check(&hub, &proxy).await;
}

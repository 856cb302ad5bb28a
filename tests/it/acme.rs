//! A certificate from an authority: Pebble, the test server of Let's Encrypt, with a DNS server that finds every name here.

use std::{
    fs,
    net::Ipv4Addr,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
};

use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, ServerName, pem::PemObject},
    },
};

use crate::{
    ports::free_ports,
    support::{Hub, QUIET, until},
};

/// The authority, and the ports of all that belongs to it. It ends when this is dropped.
struct Authority {
    folder: TempDir,
    dns: u16,
    port: u16,
    management: u16,
    /// Where it checks names.
    checked: u16,
    management_certificate: CertificateDer<'static>,
    processes: Vec<Child>,
}

impl Drop for Authority {
    fn drop(&mut self) {
        for process in &mut self.processes {
            process.kill().ok();
            process.wait().ok();
        }
    }
}

impl Authority {
    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    async fn start_or_skipped() -> Option<Self> {
        if !Path::new("/usr/bin/pebble").exists() {
            eprintln!("skipped: pebble is not here");
            return None;
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        let [dns, port, management, checked] = free_ports();
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let certificate = rcgen::generate_simple_self_signed(names).expect("a certificate");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("own.pem"), certificate.cert.pem()).expect("a file");
        fs::write(path("own.key"), certificate.signing_key.serialize_pem()).expect("a file");
        let settings = serde_json::json!({ "pebble": {
            "listenAddress": format!("127.0.0.1:{port}"),
            "managementListenAddress": format!("127.0.0.1:{management}"),
            "certificate": path("own.pem"),
            "privateKey": path("own.key"),
            "httpPort": 1,
            "tlsPort": checked,
        } });
        fs::write(path("pebble.json"), settings.to_string()).expect("a file");
        let resolver = start(
            Command::new("pebble-challtestsrv")
                .args(["-dns01", &format!("127.0.0.1:{dns}"), "-defaultIPv6", ""])
                .args(["-http01", "", "-https01", "", "-tlsalpn01", "", "-management", ""]),
        );
        let management_certificate = certificate.cert.der().clone();
        let mut authority = Self {
            folder,
            dns,
            port,
            management,
            checked,
            management_certificate,
            processes: vec![resolver],
        };
        authority.start_pebble().await;
        Some(authority)
    }

    async fn start_pebble(&mut self) {
        let pebble = start(
            Command::new("pebble")
                .args(["-dnsserver", &format!("127.0.0.1:{}", self.dns), "-config"])
                .arg(self.folder.path().join("pebble.json"))
                .env("PEBBLE_VA_NOSLEEP", "1")
                // Reusing what was proved would leave the second name unchecked.
                .env("PEBBLE_AUTHZREUSE", "0"),
        );
        self.processes.push(pebble);
        for port in [self.port, self.management] {
            let address = (Ipv4Addr::LOCALHOST, port);
            until("the authority", async || TcpStream::connect(address).await.is_ok()).await;
        }
    }

    /// Starts it again: its accounts are gone, and it signs with another root.
    async fn forget_all(&mut self) {
        let mut pebble = self.processes.pop().expect("it was started last");
        pebble.kill().expect("it runs");
        pebble.wait().expect("it ends");
        self.start_pebble().await;
    }

    /// The root of what it signs.
    async fn root(&self) -> CertificateDer<'static> {
        let stream = connect(self.management, "localhost", &self.management_certificate).await;
        let mut stream = stream.expect("a handshake");
        let request = b"GET /roots/0 HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        stream.write_all(request).await.expect("it takes a request");
        let mut seen = Vec::new();
        // It may close without the end of TLS.
        stream.read_to_end(&mut seen).await.ok();
        CertificateDer::from_pem_slice(&seen).expect("a certificate")
    }

    /// A hub that listens on this port and wants a certificate for these names.
    fn hub(&self, port: u16, folder: &Arc<TempDir>, domains: &'static str) -> Hub {
        let text = |text: String| -> &'static str { text.leak() };
        let settings = [
            QUIET,
            ("ACME_DOMAINS", domains),
            ("ACME_EMAIL", "operator@example.org"),
            ("ACME_DIRECTORY", text(format!("https://localhost:{}/dir", self.port))),
            ("ACME_AUTHORITY", text(self.folder.path().join("own.pem").display().to_string())),
        ];
        let listen = format!("127.0.0.1:{port}");
        Hub::start_at(&listen, Arc::clone(folder), &["serve"], &settings)
    }
}

fn start(command: &mut Command) -> Child {
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts")
}

/// A connection to this port that trusts only this root.
async fn connect(
    port: u16,
    name: &'static str,
    root: &CertificateDer<'static>,
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(root.clone()).expect("a root");
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let tcp = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    let name = ServerName::try_from(name).expect("a name");
    TlsConnector::from(Arc::new(config)).connect(name, tcp).await
}

/// The certificate that is shown for this name, if it is one of this root.
async fn shown(
    port: u16,
    name: &'static str,
    root: &CertificateDer<'static>,
) -> Option<CertificateDer<'static>> {
    let stream = connect(port, name, root).await.ok()?;
    let (_, session) = stream.get_ref();
    Some(session.peer_certificates()?[0].clone().into_owned())
}

#[tokio::test]
#[ignore = "needs Pebble: make test-systems runs it"]
async fn certificate_is_obtained_kept_and_refused_for_names_of_others() {
    let Some(authority) = Authority::start_or_skipped().await else { return };
    let root = authority.root().await;
    let folder = Arc::new(tempfile::tempdir().expect("a temporary folder"));
    let port = authority.checked;
    let mut hub = authority.hub(port, &folder, "one.test, two.test");
    until("a certificate", async || shown(port, "one.test", &root).await.is_some()).await;
    let first = shown(port, "two.test", &root).await.expect("it is for both names");
    hub.until_printed("a certificate was obtained").await;
    for file in ["account.json", "certificate.pem"] {
        let path = format!("{}-acme/{file}", hub.db());
        let mode = fs::metadata(&path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{path}");
    }

    // A name that leads to another hub than the one that asks.
    let [elsewhere] = free_ports();
    let other = Arc::new(tempfile::tempdir().expect("a temporary folder"));
    let other = authority.hub(elsewhere, &other, "three.test");
    other.until_printed("the authority did not confirm three.test").await;
    assert_eq!(shown(elsewhere, "three.test", &root).await, None);
    drop(other);

    // After a restart it is there at once, and is the same.
    assert_eq!(hub.stop(), Some(0));
    let hub = authority.hub(port, &folder, "one.test, two.test");
    assert_eq!(shown(port, "one.test", &root).await, Some(first));
    drop(hub);
    // Other names take another one.
    let _hub = authority.hub(port, &folder, "four.test");
    until("another certificate", async || shown(port, "four.test", &root).await.is_some()).await;
}

#[tokio::test]
#[ignore = "needs Pebble: make test-systems runs it"]
async fn account_that_the_authority_no_longer_knows_is_replaced() {
    let Some(mut authority) = Authority::start_or_skipped().await else { return };
    let folder = Arc::new(tempfile::tempdir().expect("a temporary folder"));
    let port = authority.checked;
    let mut hub = authority.hub(port, &folder, "one.test");
    hub.until_printed("a certificate was obtained").await;
    assert_eq!(hub.stop(), Some(0));
    let account = format!("{}-acme/account.json", hub.db());
    let forgotten = fs::read(&account).expect("an account");
    authority.forget_all().await;
    let root = authority.root().await;
    let _hub = authority.hub(port, &folder, "two.test");
    until("a certificate", async || shown(port, "two.test", &root).await.is_some()).await;
    assert_ne!(fs::read(&account).expect("an account"), forgotten);
}

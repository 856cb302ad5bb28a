//! `[server]` and `[tls]`: the listener.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
};

use base::config::Network;
use database::DatabaseName;
use hyper::header::HeaderName;
use serde::{Deserialize, Serialize};

/// `[server]`: the HTTP and WebSocket listener.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerConfig {
    /// Address and port. Default 127.0.0.1:8080. Port 0 takes a free port, which is printed; a port in use is fatal
    /// at startup. A socket that the service manager passes (`LISTEN_FDS`) comes before it:
    /// docs/OPERATING.md#a-restart-that-refuses-no-connection. Flag: `--listen`.
    pub listen: SocketAddr,
    /// Base URL under which clients reach the hub, without a trailing slash, for links in responses
    /// and mails. Default empty: the address that the hub listens on.
    pub public_url: String,
    /// The database: an SQLite file, created if missing, or `postgres://user@host/database`, which must exist.
    /// Default `matchwire.db` in the working directory. Set PostgreSQL's password in the variable `PGPASSWORD`, where
    /// other commands find it too. Flag: `--db`.
    pub db: DatabaseName,
    /// Milliseconds that sockets have at shutdown to read pending messages and their `bye`. Default
    /// 5000, which is also the longest that it delays a restart. 0 disconnects everyone
    /// immediately.
    pub drain_ms: u64,
    /// Milliseconds within which the process exits after a component fails, for example when a thread panics. Default
    /// 10000, which is also the longest that it delays a restart. Half of it, but at most `drain_ms`, is for draining
    /// sockets. docs/OPERATING.md#when-a-part-fails
    pub failure_exit_ms: u64,
    /// Bytes of one client command, including the headers of its WebSocket fragments after the first. Default 16384.
    /// A socket uses as much memory while it sends a command. A longer command closes the socket with 4413.
    pub command_bytes_max: usize,
    /// WebSocket fragments of one command. Default 1024. Each fragment costs time, even an empty one. More close the
    /// socket with 4413.
    pub command_fragments_max: u32,
    /// Milliseconds from the connection to the end of the request's head, including the TLS handshake, and from the
    /// first byte of a later head to its end. Default 10000. Then the connection is closed, with 408 if it is the
    /// first head.
    pub handshake_timeout_ms: u64,
    /// Milliseconds that the body of a request may take; then it gets 408. Default 10000. Pushes have `ingest.body_ms`.
    pub body_timeout_ms: u64,
    /// Milliseconds that an HTTP connection stays open between two requests. Default 75000. At most
    /// `handshake_timeout_ms` while more than half of the connections are in use, and a second while
    /// all are.
    pub keep_alive_ms: u64,
    /// HTTP connections at a time. Default 10000, about 20 KiB each. Beyond that, a new one replaces an idle or unfinished
    /// one; it gets 503 only if all are being answered. Sockets are not included. `/healthz`, `/readyz` and `/metrics` have a
    /// few reserved connections. docs/OPERATING.md#slow-readers-over-http
    pub connections_max: usize,
    /// HTTP connections of one address, plus its sockets whose handshake is not complete; an IPv6
    /// address counts by its /64. Default 1000, because offices and mobile networks share an
    /// address. Connections beyond that are closed at once. The addresses in `trusted_proxies` have
    /// no such limit, because many clients may be behind them.
    pub connections_max_per_address: usize,
    /// Milliseconds for which a client may read nothing of an HTTP response, or less than 4 KiB of
    /// it, before its connection is closed. Default 30000. The limit is a quarter of that while
    /// half of the connections or of the unread bytes are in use, and a sixteenth while three
    /// quarters are.
    pub write_timeout_ms: u64,
    /// Bytes of HTTP responses that wait for their clients, in total. Default 256 MiB. Responses of
    /// 16 KiB and more count; built-in files do not, since they take no memory. Beyond the limit,
    /// requests get 503.
    pub unread_bytes_max: usize,
    /// The same for one address. Default 32 MiB. Behind a trusted proxy the client's address
    /// counts.
    pub unread_bytes_max_per_address: usize,
    /// Days for which browsers must use TLS (HSTS), if clients reach the hub over TLS. Default 365.
    /// 0 omits the header.
    pub hsts_days: u32,
    /// The header in which a reverse proxy names the client, such as `x-forwarded-for`: a list of addresses, to which
    /// each proxy appends one. Default empty: no header is trusted, and limits by address use the address of the
    /// connection. docs/OPERATING.md#in-front-of-it
    pub forwarded_header: String,
    /// Whether the front page shows the football and tennis boards of the day to visitors without a
    /// key. Default false. The boards are up to five seconds old and cost one rendering per second
    /// for all visitors.
    pub public_boards: bool,
    /// Whether there are the channels `test/football`, `test/football/odds` and so on, with a made-up match for tests
    /// of clients, whose output anyone can fetch below `/test/`. Default true; needs the feature `demo`. Nothing runs
    /// before the first subscription; then they take about 10 MB and 1 % of a core. The output of a round is computed
    /// when it is first fetched. docs/PROTOCOL.md#test-channels
    pub test_channels: bool,
    /// The proxies whose header is trusted: addresses or networks such as `10.0.0.0/8`, separated
    /// by commas. Default `127.0.0.0/8, ::1`. The client is the last address of the header that is
    /// not in this list. A list that is too wide lets clients spoof any address.
    pub trusted_proxies: String,
}

impl ServerConfig {
    /// The header that is trusted; `None` if there is none.
    ///
    /// # Errors
    ///
    /// The name of the setting that is wrong, and what it must be.
    pub fn forwarded_header_name(
        &self,
    ) -> Result<Option<HeaderName>, (&'static str, &'static str)> {
        if self.forwarded_header.is_empty() {
            return Ok(None);
        }
        let name = self.forwarded_header.parse();
        name.map(Some).map_err(|_| ("server.forwarded_header", "the name of a header, or empty"))
    }

    /// The proxies that are trusted.
    ///
    /// # Errors
    ///
    /// As for the header.
    pub fn proxies(&self) -> Result<Vec<Network>, (&'static str, &'static str)> {
        let networks = Network::parse_all(&self.trusted_proxies);
        networks.ok_or(("server.trusted_proxies", "networks as in 10.0.0.0/8, separated by commas"))
    }
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
            public_url: String::new(),
            db: DatabaseName::File(PathBuf::from("matchwire.db")),
            drain_ms: 5_000,
            failure_exit_ms: 10_000,
            command_bytes_max: 16 * 1024,
            command_fragments_max: 1_024,
            handshake_timeout_ms: 10_000,
            body_timeout_ms: 10_000,
            keep_alive_ms: 75_000,
            connections_max: 10_000,
            connections_max_per_address: 1_000,
            write_timeout_ms: 30_000,
            unread_bytes_max: 256 * 1024 * 1024,
            unread_bytes_max_per_address: 32 * 1024 * 1024,
            hsts_days: 365,
            forwarded_header: String::new(),
            public_boards: false,
            test_channels: cfg!(feature = "demo"),
            trusted_proxies: "127.0.0.0/8, ::1".to_owned(),
        }
    }
}

/// `[tls]`: the hub's own certificate, for deployments without a reverse proxy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TlsConfig {
    /// The certificate chain, PEM, with the hub's certificate first. Default empty: no TLS. If set, the hub accepts
    /// only TLS. A socket takes about 20 KiB more, and the first handshake of a client costs a signature. Flag:
    /// `--tls-certificate`.
    pub certificate: PathBuf,
    /// The private key of the certificate, PEM. Required with the certificate. Flag: `--tls-key`.
    pub key: PathBuf,
    /// Milliseconds between two looks at both files. A new pair is used for new connections. 0: it is read
    /// at startup and when the settings are reloaded. Default 10000.
    pub watch_ms: u64,
}

/// `[acme]`: a certificate from an authority that speaks ACME (RFC 8555), which the hub obtains and renews. Needs the
/// feature `acme`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AcmeConfig {
    /// The names of the certificate, separated by commas. Default empty: none is obtained. At each name the authority
    /// must reach the hub on port 443, without a proxy that ends TLS. Setting it means accepting the authority's
    /// terms.
    pub domains: String,
    /// Where the authority writes to, an e-mail address. Default empty: nowhere.
    pub email: String,
    /// The URL of the authority's directory. The default is that of Let's Encrypt.
    pub directory: String,
    /// CA certificates, PEM, by which the directory is trusted in addition to the system's. Default none.
    pub authority: PathBuf,
    /// The folder of the account's key, the certificate and its key. Default empty: `DATABASE-acme`, beside the
    /// database.
    pub folder: PathBuf,
}

impl Default for AcmeConfig {
    fn default() -> Self {
        Self {
            domains: String::new(),
            email: String::new(),
            directory: "https://acme-v02.api.letsencrypt.org/directory".to_owned(),
            authority: PathBuf::new(),
            folder: PathBuf::new(),
        }
    }
}

impl AcmeConfig {
    /// The setting that is wrong, and what it must be.
    #[must_use]
    pub fn problem(&self) -> Option<(&'static str, &'static str)> {
        let is_of_a_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
        let are_names = self.names().all(|name| name.bytes().all(is_of_a_name));
        (!are_names).then_some((
            "acme.domains",
            "names such as example.org, separated by commas, without a wildcard",
        ))
    }

    /// The names of the certificate.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.domains.split(',').map(str::trim).filter(|name| !name.is_empty())
    }

    /// The address of the operator, if it is known.
    pub fn email(&self) -> impl Iterator<Item = &str> {
        Some(self.email.trim()).filter(|address| !address.is_empty()).into_iter()
    }
}

impl Default for TlsConfig {
    fn default() -> Self {
        Self { certificate: PathBuf::new(), key: PathBuf::new(), watch_ms: 10_000 }
    }
}

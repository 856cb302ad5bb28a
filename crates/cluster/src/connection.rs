//! The connection to the NATS servers, and when it is interrupted.

use std::{cmp::max, fmt, sync::atomic::Ordering, time::Duration};

use async_nats::{Client, ConnectErrorKind, ConnectOptions, Event, connection::State};
use base::config::SecretError;
use tokio::sync::watch;

use crate::config::{ClusterConfig, ClusterConfigError};

/// Between two pings. After two without an answer, the client connects to another server.
const PING_INTERVAL: Duration = Duration::from_secs(1);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Before each attempt to connect but the first. The client's own delays grow to 4 s, for which a node would hear
/// nothing although a server is back.
const RECONNECT_DELAY: Duration = Duration::from_millis(50);
/// Messages that wait in each subscription. Beyond it the client drops new ones; the log finds them by their
/// sequence and reads them from the stream. With 65,536, the client's default, they could take 32 GiB.
const SUBSCRIPTION_MESSAGES_MAX: usize = 1_024;
/// A part of a snapshot.
const PART_BYTES_MAX: usize = 512 << 10;
/// For the headers of a message and of its records.
const HEADER_BYTES: usize = 4 << 10;
/// Older servers do not offer what the stream needs.
const VERSION_MIN: (u64, u64) = (2, 9);

/// Why a node cannot use the cluster.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    #[error(transparent)]
    Config(#[from] ClusterConfigError),
    #[error("cannot read the login of NATS")]
    Secret(#[from] SecretError),
    #[error("cannot connect to NATS at {servers}")]
    Connect { servers: String, source: async_nats::ConnectError },
    #[error("the NATS server has version {found}, and must have at least 2.9")]
    Version { found: String },
    #[error("the NATS server has JetStream disabled")]
    NoJetStream,
    #[error("the NATS server takes messages of at most {found} bytes, and must take {min}")]
    MaxPayload { found: usize, min: usize },
    #[error("the stream {stream} does not exist; `matchwire cluster init` creates it")]
    NoStream { stream: String },
    /// Another program or an operator changed it, or the settings of this node differ from those with which it was
    /// created.
    #[error("the stream {stream} has {setting} {found}, and must have {expected}")]
    Stream { stream: String, setting: &'static str, found: String, expected: String },
    #[error("NATS does not answer: {0}")]
    Unavailable(String),
    #[error("NATS refuses: {description} ({code})")]
    Rejected { code: u64, description: String },
}

impl ClusterError {
    /// Whether a later attempt can succeed without a change of this node's settings.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Connect { source, .. } => {
                use ConnectErrorKind::{Dns, Io, TimedOut};
                matches!(source.kind(), Dns | Io | TimedOut)
            }
            // It is made while nodes wait: at first, or again after its servers have lost it.
            Self::Unavailable(_) | Self::NoStream { .. } => true,
            _ => false,
        }
    }
}

/// A connection that reconnects by itself, for ever.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) client: Client,
    changes: watch::Receiver<Changes>,
}

/// How often the connection was made and lost.
#[derive(Debug, Clone, Copy, Default)]
struct Changes {
    connected: u64,
    disconnected: u64,
}

impl Connection {
    pub(crate) async fn open(config: &ClusterConfig, purpose: &str) -> Result<Self, ClusterError> {
        config.check()?;
        let (tx, changes) = watch::channel(Changes::default());
        let mut options =
            ConnectOptions::new()
                .name(format!("matchwire {} {} {purpose}", config.name, config.node_name()))
                .ping_interval(PING_INTERVAL)
                .connection_timeout(CONNECT_TIMEOUT)
                .request_timeout(Some(Duration::from_millis(config.answer_ms)))
                .subscription_capacity(SUBSCRIPTION_MESSAGES_MAX)
                .reconnect_delay_callback(|attempts| {
                    if attempts <= 1 { Duration::ZERO } else { RECONNECT_DELAY }
                })
                .event_callback(move |event| {
                    note(&tx, &event);
                    async {}
                });
        if let Some((user, password)) = config.login()? {
            options = options.user_and_password(user, password);
        }
        if !config.nats_ca.as_os_str().is_empty() {
            options = options.add_root_certificates(config.nats_ca.clone()).require_tls(true);
        }
        let servers: Vec<&str> = config.servers().collect();
        let client = options
            .connect(&servers)
            .await
            .map_err(|source| ClusterError::Connect { servers: servers.join(", "), source })?;
        let info = client.server_info();
        check_version(&info.version)?;
        if !info.jetstream {
            return Err(ClusterError::NoJetStream);
        }
        let message_bytes = max(config.record_bytes_max, PART_BYTES_MAX) + HEADER_BYTES;
        if info.max_payload < message_bytes {
            let (found, min) = (info.max_payload, message_bytes);
            return Err(ClusterError::MaxPayload { found, min });
        }
        tracing::info!(
            version = info.version,
            server = info.server_name,
            purpose,
            "connected to NATS"
        );
        Ok(Self { client, changes })
    }

    /// The version of the server that the node is connected to.
    pub(crate) fn server_version(&self) -> String {
        self.client.server_info().version
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.client.connection_state() == State::Connected
    }

    /// How often the connection was made. It counts before anything arrives over the new connection.
    pub(crate) fn connects(&self) -> u64 {
        self.client.statistics().connects.load(Ordering::Relaxed)
    }

    /// What counts the times at which the connection was made.
    pub(crate) fn watch(&self) -> Reconnects {
        let mut changes = self.changes.clone();
        let seen = changes.borrow_and_update().connected;
        Reconnects { changes, seen }
    }

    /// Waits until there is a connection, at most for this time.
    pub(crate) async fn connected(&self, timeout: Duration) -> bool {
        if self.is_connected() {
            return true;
        }
        let mut changes = self.changes.clone();
        let connected = async {
            while !self.is_connected() {
                if changes.changed().await.is_err() {
                    return false;
                }
            }
            true
        };
        tokio::time::timeout(timeout, connected).await.unwrap_or(false)
    }

    /// Waits for an answer, but not longer than the connection lasts. `None`: it was lost.
    pub(crate) async fn unless_lost<T>(&self, answer: impl Future<Output = T>) -> Option<T> {
        let mut changes = self.changes.clone();
        let before = changes.borrow_and_update().disconnected;
        let lost = async {
            while changes.borrow_and_update().disconnected == before {
                if changes.changed().await.is_err() {
                    return;
                }
            }
        };
        tokio::select! {
            biased;
            answer = answer => Some(answer),
            () = lost => None,
        }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (changes, state) = (self.changes.borrow(), self.client.connection_state());
        f.debug_struct("Connection")
            .field("state", &state)
            .field("changes", &*changes)
            .finish_non_exhaustive()
    }
}

fn note(changes: &watch::Sender<Changes>, event: &Event) {
    match event {
        Event::Connected => changes.send_modify(|changes| changes.connected += 1),
        Event::Disconnected | Event::Closed => {
            tracing::warn!("the connection to NATS is lost");
            changes.send_modify(|changes| changes.disconnected += 1);
        }
        Event::LameDuckMode | Event::Draining => tracing::info!(%event, "NATS"),
        // What was dropped is read from the stream.
        Event::SlowConsumer(_) => tracing::debug!(%event, "NATS"),
        Event::ServerError(_) => tracing::warn!(%event, "NATS"),
        // One for each attempt to reconnect.
        Event::ClientError(_) => tracing::debug!(%event, "NATS"),
    }
}

/// Tells when the connection was made again.
#[derive(Debug)]
pub(crate) struct Reconnects {
    changes: watch::Receiver<Changes>,
    seen: u64,
}

impl Reconnects {
    /// Waits for the next time. Can be dropped at any time.
    pub(crate) async fn next(&mut self) {
        loop {
            let connected = self.changes.borrow_and_update().connected;
            if connected != self.seen {
                self.seen = connected;
                return;
            }
            if self.changes.changed().await.is_err() {
                // The client has ended; it never connects again.
                std::future::pending::<()>().await;
            }
        }
    }
}

fn check_version(version: &str) -> Result<(), ClusterError> {
    let mut numbers = version.split('.').map(str::parse::<u64>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) if (major, minor) >= VERSION_MIN => Ok(()),
        _ => Err(ClusterError::Version { found: version.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::check_version;

    #[test]
    fn servers_before_2_9_are_refused() {
        for version in ["2.9.10", "2.10.0-beta.1", "2.15.1", "3.0.0"] {
            assert!(check_version(version).is_ok(), "{version}");
        }
        for version in ["2.8.4", "1.4.1", "", "two"] {
            let error = check_version(version).expect_err(version).to_string();
            assert!(error.ends_with("must have at least 2.9"), "{error}");
        }
    }
}

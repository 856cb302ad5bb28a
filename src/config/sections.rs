//! Settings by section: unit, default and cost.
//!
//! `matchwire.toml.example` lists them all; a test keeps the two in step.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
};

use hyper::header::HeaderName;
use serde::{Deserialize, Serialize};

use super::{DemoSpeed, Network};
use crate::database::DatabaseName;

/// `[server]`: the HTTP and WebSocket listener.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerConfig {
    /// Address and port. Default 127.0.0.1:8080. Port 0 takes a free port, which is printed.
    pub listen: SocketAddr,
    /// Base URL under which clients reach the hub, without a trailing slash, for links in responses
    /// and mails. Default empty: the address that the hub listens on.
    pub public_url: String,
    /// The database: an SQLite file, created if missing, or `postgres://user@host/database`, which
    /// must exist. Default `matchwire.db` in the working directory. Set PostgreSQL's password in
    /// the variable `PGPASSWORD`, where other commands find it too.
    pub db: DatabaseName,
    /// Milliseconds that sockets have at shutdown to read pending messages and their `bye`. Default
    /// 5000, which is also the longest that it delays a restart. 0 disconnects everyone
    /// immediately.
    pub drain_ms: u64,
    /// Milliseconds within which the process exits after a component fails, for example when a
    /// thread panics. Default 10000, which is also the longest that it delays a restart. Half of
    /// it, but at most `drain_ms`, is for draining sockets.
    pub failure_exit_ms: u64,
    /// Bytes of one client command, including the headers of its WebSocket fragments after the
    /// first. Default 16384. A socket uses as much memory while it sends a command.
    pub command_bytes_max: usize,
    /// WebSocket fragments of one command. Default 1024. Each fragment costs time, even an empty
    /// one.
    pub command_fragments_max: u32,
    /// Milliseconds from the connection to the end of the request's head, and from one response to
    /// the end of the next head. Default 10000. Idle connections are kept open for as long.
    pub handshake_timeout_ms: u64,
    /// HTTP connections at a time. Default 10000, about 20 KiB each; beyond that, requests get 503.
    /// Sockets are not included. `/healthz`, `/readyz` and `/metrics` have a few reserved
    /// connections.
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
    /// The header in which a reverse proxy names the client, such as `x-forwarded-for`: a list of
    /// addresses, to which each proxy appends one. Default empty: no header is trusted, and limits
    /// by address use the address of the connection.
    pub forwarded_header: String,
    /// Whether the front page shows the football and tennis boards of the day to visitors without a
    /// key. Default false. The boards are up to five seconds old and cost one rendering per second
    /// for all visitors.
    pub public_boards: bool,
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
            connections_max: 10_000,
            connections_max_per_address: 1_000,
            write_timeout_ms: 30_000,
            unread_bytes_max: 256 * 1024 * 1024,
            unread_bytes_max_per_address: 32 * 1024 * 1024,
            hsts_days: 365,
            forwarded_header: String::new(),
            public_boards: false,
            trusted_proxies: "127.0.0.0/8, ::1".to_owned(),
        }
    }
}

/// `[tls]`: the hub's own certificate, for deployments without a reverse proxy.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TlsConfig {
    /// The certificate chain, PEM, with the hub's certificate first. Default empty: no TLS. If set,
    /// the hub accepts only TLS. A socket takes about 20 KiB more, and the first handshake of a
    /// client costs a signature.
    pub certificate: PathBuf,
    /// The private key of the certificate, PEM. Both files are read at startup.
    pub key: PathBuf,
}

/// `[hub]`: how much state the hub keeps of matches and channels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HubConfig {
    /// Bytes of updates that a channel keeps for resuming. Default 4 MiB, which is also the most
    /// memory that a channel uses for them. A client that resumes from an older update gets a
    /// snapshot.
    pub tail_bytes: usize,
    /// Milliseconds for which an update is kept for resuming. Default 300000, five minutes. The
    /// stricter of the two limits applies.
    pub tail_ms: u64,
    /// Matches in memory at a time. Default 20000. A match takes about 10 KiB, plus its books. A
    /// match beyond the limit evicts an ended match of the source with the most matches; if there
    /// is none, it is refused and counted.
    pub matches_max: usize,
    /// Matches of one source. Default 10000. A match beyond the limit evicts an ended match of the
    /// same source; if there is none, it is refused and counted.
    pub matches_max_per_source: usize,
    /// Milliseconds for which an ended match stays in memory. Default 7200000, two hours.
    pub ended_keep_ms: u64,
    /// Batches from the feeds that wait for the hub. Default 4096. While the queue is full, feeds
    /// wait.
    pub inbox_batches: usize,
    /// Public ids that can ever be assigned. Default 20000000, about 30 bytes of memory each.
    /// Entities beyond the limit are dropped and counted.
    pub ids_max: usize,
}

impl Default for HubConfig {
    fn default() -> Self {
        Self {
            tail_bytes: 4 * 1024 * 1024,
            tail_ms: 300_000,
            matches_max: 20_000,
            matches_max_per_source: 10_000,
            ended_keep_ms: 7_200_000,
            inbox_batches: 4_096,
            ids_max: 20_000_000,
        }
    }
}

/// `[fanout]`: sockets and their queues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FanoutConfig {
    /// Threads among which the sockets are divided. Default 0: one per core.
    pub shards: usize,
    /// Bytes that may wait for one socket. Default 262144, which is also the most memory that a
    /// socket uses for them, although frames are shared. A slower client gets merged updates or is
    /// closed.
    pub outbox_bytes: usize,
    /// Milliseconds that the oldest of them may have waited when more arrive. Default 1000. Beyond
    /// that, the client counts as too slow as well.
    pub outbox_age_ms: u64,
    /// Bytes written to one socket per turn. Default 65536. A larger value makes the other sockets
    /// of the shard wait longer.
    pub write_bytes_max: usize,
    /// Bytes of the kernel's send buffer of a TCP socket. Default 262144, of which the kernel uses
    /// about half for data. 0 keeps the system's default, which may be megabytes for a slow client.
    pub send_buffer_bytes: usize,
    /// Bytes that the kernel accepts beyond what is already on its way to the client
    /// (`TCP_NOTSENT_LOWAT`). Default 16384. Frames that wait beyond that can still be merged, or
    /// overtaken by a suspension. 0: as much as the send buffer.
    pub unsent_bytes: usize,
    /// Channels that one socket subscribes to at a time, by name or by pattern. Default 10000,
    /// about 200 bytes each. Further channels that a pattern matches are left out, and the client
    /// is notified.
    pub channels_max: usize,
    /// Patterns that one socket subscribes to at a time. Default 1000, about 300 bytes each, shared
    /// by sockets with the same pattern. A command for more is refused.
    pub patterns_max: usize,
    /// Bytes of a `subscribe` to a pattern that carries positions to resume from. Default 262144,
    /// at least `server.command_bytes_max`. A socket uses as much memory while it sends one.
    pub from_bytes_max: usize,
    /// Subscriptions that the sockets of one account may start or resume at once, in each shard,
    /// before their commands wait. Default 20000, twice `channels_max`. Resuming from an old
    /// position counts as several.
    pub catch_up_burst: u32,
    /// Rate at which this allowance refills, per second. Default 2000. Other accounts do not wait.
    pub catch_ups_per_second: u32,
    /// Milliseconds between two heartbeats to a socket. Default 5000. A heartbeat has about 60
    /// bytes.
    pub beat_ms: u64,
    /// Milliseconds after which a socket is closed if nothing arrives from it, not even a pong.
    /// Default 90000; a ping is sent after half of it. 0: never.
    pub idle_ms: u64,
    /// Milliseconds for which a socket may accept none of the data that waits for it. Default
    /// 30000. It holds its outbox for as long.
    pub stall_ms: u64,
    /// Publications that may wait for a shard. Default 65536, 8 bytes each plus their contents.
    /// When the queue is full, the shard's sockets catch up from the tails instead.
    pub mailbox: usize,
    /// Sockets of one account. Default 100; further ones are closed with 4429.
    pub sockets_max_per_account: usize,
    /// Sockets in total. Default 200000; further ones are refused. Each is a file descriptor too.
    pub sockets_max: usize,
}

impl Default for FanoutConfig {
    fn default() -> Self {
        Self {
            shards: 0,
            outbox_bytes: 256 * 1024,
            outbox_age_ms: 1_000,
            write_bytes_max: 64 * 1024,
            send_buffer_bytes: 256 * 1024,
            unsent_bytes: 16 * 1024,
            channels_max: 10_000,
            patterns_max: 1_000,
            from_bytes_max: 256 * 1024,
            catch_up_burst: 20_000,
            catch_ups_per_second: 2_000,
            beat_ms: 5_000,
            idle_ms: 90_000,
            stall_ms: 30_000,
            mailbox: 65_536,
            sockets_max_per_account: 100,
            sockets_max: 200_000,
        }
    }
}

/// `[demo]`: an endless simulated day from a seed, with a key for everything, on loopback only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DemoConfig {
    /// Whether the hub plays the demo. Default true.
    pub enabled: bool,
    /// Seed of the day; the same seed gives the same day. Default 1.
    pub seed: u64,
    /// Whether the season so far and the fixtures of the next days are written to the archive.
    /// Default true; about 270 MB, and up to half a minute of one core at the first start.
    pub past: bool,
    /// Minutes that the demo has already played when it starts, from 0 to 600. Default 70, so that
    /// some matches are in their second half. Fewer start faster.
    pub head_start_minutes: u32,
    /// Speed of the demo relative to real matches: 0.1 to 100. Default 1.
    pub speed: DemoSpeed,
}

impl Default for DemoConfig {
    fn default() -> Self {
        Self { enabled: true, seed: 1, past: true, head_start_minutes: 70, speed: DemoSpeed::REAL }
    }
}

/// `[bench]`: a steady load for measurements, instead of the demo, on loopback only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BenchConfig {
    /// Price changes per second, in total. Default 0: none.
    pub rate: u32,
    /// Channels that change in turn. Default 20. Each may fill its tail (`hub.tail_bytes`).
    pub channels: u32,
    /// Port of the bench listener, on 127.0.0.1 regardless of `server.listen`. It serves raw
    /// channels without a key to everyone on this machine. Default 0: none.
    pub port: u16,
}

impl Default for BenchConfig {
    fn default() -> Self {
        Self { rate: 0, channels: 20, port: 0 }
    }
}

/// `[feeds]`: what the hub accepts from feeds, and how clients detect stale data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FeedsConfig {
    /// Bytes of refused messages that are kept for inspection. Default 8 MiB; the oldest are
    /// removed first.
    pub quarantine_bytes_max: usize,
    /// Milliseconds for which they are kept. Default 604800000, seven days. They contain the feed's
    /// original data.
    pub quarantine_age_ms: u64,
    /// Bytes of one message. Default 16 MiB, which is also the memory that a feed uses for it. A
    /// longer message is refused.
    pub message_bytes_max: usize,
    /// Milliseconds without a frame or a heartbeat after which clients should treat a document as
    /// stale. Default 15000, three heartbeats. Every document contains the value.
    pub stale_after_ms: u64,
    /// Milliseconds after a goal, a red card or the start of a VAR check during which prices may
    /// still date from before it. Default 10000. A book that does not suspend itself is held back
    /// until one of its markets reopens, or until a price arrives after that time. 0: the hub never
    /// holds a book back because of play.
    pub hold_ms: u64,
}

impl Default for FeedsConfig {
    fn default() -> Self {
        Self {
            quarantine_bytes_max: 8 * 1024 * 1024,
            quarantine_age_ms: 7 * 24 * 60 * 60 * 1000,
            message_bytes_max: 16 * 1024 * 1024,
            stale_after_ms: 15_000,
            hold_ms: 10_000,
        }
    }
}

/// `[ingest]`: limits for sources that push.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IngestConfig {
    /// Bytes of one body or one message of a socket, after decompression too. Default 8 MiB, which
    /// is also the memory per pushing source, since the hub reads one body of a source at a time. A
    /// longer body is refused as a whole.
    pub body_bytes_max: usize,
    /// Bytes of one line. Default 1 MiB; a longer line is refused, and the others are used.
    pub line_bytes_max: usize,
    /// Milliseconds within which a body must arrive. Default 30000. Other pushes of the source wait
    /// meanwhile.
    pub body_ms: u64,
    /// Milliseconds for which a push waits for another push of its source, and for room in the hub.
    /// Default 5000. After that it gets 409 or 503, and the source should retry.
    pub wait_ms: u64,
    /// Lines of each source whose ids or contents are remembered, to ignore repeated lines. Default
    /// 100000, about 60 bytes each. 0: repeated lines are not detected.
    pub ids_max: usize,
    /// Sockets that push, in total. Default 64; further ones are refused.
    pub sockets_max: usize,
    /// Sockets that push for one source. Default 16; further ones are refused.
    pub sockets_max_per_source: usize,
    /// Milliseconds without a push after which a source is late and its books are held back until
    /// the next push. Default 0: no deadline.
    pub deadline_ms: u64,
}

impl Default for IngestConfig {
    fn default() -> Self {
        Self {
            body_bytes_max: 8 * 1024 * 1024,
            line_bytes_max: 1024 * 1024,
            body_ms: 30_000,
            wait_ms: 5_000,
            ids_max: 100_000,
            sockets_max: 64,
            sockets_max_per_source: 16,
            deadline_ms: 0,
        }
    }
}

/// `[log]`: what is logged, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogConfig {
    /// `text` for people or `json` for programs, one line per event. Default `text`.
    pub format: LogFormat,
    /// Log levels, such as `info` or `warn,matchwire=debug`. Default `info`. `debug` reduces
    /// throughput.
    pub filter: String,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self { format: LogFormat::Text, filter: "info".to_owned() }
    }
}

/// How a log line is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    Text,
    Json,
}

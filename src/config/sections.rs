//! Every knob, by the part that it belongs to: unit, default, and what it costs.
//!
//! `matchwire.toml.example` shows them all; a test keeps it from drifting away from here.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
};

use hyper::header::HeaderName;
use serde::{Deserialize, Serialize};

use super::{DemoSpeed, Network};
use crate::database::DatabaseName;

/// `[server]`: the door of the hub.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerConfig {
    /// Address and port; port 0 takes a free one, which is printed. Default 127.0.0.1:8080.
    pub listen: SocketAddr,
    /// Where clients reach the hub, for links in its answers, without a slash at the end. Default
    /// empty: the address that it listens on.
    pub public_url: String,
    /// The database: an SQLite file, created when missing, or `postgres://user@host/database`, which
    /// must be there. Default `matchwire.db`, in the working directory. The password of PostgreSQL is
    /// best given as the variable `PGPASSWORD`, where other commands find it too.
    pub db: DatabaseName,
    /// Milliseconds that sockets have at the stop to read their `bye` and what they are owed. Default
    /// 5000. It delays a restart by as much at most; 0 cuts everybody off.
    pub drain_ms: u64,
    /// Milliseconds after the failure of a part of the hub, such as a thread that panicked, within which
    /// the process ends. Default 10000. Half of it, and `drain_ms` at most, is for sockets to go; it
    /// delays the restart by as much at most.
    pub failure_exit_ms: u64,
    /// Bytes of one command of a client, with the heads of its WebSocket fragments after the first.
    /// Default 16384. As much memory a socket, while it sends one.
    pub command_bytes_max: usize,
    /// WebSocket fragments of one command. Default 1024. More cost time, since a fragment may be empty.
    pub command_fragments_max: u32,
    /// Milliseconds from the connection to the end of the request's head, and from one answer to the end of
    /// the next head. Default 10000. Connections that say nothing are held for so long.
    pub handshake_timeout_ms: u64,
    /// HTTP connections at a time. Default 10000, some 20 KiB each; one more is answered 503. Sockets are not
    /// among them. `/healthz`, `/readyz` and `/metrics` have a few places of their own.
    pub connections_max: usize,
    /// HTTP connections of one address, and sockets of it whose handshake is not done; an IPv6 address stands
    /// for its /64. Default 1000: offices and mobile networks share one. One more is closed at once. The
    /// addresses in `trusted_proxies` have no such limit, for many may stand behind them.
    pub connections_max_per_address: usize,
    /// Milliseconds for which a reader may take nothing of an HTTP answer, or less than 4 KiB of it; then the
    /// connection is closed. Default 30000. A quarter of it while half of the connections or of the unread
    /// bytes are taken, a sixteenth while three quarters are.
    pub write_timeout_ms: u64,
    /// Bytes of HTTP answers that wait for their readers, in all. Default 256 MiB. Answers of 16 KiB and more
    /// are counted, files of the program are not, for they take nothing. Beyond it requests are answered 503.
    pub unread_bytes_max: usize,
    /// The same of one address. Default 32 MiB. Behind a trusted proxy it is the client's address that counts.
    pub unread_bytes_max_per_address: usize,
    /// Days for which browsers are told to use TLS alone (HSTS), where clients reach the hub over TLS. Default
    /// 365. 0: they are not told.
    pub hsts_days: u32,
    /// The header in which a proxy in front tells whom it speaks for, such as `x-forwarded-for`: a list
    /// of addresses, to which each proxy appends one. Default empty: no header is believed, and limits
    /// by address hold for the address of the connection.
    pub forwarded_header: String,
    /// Whether the front page shows the football and tennis boards of the day to visitors without a key.
    /// Default false. They are up to five seconds old and cost one rendering a second for all visitors.
    pub public_boards: bool,
    /// The proxies that are believed: addresses or networks such as `10.0.0.0/8`, separated by commas.
    /// Default `127.0.0.0/8, ::1`. The last address of the header that is none of these is the
    /// client's. To trust too many lets clients pretend any address.
    pub trusted_proxies: String,
}

impl ServerConfig {
    /// The header that is believed; `None` if there is none.
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

    /// The proxies that are believed.
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

/// `[tls]`: a certificate of the hub's own, for where no proxy stands in front.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TlsConfig {
    /// The chain of certificates, PEM, the hub's own first. Default empty: no TLS. With it the hub
    /// speaks TLS only. A socket holds some 20 KiB more, and the first handshake of a client takes a
    /// signature.
    pub certificate: PathBuf,
    /// Its private key, PEM. Both are read at the start.
    pub key: PathBuf,
}

/// `[hub]`: what is remembered of matches and channels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HubConfig {
    /// Bytes of updates that a channel keeps to resume from. Default 4 MiB. As much memory a channel
    /// at most; who asks for older ones gets an image.
    pub tail_bytes: usize,
    /// Milliseconds for which an update is kept to resume from. Default 300000, five minutes. The
    /// stricter of the two holds.
    pub tail_ms: u64,
    /// Matches known at a time. Default 20000. A match takes some 10 KiB, its books more. One too many takes the
    /// place of one that has ended, of the source with most matches; without any, it is refused and counted.
    pub matches_max: usize,
    /// Matches of one source. Default 10000. One too many takes the place of one of its own that has ended;
    /// without any, it is refused and counted.
    pub matches_max_per_source: usize,
    /// Milliseconds for which an ended match stays. Default 7200000, two hours.
    pub ended_keep_ms: u64,
    /// Batches from the feeds that wait for the hub. Default 4096. When it is full, feeds wait.
    pub inbox_batches: usize,
    /// Public ids that are ever given out. Default 20000000, some 30 bytes of memory each. What is new
    /// beyond that is left out and counted.
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

/// `[fanout]`: sockets and what waits for them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FanoutConfig {
    /// Threads among which the sockets are divided. Default 0: one for each core.
    pub shards: usize,
    /// Bytes that may wait for one socket. Default 262144. As much memory a socket at most, though
    /// frames are shared; a slower reader gets merged updates or is closed.
    pub outbox_bytes: usize,
    /// Milliseconds for which they may have waited when more comes. Default 1000; then the reader is
    /// too slow as well.
    pub outbox_age_ms: u64,
    /// Bytes written to one socket in its turn. Default 65536. More costs the others of the shard
    /// their time.
    pub write_bytes_max: usize,
    /// Bytes of the kernel's send buffer of a TCP socket. Default 262144, of which the kernel uses
    /// about a half for data. 0: as the system has it, which may be megabytes for a slow reader.
    pub send_buffer_bytes: usize,
    /// Bytes that the kernel takes beyond what is on its way to the client (`TCP_NOTSENT_LOWAT`).
    /// Default 16384; what waits beyond that can still be merged, or overtaken by a suspension. 0: as
    /// much as the send buffer.
    pub unsent_bytes: usize,
    /// Channels that one socket follows at a time, by name or by a pattern. Default 10000. About 200
    /// bytes each; what a pattern covers beyond that is left out, and the client is told.
    pub channels_max: usize,
    /// Patterns that one socket follows at a time. Default 1000. About 300 bytes each, shared where
    /// several sockets follow the same one; a command for more is refused.
    pub patterns_max: usize,
    /// Bytes of a `subscribe` to a pattern that carries positions to resume from. Default 262144, at
    /// least `server.command_bytes_max`. As much memory a socket, while it sends one.
    pub from_bytes_max: usize,
    /// Subscriptions that the sockets of one account begin or resume at once, in each shard, before
    /// their commands have to wait. Default 20000, twice `channels_max`. Resuming from far back counts
    /// as several.
    pub catch_up_burst: u32,
    /// How many of those it gets back in a second. Default 2000. Nobody else waits for it.
    pub catch_ups_per_second: u32,
    /// Milliseconds between two beats to a socket. Default 5000. A beat is some 60 bytes.
    pub beat_ms: u64,
    /// Milliseconds after which a socket from which nothing was heard, not even the answer to a
    /// ping, is closed. Default 90000; half of it brings the ping. 0: never.
    pub idle_ms: u64,
    /// Milliseconds for which a socket may take nothing of what waits for it. Default 30000. It
    /// holds its outbox for so long.
    pub stall_ms: u64,
    /// Publications that may wait for a shard. Default 65536, 8 bytes each and what they hold. When
    /// it is full, the shard's sockets are brought forward from the tails instead.
    pub mailbox: usize,
    /// Sockets of one account. Default 100; one more is closed with 4429.
    pub sockets_max_per_account: usize,
    /// Sockets in all. Default 200000; one more is refused. Each is a file descriptor too.
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

/// `[demo]`: a seeded day that never ends, and a key for everything, on loopback only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DemoConfig {
    /// Whether the hub plays the demo. Default true.
    pub enabled: bool,
    /// Which day is played; the same seed gives the same day. Default 1.
    pub seed: u64,
    /// Whether what was played before the demo, and what will be in the next days, is put into the
    /// archive. Default true; some 270 MB, and up to half a minute of one core at the first start.
    pub past: bool,
    /// For how many minutes the demo has been playing when it starts, from 0 to 600. Default 70: some matches are
    /// in their second half. Fewer start faster.
    pub head_start_minutes: u32,
    /// How many times as fast as real matches the demo plays: 0.1 to 100. Default 1.
    pub speed: DemoSpeed,
}

impl Default for DemoConfig {
    fn default() -> Self {
        Self { enabled: true, seed: 1, past: true, head_start_minutes: 70, speed: DemoSpeed::REAL }
    }
}

/// `[bench]`: a steady load to measure with, in place of the demo, on loopback only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BenchConfig {
    /// Changes of prices a second, in all. Default 0: none, no such load.
    pub rate: u32,
    /// Channels that change in turn. Default 20. Each may fill its tail (`hub.tail_bytes`).
    pub channels: u32,
    /// Port of the measuring door, on 127.0.0.1 whatever else the hub listens on: bare channels, for
    /// everybody on this machine, without a key. Default 0: none.
    pub port: u16,
}

impl Default for BenchConfig {
    fn default() -> Self {
        Self { rate: 0, channels: 20, port: 0 }
    }
}

/// `[feeds]`: what is taken from a feed, and what clients are told of its age.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FeedsConfig {
    /// Bytes of refused messages that are kept to be looked at. Default 8 MiB; the oldest go first.
    pub quarantine_bytes_max: usize,
    /// Milliseconds for which they are kept. Default 604800000, seven days. They hold what feeds sent.
    pub quarantine_age_ms: u64,
    /// Bytes of one message. Default 16 MiB. As much memory a feed; a longer one is refused.
    pub message_bytes_max: usize,
    /// Milliseconds without a frame or a beat after which clients are to call a document stale.
    /// Default 15000. It is told in every document; three beats is a good measure.
    pub stale_after_ms: u64,
    /// Milliseconds after a goal, a red card or the begin of a check by the video assistant for which
    /// prices may still be from before it. Default 10000. A book that does not suspend itself is
    /// held back until a market of it opens again, or until a price comes that is later than that.
    /// 0: the hub never holds a book back because of the play.
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

/// `[ingest]`: what sources may push.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IngestConfig {
    /// Bytes of one body or one message of a socket, decompressed too. Default 8 MiB. As much memory
    /// a source that pushes, for one body of each is read at a time; a longer one is refused whole.
    pub body_bytes_max: usize,
    /// Bytes of one line. Default 1 MiB; a longer one is refused, and the others are used.
    pub line_bytes_max: usize,
    /// Milliseconds in which a body must have come. Default 30000. Its source waits for so long.
    pub body_ms: u64,
    /// Milliseconds for which a push waits for another one of its source, and for room in the hub.
    /// Default 5000. Then it is answered 409 or 503, and is to come again.
    pub wait_ms: u64,
    /// Lines of each source, by their ids or their content, that are known again when they are
    /// repeated. Default 100000, about 60 bytes each. 0: none is.
    pub ids_max: usize,
    /// Sockets that push, in all. Default 64; one more is refused.
    pub sockets_max: usize,
    /// Sockets that push for one source. Default 16; one more is refused.
    pub sockets_max_per_source: usize,
    /// Milliseconds without a push after which a source is late, and its books are held back until
    /// the next one. Default 0: it may be silent for ever.
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
    /// `text` for people or `json` for programs, one line an event. Default `text`.
    pub format: LogFormat,
    /// Levels, as in `info` or `warn,matchwire=debug`. Default `info`. `debug` costs throughput.
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

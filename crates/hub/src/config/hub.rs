//! `[hub]`, `[feeds]` and `[ingest]`: state, live feeds and pushes.

use ingest::recording;
use log::LogSettings;
use serde::{Deserialize, Serialize};

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
    /// Milliseconds for which an ended match stays in memory. Default 7200000, two hours. Then its channels are
    /// removed. 0: at once.
    pub ended_keep_ms: u64,
    /// Batches from the feeds that wait for the hub. Default 4096. While the queue is full, feeds
    /// wait.
    pub inbox_batches: usize,
    /// Public ids that can ever be assigned: matches, teams, players, leagues and others. Default 20000000, about 30
    /// bytes of memory each. Entities beyond the limit are dropped and counted (`matchwire_ids_refused_total`).
    pub ids_max: usize,
}

impl Default for HubConfig {
    fn default() -> Self {
        Self {
            tail_bytes: 4 * 1024 * 1024,
            tail_ms: LogSettings::TAIL_MS,
            matches_max: 20_000,
            matches_max_per_source: 10_000,
            ended_keep_ms: 7_200_000,
            inbox_batches: 4_096,
            ids_max: 20_000_000,
        }
    }
}

/// `[feeds]`: what the hub accepts from feeds, and how clients detect stale data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FeedsConfig {
    /// Bytes of refused messages that are kept for inspection (docs/OPERATING.md#rejected-messages). Default 8 MiB;
    /// the oldest are removed first.
    pub quarantine_bytes_max: usize,
    /// Milliseconds for which they are kept at most, and at least for half of it while there is room. Default
    /// 604800000, seven days. They contain the feed's original data.
    pub quarantine_age_ms: u64,
    /// Bytes of one message. Default 16 MiB, which is also the memory that a feed uses for it. A
    /// longer message is refused.
    pub message_bytes_max: usize,
    /// Milliseconds without a frame or a heartbeat after which clients should treat a document as
    /// stale. Default 15000, three heartbeats. Every document contains the value.
    pub stale_after_ms: u64,
    /// Milliseconds after a goal, a red card or the start of a VAR check during which prices may still date from
    /// before it. Default 10000. A book that does not suspend itself is held back until one of its markets reopens,
    /// or until a price arrives after that time. 0: the hub never holds a book back because of play.
    /// docs/PROTOCOL.md#holds
    pub hold_ms: u64,
}

impl Default for FeedsConfig {
    fn default() -> Self {
        Self {
            quarantine_bytes_max: 8 * 1024 * 1024,
            quarantine_age_ms: 7 * 24 * 60 * 60 * 1000,
            message_bytes_max: recording::Limits::default().message_bytes_max,
            stale_after_ms: 15_000,
            hold_ms: 10_000,
        }
    }
}

/// `[ingest]`: limits for sources that push: docs/INGEST.md.
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
    /// Milliseconds without a push after which a source with a match in play is late and its books are
    /// held back until the next push. Default 60000. 0: no deadline.
    pub deadline_ms: u64,
    /// The same for a source with prices of matches that are not over, and none in play. Default 900000.
    pub prices_deadline_ms: u64,
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
            deadline_ms: 60_000,
            prices_deadline_ms: 900_000,
        }
    }
}

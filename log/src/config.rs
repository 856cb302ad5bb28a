//! `[log]`: where the log lives, and how much of it is kept.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// `[log]`: the log of what the hub applied and published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogConfig {
    /// Where records live. Default `files`.
    pub engine: LogEngine,
    /// The folder of the log. Default: empty, which is beside the database, with `-log` after its name.
    pub folder: PathBuf,
    /// Bytes of one file. Default 64 MiB.
    pub segment_bytes: u64,
    /// Milliseconds for which records are kept. Default 3600000, one hour. Records that a restart needs are
    /// kept longer.
    pub records_keep_ms: u64,
    /// Bytes of all records at most. Default 8 GiB. Beyond it the oldest go, and clients that resume from
    /// before get an image.
    pub records_bytes_max: u64,
    /// Milliseconds for which the film of a match is kept after its last update. Default 1209600000, 14 days.
    /// 0: no films.
    pub films_keep_ms: u64,
    /// Bytes of all films at most. Default 32 GiB. Beyond it the oldest go.
    pub films_bytes_max: u64,
    /// Replays at a time, and those of one key. Default 200 and 20. Further ones are refused.
    pub replays_max: usize,
    pub replays_max_per_key: usize,
    /// Milliseconds between two snapshots of the state. Default 30000. A restart applies the records after the
    /// last one.
    pub snapshot_ms: u64,
    /// Snapshots that are kept. Default 3.
    pub snapshots_keep: usize,
    /// Milliseconds between two confirmations by the disk. Default 1000. After a power cut, what was not
    /// confirmed is lost, so channels begin new epochs. 0: each record is confirmed before it is published.
    pub fsync_ms: u64,
}

/// Where records live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogEngine {
    /// In files: a restart continues where the process ended.
    Files,
    /// In memory: a restart begins with nothing, and there are no films.
    Memory,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self {
            engine: LogEngine::Files,
            folder: PathBuf::new(),
            segment_bytes: 64 * 1024 * 1024,
            records_keep_ms: 3_600_000,
            records_bytes_max: 8 * 1024 * 1024 * 1024,
            films_keep_ms: 14 * 24 * 3_600_000,
            films_bytes_max: 32 * 1024 * 1024 * 1024,
            replays_max: 200,
            replays_max_per_key: 20,
            snapshot_ms: 30_000,
            snapshots_keep: 3,
            fsync_ms: 1_000,
        }
    }
}

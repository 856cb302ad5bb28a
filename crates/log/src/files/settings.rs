//! The settings of a log in files.

use std::{path::PathBuf, time::Duration};

use base::config::micros;
use fanout::Micros;

use crate::config::LogConfig;

/// The settings of a [`FileLog`](super::FileLog). [`LogConfig`] has the defaults of what the operator may set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSettings {
    /// Only one process can have it open.
    pub folder: PathBuf,
    /// A segment with more bytes than this is followed by a new one.
    pub segment_bytes: u64,
    /// How long records are kept, in microseconds.
    pub records_keep_us: Micros,
    /// For how long before the second newest snapshot records are kept in any case: clients can resume for
    /// that time. In microseconds.
    pub tail_us: Micros,
    /// Bytes of segments and snapshots. Beyond it the oldest segments are deleted, also those that a restart from an
    /// older snapshot needs. Those that a restart from the newest snapshot needs are kept
    /// beyond it.
    pub bytes_max: u64,
    /// How many snapshots are kept, at least 2.
    pub snapshots_keep: usize,
    /// How often records are forced to the disk: a power cut can lose those of this time. 0: each append waits for
    /// the disk, and a power cut loses nothing.
    pub fsync_interval: Duration,
    /// Bytes in `damaged/`. Beyond it the oldest files are deleted. Default 1 GiB.
    pub damaged_bytes_max: u64,
}

impl LogSettings {
    /// The default of the time for which clients can resume.
    pub const TAIL_MS: u64 = 300_000;

    /// The defaults.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self::from_config(&LogConfig::default(), folder)
    }

    /// Those of `[log]`, and the defaults of what it does not have.
    #[must_use]
    pub fn from_config(config: &LogConfig, folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            segment_bytes: config.segment_bytes,
            records_keep_us: micros(config.records_keep_ms),
            tail_us: micros(Self::TAIL_MS),
            bytes_max: config.records_bytes_max,
            snapshots_keep: config.snapshots_keep,
            fsync_interval: Duration::from_millis(config.fsync_ms),
            damaged_bytes_max: 1 << 30,
        }
    }

    /// Whether each append waits for the disk.
    pub(super) fn synced(&self) -> bool {
        self.fsync_interval.is_zero()
    }
}

//! The settings of a log in files.

use std::{path::PathBuf, time::Duration};

use fanout::Micros;

/// The settings of a [`FileLog`](super::FileLog). [`LogSettings::new`] has the defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSettings {
    /// Only one process can have it open.
    pub folder: PathBuf,
    /// A segment with more bytes than this is followed by a new one. Default 64 MiB.
    pub segment_bytes: u64,
    /// How long records are kept, in microseconds. Default one hour.
    pub records_keep_us: Micros,
    /// For how long before the second newest snapshot records are kept in any case: clients can resume for
    /// that time. In microseconds, default 5 minutes.
    pub tail_us: Micros,
    /// Bytes of segments and snapshots. Beyond it the oldest segments are deleted, also those that a restart from an
    /// older snapshot needs. Those that a restart from the newest snapshot needs are kept
    /// beyond it. Default 8 GiB.
    pub bytes_max: u64,
    /// How many snapshots are kept, at least 2. Default 3.
    pub snapshots_keep: usize,
    /// How often records are forced to the disk: a power cut can lose those of this time. 0: each append waits for
    /// the disk, and a power cut loses nothing. Default 1 s.
    pub fsync_interval: Duration,
    /// Bytes in `damaged/`. Beyond it the oldest files are deleted. Default 1 GiB.
    pub damaged_bytes_max: u64,
}

impl LogSettings {
    /// The defaults.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            segment_bytes: 64 << 20,
            records_keep_us: 3600 * 1_000_000,
            tail_us: 300 * 1_000_000,
            bytes_max: 8 << 30,
            snapshots_keep: 3,
            fsync_interval: Duration::from_secs(1),
            damaged_bytes_max: 1 << 30,
        }
    }

    /// Whether each append waits for the disk.
    pub(super) fn synced(&self) -> bool {
        self.fsync_interval.is_zero()
    }
}

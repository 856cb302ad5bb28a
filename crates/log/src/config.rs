//! `[log]`: where the log is stored, and how much of it is kept.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// `[log]`: the log of what the hub applied and published. docs/OPERATING.md#the-log
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogConfig {
    /// Where records are stored: `files`, or `memory`, which is lost on restart. Default `files`.
    pub engine: LogEngine,
    /// The folder of the log. Default: empty, which is the path of the database with `-log` after it.
    pub folder: PathBuf,
    /// Bytes of one file of records. Default 67108864, 64 MiB; at least 65536. Records are deleted file by file, so
    /// larger files keep more than `records_keep_ms`; with smaller ones there are more files.
    pub segment_bytes: u64,
    /// Milliseconds for which records are kept. Default 3600000, one hour. Records that a restart needs are
    /// kept longer. A longer time takes more disk space.
    pub records_keep_ms: u64,
    /// Bytes of all records and snapshots. Default 8589934592, 8 GiB; at least 4 times `segment_bytes`. Beyond it
    /// the oldest records are deleted, and clients that resume from before get an image. Only records that a
    /// restart or the history still needs are kept beyond it.
    pub records_bytes_max: u64,
    /// Milliseconds for which the film of a match is kept after its last update. Default 1209600000, 14 days; needs
    /// the feature `films`. 0: no films.
    pub films_keep_ms: u64,
    /// Bytes of all films at most. Default 34359738368, 32 GiB. Beyond it the oldest are deleted.
    pub films_bytes_max: u64,
    /// Free bytes of a disk below which what can wait pauses: films and snapshots (but one in 10 min, for cutting the
    /// log), if it is the disk of the log, and the archive, if it is that of the database. Default 268435456, 256
    /// MiB. 0: they never pause.
    pub disk_free_min_bytes: u64,
    /// Replays at a time. Default 200. Further ones are refused. Each takes memory for a part of its films.
    pub replays_max: usize,
    /// Replays of one account at a time, over all of its keys and sockets. Default 20. Further ones are refused.
    pub replays_max_per_account: usize,
    /// Milliseconds between two snapshots of the state. Default 10000; at least 100. A restart applies the records
    /// after the last one, so a longer interval makes it slower. Each snapshot takes processor time and disk
    /// bandwidth for the whole state.
    pub snapshot_ms: u64,
    /// A snapshot is also due when the records since the last one took so many milliseconds to apply, but not before
    /// four times as long as saving takes. Default 500; at least 50. A restart takes about so much longer than
    /// reading the state.
    pub snapshot_work_ms: u64,
    /// Snapshots that are kept. Default 3; fewer than 2 count as 2. Each takes disk space for the whole state.
    pub snapshots_keep: usize,
    /// Milliseconds between two confirmations by the disk. Default 1000; at most 5000. After a power cut, what was
    /// not confirmed is lost, so channels begin new epochs. 0: each record is confirmed before it is published,
    /// which delays each update by a write to the disk.
    pub fsync_ms: u64,
}

/// The least `segment_bytes`. With smaller files, a busy hub would begin many of them each second.
const SEGMENT_BYTES_MIN: u64 = 64 << 10;
/// The least `records_bytes_max`, in segments: less could not keep what clients resume from.
const SEGMENTS_MIN: u64 = 4;
/// The least `snapshot_ms`. With a shorter interval, a large state would be written without a pause.
const SNAPSHOT_MS_MIN: u64 = 100;
/// The least `snapshot_work_ms`. With less, a busy hub would do little else.
const SNAPSHOT_WORK_MS_MIN: u64 = 50;
/// The greatest `fsync_ms`. The log is maintained at least as often.
const FSYNC_MS_MAX: u64 = 5_000;

/// A setting that is out of its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LogConfigError {
    #[error("`{setting}` is {value}, and must be at least {min}")]
    TooSmall { setting: &'static str, value: u64, min: u64 },
    #[error("`{setting}` is {value}, and must be at most {max}")]
    TooLarge { setting: &'static str, value: u64, max: u64 },
}

impl LogConfig {
    /// Checks the bounds that the fields document.
    ///
    /// # Errors
    ///
    /// For the first setting that is out of its bounds. The message names it.
    pub fn check(&self) -> Result<(), LogConfigError> {
        let at_least = |setting, value, min| {
            if value >= min {
                Ok(())
            } else {
                Err(LogConfigError::TooSmall { setting, value, min })
            }
        };
        at_least("log.segment_bytes", self.segment_bytes, SEGMENT_BYTES_MIN)?;
        let bytes_min = self.segment_bytes.saturating_mul(SEGMENTS_MIN);
        at_least("log.records_bytes_max", self.records_bytes_max, bytes_min)?;
        at_least("log.snapshot_ms", self.snapshot_ms, SNAPSHOT_MS_MIN)?;
        at_least("log.snapshot_work_ms", self.snapshot_work_ms, SNAPSHOT_WORK_MS_MIN)?;
        if self.fsync_ms > FSYNC_MS_MAX {
            let (setting, value, max) = ("log.fsync_ms", self.fsync_ms, FSYNC_MS_MAX);
            return Err(LogConfigError::TooLarge { setting, value, max });
        }
        Ok(())
    }
}

/// Where records are stored.
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
            films_keep_ms: if cfg!(feature = "films") { 14 * 24 * 3_600_000 } else { 0 },
            films_bytes_max: 32 * 1024 * 1024 * 1024,
            disk_free_min_bytes: 256 * 1024 * 1024,
            replays_max: 200,
            replays_max_per_account: 20,
            snapshot_ms: 10_000,
            snapshot_work_ms: 500,
            snapshots_keep: 3,
            fsync_ms: 1_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::LogConfig;

    fn message(change: impl FnOnce(&mut LogConfig)) -> Option<String> {
        let mut config = LogConfig::default();
        change(&mut config);
        config.check().err().map(|error| error.to_string())
    }

    #[test]
    fn settings_out_of_bounds_are_named() {
        assert_eq!(message(|_| {}), None);
        assert_eq!(
            message(|config| config.segment_bytes = 1_000),
            Some("`log.segment_bytes` is 1000, and must be at least 65536".to_owned())
        );
        assert_eq!(
            message(|config| config.records_bytes_max = 1_000_000),
            Some("`log.records_bytes_max` is 1000000, and must be at least 268435456".to_owned())
        );
        assert_eq!(
            message(|config| config.snapshot_ms = 1),
            Some("`log.snapshot_ms` is 1, and must be at least 100".to_owned())
        );
        assert_eq!(
            message(|config| config.fsync_ms = 60_000),
            Some("`log.fsync_ms` is 60000, and must be at most 5000".to_owned())
        );
        assert_eq!(message(|config| config.fsync_ms = 0), None);
    }
}

//! `[usage]`: how what accounts use is counted and kept.

use serde::{Deserialize, Serialize};

/// `[usage]`: counting goes on in memory, and is written from time to time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UsageConfig {
    /// Milliseconds between two writes, at most 10 000. Default 5 s. One transaction each, and what
    /// may be lost when the hub is killed.
    pub flush_ms: u64,
    /// Accounts times products times days that are counted at a time. Default 100 000, at about
    /// 250 bytes. When as many are at work between two writes, others go uncounted, which a metric
    /// tells, and calls under a quota are let through.
    pub entries_max: usize,
    /// Days for which what was used is kept, at least 31. Default 400. A row for each account, product
    /// and day on which it was used.
    pub keep_days: u32,
}

impl Default for UsageConfig {
    fn default() -> Self {
        Self { flush_ms: 5_000, entries_max: 100_000, keep_days: 400 }
    }
}

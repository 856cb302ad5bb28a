//! `[usage]`: how the usage of accounts is counted and stored.

use serde::{Deserialize, Serialize};

/// `[usage]`: usage is counted in memory and flushed periodically. docs/ACCOUNTS.md#when-usage-is-written
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UsageConfig {
    /// Milliseconds between two flushes, at most 10000. Default 5000. Each is one transaction. What was counted since
    /// the last flush is in a journal next to the database, `DATABASE.usage`.
    pub flush_ms: u64,
    /// Counters in memory at a time: accounts times products times days. Default 100000, about 250 bytes each. If
    /// more are active between two flushes, further usage is not counted, which a metric reports, and calls under a
    /// quota are let through.
    pub entries_max: usize,
    /// Days for which usage is stored, at least 31. Default 400. One row per account, product and day
    /// with usage.
    pub keep_days: u32,
}

impl Default for UsageConfig {
    fn default() -> Self {
        Self { flush_ms: 5_000, entries_max: 100_000, keep_days: 400 }
    }
}

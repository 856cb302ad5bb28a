//! `[database]`: connections to the database, SQLite or PostgreSQL.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// `[database]`: the number of connections, and the time to wait for one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DatabaseConfig {
    /// Connections at a time. Default 0: 4 to an SQLite file, each of which is a thread with at
    /// most about 2 MiB of cache, and 8 to PostgreSQL, each of which is a server process. Two more
    /// connections to PostgreSQL listen for changes.
    pub connections_max: u32,
    /// Milliseconds to wait for a free connection, or for an unreachable PostgreSQL to come back.
    /// Default 5000; then the request gets 503. It stays open for as long.
    pub acquire_ms: u64,
    /// Milliseconds between two writes of a small row, from which the metric
    /// `matchwire_database_writable` reports whether the database accepts writes. Default 5000.
    /// Each is one transaction; while they fail, they are half a second apart.
    pub probe_ms: u64,
}

impl DatabaseConfig {
    /// `acquire_ms` as a duration.
    #[must_use]
    pub fn acquire(&self) -> Duration {
        Duration::from_millis(self.acquire_ms)
    }
}

impl Default for DatabaseConfig {
    fn default() -> Self {
        Self { connections_max: 0, acquire_ms: 5_000, probe_ms: 5_000 }
    }
}

//! `[database]`: connections to the database, whichever it is.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// `[database]`: how many connections there may be, and how long one is waited for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DatabaseConfig {
    /// Connections at a time. Default 0: 4 to an SQLite file, each of which is a thread and about 2 MiB of
    /// cache at most, and 8 to PostgreSQL, where each is a process of the server's. Two more to PostgreSQL
    /// listen for changes.
    pub connections_max: u32,
    /// Milliseconds for which whoever needs a connection waits for one that is free, and for a PostgreSQL
    /// that is away to come back. Default 5000; then the request is answered 503. It is held for so long.
    pub acquire_ms: u64,
    /// Milliseconds between two writes of one small row, by which the metric
    /// `matchwire_database_writable` tells whether the database takes writes. Default 5000. Each is one
    /// transaction; while they fail, they are half a second apart.
    pub probe_ms: u64,
}

impl DatabaseConfig {
    /// `acquire_ms` as a span of time.
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

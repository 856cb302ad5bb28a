//! `[archive]`: how what has passed through the hub is kept, and for how long.

use serde::{Deserialize, Serialize};

/// `[archive]`: written from time to time, and thinned out where that is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ArchiveConfig {
    /// Milliseconds between two writes. Default 1000. One transaction each; what has not been written
    /// when the hub is killed is lost, and a price has one tick a write at most.
    pub write_ms: u64,
    /// Milliseconds after which what other programs have written is read. Default 2000. A short question
    /// each.
    pub reload_ms: u64,
    /// Milliseconds after its start at which a match that nobody tells of any more, and whose play or
    /// end nobody has seen, is `unresolved`. Default 6 hours.
    pub unresolved_after_ms: u64,
    /// Milliseconds after its last news at which a match that was in play, and of which the hub knows
    /// nothing since it was started, is `unresolved`. Default 30 min: a pause in play is shorter. Looked
    /// at as often, but at most once a minute.
    pub untold_after_ms: u64,
    /// Days for which matches are kept, with their prices and players, from their start. Default 0: for
    /// ever. Some 10 KiB each, of which half a KiB is in memory.
    pub keep_days: u32,
    /// Days for which the history of prices is kept. Default 90, 0 for ever. Some 50 bytes for each
    /// price that changes. The opening and the last price stay with the match.
    pub keep_ticks_days: u32,
    /// Days for which signals are kept. Default 365, 0 for ever.
    pub keep_signals_days: u32,
}

impl Default for ArchiveConfig {
    fn default() -> Self {
        Self {
            write_ms: 1_000,
            reload_ms: 2_000,
            unresolved_after_ms: 6 * 60 * 60 * 1_000,
            untold_after_ms: 30 * 60 * 1_000,
            keep_days: 0,
            keep_ticks_days: 90,
            keep_signals_days: 365,
        }
    }
}

//! `[archive]`: what the archive stores, and for how long.

use serde::{Deserialize, Serialize};

/// `[archive]`: written periodically, and pruned if configured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ArchiveConfig {
    /// Milliseconds between two writes. Default 1000. Each further 100 matches that have changed wait
    /// for another interval, 20 at most, so that a write has several changes of a match. What a killed
    /// hub had not written is in the log, and the next start writes it, unless the log is in memory. A price gets at most one tick per second of its source's clock.
    pub write_ms: u64,
    /// Milliseconds between two checks for data written by other programs. Default 2000. Each is a
    /// short query.
    pub reload_ms: u64,
    /// Milliseconds after its start after which a match without further reports is `unresolved` if
    /// its play or its end was never seen. Default 6 hours.
    pub unresolved_after_ms: u64,
    /// Milliseconds after its last report after which a match is `unresolved` if it was in play and
    /// no source has reported it since the hub started. Default 30 min, longer than any break in
    /// play. Checked at the same interval, but at most once a minute.
    pub untold_after_ms: u64,
    /// Days after their start for which matches are stored, with their prices and players. Default 0:
    /// for ever. A match takes about 16 KiB, of which half a KiB is in memory.
    pub keep_days: u32,
    /// Days for which the price history is stored. Default 90, 0 for ever. About 13 bytes per price
    /// change, in blocks of a day at most, which are deleted whole. The opening and the last price stay with the match.
    pub keep_ticks_days: u32,
    /// Days for which signals are stored. Default 365, 0 for ever.
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

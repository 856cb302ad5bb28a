//! The settings of films.

use base::config::micros;
use fanout::Micros;

use crate::config::LogConfig;

/// How films are written and how long they are kept.
#[derive(Debug, Clone, Copy)]
pub struct FilmSettings {
    /// Bytes of entries, before compression, after which a block of a film is written.
    pub block_bytes: usize,
    /// Microseconds after which a block is written, however few entries it has. A replay of a running match
    /// ends this far before the present.
    pub block_age_us: Micros,
    /// Bytes of entries in memory, of all films together. Beyond it, the largest blocks are written.
    pub buffered_bytes_max: usize,
    /// Bytes of entries between two blocks of images. A seek reads at most this many.
    pub key_frame_bytes: usize,
    /// Microseconds between two positions that are safe on disk.
    pub sync_every_us: Micros,
    /// Microseconds for which a film is kept after its last entry.
    pub keep_us: Micros,
    /// Bytes of all films together.
    pub bytes_max: u64,
}

impl FilmSettings {
    /// Those of `[log]`, and the defaults of what it does not have.
    #[must_use]
    pub fn from_config(config: &LogConfig) -> Self {
        Self {
            block_bytes: 128 * 1024,
            block_age_us: 10_000_000,
            buffered_bytes_max: 32 * 1024 * 1024,
            key_frame_bytes: 2 * 1024 * 1024,
            sync_every_us: 30_000_000,
            keep_us: micros(config.films_keep_ms),
            bytes_max: config.films_bytes_max,
        }
    }
}

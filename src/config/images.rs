//! `[images]`: what is answered at `/img/`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// `[images]`: own files, and drawings where there are none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ImagesConfig {
    /// Where own files are, as `{type}/{id}.png`, `.webp` or `.svg`. Default empty: none. Each request
    /// looks for three names there.
    pub folder: PathBuf,
    /// Whether a crest, a portrait or a ground is drawn of who has no file. Default true; else 204.
    pub draw: bool,
    /// Bytes of one own file. Default 4 MiB. As much memory, and up to 64 MiB of pixels, for each that is
    /// rendered at a time; a larger one is not used.
    pub file_bytes_max: usize,
    /// Bytes of rendered images that are kept. Default 32 MiB; one of 128 pixels takes some 4 KiB. 0:
    /// each is rendered anew.
    pub cache_bytes: usize,
    /// Images that are rendered at a time. Default 2, each with a core for some milliseconds. Whoever
    /// waits for five seconds is answered 503.
    pub renders_max: usize,
}

impl Default for ImagesConfig {
    fn default() -> Self {
        Self {
            folder: PathBuf::new(),
            draw: true,
            file_bytes_max: 4 * 1024 * 1024,
            cache_bytes: 32 * 1024 * 1024,
            renders_max: 2,
        }
    }
}

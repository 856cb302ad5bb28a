//! `[images]`: the images at `/img/`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// `[images]`: own files, and generated images where there is no file. docs/OPERATING.md#images
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ImagesConfig {
    /// Folder of own files, as `{type}/{id}.png`, `.webp` or `.svg`. Default empty: none. Each
    /// request checks three names there.
    pub folder: PathBuf,
    /// Whether to generate a crest, a portrait or a ground if there is no file. Default true;
    /// otherwise the response is 204.
    pub draw: bool,
    /// Bytes of one own file. Default 4 MiB. Each image that is being rendered takes as much
    /// memory, and up to 64 MiB of pixels. A larger file is not used.
    pub file_bytes_max: usize,
    /// Bytes of rendered images in the cache. Default 32 MiB; an image of 128 pixels takes about 4
    /// KiB. 0: no cache.
    pub cache_bytes: usize,
    /// Images that are rendered at a time. Default 2, each with a core for some milliseconds.
    /// Requests that wait for five seconds get 503.
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

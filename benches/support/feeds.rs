//! The location of the shared recordings, if they are present.

use std::{
    io::{self, Write},
    path::PathBuf,
};

/// The Betfair PRO recordings: full ladders and trades of a tennis match, message by message.
pub(crate) const BETFAIR_PRO: [&str; 2] = [
    "betfair-stream/tennis-29788105.pro.jsonl.gz",
    "betfair-stream/tennis-29788457-4-markets.pro.jsonl.gz",
];

/// The path of a shared recording; `None`, with a message, if it is missing.
pub(crate) fn path(name: &str) -> Option<PathBuf> {
    let feeds = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/feeds"));
    let path = feeds.join(name);
    if path.is_file() {
        return Some(path);
    }
    writeln!(io::stderr(), "skipped: {name} is not among ../shared/feeds").ok();
    None
}

/// The file name of a recording without its extensions, for the name of a bench.
pub(crate) fn short(name: &str) -> &str {
    let file = name.rsplit('/').next().unwrap_or(name);
    file.split_once('.').map_or(file, |(stem, _)| stem)
}

//! The lines of a recording, compressed or not.

use std::{
    fs::File,
    io::{self, BufRead, BufReader},
    path::Path,
};

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;

/// All non-empty lines.
pub(crate) fn lines(path: &Path) -> io::Result<Vec<String>> {
    let mut file = BufReader::new(File::open(path)?);
    let lines: Box<dyn BufRead> = match file.fill_buf()? {
        [0x1f, 0x8b, ..] => Box::new(BufReader::new(MultiGzDecoder::new(file))),
        [b'B', b'Z', b'h', ..] => Box::new(BufReader::new(MultiBzDecoder::new(file))),
        _ => Box::new(file),
    };
    let is_full = |line: &io::Result<String>| !matches!(line, Ok(line) if line.is_empty());
    lines.lines().filter(is_full).collect()
}

//! Reads the quarantine while a hub may be writing it.
//!
//! The hub only appends, and renames the file when it is full. So the offset of a line never
//! changes, and a line is removed by overwriting it with blanks: lines that arrive meanwhile are
//! not lost.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufRead, BufReader},
    os::unix::fs::FileExt,
    path::Path,
    sync::Arc,
};

use super::{QuarantineEntry, older};

/// An entry and its position in the file.
#[derive(Debug)]
pub struct QuarantinedLine {
    pub entry: QuarantineEntry,
    file: Arc<File>,
    offset: u64,
    length: usize,
}

impl QuarantinedLine {
    /// Removes the entry from the quarantine.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn remove(&self) -> io::Result<()> {
        self.file.write_all_at(&vec![b' '; self.length], self.offset)
    }
}

/// All entries, the oldest first. Malformed lines are skipped.
///
/// # Errors
///
/// When a file is there and cannot be read.
pub fn read(path: &Path) -> io::Result<Vec<QuarantinedLine>> {
    let mut all = Vec::new();
    for path in [older(path), path.to_owned()] {
        match OpenOptions::new().read(true).write(true).open(path) {
            Ok(file) => read_file(&Arc::new(file), &mut all)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

fn read_file(file: &Arc<File>, all: &mut Vec<QuarantinedLine>) -> io::Result<()> {
    let mut reader = BufReader::new(&**file);
    let (mut text, mut offset) = (Vec::new(), 0);
    loop {
        text.clear();
        let read = reader.read_until(b'\n', &mut text)?;
        // A line without its end is being written at this moment.
        let Some(whole) = text.strip_suffix(b"\n") else { return Ok(()) };
        if let Ok(entry) = serde_json::from_slice(whole) {
            all.push(QuarantinedLine {
                entry,
                file: Arc::clone(file),
                offset,
                length: whole.len(),
            });
        }
        offset += read as u64;
    }
}

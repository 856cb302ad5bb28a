//! What the quarantine holds, read beside a hub that goes on writing it.
//!
//! The hub only ever appends, and renames the file when it is full. So a line stands where it stood
//! when it was read, and is taken out by writing blanks over it: nothing that comes meanwhile is lost.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufRead, BufReader},
    os::unix::fs::FileExt,
    path::Path,
    sync::Arc,
};

use super::{QuarantineEntry, older};

/// A line and where it stands.
#[derive(Debug)]
pub struct QuarantinedLine {
    pub entry: QuarantineEntry,
    file: Arc<File>,
    offset: u64,
    length: usize,
}

impl QuarantinedLine {
    /// Takes the line out of the quarantine.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn remove(&self) -> io::Result<()> {
        self.file.write_all_at(&vec![b' '; self.length], self.offset)
    }
}

/// All lines, the oldest first. What is no line is passed over.
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
        // Without its end it is being written at this moment.
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

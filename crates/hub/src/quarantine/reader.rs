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

/// The last entries of the quarantine, for a page.
#[derive(Debug, Default)]
pub struct QuarantineTail {
    /// The newest first.
    pub entries: Vec<QuarantineEntry>,
    /// There are older entries that were not read or not taken.
    pub has_more: bool,
}

/// The last entries, of one source or of all. Reads at most `bytes_max` from the end of the files, and takes at most
/// `entries_max` entries. Malformed lines are skipped. Nothing is written.
///
/// # Errors
///
/// When a file is there and cannot be read.
pub fn read_last(
    path: &Path,
    source: Option<&str>,
    entries_max: usize,
    bytes_max: u64,
) -> io::Result<QuarantineTail> {
    let mut tail = QuarantineTail::default();
    let mut left = bytes_max;
    for path in [path.to_owned(), older(path)] {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let length = file.metadata()?.len();
        let from = length - length.min(left);
        left -= length - from;
        tail.has_more |= from > 0;
        let mut text = vec![0; usize::try_from(length - from).unwrap_or(0)];
        file.read_exact_at(&mut text, from)?;
        // A line without its beginning was cut off here; one without its end is being written at this moment.
        let begin = if from == 0 { 0 } else { line_end(&text).map_or(text.len(), |end| end + 1) };
        let end = text.iter().rposition(|byte| *byte == b'\n').map_or(begin, |end| end.max(begin));
        for line in text[begin..end].rsplit(|byte| *byte == b'\n') {
            let Ok(entry) = serde_json::from_slice::<QuarantineEntry>(line) else { continue };
            if source.is_some_and(|source| entry.source != source) {
                continue;
            }
            if tail.entries.len() == entries_max {
                tail.has_more = true;
                return Ok(tail);
            }
            tail.entries.push(entry);
        }
    }
    Ok(tail)
}

fn line_end(text: &[u8]) -> Option<usize> {
    text.iter().position(|byte| *byte == b'\n')
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

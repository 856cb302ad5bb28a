//! Public ids that the database does not have yet, in a file next to it.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use facts::event::Id;

/// Bytes of an entry: the digest, and its number.
const ENTRY: usize = 12;

/// Appended to before a number is handed out, and emptied when the database has them all. It is not
/// forced to the disk: it outlives the program and not a power failure, after which the same choices give
/// the same numbers in all but contested cases.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
}

impl Journal {
    /// Opens it, with what it has. An entry that was cut off was never handed out.
    pub(super) fn open(path: &Path) -> io::Result<(Self, Vec<(Id, u32)>)> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let whole = bytes.len() - bytes.len() % ENTRY;
        if whole < bytes.len() {
            file.set_len(whole as u64)?;
        }
        let entries = bytes.chunks_exact(ENTRY).filter_map(|entry| {
            let (digest, number) = entry.split_at(ENTRY - 4);
            let digest = u64::from_be_bytes(digest.try_into().ok()?);
            Some((Id(digest), u32::from_be_bytes(number.try_into().ok()?)))
        });
        let entries = entries.collect();
        Ok((Self { file }, entries))
    }

    pub(super) fn append(&mut self, digest: Id, number: u32) -> io::Result<()> {
        let mut entry = [0; ENTRY];
        let (head, tail) = entry.split_at_mut(ENTRY - 4);
        head.copy_from_slice(&digest.0.to_be_bytes());
        tail.copy_from_slice(&number.to_be_bytes());
        self.file.write_all(&entry)
    }

    pub(super) fn clear(&self) -> io::Result<()> {
        self.file.set_len(0)
    }
}

/// `matchwire.db` has `matchwire.db.ids`.
#[must_use]
pub fn path_beside(db: &Path) -> PathBuf {
    let mut name = db.as_os_str().to_owned();
    name.push(".ids");
    name.into()
}

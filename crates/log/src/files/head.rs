//! The file `head`: where the log ends. It is written after the records and before [`append`] returns,
//! so a log with fewer records than its head names has lost some.
//!
//! [`append`]: crate::Log::append

use std::{
    fs::{File, OpenOptions},
    io::{self, Read},
    os::unix::fs::FileExt,
    path::Path,
};

use sha2::{Digest, Sha256};

use super::version::{HeaderError, check_header, newer_version};
use crate::{LogPosition, RecordNumber};

pub(super) const FILE_NAME: &str = "head";

const MAGIC: [u8; 6] = *b"mwhead";
const VERSION: u16 = 1;
const BYTES: usize = 80;

const CLEAN: u8 = 1;
const SYNCED: u8 = 2;
const RESERVED: u8 = 4;

/// What identifies a boot of the machine: a hash of the system's id of it.
pub(super) type Boot = [u8; 16];

pub(super) fn boot(id: &str) -> Boot {
    let hash = Sha256::digest(id.trim().as_bytes());
    let mut boot = Boot::default();
    boot.copy_from_slice(&hash[..16]);
    boot
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) end: LogPosition,
    /// The first number of the segment with the last record, and where the record ends there.
    pub(super) segment: RecordNumber,
    pub(super) offset: u64,
    pub(super) boot: Boot,
    /// The log was closed, and everything is on the disk.
    pub(super) clean: bool,
    /// Each append waited for the disk.
    pub(super) synced: bool,
    /// Continuity was not proven when the log was opened, and nothing was appended since: the end is not that
    /// of a record, but the number after which the next one gets its own.
    pub(super) reserved: bool,
}

impl Head {
    fn encode(&self) -> [u8; BYTES] {
        let flags = [(self.clean, CLEAN), (self.synced, SYNCED), (self.reserved, RESERVED)];
        let flags: u8 = flags.iter().map(|&(set, flag)| if set { flag } else { 0 }).sum();
        let mut bytes = Vec::with_capacity(BYTES);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&[flags, 0, 0, 0]);
        bytes.extend_from_slice(&self.end.number.to_le_bytes());
        bytes.extend_from_slice(&self.end.chain);
        bytes.extend_from_slice(&self.end.at.to_le_bytes());
        bytes.extend_from_slice(&self.segment.to_le_bytes());
        bytes.extend_from_slice(&self.offset.to_le_bytes());
        bytes.extend_from_slice(&self.boot);
        bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
        bytes.try_into().expect("the fields have 80 bytes")
    }

    fn decode(bytes: &[u8]) -> Result<Self, HeaderError> {
        let Ok(bytes): Result<&[u8; BYTES], _> = bytes.try_into() else {
            return Err(match newer_version(bytes, MAGIC, VERSION) {
                Some(version) => HeaderError::NewerVersion(version),
                None => HeaderError::Damaged("its length is wrong"),
            });
        };
        check_header(bytes, MAGIC, VERSION, "it is not the head of a log")?;
        let word = |at: usize| u64::from_le_bytes(array(bytes, at));
        Ok(Self {
            end: LogPosition {
                number: word(12),
                chain: array(bytes, 20),
                at: i64::from_le_bytes(array(bytes, 36)),
            },
            segment: word(44),
            offset: word(52),
            boot: array(bytes, 60),
            clean: bytes[8] & CLEAN != 0,
            synced: bytes[8] & SYNCED != 0,
            reserved: bytes[8] & RESERVED != 0,
        })
    }

    /// `None` if there is no file, or an empty one: the process was killed before it wrote the first head.
    ///
    /// # Errors
    ///
    /// If it cannot be read. The inner error: if its content cannot be used.
    pub(super) fn read(folder: &Path) -> io::Result<Option<Result<Self, HeaderError>>> {
        let file = match File::open(folder.join(FILE_NAME)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::with_capacity(BYTES + 1);
        // One byte more shows that the file is too long.
        file.take(BYTES as u64 + 1).read_to_end(&mut bytes)?;
        Ok((!bytes.is_empty()).then(|| Self::decode(&bytes)))
    }

    pub(super) fn write(&self, file: &File) -> io::Result<()> {
        file.write_all_at(&self.encode(), 0)
    }
}

/// Opens the file to write it. Its content stays as it is.
pub(super) fn open(folder: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(false).write(true).open(folder.join(FILE_NAME))
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("the range has this length")
}

//! The file `head`: where the log ends. It is written after the records and before [`append`] returns,
//! so a log with fewer records than its head has lost some.
//!
//! [`append`]: crate::Log::append

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::Path,
};

use sha2::{Digest, Sha256};

use crate::{LogPosition, RecordNumber, codec::Problem};

pub(super) const FILE_NAME: &str = "head";

const MAGIC: [u8; 6] = *b"mwhead";
const VERSION: u16 = 1;
const BYTES: usize = 80;

const CLEAN: u8 = 1;
const SYNCED: u8 = 2;

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
}

impl Head {
    fn encode(&self) -> [u8; BYTES] {
        let flags = if self.clean { CLEAN } else { 0 } | if self.synced { SYNCED } else { 0 };
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

    fn decode(bytes: &[u8]) -> Result<Self, Problem> {
        let bytes: &[u8; BYTES] = bytes.try_into().map_err(|_| "its length is wrong")?;
        let word = |at: usize| u64::from_le_bytes(array(bytes, at));
        if bytes[..6] != MAGIC {
            return Err("it is not the head of a log");
        }
        if u32::from_le_bytes(array(bytes, BYTES - 4)) != crc32fast::hash(&bytes[..BYTES - 4]) {
            return Err("its checksum does not match");
        }
        if u16::from_le_bytes(array(bytes, 6)) != VERSION {
            return Err("its version is unknown");
        }
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
        })
    }

    /// `None` if there is no file.
    ///
    /// # Errors
    ///
    /// The inner error: if its content is damaged.
    pub(super) fn read(folder: &Path) -> io::Result<Option<Result<Self, Problem>>> {
        let file = match File::open(folder.join(FILE_NAME)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if file.metadata()?.len() != BYTES as u64 {
            return Ok(Some(Err("its length is wrong")));
        }
        let mut bytes = [0; BYTES];
        Ok(Some(match file.read_exact_at(&mut bytes, 0) {
            Ok(()) => Self::decode(&bytes),
            Err(_) => Err("it cannot be read"),
        }))
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

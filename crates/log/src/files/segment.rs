//! A segment: a file of records that follow each other.
//!
//! Its name has the number of its first record, `segment-00000000000000000001.log`. Its header says after
//! which record it begins, so that a lost segment shows.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::version::{HeaderError, check_header};
use crate::{
    LogPosition, RecordNumber,
    codec::{self, PREFIX_BYTES, Problem},
};

const MAGIC: [u8; 6] = *b"mwlog\n";
/// Of the header and of the records.
const VERSION: u16 = 1;
pub(super) const HEADER_BYTES: usize = 52;

/// A greater number is not the number of a record.
const NUMBER_MAX: RecordNumber = 1 << 62;

/// Read at once.
const CHUNK_BYTES: usize = 256 << 10;

pub(super) fn path(folder: &Path, first: RecordNumber) -> PathBuf {
    folder.join(format!("segment-{first:020}.log"))
}

/// The number in a name such as `segment-00000000000000000001.log`.
pub(super) fn number_in(name: &str, prefix: &str, suffix: &str) -> Option<RecordNumber> {
    let digits = name.strip_prefix(prefix)?.strip_suffix(suffix)?;
    let canonical = digits.len() == 20 && digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|&number| canonical && number <= NUMBER_MAX)
}

/// First numbers of the segments in a folder, in order.
pub(super) fn list(folder: &Path) -> io::Result<Vec<RecordNumber>> {
    let mut firsts = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        firsts.extend(name.to_str().and_then(|name| number_in(name, "segment-", ".log")));
    }
    firsts.retain(|&first| first > 0);
    firsts.sort_unstable();
    Ok(firsts)
}

/// The first bytes of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SegmentHeader {
    /// The number of its first record.
    pub(super) first: RecordNumber,
    /// The last record before it. Its number is `first` less one, except after a log whose end could not
    /// be proven.
    pub(super) before: LogPosition,
}

impl SegmentHeader {
    fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&self.first.to_le_bytes());
        bytes.extend_from_slice(&self.before.number.to_le_bytes());
        bytes.extend_from_slice(&self.before.chain);
        bytes.extend_from_slice(&self.before.at.to_le_bytes());
        bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
        bytes.try_into().expect("the fields have 52 bytes")
    }

    fn decode(bytes: &[u8; HEADER_BYTES]) -> Result<Self, HeaderError> {
        check_header(bytes, MAGIC, VERSION, "it is not a segment of a log")?;
        let word = |at: usize| -> [u8; 8] { bytes[at..at + 8].try_into().expect("8 bytes") };
        Ok(Self {
            first: u64::from_le_bytes(word(8)),
            before: LogPosition {
                number: u64::from_le_bytes(word(16)),
                chain: bytes[24..40].try_into().expect("16 bytes"),
                at: i64::from_le_bytes(word(40)),
            },
        })
    }
}

/// Creates a segment, or empties one that a failed append has left.
pub(super) fn create(folder: &Path, header: &SegmentHeader) -> io::Result<File> {
    let path = path(folder, header.first);
    let file = OpenOptions::new().create(true).truncate(true).read(true).write(true).open(&path)?;
    if let Err(error) = file.write_all_at(&header.encode(), 0) {
        fs::remove_file(&path).ok();
        return Err(error);
    }
    Ok(file)
}

/// A record's bytes in a segment.
#[derive(Debug)]
pub(super) struct Frame<'a> {
    pub(super) prefix: [u8; PREFIX_BYTES],
    pub(super) body: &'a [u8],
    /// Where it ends in the segment.
    pub(super) end: u64,
}

/// Why there is no frame at an offset.
#[derive(Debug)]
pub(super) enum FrameError {
    /// The segment ends here.
    End,
    /// The segment ends within it.
    Incomplete,
    Damaged(Problem),
    /// The whole segment has a format that this program cannot read.
    NewerVersion(u16),
    Storage(io::Error),
}

impl From<HeaderError> for FrameError {
    fn from(error: HeaderError) -> Self {
        match error {
            HeaderError::Damaged(problem) => Self::Damaged(problem),
            HeaderError::NewerVersion(version) => Self::NewerVersion(version),
        }
    }
}

impl From<io::Error> for FrameError {
    fn from(error: io::Error) -> Self {
        Self::Storage(error)
    }
}

/// Reads the frames of a segment in order.
#[derive(Debug)]
pub(super) struct SegmentReader {
    file: Arc<File>,
    pub(super) header: SegmentHeader,
    /// Where the next frame begins.
    offset: u64,
    /// Bytes of the file from `offset - used` on.
    buffer: Vec<u8>,
    used: usize,
}

impl SegmentReader {
    /// # Errors
    ///
    /// [`FrameError::Incomplete`] if the file is shorter than a header.
    pub(super) fn open(folder: &Path, first: RecordNumber) -> Result<Self, FrameError> {
        let file = File::open(path(folder, first))?;
        let mut bytes = [0; HEADER_BYTES];
        match file.read_exact_at(&mut bytes, 0) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(FrameError::Incomplete);
            }
            result => result?,
        }
        let header = SegmentHeader::decode(&bytes)?;
        if header.first != first || header.before.number >= first {
            return Err(FrameError::Damaged("its header does not fit its name"));
        }
        let offset = HEADER_BYTES as u64;
        Ok(Self { file: Arc::new(file), header, offset, buffer: Vec::new(), used: 0 })
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes of the file now.
    pub(super) fn file_bytes(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// Continues at another offset, where a frame begins.
    pub(super) fn seek(&mut self, offset: u64) {
        self.offset = offset;
        self.used = self.buffer.len();
    }

    /// The frame at the current offset. `limit`: bytes of the file that may be read. Only they are read, since
    /// bytes after it can still change.
    pub(super) fn next(&mut self, limit: u64) -> Result<Frame<'_>, FrameError> {
        let rest = limit.saturating_sub(self.offset);
        if rest == 0 {
            return Err(FrameError::End);
        }
        if rest < PREFIX_BYTES as u64 {
            return Err(FrameError::Incomplete);
        }
        self.fill(PREFIX_BYTES, limit)?;
        let prefix: [u8; PREFIX_BYTES] =
            self.buffer[self.used..self.used + PREFIX_BYTES].try_into().expect("8 bytes");
        let body = codec::body_bytes(prefix).map_err(FrameError::Damaged)?;
        let whole = PREFIX_BYTES + body;
        if rest < whole as u64 {
            return Err(FrameError::Incomplete);
        }
        self.fill(whole, limit)?;
        let start = self.used + PREFIX_BYTES;
        self.used += whole;
        self.offset += whole as u64;
        Ok(Frame { prefix, body: &self.buffer[start..start + body], end: self.offset })
    }

    /// Reads until the buffer has this many bytes from the current offset on.
    fn fill(&mut self, bytes: usize, limit: u64) -> Result<(), FrameError> {
        let have = self.buffer.len() - self.used;
        if have >= bytes {
            return Ok(());
        }
        self.buffer.copy_within(self.used.., 0);
        self.used = 0;
        let rest = usize::try_from(limit - self.offset).unwrap_or(usize::MAX);
        let wanted = bytes.max(CHUNK_BYTES).min(rest);
        self.buffer.resize(wanted, 0);
        // What one large record needed is not kept.
        self.buffer.shrink_to(CHUNK_BYTES.max(wanted));
        let read = self.file.read_exact_at(&mut self.buffer[have..], self.offset + have as u64);
        if let Err(error) = read {
            self.buffer.truncate(have);
            return Err(match error.kind() {
                io::ErrorKind::UnexpectedEof => FrameError::Incomplete,
                _ => FrameError::Storage(error),
            });
        }
        Ok(())
    }
}

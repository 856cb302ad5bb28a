//! Snapshots: the state after a record, so that a start reads only the records after it.
//!
//! ```text
//! magic, version u16, format u16 of the content
//! number u64, chain, at i64    the record after which the state is
//! state    u64                 bytes of the content
//! stored   u64                 bytes of the compressed content
//! sha      32 bytes            SHA-256 of the compressed content
//! crc      u32                 of the bytes before
//! content                      zstd
//! ```
//!
//! A snapshot is written under another name, forced to the disk, and then renamed, so that what has the name of
//! a snapshot is whole.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Read, Seek, Write},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use super::{
    LogSettings,
    segment::number_in,
    sync::sync_names,
    version::{HeaderError, check_header},
};
use crate::{LogPosition, RecordNumber, codec::Problem};

const MAGIC: [u8; 6] = *b"mwsnap";
const VERSION: u16 = 1;
const HEADER_BYTES: usize = 94;

/// Of the content, before compression.
const STATE_BYTES_MAX: u64 = 16 << 30;

/// The thread that writes snapshots competes with the writer for processor time.
const LEVEL: i32 = 1;

const PREFIX: &str = "snapshot-";
const SUFFIX: &str = ".state";
const UNFINISHED: &str = "snapshot.unfinished";

/// Reads and writes the snapshots in the folder of a log. One at a time may write.
#[derive(Debug, Clone)]
pub struct SnapshotStore {
    folder: PathBuf,
    keep: usize,
}

/// A snapshot in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Snapshot {
    /// The state is that after this record.
    pub position: LogPosition,
    /// Of the content, as the caller has said.
    pub format: u16,
    /// Bytes of the state.
    pub state_bytes: u64,
    pub file_bytes: u64,
}

/// Why a snapshot could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    #[error("snapshot {number} is damaged: {problem}")]
    Damaged { number: RecordNumber, problem: Problem },
    #[error("snapshot {number} was written by a newer version, in format {version}")]
    NewerVersion { number: RecordNumber, version: u16 },
    #[error("cannot read snapshot {number}")]
    Storage { number: RecordNumber, source: io::Error },
}

impl SnapshotError {
    fn new(number: RecordNumber, error: HeaderError) -> Self {
        match error {
            HeaderError::Damaged(problem) => Self::Damaged { number, problem },
            HeaderError::NewerVersion(version) => Self::NewerVersion { number, version },
        }
    }
}

impl SnapshotStore {
    /// The snapshots of the log with these settings. Creates its folder.
    ///
    /// # Errors
    ///
    /// If the folder cannot be created.
    pub fn open(settings: &LogSettings) -> io::Result<Self> {
        fs::create_dir_all(&settings.folder)?;
        Ok(Self { folder: settings.folder.clone(), keep: settings.snapshots_keep.max(2) })
    }

    /// To read only.
    pub(super) fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), keep: usize::MAX }
    }

    /// Writes a snapshot, and deletes those beyond the number that is kept.
    ///
    /// # Errors
    ///
    /// If it cannot be written. The others are then as before.
    pub fn write(&self, position: LogPosition, format: u16, state: &[u8]) -> io::Result<Snapshot> {
        let unfinished = self.folder.join(UNFINISHED);
        let written = write_file(&unfinished, position, format, state).and_then(|snapshot| {
            fs::rename(&unfinished, path(&self.folder, position.number))?;
            sync_names(&self.folder)?;
            Ok(snapshot)
        });
        if written.is_err() {
            fs::remove_file(&unfinished).ok();
        }
        let snapshot = written?;
        for number in numbers(&self.folder)?.into_iter().skip(self.keep) {
            fs::remove_file(path(&self.folder, number))?;
        }
        Ok(snapshot)
    }

    /// The file of a snapshot, to send it to another machine.
    ///
    /// # Errors
    ///
    /// If it cannot be opened.
    pub fn open_file(&self, number: RecordNumber) -> io::Result<File> {
        File::open(path(&self.folder, number))
    }

    /// A file for a snapshot of another machine. [`Self::receive`] makes it one of this log.
    ///
    /// # Errors
    ///
    /// If it cannot be created.
    pub fn begin_receiving(&self) -> io::Result<File> {
        let options = OpenOptions::new().create(true).truncate(true).write(true).clone();
        options.open(self.folder.join(UNFINISHED))
    }

    /// Makes the received file the snapshot of this number, if it is whole.
    ///
    /// # Errors
    ///
    /// If it is damaged, of another number, or cannot be renamed.
    pub fn receive(&self, number: RecordNumber, file: &File) -> Result<(), SnapshotError> {
        let storage = |source| SnapshotError::Storage { number, source };
        file.sync_all().map_err(storage)?;
        let unfinished = self.folder.join(UNFINISHED);
        read(&unfinished, number)?;
        fs::rename(unfinished, path(&self.folder, number)).map_err(storage)?;
        sync_names(&self.folder).map_err(storage)
    }

    /// The snapshots, newest first, and one line for each that cannot be used. Contents are not read.
    ///
    /// # Errors
    ///
    /// If the folder cannot be read.
    pub fn list(&self) -> io::Result<(Vec<Snapshot>, Vec<String>)> {
        list(&self.folder)
    }

    /// Reads a snapshot.
    ///
    /// # Errors
    ///
    /// If it is damaged, written by a newer version, or missing.
    pub fn read(&self, number: RecordNumber) -> Result<(u16, LogPosition, Vec<u8>), SnapshotError> {
        read(&path(&self.folder, number), number)
    }
}

fn read(path: &Path, number: RecordNumber) -> Result<(u16, LogPosition, Vec<u8>), SnapshotError> {
    let storage = |source| SnapshotError::Storage { number, source };
    let mut file = File::open(path).map_err(storage)?;
    let damaged = |problem| SnapshotError::Damaged { number, problem };
    let header = SnapshotHeader::read(&mut file).map_err(storage)?;
    let header = header.map_err(|error| SnapshotError::new(number, error))?;
    if header.position.number != number {
        return Err(damaged("its header does not fit its name"));
    }
    let bytes = file.metadata().map_err(storage)?.len();
    if bytes != HEADER_BYTES as u64 + header.stored_bytes {
        return Err(damaged("its length is wrong"));
    }
    let mut stored = Vec::new();
    file.read_to_end(&mut stored).map_err(storage)?;
    if Sha256::digest(&stored)[..] != header.sha {
        return Err(damaged("its hash does not match"));
    }
    let state = decompress(&stored, header.state_bytes).map_err(damaged)?;
    Ok((header.format, header.position, state))
}

pub(super) fn path(folder: &Path, number: RecordNumber) -> PathBuf {
    folder.join(format!("{PREFIX}{number:020}{SUFFIX}"))
}

/// The number in the name of a snapshot.
pub(super) fn number_in_name(name: &str) -> Option<RecordNumber> {
    number_in(name, PREFIX, SUFFIX)
}

/// Numbers of the snapshots in a folder, newest first.
pub(super) fn numbers(folder: &Path) -> io::Result<Vec<RecordNumber>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        numbers.extend(name.to_str().and_then(number_in_name));
    }
    numbers.sort_unstable_by(|a, b| b.cmp(a));
    Ok(numbers)
}

pub(super) fn list(folder: &Path) -> io::Result<(Vec<Snapshot>, Vec<String>)> {
    let (mut snapshots, mut findings) = (Vec::new(), Vec::new());
    for number in numbers(folder)? {
        let header = File::open(path(folder, number)).and_then(|mut file| {
            let file_bytes = file.metadata()?.len();
            Ok((SnapshotHeader::read(&mut file)?, file_bytes))
        });
        let (header, file_bytes) = match header {
            // Another thread has deleted it since.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            result => result?,
        };
        match header {
            Ok(header) if file_bytes == HEADER_BYTES as u64 + header.stored_bytes => {
                let SnapshotHeader { position, format, state_bytes, .. } = header;
                snapshots.push(Snapshot { position, format, state_bytes, file_bytes });
            }
            Ok(_) => findings.push(format!("snapshot {number} is damaged: its length is wrong")),
            Err(error) => findings.push(SnapshotError::new(number, error).to_string()),
        }
    }
    Ok((snapshots, findings))
}

fn write_file(
    path: &Path,
    position: LogPosition,
    format: u16,
    state: &[u8],
) -> io::Result<Snapshot> {
    let mut file = OpenOptions::new().create(true).truncate(true).write(true).open(path)?;
    file.seek(io::SeekFrom::Start(HEADER_BYTES as u64))?;
    let state_bytes = state.len() as u64;
    let writer = HashingWriter { out: BufWriter::new(&file), hash: Sha256::new(), bytes: 0 };
    let mut encoder = zstd::Encoder::new(writer, LEVEL)?;
    encoder.set_pledged_src_size(Some(state_bytes))?;
    encoder.write_all(state)?;
    let mut writer = encoder.finish()?;
    writer.out.flush()?;
    let (stored_bytes, sha) = (writer.bytes, writer.hash.finalize().into());
    drop(writer.out);
    let header = SnapshotHeader { position, format, state_bytes, stored_bytes, sha };
    file.write_all_at(&header.encode(), 0)?;
    file.sync_all()?;
    let file_bytes = HEADER_BYTES as u64 + stored_bytes;
    Ok(Snapshot { position, format, state_bytes, file_bytes })
}

/// Hashes what it writes.
struct HashingWriter<W> {
    out: W,
    hash: Sha256,
    bytes: u64,
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hash.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn decompress(stored: &[u8], state_bytes: u64) -> Result<Vec<u8>, Problem> {
    let content = zstd::zstd_safe::get_frame_content_size(stored).ok().flatten();
    if content != Some(state_bytes) || state_bytes > STATE_BYTES_MAX {
        return Err("its lengths differ");
    }
    let capacity = usize::try_from(state_bytes).map_err(|_| "it is too large")?;
    let mut state = Vec::new();
    state.try_reserve_exact(capacity).map_err(|_| "it is too large")?;
    let bytes = zstd::bulk::Decompressor::new()
        .and_then(|mut zstd| zstd.decompress_to_buffer(stored, &mut state))
        .map_err(|_| "it cannot be decompressed")?;
    if bytes == capacity { Ok(state) } else { Err("its lengths differ") }
}

#[derive(Debug, Clone, Copy)]
struct SnapshotHeader {
    position: LogPosition,
    format: u16,
    state_bytes: u64,
    stored_bytes: u64,
    sha: [u8; 32],
}

impl SnapshotHeader {
    fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&self.format.to_le_bytes());
        bytes.extend_from_slice(&self.position.number.to_le_bytes());
        bytes.extend_from_slice(&self.position.chain);
        bytes.extend_from_slice(&self.position.at.to_le_bytes());
        bytes.extend_from_slice(&self.state_bytes.to_le_bytes());
        bytes.extend_from_slice(&self.stored_bytes.to_le_bytes());
        bytes.extend_from_slice(&self.sha);
        bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
        bytes.try_into().expect("the fields have 94 bytes")
    }

    /// The inner error: the header cannot be used.
    fn read(file: &mut File) -> io::Result<Result<Self, HeaderError>> {
        let mut bytes = [0; HEADER_BYTES];
        match file.read_exact(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Ok(Err(HeaderError::Damaged("it ends too early")));
            }
            result => result?,
        }
        Ok(Self::decode(&bytes))
    }

    fn decode(bytes: &[u8; HEADER_BYTES]) -> Result<Self, HeaderError> {
        check_header(bytes, MAGIC, VERSION, "it is not a snapshot")?;
        let fields = &bytes[..HEADER_BYTES - 4];
        let word = |at: usize| -> [u8; 8] { fields[at..at + 8].try_into().expect("8 bytes") };
        Ok(Self {
            format: u16::from_le_bytes([fields[8], fields[9]]),
            position: LogPosition {
                number: u64::from_le_bytes(word(10)),
                chain: fields[18..34].try_into().expect("16 bytes"),
                at: i64::from_le_bytes(word(34)),
            },
            state_bytes: u64::from_le_bytes(word(42)),
            stored_bytes: u64::from_le_bytes(word(50)),
            sha: fields[58..90].try_into().expect("32 bytes"),
        })
    }
}

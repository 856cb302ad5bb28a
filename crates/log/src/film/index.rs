//! The file of a film and the index of its blocks, which all readers of the film share.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::{FileExt as _, MetadataExt as _},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use fanout::{ChannelId, Micros};

use super::{
    FilmError,
    block::{BlockHeader, BlockKind, FILE_MAGIC, PREFIX_BYTES, Prefix, Track, magic_positions},
};
use crate::RecordNumber;

/// An open film. Its index grows as the film does.
#[derive(Debug)]
pub(super) struct FilmFile {
    path: PathBuf,
    file: File,
    /// The device and the number of the file, which another file with this name does not have.
    identity: (u64, u64),
    /// The film was deleted or cut, so its readers cannot go on.
    is_deleted: AtomicBool,
    index: Mutex<SharedIndex>,
}

#[derive(Debug)]
struct SharedIndex {
    index: Arc<FilmIndex>,
    /// The length of the file when what follows the last block was found to be no block.
    torn_bytes: u64,
}

/// The blocks of a film up to some moment.
#[derive(Debug, Clone)]
pub(super) struct FilmIndex {
    pub(super) tracks: Vec<Track>,
    pub(super) blocks: Vec<Arc<IndexedBlock>>,
    /// The end of the last complete block.
    pub(super) end: u64,
    /// What follows is damaged, and there are blocks after it.
    pub(super) is_damaged: bool,
}

/// A block, as far as finding positions needs it.
#[derive(Debug)]
pub(super) struct IndexedBlock {
    pub(super) offset: u64,
    pub(super) prefix: Prefix,
    pub(super) header: BlockHeader,
}

/// A film is searched for a block after a damaged one in parts of this size.
const SEARCH_BYTES: usize = 1024 * 1024;

impl FilmFile {
    /// Opens a film and reads its headers. Also returns how many bytes they have.
    pub(super) fn open(path: &Path) -> Result<(Self, usize), FilmError> {
        let file = File::open(path).map_err(FilmError::storage(path))?;
        let identity = identity(&file.metadata().map_err(FilmError::storage(path))?);
        let index = FilmIndex {
            tracks: Vec::new(),
            blocks: Vec::new(),
            end: FILE_MAGIC.len() as u64,
            is_damaged: false,
        };
        let film = Self {
            path: path.to_owned(),
            file,
            identity,
            is_deleted: AtomicBool::new(false),
            index: Mutex::new(SharedIndex { index: Arc::new(index), torn_bytes: 0 }),
        };
        let mut magic = [0; FILE_MAGIC.len()];
        if !film.read_at(&mut magic, 0)? || magic != FILE_MAGIC {
            return Err(film.damaged(0, "it does not begin like a film"));
        }
        let (_, bytes) = film.refresh()?;
        Ok((film, bytes))
    }

    /// Whether the path still leads to this file.
    pub(super) fn is_current(&self) -> bool {
        !self.is_deleted()
            && fs::metadata(&self.path).is_ok_and(|it| identity(&it) == self.identity)
    }

    pub(super) fn is_deleted(&self) -> bool {
        self.is_deleted.load(Ordering::Relaxed)
    }

    /// Ends all readers.
    pub(super) fn set_deleted(&self) {
        self.is_deleted.store(true, Ordering::Relaxed);
    }

    /// The index, with the blocks that were added. Also returns how many bytes were read for that.
    pub(super) fn refresh(&self) -> Result<(Arc<FilmIndex>, usize), FilmError> {
        if self.is_deleted() {
            return Err(FilmError::Deleted { path: self.path.clone() });
        }
        let mut shared = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        let SharedIndex { index, torn_bytes } = &mut *shared;
        let mut bytes = 0;
        while !index.is_damaged {
            let length = self.file.metadata().map_err(FilmError::storage(&self.path))?.len();
            if index.end + PREFIX_BYTES as u64 > length || length == *torn_bytes {
                break;
            }
            let (block, read) = self.block_at(index.end, length)?;
            bytes += read;
            if let Some(block) = block {
                Arc::make_mut(index).push(block);
                continue;
            }
            // A torn block: the writer is not done, or never was. If blocks follow, it is a damaged one.
            if self.has_block_after(index.end + 1, length)? {
                Arc::make_mut(index).is_damaged = true;
            } else {
                *torn_bytes = length;
            }
        }
        Ok((Arc::clone(index), bytes))
    }

    /// The block at an offset of a file with this length, if it is complete, and how many bytes were read.
    fn block_at(
        &self,
        offset: u64,
        length: u64,
    ) -> Result<(Option<IndexedBlock>, usize), FilmError> {
        let mut prefix = [0; PREFIX_BYTES];
        let has_prefix = self.read_at(&mut prefix, offset)?;
        let prefix = Prefix::parse(&prefix).filter(|_| has_prefix);
        let is_complete = |prefix: &Prefix| offset + prefix.block_bytes() <= length;
        let Some(prefix) = prefix.filter(is_complete) else { return Ok((None, PREFIX_BYTES)) };
        let mut header = vec![0; prefix.header_bytes];
        let has_header = self.read_at(&mut header, offset + PREFIX_BYTES as u64)?;
        let header = prefix.parse_header(&header).filter(|_| has_header);
        let block = header.map(|header| IndexedBlock { offset, prefix, header });
        Ok((block, PREFIX_BYTES + prefix.header_bytes))
    }

    /// Whether there is a complete block anywhere from this offset on.
    fn has_block_after(&self, mut offset: u64, length: u64) -> Result<bool, FilmError> {
        while offset + (PREFIX_BYTES as u64) < length {
            let part = usize::try_from(length - offset).unwrap_or(usize::MAX).min(SEARCH_BYTES);
            let mut bytes = vec![0; part];
            if !self.read_at(&mut bytes, offset)? {
                return Ok(false);
            }
            for at in magic_positions(&bytes) {
                if self.block_at(offset + at as u64, length)?.0.is_some() {
                    return Ok(true);
                }
            }
            // A block may begin in the last bytes of this part.
            offset += (part - PREFIX_BYTES.min(part - 1)) as u64;
        }
        Ok(false)
    }

    /// Fills a buffer. Returns false if the file is shorter.
    pub(super) fn read_at(&self, buffer: &mut [u8], at: u64) -> Result<bool, FilmError> {
        match self.file.read_exact_at(buffer, at) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(source) => Err(FilmError::Storage { path: self.path.clone(), source }),
        }
    }

    /// The body of a block. `None` if it is incomplete.
    pub(super) fn body_of(&self, block: &IndexedBlock) -> Result<Option<Vec<u8>>, FilmError> {
        let mut body = vec![0; block.prefix.body_bytes];
        let at = block.offset + (PREFIX_BYTES + block.prefix.header_bytes) as u64;
        Ok(self.read_at(&mut body, at)?.then_some(body))
    }

    pub(super) fn damaged(&self, offset: u64, problem: &'static str) -> FilmError {
        FilmError::Damaged { path: self.path.clone(), offset, problem }
    }
}

impl FilmIndex {
    fn push(&mut self, block: IndexedBlock) {
        self.end = block.offset + block.prefix.block_bytes();
        match block.header.kind {
            BlockKind::Entries => {
                self.tracks.extend_from_slice(&block.header.new_tracks);
                self.blocks.push(Arc::new(block));
            }
            BlockKind::Images => self.blocks.push(Arc::new(block)),
            BlockKind::Summary => {}
        }
    }

    /// Leaves only the blocks before this one.
    pub(super) fn truncate(&mut self, blocks: usize) {
        if let Some(first) = self.blocks.get(blocks) {
            self.end = first.offset;
        }
        self.blocks.truncate(blocks);
        let entries = self.blocks.iter().filter(|block| block.header.kind == BlockKind::Entries);
        self.tracks = entries.flat_map(|block| block.header.new_tracks.clone()).collect();
    }

    /// Whether a block has an entry of such a channel.
    pub(super) fn has(
        &self,
        block: &IndexedBlock,
        is_chosen: &impl Fn(&ChannelId) -> bool,
    ) -> bool {
        block.header.kind == BlockKind::Entries
            && block.header.spans.iter().any(|span| {
                self.tracks.get(span.track).is_some_and(|track| is_chosen(&track.channel))
            })
    }

    /// The number of the record of the last entry, and the times of the first and the last entry.
    pub(super) fn extent(&self) -> Option<(RecordNumber, Micros, Micros)> {
        let (first, last) = (self.blocks.first()?, self.blocks.last()?);
        Some((last.header.numbers.1, first.header.times.0, last.header.times.1))
    }
}

fn identity(metadata: &fs::Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

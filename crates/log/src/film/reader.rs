//! Reads a film: finds a position by its block headers, and the entries from there on.

use std::{fs::File, io, os::unix::fs::FileExt as _, path::Path, sync::Arc};

use bytes::Bytes;
use fanout::{ChannelId, Epoch, Micros, Seq};

use super::{
    FilmChannel, FilmError, FilmSummary,
    block::{self, BlockKind, PREFIX_BYTES, Place, Prefix, Track, TrackSpan},
    document::Document,
    index::{FilmFile, FilmIndex, IndexedBlock},
};
use crate::RecordNumber;

/// One output of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The record's number and time.
    pub number: RecordNumber,
    pub at: Micros,
    pub channel: ChannelId,
    pub epoch: Epoch,
    pub kind: EntryKind,
}

/// What happened to a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    /// The `image` frame as JSON text: of a new channel, or of one that was open when the film began.
    Image { seq: Seq, payload: Bytes },
    /// The `update` frame as JSON text.
    Update { prev: Seq, seq: Seq, urgent: bool, has_events: bool, payload: Bytes },
    /// The channel no longer exists.
    Closed,
}

impl EntryKind {
    /// The sequence after it.
    #[must_use]
    pub fn seq(&self) -> Option<Seq> {
        match self {
            Self::Image { seq, .. } | Self::Update { seq, .. } => Some(*seq),
            Self::Closed => None,
        }
    }
}

/// Where to start to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadFrom {
    Start,
    /// After all entries up to this time.
    At(Micros),
    /// After this record.
    Record(RecordNumber),
    /// After the entry with which the channel reached this sequence, in this epoch, or in the first epoch
    /// that reached it.
    Seq {
        channel: ChannelId,
        epoch: Option<Epoch>,
        seq: Seq,
    },
}

/// Reads one film. A film that is still being recorded grows: [`FilmReader::next_entry`] returns `None` at its
/// present end, and more after [`FilmReader::refresh`]. Readers of one film share its file and index, so one is
/// cheap to clone.
#[derive(Debug, Clone)]
pub struct FilmReader {
    file: Arc<FilmFile>,
    index: Arc<FilmIndex>,
    next_block: usize,
    cursor: BlockCursor,
    /// Bytes that were read or unpacked since this was last taken.
    work: usize,
}

/// Where it is within a block.
#[derive(Debug, Default, Clone)]
struct BlockCursor {
    entries: Bytes,
    at: usize,
    last: Place,
}

impl FilmReader {
    /// Opens a film at its beginning.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is no film.
    pub fn open(path: &Path) -> Result<Self, FilmError> {
        let (file, work) = FilmFile::open(path)?;
        let mut reader = Self::from_file(Arc::new(file))?;
        reader.work += work;
        Ok(reader)
    }

    /// Another reader of an open film, at its beginning.
    pub(super) fn from_file(file: Arc<FilmFile>) -> Result<Self, FilmError> {
        let (index, work) = file.refresh()?;
        Ok(Self { file, index, next_block: 0, cursor: BlockCursor::default(), work })
    }

    pub(super) fn file(&self) -> &Arc<FilmFile> {
        &self.file
    }

    /// Whether the film was deleted.
    pub(super) fn is_deleted(&self) -> bool {
        self.file.is_deleted()
    }

    /// The summary of a film; `None` if it has no complete block. A film that has ended is not read as a
    /// whole.
    pub(super) fn summary(path: &Path, name: &ChannelId) -> Result<Option<FilmSummary>, FilmError> {
        if let Some(summary) = Self::last_summary(path, name)? {
            return Ok(Some(summary));
        }
        Ok(Self::open(path)?.summarise(name))
    }

    /// The summary at the end of a film that has ended.
    fn last_summary(path: &Path, name: &ChannelId) -> Result<Option<FilmSummary>, FilmError> {
        let file = File::open(path).map_err(FilmError::storage(path))?;
        let bytes = file.metadata().map_err(FilmError::storage(path))?.len();
        let mut last = [0; 8];
        let read = |buffer: &mut [u8], at: u64| match file.read_exact_at(buffer, at) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(source) => Err(FilmError::Storage { path: path.to_owned(), source }),
        };
        // The body of a summary is its own size, so that it is found from the end.
        let Some(last_at) = bytes.checked_sub(8) else { return Ok(None) };
        if !read(&mut last, last_at)? {
            return Ok(None);
        }
        let Some(offset) = bytes.checked_sub(u64::from_le_bytes(last)) else { return Ok(None) };
        let mut prefix = [0; PREFIX_BYTES];
        if !read(&mut prefix, offset)? {
            return Ok(None);
        }
        let Some(prefix) = Prefix::parse(&prefix) else { return Ok(None) };
        if offset + prefix.block_bytes() != bytes {
            return Ok(None);
        }
        let mut header = vec![0; prefix.header_bytes];
        if !read(&mut header, offset + PREFIX_BYTES as u64)? || !prefix.body_is_intact(&last) {
            return Ok(None);
        }
        let header = prefix.parse_header(&header);
        let Some(header) = header.filter(|header| header.kind == BlockKind::Summary) else {
            return Ok(None);
        };
        Ok(Some(FilmSummary {
            name: name.clone(),
            channels: channels(&header.new_tracks, &header.spans),
            first: header.times.0,
            last: header.times.1,
            last_number: header.numbers.1,
            bytes,
        }))
    }

    fn summarise(&self, name: &ChannelId) -> Option<FilmSummary> {
        let (last_number, first, last) = self.extent()?;
        let (channels, bytes) = (self.channels(), self.end());
        Some(FilmSummary { name: name.clone(), channels, first, last, last_number, bytes })
    }

    /// The spans of all tracks over all blocks.
    pub(super) fn spans(&self) -> Vec<TrackSpan> {
        let mut spans: Vec<Option<TrackSpan>> = vec![None; self.index.tracks.len()];
        let blocks = self.index.blocks.iter();
        let blocks = blocks.filter(|block| block.header.kind == BlockKind::Entries);
        for span in blocks.flat_map(|block| &block.header.spans) {
            match spans.get_mut(span.track) {
                Some(Some(span_so_far)) => {
                    (span_so_far.last, span_so_far.is_open) = (span.last, span.is_open)
                }
                Some(span_so_far) => *span_so_far = Some(*span),
                None => {}
            }
        }
        spans.into_iter().flatten().collect()
    }

    pub(super) fn tracks(&self) -> &[Track] {
        &self.index.tracks
    }

    /// The end of the last complete block.
    pub(super) fn end(&self) -> u64 {
        self.index.end
    }

    /// Whether blocks follow after damage, which therefore is no block that is being written.
    pub(super) fn is_damaged(&self) -> bool {
        self.index.is_damaged
    }

    /// The number of the record of the last entry, and the times of the first and the last entry.
    pub(super) fn extent(&self) -> Option<(RecordNumber, Micros, Micros)> {
        self.index.extent()
    }

    /// When the film begins to have entries of such channels, or a little earlier.
    pub(super) fn begin_of(&self, is_chosen: &impl Fn(&ChannelId) -> bool) -> Option<Micros> {
        let first = self.index.blocks.iter().find(|block| self.index.has(block, is_chosen))?;
        Some(first.header.times.0)
    }

    /// The bytes of the entries since the last block of images.
    pub(super) fn bytes_since_images(&self) -> usize {
        let newest = self.index.blocks.iter().rev();
        newest
            .take_while(|block| block.header.kind != BlockKind::Images)
            .map(|block| block.header.raw_bytes)
            .sum()
    }

    /// The channels of the film, and the times of its first and last entry.
    #[must_use]
    pub fn channels(&self) -> Vec<FilmChannel> {
        channels(&self.index.tracks, &self.spans())
    }

    /// The times of its first and last entry. `None` if it has none.
    #[must_use]
    pub fn span(&self) -> Option<(Micros, Micros)> {
        self.extent().map(|(_, first, last)| (first, last))
    }

    /// How many bytes were read or unpacked since this was last called.
    pub(super) fn take_work(&mut self) -> usize {
        std::mem::take(&mut self.work)
    }

    /// Finds the blocks that were added since. Returns whether there are any.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or the film was deleted.
    pub fn refresh(&mut self) -> Result<bool, FilmError> {
        let (index, work) = self.file.refresh()?;
        self.work += work;
        let has_grown = index.blocks.len() > self.index.blocks.len();
        self.index = index;
        Ok(has_grown)
    }

    /// Drops the first block after a record whose body is damaged, and all after it. A power cut can lose any
    /// block that was not known to be on disk. Returns whether other blocks than the last were dropped.
    pub(super) fn drop_damaged_blocks(&mut self, after: RecordNumber) -> Result<bool, FilmError> {
        let count = self.index.blocks.len();
        for (number, block) in self.index.blocks.iter().enumerate() {
            if block.header.numbers.1 <= after && number + 1 < count {
                continue;
            }
            let body = self.file.body_of(block)?;
            if !body.is_some_and(|body| block.prefix.body_is_intact(&body)) {
                Arc::make_mut(&mut self.index).truncate(number);
                return Ok(number + 1 < count);
            }
        }
        Ok(false)
    }

    /// The next entry; `None` at the end of the film as it is now.
    ///
    /// # Errors
    ///
    /// If a block cannot be read or is damaged.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, FilmError> {
        self.next_entry_near(&|_| true)
    }

    /// The next entry of a block that has entries of such channels: other blocks are not read.
    pub(super) fn next_entry_near(
        &mut self,
        is_chosen: &impl Fn(&ChannelId) -> bool,
    ) -> Result<Option<Entry>, FilmError> {
        loop {
            if self.cursor.at < self.cursor.entries.len() {
                return self.read_entry().map(Some);
            }
            let Some(block) = self.index.blocks.get(self.next_block) else {
                if self.index.is_damaged {
                    return Err(self.damaged(self.index.end, "blocks follow after a damaged one"));
                }
                return Ok(None);
            };
            let is_read = self.index.has(block, is_chosen);
            self.next_block += 1;
            if is_read {
                self.load(self.next_block - 1)?;
            }
        }
    }

    fn read_entry(&mut self) -> Result<Entry, FilmError> {
        let BlockCursor { entries, at, last } = &mut self.cursor;
        let entry = block::read_entry(entries, at, *last);
        let named = entry.and_then(|(position, track, kind)| {
            let Track { channel, epoch } = self.index.tracks.get(track)?.clone();
            Some((
                position,
                Entry { number: position.number, at: position.at, channel, epoch, kind },
            ))
        });
        let Some((position, entry)) = named else {
            let block = self.index.blocks.get(self.next_block.saturating_sub(1));
            let offset = block.map_or(0, |block| block.offset);
            return Err(self.damaged(offset, "an entry is malformed"));
        };
        *last = position;
        Ok(entry)
    }

    fn load(&mut self, number: usize) -> Result<(), FilmError> {
        let block = &self.index.blocks[number];
        let body = self.file.body_of(block)?;
        let Some(entries) = body.and_then(|body| block.prefix.unpack(&body, &block.header)) else {
            return Err(self.damaged(block.offset, "its check sum is wrong"));
        };
        self.work += block.prefix.body_bytes + entries.len();
        self.cursor = BlockCursor { entries, at: 0, last: Place::default() };
        Ok(())
    }

    /// Moves to a position. Returns the images of the channels that are open there, in the order in which
    /// they were opened: made from the recorded frames, and at exactly the sequences that the next entries
    /// continue. At the start of the film there are none, since its first entries are images.
    ///
    /// # Errors
    ///
    /// If a block cannot be read or is damaged.
    pub fn seek(&mut self, from: &ReadFrom) -> Result<Vec<Entry>, FilmError> {
        self.cursor = BlockCursor::default();
        self.next_block = 0;
        let target = self.block_of(from);
        if matches!(from, ReadFrom::Start) {
            return Ok(Vec::new());
        }
        let before = self.index.blocks[..target].iter();
        let images = before.rev().position(|block| block.header.kind == BlockKind::Images);
        let images = images.map(|back| target - 1 - back);
        let mut open: Vec<OpenChannel> = Vec::new();
        let mut reached = Place::default();
        if let Some(images) = images {
            self.load(images)?;
            self.next_block = images + 1;
            while self.cursor.at < self.cursor.entries.len() {
                let entry = self.read_entry()?;
                reached = Place { number: entry.number, at: entry.at };
                self.follow(&mut open, &entry)?;
            }
        }
        loop {
            let before = (self.next_block, self.cursor.at, self.cursor.last);
            let Some(entry) = self.next_entry()? else { break };
            let is_past = match from {
                ReadFrom::Start => true,
                ReadFrom::At(at) => entry.at > *at,
                ReadFrom::Record(number) => entry.number > *number,
                ReadFrom::Seq { .. } => false,
            };
            if is_past {
                self.step_back(before);
                break;
            }
            reached = Place { number: entry.number, at: entry.at };
            self.follow(&mut open, &entry)?;
            if let ReadFrom::Seq { channel, epoch, seq } = from
                && entry.channel == *channel
                && epoch.is_none_or(|epoch| epoch == entry.epoch)
                && entry.kind.seq().is_some_and(|reached| reached >= *seq)
            {
                break;
            }
        }
        Ok(open.into_iter().map(|channel| channel.image(reached)).collect())
    }

    /// Goes back to before the entry that was just read.
    fn step_back(&mut self, (next_block, at, last): (usize, usize, Place)) {
        if next_block == self.next_block {
            (self.cursor.at, self.cursor.last) = (at, last);
        } else {
            // It was the first entry of its block.
            (self.cursor.at, self.cursor.last) = (0, Place::default());
        }
    }

    /// The block that has the position, or the number of blocks if it is behind the film.
    fn block_of(&self, from: &ReadFrom) -> usize {
        let holds = |block: &IndexedBlock| match from {
            ReadFrom::Start => true,
            ReadFrom::At(at) => block.header.times.1 > *at,
            ReadFrom::Record(number) => block.header.numbers.1 > *number,
            ReadFrom::Seq { channel, epoch, seq } => block.header.spans.iter().any(|span| {
                let track = self.index.tracks.get(span.track);
                span.last >= *seq
                    && track.is_some_and(|track| {
                        track.channel == *channel && epoch.is_none_or(|epoch| epoch == track.epoch)
                    })
            }),
        };
        let blocks = &self.index.blocks;
        let is_it =
            |block: &Arc<IndexedBlock>| block.header.kind == BlockKind::Entries && holds(block);
        blocks.iter().position(is_it).unwrap_or(blocks.len())
    }

    /// Adds what an entry does to the documents of the open channels.
    fn follow(&self, open: &mut Vec<OpenChannel>, entry: &Entry) -> Result<(), FilmError> {
        let malformed = || self.damaged(self.index.end, "a frame is malformed");
        let index = open.iter().position(|it| it.channel == entry.channel);
        match &entry.kind {
            EntryKind::Image { seq, payload } => {
                let (channel, epoch) = (entry.channel.clone(), entry.epoch);
                let document = Document::from_image(*seq, payload).ok_or_else(malformed)?;
                let opened = OpenChannel { channel, epoch, document };
                match index {
                    Some(index) => open[index] = opened,
                    None => open.push(opened),
                }
            }
            EntryKind::Update { seq, payload, .. } => {
                if let Some(index) = index {
                    open[index].document.apply(*seq, payload).ok_or_else(malformed)?;
                }
            }
            EntryKind::Closed => {
                if let Some(index) = index {
                    open.remove(index);
                }
            }
        }
        Ok(())
    }

    fn damaged(&self, offset: u64, problem: &'static str) -> FilmError {
        self.file.damaged(offset, problem)
    }
}

/// A channel that is open at a position.
struct OpenChannel {
    channel: ChannelId,
    epoch: Epoch,
    document: Document,
}

impl OpenChannel {
    fn image(self, Place { number, at }: Place) -> Entry {
        let payload = self.document.image(&self.channel, self.epoch).into();
        let kind = EntryKind::Image { seq: self.document.seq, payload };
        Entry { number, at, channel: self.channel, epoch: self.epoch, kind }
    }
}

fn channels(tracks: &[Track], spans: &[TrackSpan]) -> Vec<FilmChannel> {
    let channels = spans.iter().filter_map(|span| {
        let Track { channel, epoch } = tracks.get(span.track)?.clone();
        let TrackSpan { first, last, is_open, .. } = *span;
        Some(FilmChannel { name: channel, epoch, first, last, is_open })
    });
    let mut channels: Vec<FilmChannel> = channels.collect();
    // A channel has one epoch at a time: the last one.
    for index in 0..channels.len() {
        let (channel, later) = channels[index..].split_first_mut().expect("the index exists");
        channel.is_open &= later.iter().all(|later| later.name != channel.name);
    }
    channels
}

#[cfg(test)]
impl FilmReader {
    /// Where its blocks begin.
    pub(super) fn offsets(&self) -> Vec<u64> {
        self.index.blocks.iter().map(|block| block.offset).collect()
    }

    /// The end of the last block with nothing after this record.
    pub(super) fn end_of(&self, number: RecordNumber) -> u64 {
        let blocks = self.index.blocks.iter().take_while(|block| block.header.numbers.1 <= number);
        let ends = blocks.map(|block| block.offset + block.prefix.block_bytes());
        ends.last().unwrap_or(block::FILE_MAGIC.len() as u64)
    }
}

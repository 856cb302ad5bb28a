//! Reads a film: finds a position by its block headers, and the entries from there on.

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use fanout::{ChannelId, Epoch, Micros, Seq};

use super::{
    FilmChannel, FilmError, FilmSummary,
    block::{
        self, BlockHeader, BlockKind, FILE_MAGIC, PREFIX_BYTES, Place, Prefix, Track, TrackSpan,
    },
    document::Document,
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

/// A block, as far as finding positions needs it.
#[derive(Debug)]
struct BlockIndex {
    offset: u64,
    prefix: Prefix,
    header: BlockHeader,
}

/// Reads one film. A film that is still being recorded grows: [`FilmReader::next_entry`] returns `None` at its
/// present end, and more after [`FilmReader::refresh`].
#[derive(Debug)]
pub struct FilmReader {
    path: PathBuf,
    file: File,
    tracks: Vec<Track>,
    blocks: Vec<BlockIndex>,
    /// The end of the last complete block.
    end: u64,
    next_block: usize,
    cursor: Cursor,
    /// Bytes of entries that were unpacked since this was last taken.
    unpacked_bytes: usize,
}

/// Where it is within a block.
#[derive(Debug, Default)]
struct Cursor {
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
        let file = File::open(path).map_err(FilmError::storage(path))?;
        let mut reader = Self {
            path: path.to_owned(),
            file,
            tracks: Vec::new(),
            blocks: Vec::new(),
            end: FILE_MAGIC.len() as u64,
            next_block: 0,
            cursor: Cursor::default(),
            unpacked_bytes: 0,
        };
        let mut magic = [0; FILE_MAGIC.len()];
        let is_film = reader.read_at(&mut magic, 0)? && magic == FILE_MAGIC;
        if !is_film {
            return Err(reader.damaged(0, "it does not begin like a film"));
        }
        reader.refresh()?;
        Ok(reader)
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
        let first = self.blocks.first()?;
        let last = self.blocks.last()?;
        Some(FilmSummary {
            name: name.clone(),
            channels: channels(&self.tracks, &self.spans()),
            first: first.header.times.0,
            last: last.header.times.1,
            last_number: last.header.numbers.1,
            bytes: self.end,
        })
    }

    /// The spans of all tracks over all blocks.
    pub(super) fn spans(&self) -> Vec<TrackSpan> {
        let mut spans: Vec<Option<TrackSpan>> = vec![None; self.tracks.len()];
        let blocks = self.blocks.iter().filter(|block| block.header.kind == BlockKind::Entries);
        for span in blocks.flat_map(|block| &block.header.spans) {
            match spans.get_mut(span.track) {
                Some(Some(own)) => (own.last, own.is_open) = (span.last, span.is_open),
                Some(own) => *own = Some(*span),
                None => {}
            }
        }
        spans.into_iter().flatten().collect()
    }

    pub(super) fn tracks(&self) -> &[Track] {
        &self.tracks
    }

    /// The end of the last complete block.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// The number of the record of the last entry, and the times of the first and the last entry.
    pub(super) fn extent(&self) -> Option<(RecordNumber, Micros, Micros)> {
        let (first, last) = (self.blocks.first()?, self.blocks.last()?);
        Some((last.header.numbers.1, first.header.times.0, last.header.times.1))
    }

    /// The bytes of the entries since the last block of images.
    pub(super) fn bytes_since_images(&self) -> usize {
        let newest = self.blocks.iter().rev();
        newest
            .take_while(|block| block.header.kind != BlockKind::Images)
            .map(|block| block.header.raw_bytes)
            .sum()
    }

    /// The channels of the film, and the times of its first and last entry.
    #[must_use]
    pub fn channels(&self) -> Vec<FilmChannel> {
        channels(&self.tracks, &self.spans())
    }

    /// The times of its first and last entry. `None` if it has none.
    #[must_use]
    pub fn span(&self) -> Option<(Micros, Micros)> {
        self.extent().map(|(_, first, last)| (first, last))
    }

    /// How many bytes of entries were unpacked since this was last called, as a measure of its work.
    pub(super) fn take_unpacked_bytes(&mut self) -> usize {
        std::mem::take(&mut self.unpacked_bytes)
    }

    /// Finds the blocks that were added since. Returns whether there are any.
    ///
    /// # Errors
    ///
    /// If the file cannot be read.
    pub fn refresh(&mut self) -> Result<bool, FilmError> {
        let before = self.blocks.len();
        loop {
            let mut prefix = [0; PREFIX_BYTES];
            if !self.read_at(&mut prefix, self.end)? {
                break;
            }
            let Some(prefix) = Prefix::parse(&prefix) else { break };
            let end = self.end + prefix.block_bytes();
            let mut header = vec![0; prefix.header_bytes];
            let has_header = self.read_at(&mut header, self.end + PREFIX_BYTES as u64)?;
            let is_complete = end <= self.file.metadata().map_err(self.storage())?.len();
            // A torn block: the writer is not done, or never was.
            let Some(header) = prefix.parse_header(&header).filter(|_| has_header && is_complete)
            else {
                break;
            };
            if header.kind == BlockKind::Entries {
                self.tracks.extend_from_slice(&header.new_tracks);
            }
            if header.kind != BlockKind::Summary {
                self.blocks.push(BlockIndex { offset: self.end, prefix, header });
            }
            self.end = end;
        }
        Ok(self.blocks.len() > before)
    }

    /// Removes the last block if its body is damaged, as a block is that was being written at a power cut.
    pub(super) fn drop_torn_blocks(&mut self) -> Result<(), FilmError> {
        while let Some(last) = self.blocks.last() {
            let (prefix, offset) = (last.prefix, last.offset);
            let mut body = vec![0; prefix.body_bytes];
            let at = offset + (PREFIX_BYTES + prefix.header_bytes) as u64;
            if self.read_at(&mut body, at)? && prefix.body_is_intact(&body) {
                break;
            }
            let torn = self.blocks.pop().expect("there is a last one");
            if torn.header.kind == BlockKind::Entries {
                self.tracks.truncate(self.tracks.len() - torn.header.new_tracks.len());
            }
            self.end = offset;
        }
        Ok(())
    }

    /// The next entry; `None` at the end of the film as it is now.
    ///
    /// # Errors
    ///
    /// If a block cannot be read or is damaged.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, FilmError> {
        loop {
            if self.cursor.at < self.cursor.entries.len() {
                return self.read_entry().map(Some);
            }
            let Some(block) = self.blocks.get(self.next_block) else { return Ok(None) };
            self.next_block += 1;
            if block.header.kind == BlockKind::Entries {
                self.load(self.next_block - 1)?;
            }
        }
    }

    fn read_entry(&mut self) -> Result<Entry, FilmError> {
        let Cursor { entries, at, last } = &mut self.cursor;
        let entry = block::read_entry(entries, at, *last);
        let named = entry.and_then(|(place, track, kind)| {
            let Track { channel, epoch } = self.tracks.get(track)?.clone();
            Some((place, Entry { number: place.number, at: place.at, channel, epoch, kind }))
        });
        let Some((place, entry)) = named else {
            let offset =
                self.blocks.get(self.next_block.saturating_sub(1)).map_or(0, |it| it.offset);
            return Err(self.damaged(offset, "an entry is malformed"));
        };
        *last = place;
        Ok(entry)
    }

    fn load(&mut self, number: usize) -> Result<(), FilmError> {
        let BlockIndex { offset, prefix, header } = &self.blocks[number];
        let mut body = vec![0; prefix.body_bytes];
        let at = offset + (PREFIX_BYTES + prefix.header_bytes) as u64;
        let entries =
            if self.read_at(&mut body, at)? { prefix.unpack(&body, header) } else { None };
        let Some(entries) = entries else {
            return Err(self.damaged(*offset, "its check sum is wrong"));
        };
        self.unpacked_bytes += entries.len();
        self.cursor = Cursor { entries, at: 0, last: Place::default() };
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
        self.cursor = Cursor::default();
        self.next_block = 0;
        let target = self.block_of(from);
        if matches!(from, ReadFrom::Start) {
            return Ok(Vec::new());
        }
        let images =
            self.blocks[..target].iter().rposition(|block| block.header.kind == BlockKind::Images);
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
        let holds = |block: &BlockIndex| match from {
            ReadFrom::Start => true,
            ReadFrom::At(at) => block.header.times.1 > *at,
            ReadFrom::Record(number) => block.header.numbers.1 > *number,
            ReadFrom::Seq { channel, epoch, seq } => block.header.spans.iter().any(|span| {
                let track = self.tracks.get(span.track);
                span.last >= *seq
                    && track.is_some_and(|track| {
                        track.channel == *channel && epoch.is_none_or(|epoch| epoch == track.epoch)
                    })
            }),
        };
        let entries = |block: &BlockIndex| block.header.kind == BlockKind::Entries;
        self.blocks
            .iter()
            .position(|block| entries(block) && holds(block))
            .unwrap_or(self.blocks.len())
    }

    /// Adds what an entry does to the documents of the open channels.
    fn follow(&self, open: &mut Vec<OpenChannel>, entry: &Entry) -> Result<(), FilmError> {
        let malformed = || self.damaged(self.end, "a frame is malformed");
        let known = open.iter().position(|it| it.channel == entry.channel);
        match &entry.kind {
            EntryKind::Image { seq, payload } => {
                let (channel, epoch) = (entry.channel.clone(), entry.epoch);
                let document = Document::from_image(*seq, payload).ok_or_else(malformed)?;
                let opened = OpenChannel { channel, epoch, document };
                match known {
                    Some(place) => open[place] = opened,
                    None => open.push(opened),
                }
            }
            EntryKind::Update { seq, payload, .. } => {
                if let Some(place) = known {
                    open[place].document.apply(*seq, payload).ok_or_else(malformed)?;
                }
            }
            EntryKind::Closed => {
                if let Some(place) = known {
                    open.remove(place);
                }
            }
        }
        Ok(())
    }

    /// Fills a buffer. Returns false if the file is shorter.
    fn read_at(&self, buffer: &mut [u8], at: u64) -> Result<bool, FilmError> {
        match self.file.read_exact_at(buffer, at) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(source) => Err(FilmError::Storage { path: self.path.clone(), source }),
        }
    }

    fn storage(&self) -> impl FnOnce(io::Error) -> FilmError + use<'_> {
        FilmError::storage(&self.path)
    }

    fn damaged(&self, offset: u64, problem: &'static str) -> FilmError {
        FilmError::Damaged { path: self.path.clone(), offset, problem }
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
    for place in 0..channels.len() {
        let (own, later) = channels[place..].split_first_mut().expect("the place exists");
        own.is_open &= later.iter().all(|later| later.name != own.name);
    }
    channels
}

#[cfg(test)]
impl FilmReader {
    /// The end of the last block with nothing after this record.
    pub(super) fn end_of(&self, number: RecordNumber) -> u64 {
        let blocks = self.blocks.iter().take_while(|block| block.header.numbers.1 <= number);
        let ends = blocks.map(|block| block.offset + block.prefix.block_bytes());
        ends.last().unwrap_or(FILE_MAGIC.len() as u64)
    }
}

//! A film that may get more entries, and its file.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::{self, Seek as _, Write as _},
    path::Path,
};

use fanout::{ChannelId, Micros, Seq};

use super::{
    Entry, FilmError, FilmSummary,
    block::{self, BlockHeader, BlockKind, FILE_MAGIC, Place, Track, TrackSpan},
    films::{FilmChannel, damaged_path},
};
use crate::RecordNumber;

/// A film that may get more entries.
#[derive(Debug, Default)]
pub(super) struct OpenFilm {
    pub(super) tracks: Vec<FilmChannel>,
    /// How many tracks are on disk.
    pub(super) written_tracks: usize,
    /// The record of the last entry, also in memory.
    pub(super) last_number: RecordNumber,
    /// The times of the first and the last entry. `None` before the first.
    pub(super) times: Option<(Micros, Micros)>,
    pub(super) bytes: u64,
    /// Bytes of entries since the last block of images.
    pub(super) since_images: usize,
    pub(super) buffer: EntryBuffer,
}

/// The entries of a film that are not written yet.
#[derive(Debug, Default)]
pub(super) struct EntryBuffer {
    pub(super) entries: Vec<u8>,
    pub(super) first: Place,
    pub(super) last: Place,
    /// The first sequence of each track that has an entry.
    pub(super) firsts: BTreeMap<usize, Seq>,
}

impl OpenFilm {
    /// Whether all its channels are closed.
    pub(super) fn has_ended(&self) -> bool {
        self.tracks.iter().all(|track| !track.is_open)
    }

    /// The header of the block in memory.
    pub(super) fn header(&self) -> BlockHeader {
        let EntryBuffer { entries, first, last, firsts } = &self.buffer;
        let spans = firsts.iter().map(|(track, first)| {
            let FilmChannel { last, is_open, .. } = self.tracks[*track];
            TrackSpan { track: *track, first: *first, last, is_open }
        });
        BlockHeader {
            kind: BlockKind::Entries,
            raw_bytes: entries.len(),
            numbers: (first.number, last.number),
            times: (first.at, last.at),
            new_tracks: self.tracks[self.written_tracks..].iter().map(track).collect(),
            spans: spans.collect(),
        }
    }

    pub(super) fn summary_header(&self) -> BlockHeader {
        let spans = self.tracks.iter().enumerate().map(|(track, channel)| {
            let FilmChannel { first, last, is_open, .. } = *channel;
            TrackSpan { track, first, last, is_open }
        });
        BlockHeader {
            kind: BlockKind::Summary,
            raw_bytes: 0,
            numbers: (0, self.last_number),
            times: self.times.unwrap_or_default(),
            new_tracks: self.tracks.iter().map(track).collect(),
            spans: spans.collect(),
        }
    }

    /// A block with the images of all open channels.
    pub(super) fn images(&self, images: &[Entry], position: Place) -> io::Result<Vec<u8>> {
        let (mut entries, mut last, mut spans) = (Vec::new(), Place::default(), Vec::new());
        for image in images {
            let is_it =
                |listed: &FilmChannel| listed.name == image.channel && listed.epoch == image.epoch;
            let Some(track) = self.tracks.iter().position(is_it) else { continue };
            block::write_entry(&mut entries, last, position, track, &image.kind);
            let seq = image.kind.seq().unwrap_or(0);
            spans.push(TrackSpan { track, first: seq, last: seq, is_open: true });
            last = position;
        }
        let header = BlockHeader {
            kind: BlockKind::Images,
            raw_bytes: entries.len(),
            numbers: (position.number, position.number),
            times: (position.at, position.at),
            new_tracks: Vec::new(),
            spans,
        };
        header.encode(&entries)
    }

    /// Appends a block to the file behind the last complete one. If that fails, nothing of it counts.
    pub(super) fn append(&mut self, path: &Path, block: &[u8]) -> Result<(), FilmError> {
        let storage = || FilmError::storage(path);
        let mut bytes = self.bytes;
        let mut file = if bytes == 0 {
            path.parent().map_or(Ok(()), fs::create_dir_all).map_err(storage())?;
            // A film that could not be read when the writer was opened.
            set_aside(path)?;
            let mut file = File::create(path).map_err(storage())?;
            file.write_all(&FILE_MAGIC).map_err(storage())?;
            bytes = FILE_MAGIC.len() as u64;
            file
        } else {
            let file = match OpenOptions::new().append(true).open(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Err(FilmError::Deleted { path: path.to_owned() });
                }
                file => file.map_err(storage())?,
            };
            let length = file.metadata().map_err(storage())?.len();
            if length < bytes {
                return Err(FilmError::Deleted { path: path.to_owned() });
            }
            // A write that failed before may have left a part.
            if length > bytes {
                file.set_len(bytes).map_err(storage())?;
            }
            file
        };
        file.write_all(block).map_err(storage())?;
        self.bytes = bytes + block.len() as u64;
        Ok(())
    }

    pub(super) fn summary(&self, name: &ChannelId) -> FilmSummary {
        let (first, last) = self.times.unwrap_or_default();
        FilmSummary {
            name: name.clone(),
            channels: self.tracks.clone(),
            first,
            last,
            last_number: self.last_number,
            bytes: self.bytes,
        }
    }
}

impl EntryBuffer {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

fn track(channel: &FilmChannel) -> Track {
    Track { channel: channel.name.clone(), epoch: channel.epoch }
}

/// Cuts what is behind the last complete block. With `keeps`, it is copied to another file first. Returns whether
/// there was anything.
pub(super) fn cut(path: &Path, end: u64, keeps: bool) -> Result<bool, FilmError> {
    let cut = || {
        let mut file = OpenOptions::new().read(true).write(true).open(path)?;
        let length = file.metadata()?.len();
        if length <= end {
            return Ok(false);
        }
        if keeps {
            let mut aside = File::create(damaged_path(path))?;
            file.seek(io::SeekFrom::Start(end))?;
            io::copy(&mut file, &mut aside)?;
        }
        tracing::warn!(path = %path.display(), end, length, keeps, "a film is cut at a bad block");
        file.set_len(end)?;
        Ok(true)
    };
    cut().map_err(FilmError::storage(path))
}

/// Moves a film that cannot be read out of the way, if there is one.
pub(super) fn set_aside(path: &Path) -> Result<(), FilmError> {
    match fs::rename(path, damaged_path(path)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(FilmError::Storage { path: path.to_owned(), source: error })
        }
        Err(_) => Ok(()),
        Ok(()) => {
            tracing::warn!(path = %path.display(), "a film that cannot be read is set aside");
            Ok(())
        }
    }
}

//! Writes films: sorts the outputs of records by match, and appends blocks.

use std::{
    collections::{BTreeMap, HashMap},
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    str,
};

use bytes::Bytes;
use fanout::{ChannelId, Epoch, Micros, Seq};

use super::{
    FilmError, FilmSummary, Films,
    block::{self, BlockHeader, BlockKind, FILE_MAGIC, Place, Track, TrackSpan},
    films::FilmChannel,
    match_of,
    reader::{EntryKind, ReadFrom},
};
use crate::{
    RecordNumber,
    record::{Output, Record},
};

/// How films are written and how long they are kept.
#[derive(Debug, Clone, Copy)]
pub struct FilmSettings {
    /// Bytes of entries, before compression, after which a block of a film is written.
    pub block_bytes: usize,
    /// Microseconds after which a block is written, however few entries it has. A replay of a running match
    /// ends this far before the present.
    pub block_age_us: Micros,
    /// Bytes of entries in memory, of all films together. Beyond it, the largest blocks are written.
    pub buffered_bytes_max: usize,
    /// Bytes of entries between two blocks of images. A seek reads at most this many.
    pub key_frame_bytes: usize,
    /// Microseconds between two positions that are safe on disk.
    pub sync_every_us: Micros,
    /// Microseconds for which a film is kept after its last entry.
    pub keep_us: Micros,
    /// Bytes of all films together.
    pub bytes_max: u64,
}

impl Default for FilmSettings {
    fn default() -> Self {
        Self {
            block_bytes: 128 * 1024,
            block_age_us: 10_000_000,
            buffered_bytes_max: 32 * 1024 * 1024,
            key_frame_bytes: 2 * 1024 * 1024,
            sync_every_us: 30_000_000,
            keep_us: 14 * 24 * 3_600_000_000,
            bytes_max: 50 * 1024 * 1024 * 1024,
        }
    }
}

/// Records films. One at a time may be open for a folder.
#[derive(Debug)]
pub struct FilmWriter {
    films: Films,
    settings: FilmSettings,
    /// Films with an open channel, or with entries in memory.
    open: BTreeMap<ChannelId, OpenFilm>,
    /// The film of each channel of an open film, and its number there.
    tracks: HashMap<ChannelId, (ChannelId, usize)>,
    /// Bytes of entries in memory.
    buffered_bytes: usize,
    /// The record that was recorded last, and its time.
    last: Place,
    /// The record up to which everything is safe on disk, and when that was so.
    synced: Place,
    /// Films with blocks that are written but perhaps not yet on disk.
    unsynced: Vec<ChannelId>,
}

/// A film that may get more entries.
#[derive(Debug)]
struct OpenFilm {
    tracks: Vec<FilmChannel>,
    /// How many tracks are on disk.
    written_tracks: usize,
    /// The record of the last entry, also in memory.
    last_number: RecordNumber,
    /// The times of the first and the last entry. `None` before the first.
    times: Option<(Micros, Micros)>,
    bytes: u64,
    /// Bytes of entries since the last block of images.
    since_images: usize,
    buffer: Buffer,
}

/// The entries of a film that are not written yet.
#[derive(Debug, Default)]
struct Buffer {
    entries: Vec<u8>,
    first: Place,
    last: Place,
    /// The first sequence of each track that has an entry.
    firsts: BTreeMap<usize, Seq>,
}

/// The file with the record number up to which all films are on disk.
const POSITION: &str = "position";

impl FilmWriter {
    /// Opens the films in a folder, or creates it. Cuts torn blocks.
    ///
    /// # Errors
    ///
    /// If the folder or a film cannot be read or cut.
    pub fn open(folder: &Path, settings: FilmSettings) -> Result<Self, FilmError> {
        let films = Films::open(folder)?;
        let mut writer = Self {
            films: films.clone(),
            settings,
            open: BTreeMap::new(),
            tracks: HashMap::new(),
            buffered_bytes: 0,
            last: Place::default(),
            synced: Place { number: read_position(folder)?, at: 0 },
            unsynced: Vec::new(),
        };
        for film in films.list(super::FilmQuery::default()) {
            // A film that has ended is opened when it continues.
            if film.is_running() {
                writer.open_film(&film.name)?;
            }
        }
        Ok(writer)
    }

    /// The list of films, which grows as films are written.
    #[must_use]
    pub fn films(&self) -> &Films {
        &self.films
    }

    /// The record up to which all films are on disk. After a restart, the records after it are fed again.
    #[must_use]
    pub fn sync_position(&self) -> RecordNumber {
        self.synced.number
    }

    /// Records what a record of the log published. Records come in order; those that were recorded before
    /// have no effect.
    ///
    /// # Errors
    ///
    /// If the disk refuses blocks and there is no room in memory. The record is not recorded then: feed it
    /// again later.
    pub fn record(&mut self, record: &Record) -> Result<(), FilmError> {
        self.make_room(record)?;
        let place = Place { number: record.number, at: record.at };
        if self.synced.at == 0 {
            self.synced.at = record.at;
        }
        // A film takes a record as a whole or not at all, so films are opened before anything is recorded.
        let mut films: Vec<(ChannelId, bool)> = Vec::new();
        for output in &record.outputs {
            let Some(name) = self.film_of(output.channel()) else { continue };
            if films.iter().all(|(film, _)| *film != name) {
                let is_new = self.film(&name)?.last_number < record.number;
                films.push((name, is_new));
            }
        }
        films.retain(|(_, is_new)| *is_new);
        for output in &record.outputs {
            let Some(name) = self.film_of(output.channel()) else { continue };
            if films.iter().any(|(film, _)| *film == name) {
                self.output(&name, place, output);
            }
        }
        for (name, _) in films {
            if let Some(film) = self.open.get_mut(&name) {
                film.last_number = record.number;
            }
        }
        self.last = place;
        self.write_due(record.at)
    }

    /// Adds the image of a channel that was open before the log began, so that its updates can be recorded.
    /// `place`: the record after which the channel had this image.
    ///
    /// # Errors
    ///
    /// If the film exists and cannot be read.
    pub fn image(
        &mut self,
        place: (RecordNumber, Micros),
        channel: &ChannelId,
        (epoch, seq): (Epoch, Seq),
        payload: Bytes,
    ) -> Result<(), FilmError> {
        let Some(name) = self.film_of(channel) else { return Ok(()) };
        let last_number = self.film(&name)?.last_number;
        let place = Place { number: place.0, at: place.1 };
        let is_known = self.track(channel).is_some_and(|track| {
            let own = &self.open[&name].tracks[track];
            own.is_open && own.epoch == epoch
        });
        if !is_known && place.number >= last_number {
            self.add(&name, place, (channel, epoch), &EntryKind::Image { seq, payload });
        }
        Ok(())
    }

    /// Writes all entries that are in memory, makes sure that they are on disk, and deletes films that are
    /// too old or too many. To be called before the end; otherwise it happens by itself every
    /// [`FilmSettings::sync_every_us`].
    ///
    /// # Errors
    ///
    /// If the disk refuses something.
    pub fn sync(&mut self) -> Result<(), FilmError> {
        let names: Vec<ChannelId> = self.open.keys().cloned().collect();
        for name in names {
            self.write_block(&name)?;
        }
        while let Some(name) = self.unsynced.pop() {
            let path = self.films.path(name.as_str());
            match File::open(&path).and_then(|file| file.sync_data()) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    self.unsynced.push(name);
                    return Err(FilmError::Storage { path, source: error });
                }
                _ => {}
            }
        }
        if self.last.number > self.synced.number {
            write_position(self.films.folder(), self.last.number)?;
            self.synced.number = self.last.number;
        }
        self.synced.at = self.last.at;
        for name in self.films.expire(self.last.at - self.settings.keep_us, self.settings.bytes_max)
        {
            self.forget(&name);
        }
        metrics::gauge!("matchwire_film_bytes").set(float(self.films.bytes()));
        Ok(())
    }

    /// Writes blocks until there is room in memory for a record.
    fn make_room(&mut self, record: &Record) -> Result<(), FilmError> {
        let bytes: usize = record.outputs.iter().map(payload_bytes).sum();
        while self.buffered_bytes > 0
            && self.buffered_bytes + bytes > self.settings.buffered_bytes_max
        {
            let largest = self.open.iter().max_by_key(|(_, film)| film.buffer.entries.len());
            let Some(name) = largest.map(|(name, _)| name.clone()) else { break };
            self.write_block(&name)?;
        }
        Ok(())
    }

    fn write_due(&mut self, now: Micros) -> Result<(), FilmError> {
        let FilmSettings { block_bytes, block_age_us, sync_every_us, .. } = self.settings;
        if now - self.synced.at >= sync_every_us {
            return self.sync();
        }
        let is_due = |film: &OpenFilm| {
            film.buffer.entries.len() >= block_bytes
                || !film.buffer.is_empty() && now - film.buffer.first.at >= block_age_us
        };
        let due = self.open.iter().filter(|(_, film)| is_due(film));
        let due: Vec<ChannelId> = due.map(|(name, _)| name.clone()).collect();
        for name in due {
            self.write_block(&name)?;
        }
        Ok(())
    }

    /// The name of the film that a channel belongs to.
    fn film_of(&self, channel: &ChannelId) -> Option<ChannelId> {
        if let Some((film, _)) = self.tracks.get(channel) {
            return Some(film.clone());
        }
        let name = match_of(channel.as_str())?;
        if name == channel.as_str() { Some(channel.clone()) } else { Some(ChannelId::new(name)) }
    }

    fn track(&self, channel: &ChannelId) -> Option<usize> {
        self.tracks.get(channel).map(|(_, track)| *track)
    }

    fn film(&mut self, name: &ChannelId) -> Result<&OpenFilm, FilmError> {
        if !self.open.contains_key(name) {
            self.open_film(name)?;
        }
        Ok(&self.open[name])
    }

    /// Takes up a film, or begins it. Cuts what is torn at its end.
    fn open_film(&mut self, name: &ChannelId) -> Result<(), FilmError> {
        let mut film = OpenFilm {
            tracks: Vec::new(),
            written_tracks: 0,
            last_number: 0,
            times: None,
            bytes: 0,
            since_images: 0,
            buffer: Buffer::default(),
        };
        if self.films.find(name.as_str()).is_some() {
            let path = self.films.path(name.as_str());
            let mut reader = self.films.reader(name.as_str())?;
            reader.drop_torn_blocks()?;
            cut(&path, reader.end()).map_err(FilmError::storage(&path))?;
            film.bytes = reader.end();
            film.tracks = reader.channels();
            debug_assert_eq!(film.tracks.len(), reader.tracks().len(), "each track has entries");
            film.written_tracks = film.tracks.len();
            film.since_images = reader.bytes_since_images();
            if let Some((number, first, last)) = reader.extent() {
                film.last_number = number;
                film.times = Some((first, last));
                self.films.insert(film.summary(name));
            }
        }
        for (number, track) in film.tracks.iter().enumerate() {
            self.tracks.insert(track.name.clone(), (name.clone(), number));
        }
        self.open.insert(name.clone(), film);
        Ok(())
    }

    /// Forgets a film that has ended or was deleted.
    fn forget(&mut self, name: &ChannelId) {
        if let Some(film) = self.open.remove(name) {
            self.buffered_bytes -= film.buffer.entries.len();
            for track in &film.tracks {
                self.tracks.remove(&track.name);
            }
        }
    }

    fn output(&mut self, name: &ChannelId, place: Place, output: &Output) {
        match output {
            Output::Opened { channel, epoch, seq, payload } => {
                let kind = EntryKind::Image { seq: *seq, payload: payload.clone() };
                self.add(name, place, (channel, *epoch), &kind);
            }
            Output::Published { channel, epoch, prev, seq, urgent, has_events, payload } => {
                let film = &self.open[name];
                let own = self.track(channel).map(|track| &film.tracks[track]);
                // Without an image to apply it to, an update cannot be shown.
                let Some(own) = own.filter(|own| own.is_open && own.epoch == *epoch) else {
                    metrics::counter!("matchwire_film_updates_without_image_total").increment(1);
                    return;
                };
                if *seq <= own.last {
                    return;
                }
                let kind = if *prev > own.last {
                    // Something is missing: a replay must not hide that.
                    EntryKind::Closed
                } else {
                    let (prev, seq, payload) = (*prev, *seq, payload.clone());
                    let (urgent, has_events) = (*urgent, *has_events);
                    EntryKind::Update { prev, seq, urgent, has_events, payload }
                };
                self.add(name, place, (channel, *epoch), &kind);
            }
            Output::Closed { channel, epoch } => {
                let film = &self.open[name];
                let own = self.track(channel).map(|track| &film.tracks[track]);
                if own.is_some_and(|own| own.is_open && own.epoch == *epoch) {
                    self.add(name, place, (channel, *epoch), &EntryKind::Closed);
                }
            }
        }
    }

    /// Adds an entry to a film that is open.
    fn add(
        &mut self,
        name: &ChannelId,
        place: Place,
        (channel, epoch): (&ChannelId, Epoch),
        kind: &EntryKind,
    ) {
        let film = self.open.get_mut(name).expect("the film was opened");
        let known = self.tracks.get(channel).map(|(_, track)| *track);
        let known = known.filter(|track| film.tracks[*track].epoch == epoch);
        let seq = kind.seq();
        let track = known.unwrap_or_else(|| {
            let (first, name) = (seq.unwrap_or(0), channel.clone());
            // A channel has one epoch at a time.
            let earlier = film.tracks.iter_mut().filter(|own| own.name == name);
            earlier.for_each(|own| own.is_open = false);
            film.tracks.push(FilmChannel { name, epoch, first, last: first, is_open: true });
            film.tracks.len() - 1
        });
        let own = &mut film.tracks[track];
        own.is_open = seq.is_some();
        own.last = seq.unwrap_or(own.last);
        let buffer = &mut film.buffer;
        if buffer.is_empty() {
            (buffer.first, buffer.last) = (place, Place::default());
        }
        buffer.firsts.entry(track).or_insert(own.last);
        let before = buffer.entries.len();
        block::write_entry(&mut buffer.entries, buffer.last, place, track, kind);
        buffer.last = place;
        self.buffered_bytes += buffer.entries.len() - before;
        self.tracks.insert(channel.clone(), (name.clone(), track));
    }

    /// Writes the entries of a film that are in memory, and images if they are due.
    fn write_block(&mut self, name: &ChannelId) -> Result<(), FilmError> {
        let Some(film) = self.open.get_mut(name) else { return Ok(()) };
        let has_ended = film.tracks.iter().all(|track| !track.is_open);
        if film.buffer.is_empty() {
            if has_ended {
                self.forget(name);
            }
            return Ok(());
        }
        let path = self.films.path(name.as_str());
        let storage = || FilmError::storage(&path);
        let block = film.header().encode(&film.buffer.entries).map_err(storage())?;
        film.append(&path, &block).map_err(storage())?;
        let Buffer { entries, first, last, .. } = std::mem::take(&mut film.buffer);
        self.buffered_bytes -= entries.len();
        film.since_images += entries.len();
        film.written_tracks = film.tracks.len();
        film.times = Some((film.times.map_or(first.at, |(first, _)| first), last.at));
        if !self.unsynced.contains(name) {
            self.unsynced.push(name.clone());
        }
        if has_ended {
            let summary = film.summary_header().encode_summary().map_err(storage())?;
            film.append(&path, &summary).map_err(storage())?;
        } else if film.since_images >= self.settings.key_frame_bytes {
            // If it fails, seeks take longer until the next ones.
            let reader = self.films.reader(name.as_str());
            let images = reader.and_then(|mut it| it.seek(&ReadFrom::Record(last.number)));
            let block = images.map(|images| film.images(&images, last));
            match block.map_err(|error| io::Error::other(error.to_string())).flatten() {
                Ok(block) => {
                    film.append(&path, &block).map_err(storage())?;
                }
                Err(error) => tracing::warn!(film = name.as_str(), %error, "no images for a film"),
            }
            film.since_images = 0;
        }
        self.films.insert(film.summary(name));
        if has_ended {
            self.forget(name);
        }
        Ok(())
    }
}

impl OpenFilm {
    /// The header of the block in memory.
    fn header(&self) -> BlockHeader {
        let Buffer { entries, first, last, firsts } = &self.buffer;
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

    fn summary_header(&self) -> BlockHeader {
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
    fn images(&self, images: &[super::Entry], place: Place) -> io::Result<Vec<u8>> {
        let (mut entries, mut last, mut spans) = (Vec::new(), Place::default(), Vec::new());
        for image in images {
            let is_it = |own: &FilmChannel| own.name == image.channel && own.epoch == image.epoch;
            let Some(track) = self.tracks.iter().position(is_it) else { continue };
            block::write_entry(&mut entries, last, place, track, &image.kind);
            let seq = image.kind.seq().unwrap_or(0);
            spans.push(TrackSpan { track, first: seq, last: seq, is_open: true });
            last = place;
        }
        let header = BlockHeader {
            kind: BlockKind::Images,
            raw_bytes: entries.len(),
            numbers: (place.number, place.number),
            times: (place.at, place.at),
            new_tracks: Vec::new(),
            spans,
        };
        header.encode(&entries)
    }

    /// Appends a block to the file behind the last complete one. If that fails, nothing of it counts.
    fn append(&mut self, path: &Path, block: &[u8]) -> io::Result<()> {
        let mut bytes = self.bytes;
        let mut file = if bytes == 0 {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            let mut file = File::create(path)?;
            file.write_all(&FILE_MAGIC)?;
            bytes = FILE_MAGIC.len() as u64;
            file
        } else {
            let file = OpenOptions::new().append(true).open(path)?;
            // A write that failed before may have left a part.
            if file.metadata()?.len() > bytes {
                file.set_len(bytes)?;
            }
            file
        };
        file.write_all(block)?;
        self.bytes = bytes + block.len() as u64;
        Ok(())
    }

    fn summary(&self, name: &ChannelId) -> FilmSummary {
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

impl Buffer {
    fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

fn track(channel: &FilmChannel) -> Track {
    Track { channel: channel.name.clone(), epoch: channel.epoch }
}

fn payload_bytes(output: &Output) -> usize {
    match output {
        Output::Opened { payload, .. } | Output::Published { payload, .. } => payload.len(),
        Output::Closed { .. } => 0,
    }
}

/// Cuts what is behind the last complete block.
fn cut(path: &Path, end: u64) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    if file.metadata()?.len() > end {
        tracing::warn!(path = %path.display(), end, "a film ended in a torn block, which is cut");
        file.set_len(end)?;
    }
    Ok(())
}

fn position_path(folder: &Path) -> PathBuf {
    folder.join(POSITION)
}

/// The position that was written last; 0 if there is none or it is unreadable, so that everything is fed
/// again.
fn read_position(folder: &Path) -> Result<RecordNumber, FilmError> {
    let path = position_path(folder);
    match fs::read(&path) {
        Ok(bytes) => {
            let number = str::from_utf8(&bytes).ok().and_then(|text| text.trim().parse().ok());
            Ok(number.unwrap_or(0))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(source) => Err(FilmError::Storage { path, source }),
    }
}

fn write_position(folder: &Path, number: RecordNumber) -> Result<(), FilmError> {
    let path = position_path(folder);
    let new = path.with_extension("new");
    let write = || {
        let mut file = File::create(&new)?;
        writeln!(file, "{number}")?;
        file.sync_data()?;
        fs::rename(&new, &path)
    };
    write().map_err(FilmError::storage(&path))
}

#[expect(clippy::cast_precision_loss, reason = "a gauge is a float, and bytes stay below 2^52")]
fn float(bytes: u64) -> f64 {
    bytes as f64
}

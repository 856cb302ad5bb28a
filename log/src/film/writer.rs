//! Writes films: sorts the outputs of records by match, and appends blocks.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, hash_map::Entry},
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    str,
};

use bytes::Bytes;
use fanout::{ChannelId, Epoch, Micros, Seq};

use super::{
    FilmError, Films,
    block::{self, Place},
    films::FilmChannel,
    match_of,
    open_film::{EntryBuffer, OpenFilm, cut, set_aside},
    reader::{EntryKind, FilmReader, ReadFrom},
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
    open: HashMap<ChannelId, OpenFilm>,
    /// The film of each channel of an open film, and its number there.
    tracks: HashMap<ChannelId, (ChannelId, usize)>,
    /// Bytes of entries in memory.
    buffered_bytes: usize,
    /// When films with entries in memory are written at the latest. Those that were written earlier remain
    /// until then.
    due: BTreeSet<(Micros, ChannelId)>,
    /// Films that could not be written or read.
    failures: BTreeMap<ChannelId, Failure>,
    /// The failure that is reported next.
    error: Option<FilmError>,
    /// Films that lack entries: their channels are closed before they continue.
    gaps: BTreeSet<ChannelId>,
    /// Films with an open channel whose image is needed.
    lacking: BTreeSet<ChannelId>,
    /// The record that was recorded last, and its time.
    last: Place,
    /// The record up to which everything is safe on disk, and when that was so.
    synced: Place,
    /// Films with blocks that are written but perhaps not yet on disk.
    unsynced: BTreeSet<ChannelId>,
}

/// When a film that has failed is tried again.
#[derive(Debug, Clone, Copy)]
struct Failure {
    retry_at: Micros,
    wait_us: Micros,
}

/// How long a film that has failed is left alone, at first and at most. The time doubles each time.
const RETRY_US: Micros = 1_000_000;
const RETRY_US_MAX: Micros = 60_000_000;

/// The file with the record number up to which all films are on disk.
const POSITION: &str = "position";

impl FilmWriter {
    /// Opens the films in a folder, or creates it. Cuts films at bad blocks. A film that cannot be read is left
    /// alone and tried again later.
    ///
    /// # Errors
    ///
    /// If the folder cannot be created or read.
    pub fn open(folder: &Path, settings: FilmSettings) -> Result<Self, FilmError> {
        let films = Films::open(folder)?;
        let mut writer = Self {
            films: films.clone(),
            settings,
            open: HashMap::new(),
            tracks: HashMap::new(),
            buffered_bytes: 0,
            due: BTreeSet::new(),
            failures: BTreeMap::new(),
            error: None,
            gaps: BTreeSet::new(),
            lacking: BTreeSet::new(),
            last: Place::default(),
            synced: Place { number: read_position(folder), at: 0 },
            unsynced: BTreeSet::new(),
        };
        for film in films.list(super::FilmQuery::default()) {
            // A film that has ended is opened when it continues. A power cut may have damaged its last blocks.
            if film.is_running() || film.last_number > writer.synced.number {
                if let Err(error) = writer.open_film(&film.name) {
                    tracing::warn!(film = film.name.as_str(), %error, "a film cannot be opened");
                    writer.fail(&film.name, error, 0);
                }
                writer.forget_if_ended(&film.name);
            }
        }
        // The warnings have said it.
        writer.error = None;
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
    /// If a film cannot be written or read, and no other one has failed already. All other films are recorded
    /// nevertheless, and the film is tried again later. It keeps its entries while there is room in memory.
    pub fn record(&mut self, record: &Record) -> Result<(), FilmError> {
        self.make_room(record);
        let place = Place { number: record.number, at: record.at };
        if self.synced.at == 0 {
            self.synced.at = record.at;
        }
        // A film takes a record as a whole or not at all, so films are opened before anything is recorded.
        let mut films: HashMap<ChannelId, bool> = HashMap::new();
        for output in &record.outputs {
            let Some(name) = self.film_of(output.channel()) else { continue };
            if let Entry::Vacant(film) = films.entry(name) {
                let takes_it = self.prepare(film.key(), place);
                film.insert(takes_it);
            }
        }
        for output in &record.outputs {
            let Some(name) = self.film_of(output.channel()) else { continue };
            if films[&name] {
                self.output(&name, place, output);
            }
        }
        for (name, _) in films.into_iter().filter(|(_, takes_it)| *takes_it) {
            if let Some(film) = self.open.get_mut(&name) {
                film.last_number = record.number;
                if film.buffer.entries.len() >= self.settings.block_bytes {
                    self.write_block(&name, record.at);
                }
            }
        }
        self.last = place;
        self.write_due(record.at);
        self.error.take().map_or(Ok(()), Err)
    }

    /// The matches with an open channel that is not in their film, so that its updates are not recorded, since
    /// this was last called. [`FilmWriter::image`] takes the images of all their channels.
    #[must_use]
    pub fn take_lacking(&mut self) -> Vec<ChannelId> {
        std::mem::take(&mut self.lacking).into_iter().collect()
    }

    /// Adds the image of a channel that is not in its film, so that its updates can be recorded. Has no effect if
    /// the channel is in it. `place`: the record after which the channel had this image.
    pub fn image(
        &mut self,
        place: (RecordNumber, Micros),
        channel: &ChannelId,
        (epoch, seq): (Epoch, Seq),
        payload: Bytes,
    ) {
        let Some(name) = self.film_of(channel) else { return };
        let place = Place { number: place.0, at: place.1 };
        self.prepare(&name, place);
        let Some(last_number) = self.open.get(&name).map(|film| film.last_number) else { return };
        let is_known = self.track(channel).is_some_and(|track| {
            let own = &self.open[&name].tracks[track];
            own.is_open && own.epoch == epoch
        });
        if !is_known && place.number >= last_number {
            self.add(&name, place, (channel, epoch), &EntryKind::Image { seq, payload });
            if let Some(film) = self.open.get_mut(&name) {
                film.last_number = place.number;
            }
        }
    }

    /// Writes all entries that are in memory, makes sure that they are on disk, and deletes films that are
    /// too old or too many. To be called before the end; otherwise it happens by itself every
    /// [`FilmSettings::sync_every_us`].
    ///
    /// # Errors
    ///
    /// If the disk refuses something. The rest is done nevertheless.
    pub fn sync(&mut self) -> Result<(), FilmError> {
        self.failures.clear();
        self.sync_at(self.last.at);
        self.error.take().map_or(Ok(()), Err)
    }

    fn sync_at(&mut self, now: Micros) {
        let names: Vec<ChannelId> = self.open.keys().cloned().collect();
        for name in names {
            self.write_block(&name, now);
        }
        for name in std::mem::take(&mut self.unsynced) {
            let path = self.films.path(name.as_str());
            match File::open(&path).and_then(|file| file.sync_data()) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    self.fail(&name, FilmError::Storage { path, source }, now);
                }
                _ => {}
            }
        }
        // What a film still has in memory must be fed again after a restart.
        let is_written = self.open.values().all(|film| film.buffer.is_empty());
        if is_written && self.last.number > self.synced.number {
            match write_position(self.films.folder(), self.last.number) {
                Ok(()) => self.synced.number = self.last.number,
                Err(error) => self.error = Some(error),
            }
        }
        self.synced.at = self.last.at;
        for name in self.films.expire(self.last.at - self.settings.keep_us, self.settings.bytes_max)
        {
            // If it has open channels, it begins again with their images.
            self.forget(&name);
            self.failures.remove(&name);
            self.gaps.remove(&name);
        }
        metrics::gauge!("matchwire_film_bytes").set(float(self.films.bytes()));
    }

    /// Writes blocks until there is room in memory for a record. If the disk refuses them, their entries are
    /// dropped.
    fn make_room(&mut self, record: &Record) {
        let bytes: usize = record.outputs.iter().map(payload_bytes).sum();
        while self.buffered_bytes > 0
            && self.buffered_bytes + bytes > self.settings.buffered_bytes_max
        {
            let filled = self.open.iter().filter(|(_, film)| !film.buffer.is_empty());
            let largest_of = |films: &mut dyn Iterator<Item = (&ChannelId, &OpenFilm)>| {
                let largest = films.max_by_key(|(_, film)| film.buffer.entries.len());
                largest.map(|(name, _)| name.clone())
            };
            let can_be_written =
                |film: &(&ChannelId, &OpenFilm)| !self.must_wait(film.0, record.at);
            if let Some(name) = largest_of(&mut filled.clone().filter(can_be_written)) {
                self.write_block(&name, record.at);
            } else if let Some(name) = largest_of(&mut filled.clone()) {
                self.drop_entries(&name);
            }
        }
    }

    /// Forgets what a film has in memory.
    fn drop_entries(&mut self, name: &ChannelId) {
        self.forget(name);
        self.gaps.insert(name.clone());
    }

    fn write_due(&mut self, now: Micros) {
        if now - self.synced.at >= self.settings.sync_every_us {
            return self.sync_at(now);
        }
        while self.due.first().is_some_and(|(due, _)| *due <= now) {
            let Some((_, name)) = self.due.pop_first() else { return };
            let Some(film) = self.open.get(&name) else { continue };
            if film.buffer.is_empty() {
                continue;
            }
            let due = film.buffer.first.at + self.settings.block_age_us;
            let retry_at = self.failures.get(&name).map(|failure| failure.retry_at);
            let due = retry_at.map_or(due, |retry_at| due.max(retry_at));
            if due <= now {
                self.write_block(&name, now);
            } else {
                self.due.insert((due, name));
            }
        }
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

    /// Whether a film has failed and is not tried again yet.
    fn must_wait(&self, name: &ChannelId, now: Micros) -> bool {
        self.failures.get(name).is_some_and(|failure| failure.retry_at > now)
    }

    /// Opens a film for a record, if it is not open. Returns whether the film takes the record.
    fn prepare(&mut self, name: &ChannelId, place: Place) -> bool {
        if !self.open.contains_key(name) {
            if self.must_wait(name, place.at) {
                self.gaps.insert(name.clone());
                return false;
            }
            if let Err(error) = self.open_film(name) {
                self.gaps.insert(name.clone());
                self.fail(name, error, place.at);
                return false;
            }
        }
        let is_new = self.open[name].last_number < place.number;
        if is_new && self.gaps.remove(name) {
            self.close_channels(name, place);
            self.lacking.insert(name.clone());
        }
        is_new
    }

    /// Closes the channels of a film that lacks entries: a replay must not hide that.
    fn close_channels(&mut self, name: &ChannelId, place: Place) {
        let tracks = self.open[name].tracks.iter().filter(|track| track.is_open);
        let tracks: Vec<_> = tracks.map(|track| (track.name.clone(), track.epoch)).collect();
        for (channel, epoch) in tracks {
            self.add(name, place, (&channel, epoch), &EntryKind::Closed);
        }
    }

    /// Notes that a film cannot be written or read.
    fn fail(&mut self, name: &ChannelId, error: FilmError, now: Micros) {
        if let FilmError::Deleted { .. } = error {
            // It begins again, with what is left of it if anything is.
            tracing::warn!(film = name.as_str(), "the file of a film was deleted or cut");
            self.films.end_readers(name);
            self.drop_entries(name);
            return;
        }
        let before = self.failures.get(name).map_or(RETRY_US / 2, |failure| failure.wait_us);
        let wait_us = (2 * before).min(RETRY_US_MAX);
        if self.failures.is_empty() {
            self.error = Some(error);
        } else {
            tracing::debug!(film = name.as_str(), %error, "another film cannot be written");
        }
        let retry_at = now.saturating_add(wait_us);
        self.failures.insert(name.clone(), Failure { retry_at, wait_us });
        if self.open.get(name).is_some_and(|film| !film.buffer.is_empty()) {
            self.due.insert((retry_at, name.clone()));
        }
    }

    /// Takes up a film, or begins it. Cuts it at the first bad block.
    fn open_film(&mut self, name: &ChannelId) -> Result<(), FilmError> {
        let mut film = OpenFilm::default();
        if self.films.find(name.as_str()).is_some() {
            let path = self.films.path(name.as_str());
            match FilmReader::open(&path) {
                Ok(reader) => film = self.continue_film(name, reader)?,
                Err(FilmError::Storage { source, .. })
                    if source.kind() == io::ErrorKind::NotFound =>
                {
                    self.films.remove(name);
                }
                Err(error @ FilmError::Damaged { .. }) => {
                    tracing::warn!(film = name.as_str(), %error, "a film cannot be continued");
                    set_aside(&path)?;
                    self.films.remove(name);
                }
                Err(error) => return Err(error),
            }
        }
        for (number, track) in film.tracks.iter().enumerate() {
            self.tracks.insert(track.name.clone(), (name.clone(), number));
        }
        self.open.insert(name.clone(), film);
        Ok(())
    }

    fn continue_film(
        &self,
        name: &ChannelId,
        mut reader: FilmReader,
    ) -> Result<OpenFilm, FilmError> {
        let keeps = reader.drop_damaged_blocks(self.synced.number)? || reader.is_damaged();
        if cut(&self.films.path(name.as_str()), reader.end(), keeps)? {
            self.films.end_readers(name);
        }
        let mut film = OpenFilm {
            tracks: reader.channels(),
            bytes: reader.end(),
            since_images: reader.bytes_since_images(),
            ..OpenFilm::default()
        };
        debug_assert_eq!(film.tracks.len(), reader.tracks().len(), "each track has entries");
        film.written_tracks = film.tracks.len();
        if let Some((number, first, last)) = reader.extent() {
            film.last_number = number;
            film.times = Some((first, last));
            self.films.insert(film.summary(name));
        }
        Ok(film)
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

    fn forget_if_ended(&mut self, name: &ChannelId) {
        if self.open.get(name).is_some_and(|film| film.has_ended() && film.buffer.is_empty()) {
            self.forget(name);
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
                    self.lacking.insert(name.clone());
                    return;
                };
                if *seq <= own.last {
                    return;
                }
                let kind = if *prev > own.last {
                    // Something is missing: a replay must not hide that.
                    self.lacking.insert(name.clone());
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
            self.tracks.insert(channel.clone(), (name.clone(), film.tracks.len()));
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
            self.due.insert((place.at + self.settings.block_age_us, name.clone()));
        }
        buffer.firsts.entry(track).or_insert(own.last);
        let before = buffer.entries.len();
        block::write_entry(&mut buffer.entries, buffer.last, place, track, kind);
        buffer.last = place;
        self.buffered_bytes += buffer.entries.len() - before;
    }

    /// Writes the entries of a film that are in memory, unless it has failed a moment ago.
    fn write_block(&mut self, name: &ChannelId, now: Micros) {
        if self.must_wait(name, now) {
            return;
        }
        match self.append_block(name) {
            Ok(()) => {
                let had_failed = self.failures.remove(name).is_some();
                if had_failed && self.failures.is_empty() {
                    tracing::info!("all films can be written again");
                }
                self.forget_if_ended(name);
            }
            Err(error) => self.fail(name, error, now),
        }
    }

    /// Appends the entries of a film that are in memory to its file, and images if they are due.
    fn append_block(&mut self, name: &ChannelId) -> Result<(), FilmError> {
        let Some(film) = self.open.get_mut(name).filter(|film| !film.buffer.is_empty()) else {
            return Ok(());
        };
        let path = self.films.path(name.as_str());
        let storage = || FilmError::storage(&path);
        let block = film.header().encode(&film.buffer.entries).map_err(storage())?;
        film.append(&path, &block)?;
        let EntryBuffer { entries, first, last, .. } = std::mem::take(&mut film.buffer);
        self.buffered_bytes -= entries.len();
        film.since_images += entries.len();
        film.written_tracks = film.tracks.len();
        film.times = Some((film.times.map_or(first.at, |(first, _)| first), last.at));
        self.unsynced.insert(name.clone());
        if film.has_ended() {
            let summary = film.summary_header().encode_summary().map_err(storage())?;
            film.append(&path, &summary)?;
        } else if film.since_images >= self.settings.key_frame_bytes {
            // If it fails, seeks take longer until the next ones.
            let reader = self.films.reader(name.as_str());
            let images = reader.and_then(|mut it| it.seek(&ReadFrom::Record(last.number)));
            let block = images.map(|images| film.images(&images, last));
            match block.map_err(|error| io::Error::other(error.to_string())).flatten() {
                Ok(block) => film.append(&path, &block)?,
                Err(error) => tracing::warn!(film = name.as_str(), %error, "no images for a film"),
            }
            film.since_images = 0;
        }
        self.films.insert(film.summary(name));
        Ok(())
    }
}

fn payload_bytes(output: &Output) -> usize {
    match output {
        Output::Opened { payload, .. } | Output::Published { payload, .. } => payload.len(),
        Output::Closed { .. } => 0,
    }
}

fn position_path(folder: &Path) -> PathBuf {
    folder.join(POSITION)
}

/// The position that was written last; 0 if there is none or it is unreadable, so that everything is fed
/// again.
fn read_position(folder: &Path) -> RecordNumber {
    let path = position_path(folder);
    match fs::read(&path) {
        Ok(bytes) => {
            let number = str::from_utf8(&bytes).ok().and_then(|text| text.trim().parse().ok());
            number.unwrap_or(0)
        }
        Err(error) => {
            if error.kind() != io::ErrorKind::NotFound {
                tracing::warn!(path = %path.display(), %error, "the position of films is not known");
            }
            0
        }
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

//! Records films: sorts the outputs of records by match, and adds them to the entries of its film.

mod blocks;
mod failures;
mod opening;
mod position;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, hash_map::Entry},
    path::Path,
};

use bytes::Bytes;
use fanout::{ChannelId, Epoch, Micros, Seq};

use self::{failures::Failure, position::read_position};
use super::{
    FilmError, FilmSettings, Films,
    block::{self, Place},
    films::FilmChannel,
    match_of,
    open_film::OpenFilm,
    reader::EntryKind,
};
use crate::{
    RecordNumber,
    record::{Output, Record},
};

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
        let position = Place { number: record.number, at: record.at };
        if self.synced.at == 0 {
            self.synced.at = record.at;
        }
        // A film takes a record as a whole or not at all, so films are opened before anything is recorded.
        let mut films: HashMap<ChannelId, bool> = HashMap::new();
        for output in &record.outputs {
            let Some(name) = self.film_of(output.channel()) else { continue };
            if let Entry::Vacant(film) = films.entry(name) {
                let takes_it = self.prepare(film.key(), position);
                film.insert(takes_it);
            }
        }
        for output in &record.outputs {
            let Some(name) = self.film_of(output.channel()) else { continue };
            if films[&name] {
                self.output(&name, position, output);
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
        self.last = position;
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
    /// the channel is in it. `position`: the record after which the channel had this image.
    pub fn image(
        &mut self,
        position: (RecordNumber, Micros),
        channel: &ChannelId,
        (epoch, seq): (Epoch, Seq),
        payload: Bytes,
    ) {
        let Some(name) = self.film_of(channel) else { return };
        let position = Place { number: position.0, at: position.1 };
        self.prepare(&name, position);
        let Some(last_number) = self.open.get(&name).map(|film| film.last_number) else { return };
        let is_known = self.track(channel).is_some_and(|track| {
            let channel_track = &self.open[&name].tracks[track];
            channel_track.is_open && channel_track.epoch == epoch
        });
        if !is_known && position.number >= last_number {
            self.add(&name, position, (channel, epoch), &EntryKind::Image { seq, payload });
            if let Some(film) = self.open.get_mut(&name) {
                film.last_number = position.number;
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

    /// Opens a film for a record, if it is not open. Returns whether the film takes the record.
    fn prepare(&mut self, name: &ChannelId, position: Place) -> bool {
        if !self.open.contains_key(name) {
            if self.must_wait(name, position.at) {
                self.gaps.insert(name.clone());
                return false;
            }
            if let Err(error) = self.open_film(name) {
                self.gaps.insert(name.clone());
                self.fail(name, error, position.at);
                return false;
            }
        }
        let is_new = self.open[name].last_number < position.number;
        if is_new && self.gaps.remove(name) {
            self.close_channels(name, position);
            self.lacking.insert(name.clone());
        }
        is_new
    }

    /// Closes the channels of a film that lacks entries: a replay must not hide that.
    fn close_channels(&mut self, name: &ChannelId, position: Place) {
        let tracks = self.open[name].tracks.iter().filter(|track| track.is_open);
        let tracks: Vec<_> = tracks.map(|track| (track.name.clone(), track.epoch)).collect();
        for (channel, epoch) in tracks {
            self.add(name, position, (&channel, epoch), &EntryKind::Closed);
        }
    }

    fn output(&mut self, name: &ChannelId, position: Place, output: &Output) {
        match output {
            Output::Opened { channel, epoch, seq, payload } => {
                let kind = EntryKind::Image { seq: *seq, payload: payload.clone() };
                self.add(name, position, (channel, *epoch), &kind);
            }
            Output::Published { channel, epoch, prev, seq, urgent, has_events, payload } => {
                let film = &self.open[name];
                let tracked = self.track(channel).map(|track| &film.tracks[track]);
                // Without an image to apply it to, an update cannot be shown.
                let Some(tracked) =
                    tracked.filter(|tracked| tracked.is_open && tracked.epoch == *epoch)
                else {
                    metrics::counter!("matchwire_film_updates_without_image_total").increment(1);
                    self.lacking.insert(name.clone());
                    return;
                };
                if *seq <= tracked.last {
                    return;
                }
                let kind = if *prev > tracked.last {
                    // Something is missing: a replay must not hide that.
                    self.lacking.insert(name.clone());
                    EntryKind::Closed
                } else {
                    let (prev, seq, payload) = (*prev, *seq, payload.clone());
                    let (urgent, has_events) = (*urgent, *has_events);
                    EntryKind::Update { prev, seq, urgent, has_events, payload }
                };
                self.add(name, position, (channel, *epoch), &kind);
            }
            Output::Closed { channel, epoch } => {
                let film = &self.open[name];
                let tracked = self.track(channel).map(|track| &film.tracks[track]);
                if tracked.is_some_and(|tracked| tracked.is_open && tracked.epoch == *epoch) {
                    self.add(name, position, (channel, *epoch), &EntryKind::Closed);
                }
            }
        }
    }

    /// Adds an entry to a film that is open.
    fn add(
        &mut self,
        name: &ChannelId,
        position: Place,
        (channel, epoch): (&ChannelId, Epoch),
        kind: &EntryKind,
    ) {
        let film = self.open.get_mut(name).expect("the film was opened");
        let existing = self.tracks.get(channel).map(|(_, track)| *track);
        let existing = existing.filter(|track| film.tracks[*track].epoch == epoch);
        let seq = kind.seq();
        let track = existing.unwrap_or_else(|| {
            self.tracks.insert(channel.clone(), (name.clone(), film.tracks.len()));
            let (first, name) = (seq.unwrap_or(0), channel.clone());
            // A channel has one epoch at a time.
            let earlier = film.tracks.iter_mut().filter(|tracked| tracked.name == name);
            earlier.for_each(|tracked| tracked.is_open = false);
            film.tracks.push(FilmChannel { name, epoch, first, last: first, is_open: true });
            film.tracks.len() - 1
        });
        let tracked = &mut film.tracks[track];
        tracked.is_open = seq.is_some();
        tracked.last = seq.unwrap_or(tracked.last);
        let buffer = &mut film.buffer;
        if buffer.is_empty() {
            (buffer.first, buffer.last) = (position, Place::default());
            self.due.insert((position.at + self.settings.block_age_us, name.clone()));
        }
        buffer.firsts.entry(track).or_insert(tracked.last);
        let before = buffer.entries.len();
        block::write_entry(&mut buffer.entries, buffer.last, position, track, kind);
        buffer.last = position;
        self.buffered_bytes += buffer.entries.len() - before;
    }
}

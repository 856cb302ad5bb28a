//! Writes the entries in memory to the films, as blocks: when a film has enough of them, when they are old enough,
//! when memory is short, and before a sync.

use std::{fs::File, io};

use base::disk;
use fanout::{ChannelId, Micros};

use super::{FilmWriter, position::write_position};
use crate::{
    film::{
        FilmError,
        open_film::{EntryBuffer, OpenFilm},
        reader::ReadFrom,
    },
    record::{Output, Record},
};

impl FilmWriter {
    /// Writes blocks until there is room in memory for a record. If the disk refuses them, their entries are
    /// dropped.
    pub(super) fn make_room(&mut self, record: &Record) {
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

    /// Writes the blocks that are old enough, and syncs all films if that is due.
    pub(super) fn write_due(&mut self, now: Micros) {
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

    /// Writes all blocks, syncs them and notes the position, and deletes films that are too old or too many.
    pub(super) fn sync_at(&mut self, now: Micros) {
        let names: Vec<ChannelId> = self.open.keys().cloned().collect();
        for name in names {
            self.write_block(&name, now);
        }
        for name in std::mem::take(&mut self.unsynced) {
            let path = self.films.path(name.as_str());
            match File::open(&path).and_then(|file| file.sync_data()) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    self.unsynced.insert(name.clone());
                    self.fail(&name, FilmError::Storage { path, source }, now);
                }
                _ => {}
            }
        }
        // What a film still has in memory, or not on disk, must be fed again after a restart.
        let is_written =
            self.unsynced.is_empty() && self.open.values().all(|film| film.buffer.is_empty());
        if is_written && self.last.number > self.synced.number {
            match write_position(self.films.folder(), self.last.number) {
                Ok(()) => self.synced.number = self.last.number,
                Err(error) => {
                    self.error.get_or_insert(error);
                }
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

    /// Writes the entries of a film that are in memory, unless it has failed a moment ago.
    pub(super) fn write_block(&mut self, name: &ChannelId, now: Micros) {
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
        // The log itself needs what is left.
        if disk::is_low(disk::Folder::Log) {
            return Err(storage()(io::ErrorKind::StorageFull.into()));
        }
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
            let images = reader.and_then(|mut reader| reader.seek(&ReadFrom::Record(last.number)));
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

fn float(bytes: u64) -> f64 {
    bytes as f64
}

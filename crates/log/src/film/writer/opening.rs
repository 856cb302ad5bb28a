//! Opens films, so that they can get more entries, and forgets those that have ended or were deleted.

use std::io;

use fanout::ChannelId;

use super::FilmWriter;
use crate::film::{
    FilmError,
    open_film::{OpenFilm, cut, set_aside},
    reader::FilmReader,
};

impl FilmWriter {
    /// Takes up a film, or begins it. Cuts it at the first bad block.
    pub(super) fn open_film(&mut self, name: &ChannelId) -> Result<(), FilmError> {
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
    pub(super) fn forget(&mut self, name: &ChannelId) {
        if let Some(film) = self.open.remove(name) {
            self.buffered_bytes -= film.buffer.entries.len();
            for track in &film.tracks {
                self.tracks.remove(&track.name);
            }
        }
    }

    pub(super) fn forget_if_ended(&mut self, name: &ChannelId) {
        if self.open.get(name).is_some_and(|film| film.has_ended() && film.buffer.is_empty()) {
            self.forget(name);
        }
    }
}

//! Which films there are: the writer's list, which others read.

use std::{
    collections::{BTreeMap, HashMap},
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak},
};

use fanout::{ChannelId, Epoch, Micros, Seq};

use super::{FilmError, index::FilmFile, match_of, reader::FilmReader};
use crate::RecordNumber;

/// The films in a folder. Cheap to clone; all clones are the same list.
#[derive(Debug, Clone)]
pub struct Films {
    folder: Arc<Path>,
    films: Arc<RwLock<BTreeMap<ChannelId, Arc<FilmSummary>>>>,
    /// The films that are being read.
    files: Arc<Mutex<HashMap<ChannelId, Weak<FilmFile>>>>,
}

/// What a film has on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilmSummary {
    /// The channel of the match, such as `football/204849`, which is also the film's name.
    pub name: ChannelId,
    /// The channels, in the order in which they first appeared. A channel that was reopened appears once for
    /// each epoch.
    pub channels: Vec<FilmChannel>,
    /// The times of its first and last entry.
    pub first: Micros,
    pub last: Micros,
    /// The number of the record of its last entry.
    pub last_number: RecordNumber,
    pub bytes: u64,
}

/// One epoch of a channel in a film.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilmChannel {
    pub name: ChannelId,
    pub epoch: Epoch,
    pub first: Seq,
    pub last: Seq,
    /// Whether it is open after the film's last entry.
    pub is_open: bool,
}

/// Chooses films.
#[derive(Debug, Clone, Copy, Default)]
pub struct FilmQuery<'a> {
    /// Only this sport: the first segment of the name.
    pub sport: Option<&'a str>,
    /// Only films with an entry at or after this time.
    pub from: Option<Micros>,
    /// Only films that begin before this time.
    pub to: Option<Micros>,
}

impl FilmSummary {
    /// Whether a channel of it is open, so that more may be recorded.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.channels.iter().any(|channel| channel.is_open)
    }
}

impl FilmQuery<'_> {
    fn matches(&self, film: &FilmSummary) -> bool {
        let sport = film.name.as_str().split('/').next();
        self.sport.is_none_or(|wanted| sport == Some(wanted))
            && self.from.is_none_or(|from| film.last >= from)
            && self.to.is_none_or(|to| film.first < to)
    }
}

impl Films {
    /// Reads which films a folder has. Files that are no films are left alone, and films without a complete
    /// block are left out.
    ///
    /// # Errors
    ///
    /// If the folder cannot be created or read.
    pub fn open(folder: &Path) -> Result<Self, FilmError> {
        let (films, files) = (Arc::default(), Arc::default());
        let films = Self { folder: folder.into(), films, files };
        fs::create_dir_all(folder).map_err(FilmError::storage(folder))?;
        for sport in folders(folder)? {
            for file in fs::read_dir(&sport).map_err(FilmError::storage(&sport))? {
                let path = file.map_err(FilmError::storage(&sport))?.path();
                let Some(name) = name_of(&path) else { continue };
                match FilmReader::summary(&path, &name) {
                    Ok(Some(summary)) => films.insert(summary),
                    Ok(None) => {}
                    Err(error) => {
                        tracing::warn!(path = %path.display(), %error, "a film cannot be read");
                    }
                }
            }
        }
        Ok(films)
    }

    /// The film of a match.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Arc<FilmSummary>> {
        self.read().get(&ChannelId::new(name)).cloned()
    }

    /// The film that has a channel.
    #[must_use]
    pub fn of_channel(&self, channel: &ChannelId) -> Option<Arc<FilmSummary>> {
        let film = self.find(match_of(channel.as_str())?)?;
        film.channels.iter().any(|listed| listed.name == *channel).then_some(film)
    }

    /// The films that a query chooses, the latest first.
    #[must_use]
    pub fn list(&self, query: FilmQuery<'_>) -> Vec<Arc<FilmSummary>> {
        let films = self.read();
        let mut chosen: Vec<_> =
            films.values().filter(|film| query.matches(film)).cloned().collect();
        drop(films);
        chosen.sort_by(|a, b| b.first.cmp(&a.first).then_with(|| a.name.cmp(&b.name)));
        chosen
    }

    /// The bytes of all films.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.read().values().map(|film| film.bytes).sum()
    }

    /// Opens a film to read it. Readers of one film share its file and its index.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, for example because the film was deleted.
    pub fn reader(&self, name: &str) -> Result<FilmReader, FilmError> {
        let name = ChannelId::new(name);
        let open = self.files().get(&name).and_then(Weak::upgrade);
        if let Some(file) = open.filter(|file| file.is_current()) {
            return FilmReader::from_file(file);
        }
        let reader = FilmReader::open(&self.path(name.as_str()))?;
        let mut files = self.files();
        files.retain(|_, file| file.strong_count() > 0);
        files.insert(name, Arc::downgrade(reader.file()));
        Ok(reader)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.film"))
    }

    pub(super) fn insert(&self, film: FilmSummary) {
        self.write().insert(film.name.clone(), Arc::new(film));
    }

    /// Removes a film from the list, and ends its readers.
    pub(super) fn remove(&self, name: &ChannelId) {
        self.write().remove(name);
        self.end_readers(name);
    }

    /// Ends the readers of a film: what they know of its file is no longer true.
    pub(super) fn end_readers(&self, name: &ChannelId) {
        if let Some(file) = self.files().remove(name).and_then(|file| file.upgrade()) {
            file.set_deleted();
        }
    }

    /// Deletes films whose last entry is before `oldest`, and then the oldest ones until the rest has at most
    /// `bytes_max` bytes. Returns their names.
    pub(super) fn expire(&self, oldest: Micros, bytes_max: u64) -> Vec<ChannelId> {
        let films = self.read();
        let mut by_age: Vec<(Micros, u64, ChannelId)> =
            films.values().map(|film| (film.last, film.bytes, film.name.clone())).collect();
        drop(films);
        by_age.sort_unstable();
        let mut bytes: u64 = by_age.iter().map(|(_, bytes, _)| bytes).sum();
        let mut expired = Vec::new();
        for (last, film_bytes, name) in by_age {
            if last >= oldest && bytes <= bytes_max {
                break;
            }
            bytes -= film_bytes;
            let path = self.path(name.as_str());
            if let Err(error) = fs::remove_file(&path)
                && error.kind() != io::ErrorKind::NotFound
            {
                tracing::warn!(path = %path.display(), %error, "a film cannot be deleted");
            }
            fs::remove_file(damaged_path(&path)).ok();
            self.remove(&name);
            expired.push(name);
        }
        expired
    }

    fn files(&self) -> MutexGuard<'_, HashMap<ChannelId, Weak<FilmFile>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<ChannelId, Arc<FilmSummary>>> {
        self.films.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<ChannelId, Arc<FilmSummary>>> {
        self.films.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where the damaged part of a film is moved to. It is deleted with the film.
pub(super) fn damaged_path(film: &Path) -> PathBuf {
    film.with_extension("damaged")
}

/// The folders in a folder.
fn folders(folder: &Path) -> Result<Vec<PathBuf>, FilmError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(FilmError::storage(folder))? {
        let path = entry.map_err(FilmError::storage(folder))?.path();
        if path.is_dir() {
            found.push(path);
        }
    }
    Ok(found)
}

/// The name of the film in this file.
fn name_of(path: &Path) -> Option<ChannelId> {
    let id = path.file_name()?.to_str()?.strip_suffix(".film")?;
    let sport = path.parent()?.file_name()?.to_str()?;
    let name = format!("{sport}/{id}");
    (match_of(&name) == Some(&*name)).then(|| ChannelId::new(name))
}

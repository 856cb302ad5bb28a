//! The position of films: the record up to which all of them are on disk. It is a file in their folder.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    str,
};

use crate::{RecordNumber, film::FilmError};

/// The file with the record number up to which all films are on disk.
const POSITION: &str = "position";

/// The position that was written last; 0 if there is none or it is unreadable, so that everything is fed
/// again.
pub(super) fn read_position(folder: &Path) -> RecordNumber {
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

pub(super) fn write_position(folder: &Path, number: RecordNumber) -> Result<(), FilmError> {
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

fn position_path(folder: &Path) -> PathBuf {
    folder.join(POSITION)
}

//! Files that are moved out of a log: what is damaged, and logs of a newer version.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use fanout::Micros;

use super::{head, segment, snapshot, sync::sync_names};
use crate::RecordNumber;

const DAMAGED_FOLDER: &str = "damaged";
const NEWER_PREFIX: &str = "newer-version-";

/// The folder with what is damaged.
pub(super) fn damaged_folder(folder: &Path) -> PathBuf {
    folder.join(DAMAGED_FOLDER)
}

/// Moves a file to the folder of what is damaged, or copies its content from an offset on there. Returns the
/// bytes. `bytes_max`: of a copy.
pub(super) fn move_damaged(
    folder: &Path,
    path: &Path,
    offset: u64,
    bytes_max: u64,
    now: Micros,
) -> io::Result<u64> {
    let damaged = damaged_folder(folder);
    fs::create_dir_all(&damaged)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let target = damaged.join(format!("{:020}-{name}", now.max(0)));
    if offset == 0 {
        let bytes = fs::metadata(path)?.len();
        fs::rename(path, target)?;
        return Ok(bytes);
    }
    let mut source = File::open(path)?;
    source.seek(SeekFrom::Start(offset))?;
    let copied = File::create(&target)
        .and_then(|mut target| io::copy(&mut source.take(bytes_max), &mut target));
    if copied.is_err() {
        fs::remove_file(&target).ok();
    }
    copied
}

/// Deletes the oldest of what is damaged until it has no more than this many bytes. Returns the bytes that were
/// deleted.
pub(super) fn limit_damaged(folder: &Path, bytes_max: u64) -> io::Result<u64> {
    let mut files = Vec::new();
    let entries = match fs::read_dir(damaged_folder(folder)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        files.push((entry.file_name(), entry.path(), bytes_below(&entry.path())?));
    }
    files.sort();
    let before: u64 = files.iter().map(|(_, _, bytes)| bytes).sum();
    let mut bytes = before;
    for (_, path, file_bytes) in files {
        if bytes > bytes_max {
            // A whole log that was set aside has a folder of its own.
            if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }?;
            bytes -= file_bytes;
        }
    }
    Ok(before - bytes)
}

/// Bytes of a file, or of all files in a folder.
pub(super) fn bytes_below(path: &Path) -> io::Result<u64> {
    let metadata = fs::symlink_metadata(path)?;
    if !metadata.is_dir() {
        return Ok(metadata.len());
    }
    let mut bytes = 0;
    for entry in fs::read_dir(path)? {
        bytes += bytes_below(&entry?.path())?;
    }
    Ok(bytes)
}

/// Moves all segments and snapshots and the head to a folder of their own, and returns it. The head goes last, so
/// that a start that is interrupted is repeated.
pub(super) fn move_newer(folder: &Path, now: Micros) -> io::Result<PathBuf> {
    let target = folder.join(format!("{NEWER_PREFIX}{:020}", now.max(0)));
    fs::create_dir_all(&target)?;
    let snapshots = snapshot::numbers(folder)?.into_iter();
    let segments = segment::list(folder)?.into_iter();
    let paths = snapshots
        .map(|number| snapshot::path(folder, number))
        .chain(segments.map(|first| segment::path(folder, first)))
        .chain([folder.join(head::FILE_NAME)]);
    for path in paths.filter(|path| path.exists()) {
        fs::rename(&path, target.join(path.file_name().unwrap_or_default()))?;
    }
    sync_names(&target)?;
    sync_names(folder)?;
    Ok(target)
}

/// The highest number in the names of files that were moved.
pub(super) fn highest_moved(folder: &Path) -> io::Result<Option<RecordNumber>> {
    let mut highest = None;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_damaged = name == DAMAGED_FOLDER;
        if !is_damaged && !name.to_str().is_some_and(|name| name.starts_with(NEWER_PREFIX)) {
            continue;
        }
        for moved in fs::read_dir(entry.path())? {
            let name = moved?.file_name();
            let name = name.to_str().unwrap_or_default();
            let name =
                if is_damaged { name.split_once('-').map_or("", |(_, name)| name) } else { name };
            highest = highest.max(segment::number_in(name, "segment-", ".log"));
            if !is_damaged {
                highest = highest.max(snapshot::number_in_name(name));
            }
        }
    }
    Ok(highest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_files_and_logs_that_were_set_aside_go_first() {
        let folder = tempfile::tempdir().unwrap();
        let damaged = damaged_folder(folder.path());
        let aside = damaged.join("02-of-another-database/films");
        fs::create_dir_all(&aside).unwrap();
        fs::write(aside.join("a"), [0; 700]).unwrap();
        fs::write(damaged.join("01-segment"), [0; 200]).unwrap();
        fs::write(damaged.join("03-segment"), [0; 100]).unwrap();
        assert_eq!(bytes_below(&damaged).unwrap(), 1_000);
        for (bytes_max, deleted, left) in [(1_000, 0, 3), (900, 200, 2), (799, 700, 1), (0, 100, 0)]
        {
            assert_eq!(limit_damaged(folder.path(), bytes_max).unwrap(), deleted, "{bytes_max}");
            assert_eq!(fs::read_dir(&damaged).unwrap().count(), left, "{bytes_max}");
        }
    }
}

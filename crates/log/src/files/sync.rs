//! The thread `log-sync`: forces records to the disk, deletes what is no longer kept, and makes room on a full disk.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt,
    path::Path,
    sync::Arc,
    time::Duration,
};

use metrics::counter;
use tracing::warn;

use super::{
    head, retention,
    shared::{FileShared, Work},
};
use crate::LogPosition;

/// The interval of retention, and that of syncs if each append waits for the disk anyway.
const INTERVAL_MAX: Duration = Duration::from_secs(5);

impl FileShared {
    /// Forces everything that is in the log to the disk, and returns up to where that is.
    pub(super) fn sync(&self) -> io::Result<LogPosition> {
        let _one_at_a_time = self.lock_syncs();
        let is_lost = self.is_folder_gone();
        self.state().is_lost = is_lost;
        if is_lost {
            return Err(folder_gone());
        }
        let (end, files, head, names_changed) = {
            let mut state = self.state();
            if state.synced == Some(state.end) && state.unsynced.is_empty() {
                return Ok(state.end);
            }
            let mut files = std::mem::take(&mut state.unsynced);
            files.extend(state.tail.clone());
            let names_changed = std::mem::take(&mut state.names_changed);
            (state.end, files, state.head.clone(), names_changed)
        };
        let synced =
            files.iter().chain(&head).try_for_each(|file| file.sync_data()).and_then(|()| {
                if names_changed { sync_names(&self.settings.folder) } else { Ok(()) }
            });
        let mut state = self.state();
        match synced {
            Ok(()) => state.synced = Some(end),
            Err(_) => {
                state.unsynced.extend(files);
                state.names_changed |= names_changed;
            }
        }
        synced.map(|()| end)
    }

    /// Whether the folder has another file than the head that is open, or none: it was removed or replaced, and no start
    /// would find what is written.
    fn is_folder_gone(&self) -> bool {
        let Some(open) = self.state().head.clone() else { return false };
        let named = fs::metadata(self.settings.folder.join(head::FILE_NAME));
        match (open.metadata(), named) {
            (Ok(open), Ok(named)) => (open.dev(), open.ino()) != (named.dev(), named.ino()),
            (_, Err(error)) => error.kind() == io::ErrorKind::NotFound,
            (Err(_), Ok(_)) => false,
        }
    }

    /// What the log's thread does until the log is closed.
    pub(super) fn maintain(&self) {
        let interval = match self.settings.fsync_interval {
            Duration::ZERO => INTERVAL_MAX,
            interval => interval.min(INTERVAL_MAX),
        };
        let (mut elapsed, mut failing) = (Duration::ZERO, false);
        loop {
            match self.wait_for_work(interval) {
                Work::Close => return,
                Work::FreeSpace => {
                    if let Err(error) = retention::free(self) {
                        base::log_limited!(warn, %error, "cannot make room for the log on the full disk");
                    }
                }
                Work::Sync => {}
            }
            let synced = self.sync();
            if let Err(error) = &synced {
                counter!("matchwire_log_sync_failures_total").increment(1);
                if !failing {
                    warn!(%error, "cannot fsync the log");
                }
            }
            failing = synced.is_err();
            elapsed += interval;
            if elapsed >= INTERVAL_MAX {
                elapsed = Duration::ZERO;
                let now = self.state().end.at;
                if let Err(error) = retention::retain(self, now) {
                    base::log_limited!(warn, %error, "cannot delete expired segments of the log");
                }
            }
        }
    }
}

/// Records are refused until the folder is back, or another start.
pub(super) fn folder_gone() -> io::Error {
    let detail = "the folder of the log was removed or replaced: put it back, or restart the hub";
    io::Error::new(io::ErrorKind::NotFound, detail)
}

/// Forces the names in a folder to the disk.
pub(super) fn sync_names(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Files that an earlier process may have left in the memory of the kernel.
pub(super) fn open_all(paths: impl Iterator<Item = std::path::PathBuf>) -> Vec<Arc<File>> {
    paths.flat_map(File::open).map(Arc::new).collect()
}

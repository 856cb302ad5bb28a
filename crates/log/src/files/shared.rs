//! What the appender and the readers share.

use std::{
    collections::BTreeMap,
    fs::File,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use fanout::Micros;

use super::{LogSettings, reader::FileReader};
use crate::{LogPosition, RecordNumber, RecordReader, RecordSource};

/// Bytes between two places of an index. A segment of 64 MiB has 1,024 of them, which take 16 KiB.
const INDEX_EVERY_BYTES: u64 = 64 << 10;

pub(super) struct FileShared {
    pub(super) settings: LogSettings,
    state: Mutex<FileState>,
    /// Notified when the end moves, and when the log is closed.
    changed: Condvar,
    /// Notified when the log is closed, and when the disk is full.
    work: Condvar,
    syncing: Mutex<()>,
    /// The number of the last record, so that a reader at the end takes no lock.
    last: AtomicU64,
    /// The log had too many bytes when old segments were last deleted.
    pub(super) exceeded: AtomicBool,
}

/// What can be read.
#[derive(Debug, Default)]
pub(super) struct FileState {
    /// The next record gets the number after this one.
    pub(super) end: LogPosition,
    /// The last record that can be read. Less than the number of the end until the first append after a
    /// start that could not prove continuity.
    pub(super) last: RecordNumber,
    pub(super) closed: bool,
    /// The folder was removed or replaced.
    pub(super) is_lost: bool,
    /// An append found the disk full since the log's thread last made room.
    pub(super) is_full: bool,
    /// By the number of the first record.
    pub(super) segments: BTreeMap<RecordNumber, Segment>,
    /// The segment that is written, and the head.
    pub(super) tail: Option<Arc<File>>,
    pub(super) head: Option<Arc<File>>,
    /// Other segments that are not yet on the disk for certain.
    pub(super) unsynced: Vec<Arc<File>>,
    /// Segments were created whose names are not yet on the disk for certain.
    pub(super) names_changed: bool,
    /// Everything up to here is on the disk.
    pub(super) synced: Option<LogPosition>,
}

impl FileState {
    /// Bytes of all segments.
    pub(super) fn bytes(&self) -> u64 {
        self.segments.values().map(|segment| segment.bytes).sum()
    }
}

/// What the thread of the log does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// The interval is over.
    Sync,
    /// The disk is full.
    FreeSpace,
    /// The log is closed.
    Close,
}

#[derive(Debug, Default)]
pub(super) struct Segment {
    /// The last record before it.
    pub(super) before: LogPosition,
    /// Bytes with complete records.
    pub(super) bytes: u64,
    /// Places of some records: number, and where it begins.
    pub(super) places: Vec<(RecordNumber, u64)>,
}

impl Segment {
    /// Notes that a record begins here, if the last place is far enough.
    pub(super) fn note_place(&mut self, number: RecordNumber, offset: u64) {
        let last = self.places.last().map_or(0, |&(_, offset)| offset);
        if offset >= last + INDEX_EVERY_BYTES {
            self.places.push((number, offset));
        }
    }
}

impl Segment {
    /// The last place that is not after this record.
    pub(super) fn place_before(&self, number: RecordNumber) -> Option<(RecordNumber, u64)> {
        let after = self.places.partition_point(|&(first, _)| first <= number);
        after.checked_sub(1).map(|index| self.places[index])
    }
}

impl FileShared {
    pub(super) fn new(settings: LogSettings, state: FileState) -> Self {
        let last = AtomicU64::new(state.last);
        Self {
            settings,
            state: Mutex::new(state),
            changed: Condvar::new(),
            work: Condvar::new(),
            syncing: Mutex::new(()),
            last,
            exceeded: AtomicBool::new(false),
        }
    }

    pub(super) fn lock_syncs(&self) -> MutexGuard<'_, ()> {
        self.syncing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn state(&self) -> MutexGuard<'_, FileState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn last_number(&self) -> RecordNumber {
        self.last.load(Ordering::Acquire)
    }

    /// Changes the state and shows it to readers.
    pub(super) fn update(&self, change: impl FnOnce(&mut FileState)) {
        let mut state = self.state();
        change(&mut state);
        self.last.store(state.last, Ordering::Release);
        drop(state);
        self.changed.notify_all();
    }

    /// No more records will be appended.
    pub(super) fn close(&self) {
        self.update(|state| state.closed = true);
        self.work.notify_all();
    }

    /// Asks the log's thread to make room on the disk.
    pub(super) fn ask_for_space(&self) {
        self.state().is_full = true;
        self.work.notify_all();
    }

    /// Waits until the log's thread has something to do, at most for this time.
    pub(super) fn wait_for_work(&self, timeout: Duration) -> Work {
        let mut state = self
            .work
            .wait_timeout_while(self.state(), timeout, |state| !state.closed && !state.is_full)
            .unwrap_or_else(PoisonError::into_inner)
            .0;
        if state.closed {
            Work::Close
        } else if std::mem::take(&mut state.is_full) {
            Work::FreeSpace
        } else {
            Work::Sync
        }
    }

    /// Waits while the condition holds, at most for this time.
    pub(super) fn wait_while(
        &self,
        timeout: Duration,
        condition: impl FnMut(&mut FileState) -> bool,
    ) -> MutexGuard<'_, FileState> {
        self.changed
            .wait_timeout_while(self.state(), timeout, condition)
            .unwrap_or_else(PoisonError::into_inner)
            .0
    }
}

/// The records of a [`FileLog`](super::FileLog).
pub(super) struct FileSource(pub(super) Arc<FileShared>);

impl RecordSource for FileSource {
    fn end(&self) -> LogPosition {
        self.0.state().end
    }

    fn oldest(&self) -> RecordNumber {
        let state = self.0.state();
        let first = state.segments.first_key_value().map(|(&first, _)| first);
        first.unwrap_or(state.end.number + 1)
    }

    fn read_after(&self, number: RecordNumber) -> Box<dyn RecordReader> {
        Box::new(FileReader::after(Arc::clone(&self.0), number))
    }

    fn read_since(&self, at: Micros) -> Box<dyn RecordReader> {
        Box::new(FileReader::since(Arc::clone(&self.0), at))
    }
}

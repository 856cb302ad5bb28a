//! Appends records: one write for all of a call, then the head, then readers see them.

use std::{fmt, fs::File, io, os::unix::fs::FileExt, sync::Arc, thread::JoinHandle};

use base::supervisor::{self, Lifetime};
use fanout::Micros;
use metrics::counter;

use super::{
    LogSettings, OpenError, OpenReport,
    head::{Boot, Head},
    open, retention, segment,
    shared::{FileShared, FileSource, Segment},
    sync::{folder_gone, sync_names},
};
use crate::{
    AppendError, EncodedRecords, Log, LogPosition, RecordNumber, RecordSource, codec::Encoder,
    encoded::encode_after, record::Record,
};

/// How many complete segments may wait to be forced to the disk. Each keeps a file open, so an append that begins one
/// more waits for the disk first. Only with tiny segments there are as many between two syncs.
const SEGMENTS_UNSYNCED_MAX: usize = 16;

/// Memory for encoded records that is kept between calls.
const BUFFER_BYTES_KEPT: usize = 4 << 20;

/// The log in files, open for appending. See [`files`](super) for what survives what.
pub struct FileLog {
    shared: Arc<FileShared>,
    end: LogPosition,
    /// The last record in the files. Its number is less than that of `end` only if continuity was not proven.
    before: LogPosition,
    /// Where records are written; `None` before the first segment.
    tail: Option<Tail>,
    head: Arc<File>,
    boot: Boot,
    /// The head may say that the log was closed in order: continuity was proven, or something was appended
    /// since.
    proven: bool,
    encoder: Encoder,
    buffer: Vec<u8>,
    worker: Option<JoinHandle<()>>,
    lock: File,
}

/// The segment that is written.
pub(super) struct Tail {
    pub(super) file: Arc<File>,
    pub(super) first: RecordNumber,
    /// Bytes with complete records. The file can have more after a failed write.
    pub(super) bytes: u64,
    /// The file may have bytes of a failed write after them.
    pub(super) torn: bool,
}

impl FileLog {
    /// Opens the log in a folder, or creates it. `boot_id` identifies the boot of the machine, such as the
    /// content of `/proc/sys/kernel/random/boot_id`. `now` becomes part of the names
    /// of files that are moved.
    ///
    /// # Errors
    ///
    /// If another process has it open, or if its files cannot be read or written. Damage is not an error.
    pub fn open(
        settings: LogSettings,
        boot_id: &str,
        now: Micros,
    ) -> Result<(Self, OpenReport), OpenError> {
        open::open(settings, boot_id, now)
    }

    pub(super) fn start(
        shared: Arc<FileShared>,
        tail: Option<Tail>,
        head: File,
        boot: Boot,
        proven: bool,
        lock: File,
    ) -> io::Result<Self> {
        let head = Arc::new(head);
        let (end, last) = {
            let mut state = shared.state();
            state.tail = tail.as_ref().map(|tail| Arc::clone(&tail.file));
            state.head = Some(Arc::clone(&head));
            (state.end, state.last)
        };
        if shared.settings.synced() {
            // From now on the head says that everything is on the disk.
            shared.sync()?;
        }
        let encoder = Encoder::new()?;
        let maintained = Arc::clone(&shared);
        let worker =
            supervisor::thread("log-sync", Lifetime::Finite, move || maintained.maintain())?;
        Ok(Self {
            shared,
            end,
            before: LogPosition { number: last, ..end },
            tail,
            head,
            boot,
            proven,
            encoder,
            buffer: Vec::new(),
            worker: Some(worker),
            lock,
        })
    }

    /// Closes the log in order: everything is on the disk, and the next start finds continuity proven even
    /// after a power cut.
    ///
    /// # Errors
    ///
    /// If the disk fails. The log is closed all the same.
    pub fn close(mut self) -> io::Result<()> {
        self.stop();
        if let Some(tail) = &mut self.tail {
            tail.trim()?;
        }
        self.shared.sync()?;
        if self.proven {
            self.write_head(true)?;
        }
        sync_names(&self.settings().folder)
    }

    /// For other threads: the records, syncs and retention.
    #[must_use]
    pub fn handle(&self) -> LogHandle {
        LogHandle { shared: Arc::clone(&self.shared) }
    }

    /// Forces to the disk that the log is open. Without this, a power cut after the first appends would leave the
    /// head of the last close, which says that the log has everything.
    pub(super) fn write_open_head(&self) -> io::Result<()> {
        self.write_head(false)?;
        sync_names(&self.settings().folder)
    }

    /// Forces to the disk where the log ends now. `clean`: everything before is on the disk.
    fn write_head(&self, clean: bool) -> io::Result<()> {
        let (segment, offset) = self.tail.as_ref().map_or((0, 0), |tail| (tail.first, tail.bytes));
        let (end, boot, synced) = (self.end, self.boot, self.settings().synced());
        let reserved = !self.proven;
        Head { end, segment, offset, boot, clean, synced, reserved }.write(&self.head)?;
        self.head.sync_all()
    }

    fn stop(&mut self) {
        self.shared.close();
        if let Some(worker) = self.worker.take() {
            worker.join().ok();
        }
    }

    fn settings(&self) -> &LogSettings {
        &self.shared.settings
    }

    /// Lets an empty log begin after this record of another machine's log.
    ///
    /// # Errors
    ///
    /// If the log is not empty.
    pub fn begin_after(&mut self, position: LogPosition) -> Result<(), AppendError> {
        if self.end.number != 0 || self.tail.is_some() {
            return Err(AppendError::OtherEnd { expected: 0, end: self.end.number });
        }
        (self.end, self.before) = (position, position);
        self.shared.update(|state| (state.end, state.last) = (position, position.number));
        Ok(())
    }

    fn clear_buffer(&mut self) {
        self.buffer.clear();
        self.buffer.shrink_to(BUFFER_BYTES_KEPT);
    }

    /// Appends the records in the buffer.
    fn append_buffer(&mut self, first: RecordNumber, end: LogPosition) -> Result<(), AppendError> {
        let (segment, offset) = match self.write(end) {
            Ok(written) => written,
            Err(error) => {
                counter!("matchwire_log_append_failures_total").increment(1);
                if matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
                {
                    self.shared.ask_for_space();
                }
                if let Some(tail) = &mut self.tail {
                    // If this fails as well, the next append tries it again.
                    tail.trim().ok();
                }
                return Err(error.into());
            }
        };
        let before = self.before;
        (self.end, self.before, self.proven) = (end, end, true);
        let from = self.tail.as_mut().map_or(0, |tail| {
            tail.torn = false;
            std::mem::replace(&mut tail.bytes, offset)
        });
        counter!("matchwire_log_appended_bytes_total").increment(self.buffer.len() as u64);
        self.shared.update(|state| {
            let entry = state.segments.entry(segment);
            let segment = entry.or_insert_with(|| Segment { before, ..Segment::default() });
            segment.note_place(first, from);
            segment.bytes = offset;
            (state.end, state.last) = (end, end.number);
        });
        Ok(())
    }

    /// The segment for the next records: a new one if the last is full.
    fn tail(&mut self) -> io::Result<&mut Tail> {
        let full = |tail: &mut Tail| tail.bytes >= self.shared.settings.segment_bytes;
        if self.tail.as_mut().is_none_or(full) {
            // Bytes of a failed write must not stay at the end of a segment that is not written again.
            if let Some(tail) = &mut self.tail {
                tail.trim()?;
            }
            if self.shared.state().unsynced.len() >= SEGMENTS_UNSYNCED_MAX {
                self.shared.sync()?;
            }
            let first = self.end.number + 1;
            let header = segment::SegmentHeader { first, before: self.before };
            let file = Arc::new(segment::create(&self.settings().folder, &header)?);
            let mut state = self.shared.state();
            state.names_changed = true;
            let previous = state.tail.replace(Arc::clone(&file));
            state.unsynced.extend(previous);
            drop(state);
            let bytes = segment::HEADER_BYTES as u64;
            self.tail = Some(Tail { file, first, bytes, torn: false });
        }
        self.tail.as_mut().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Writes the buffer and the head. Returns the segment, and where it ends now.
    fn write(&mut self, end: LogPosition) -> io::Result<(RecordNumber, u64)> {
        if self.shared.state().is_lost {
            return Err(folder_gone());
        }
        let synced = self.settings().synced();
        let buffer = std::mem::take(&mut self.buffer);
        let written = self.tail().and_then(|tail| {
            tail.trim()?;
            tail.torn = true;
            tail.file.write_all_at(&buffer, tail.bytes)?;
            Ok((tail.first, tail.bytes + buffer.len() as u64))
        });
        self.buffer = buffer;
        let (segment, offset) = written?;
        let head =
            Head { end, segment, offset, boot: self.boot, clean: false, synced, reserved: false };
        if synced {
            self.sync_tail()?;
            head.write(&self.head)?;
            self.head.sync_data()?;
        } else {
            head.write(&self.head)?;
        }
        Ok((segment, offset))
    }

    fn sync_tail(&self) -> io::Result<()> {
        if let Some(tail) = &self.tail {
            tail.file.sync_data()?;
        }
        let names_changed = std::mem::take(&mut self.shared.state().names_changed);
        if names_changed && let Err(error) = sync_names(&self.settings().folder) {
            self.shared.state().names_changed = true;
            return Err(error);
        }
        Ok(())
    }
}

impl Tail {
    /// Removes the bytes of a failed write.
    fn trim(&mut self) -> io::Result<()> {
        if self.torn {
            self.file.set_len(self.bytes)?;
            self.torn = false;
        }
        Ok(())
    }
}

/// A log in files, for threads other than the appender's. It does not keep the log open.
#[derive(Clone)]
pub struct LogHandle {
    shared: Arc<FileShared>,
}

impl LogHandle {
    /// The records.
    #[must_use]
    pub fn source(&self) -> Arc<dyn RecordSource> {
        Arc::new(FileSource(Arc::clone(&self.shared)))
    }

    /// Forces all records to the disk, on the calling thread, and returns the last one that is certainly
    /// there. Appends go on meanwhile.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn sync(&self) -> io::Result<LogPosition> {
        self.shared.sync()
    }

    /// Deletes the segments that are no longer kept, and returns their number. Those that a restart from the newest
    /// snapshot needs stay. The log's own thread does so every 5 s, with the time of the last record as `now`.
    ///
    /// # Errors
    ///
    /// If files cannot be deleted.
    pub fn retain(&self, now: Micros) -> io::Result<usize> {
        retention::retain(&self.shared, now)
    }
}

impl fmt::Debug for LogHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogHandle").finish_non_exhaustive()
    }
}

impl Log for FileLog {
    fn close(self: Box<Self>) -> io::Result<()> {
        (*self).close()
    }

    fn end(&self) -> LogPosition {
        self.end
    }

    fn append(&mut self, expected: RecordNumber, records: &[Record]) -> Result<(), AppendError> {
        if expected != self.end.number {
            return Err(AppendError::OtherEnd { expected, end: self.end.number });
        }
        let Some(first) = records.first() else { return Ok(()) };
        self.clear_buffer();
        let end = encode_after(&mut self.encoder, self.end, records, &mut self.buffer)?;
        self.append_buffer(first.number, end)
    }

    fn append_encoded(&mut self, records: &EncodedRecords) -> Result<(), AppendError> {
        self.end.check_follows(records)?;
        self.clear_buffer();
        self.buffer.extend_from_slice(records.bytes());
        self.append_buffer(records.first(), records.end())
    }

    fn source(&self) -> Arc<dyn RecordSource> {
        Arc::new(FileSource(Arc::clone(&self.shared)))
    }
}

impl Drop for FileLog {
    fn drop(&mut self) {
        self.stop();
        // A child process that is just being started can still have the file open.
        self.lock.unlock().ok();
    }
}

impl fmt::Debug for FileLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileLog").field("end", &self.end).finish_non_exhaustive()
    }
}

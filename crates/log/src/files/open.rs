//! Opens a log: finds its last valid record, and whether it is the last one that was ever appended.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use fanout::Micros;

use super::{
    FileLog, LogSettings,
    appender::Tail,
    head::{self, Boot, Head},
    moved,
    segment::{self, FrameError, SegmentReader},
    shared::{FileShared, FileState, Segment},
    snapshot,
    sync::{open_all, sync_names},
    version::HeaderError,
};
use crate::{
    Chain, LogPosition, RecordNumber,
    codec::{Problem, RecordHeader, chain_after},
};

/// If continuity is not proven, this many numbers are skipped. Fewer records than this are appended, and can be lost,
/// between two syncs.
const NUMBERS_SKIPPED: RecordNumber = 10_000_000;

/// How many segments of a process that was killed are forced to the disk. Older ones are already there, since it
/// did so continuously.
const SEGMENTS_SYNCED_MAX: usize = 64;

const LOCK_FILE: &str = "lock";

/// The pauses after attempts to take the lock. A process that is ending may still hold it, and so may a program that a thread
/// of this process has just started, until it begins.
const LOCK_RETRY_PAUSES_MS: [u64; 6] = [5, 10, 20, 50, 100, 100];

/// The pauses before reads that failed are repeated.
const READ_RETRY_PAUSES_MS: [u64; 3] = [20, 100, 300];

/// Why a log could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("another process has the log in {} open", .0.display())]
    Locked(PathBuf),
    #[error("cannot open the log in {}", folder.display())]
    Storage { folder: PathBuf, source: io::Error },
}

/// Whether a log has all records that were appended to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Continuity {
    Proven,
    /// Records that clients have seen may be missing. The reason is one line of text.
    Unproven(String),
}

/// The state of a log when it was opened.
#[derive(Debug, Clone)]
pub struct OpenReport {
    /// The next record gets the number after this one. If continuity is not proven, it is greater than that of any
    /// record that was ever appended, so greater than `last`.
    pub end: LogPosition,
    /// The number of the last record that can be read, or 0.
    pub last: RecordNumber,
    /// The number of the oldest record that is kept; the next number of an empty log.
    pub oldest: RecordNumber,
    pub continuity: Continuity,
    /// Problems that an operator should know, one line each.
    pub findings: Vec<String>,
}

pub(super) fn open(
    settings: LogSettings,
    boot_id: &str,
    now: Micros,
) -> Result<(FileLog, OpenReport), OpenError> {
    let folder = settings.folder.clone();
    let failed = |source| OpenError::Storage { folder: folder.clone(), source };
    fs::create_dir_all(&folder).map_err(failed)?;
    let lock = lock(&folder)?;
    let boot = head::boot(boot_id);
    let mut opener = LogOpener { settings, now, findings: Vec::new() };
    let opened = opener.run(boot).map_err(failed)?;
    let report = OpenReport {
        end: opened.state.end,
        last: opened.state.last,
        oldest: opened.state.segments.keys().next().copied().unwrap_or(opened.state.end.number + 1),
        continuity: opened.continuity,
        findings: opener.findings,
    };
    let shared = Arc::new(FileShared::new(opener.settings, opened.state));
    let proven = report.continuity == Continuity::Proven;
    let log = FileLog::start(shared, opened.tail, opened.head_file, boot, proven, lock)
        .map_err(failed)?;
    log.write_open_head().map_err(failed)?;
    Ok((log, report))
}

#[expect(clippy::disallowed_methods, reason = "a start, which has nothing else to do")]
fn lock(folder: &Path) -> Result<File, OpenError> {
    let failed = |source| OpenError::Storage { folder: folder.to_owned(), source };
    let options = OpenOptions::new().create(true).truncate(false).write(true).clone();
    let file = options.open(folder.join(LOCK_FILE)).map_err(failed)?;
    let mut pauses = LOCK_RETRY_PAUSES_MS.into_iter();
    loop {
        match (file.try_lock(), pauses.next()) {
            (Ok(()), _) => return Ok(file),
            (Err(TryLockError::WouldBlock), Some(pause)) => {
                thread::sleep(Duration::from_millis(pause));
            }
            (Err(TryLockError::WouldBlock), None) => {
                return Err(OpenError::Locked(folder.to_owned()));
            }
            (Err(TryLockError::Error(error)), _) => return Err(failed(error)),
        }
    }
}

struct LogOpener {
    settings: LogSettings,
    now: Micros,
    findings: Vec<String>,
}

struct OpenedState {
    state: FileState,
    tail: Option<Tail>,
    head_file: File,
    continuity: Continuity,
}

/// What a log consists of.
struct Files {
    /// First numbers of the segments, in order.
    firsts: Vec<RecordNumber>,
    /// The number of the newest snapshot.
    snapshot: Option<RecordNumber>,
    head: Option<Result<Head, HeaderError>>,
}

impl Files {
    fn read(folder: &Path) -> io::Result<Self> {
        Ok(Self {
            firsts: segment::list(folder)?,
            snapshot: snapshot::numbers(folder)?.first().copied(),
            head: Head::read(folder)?,
        })
    }

    /// The format of the log, if it is that of a newer version. A newer snapshot alone does not count: the log can
    /// be read without it.
    fn newer_version(&self, folder: &Path) -> io::Result<Option<u16>> {
        if let Some(Err(HeaderError::NewerVersion(version))) = self.head {
            return Ok(Some(version));
        }
        // After an upgrade, only the newest segments have the newer version.
        for &first in self.firsts.iter().rev() {
            match SegmentReader::open(folder, first) {
                Err(FrameError::NewerVersion(version)) => return Ok(Some(version)),
                Err(FrameError::Storage(error)) => return Err(error),
                Ok(_) | Err(FrameError::End | FrameError::Incomplete | FrameError::Damaged(_)) => {}
            }
        }
        Ok(None)
    }
}

/// The valid records from some segment on.
#[derive(Default)]
struct Scan {
    segments: Vec<(RecordNumber, Segment)>,
    last: LogPosition,
    /// After the record that the head names.
    chain_at_head: Option<Chain>,
    cut: Option<Cut>,
}

/// Where valid records end before the files do.
struct Cut {
    /// The index of the segment in the list of all.
    segment: usize,
    offset: u64,
    problem: Problem,
}

impl LogOpener {
    fn run(&mut self, boot: Boot) -> io::Result<OpenedState> {
        let folder = self.settings.folder.clone();
        let mut files = retry(|| Files::read(&folder))?;
        let newer = retry(|| files.newer_version(&folder))?;
        if let Some(version) = newer {
            let target = moved::move_newer(&folder, self.now)?;
            self.findings.push(format!(
                "the log was written by a newer version, in format {version}: moved it to {}",
                target.display(),
            ));
            files = Files::read(&folder)?;
        }
        let highest_moved = moved::highest_moved(&folder)?;
        let Files { firsts, snapshot, head } = files;
        let head_file = head::open(&folder)?;
        let is_new = firsts.is_empty()
            && snapshot.is_none()
            && head.is_none()
            && highest_moved.is_none()
            && newer.is_none();
        if is_new {
            let (state, continuity) = (FileState::default(), Continuity::Proven);
            return Ok(OpenedState { state, tail: None, head_file, continuity });
        }

        let valid_head = head.as_ref().and_then(|head| head.as_ref().ok()).copied();
        let scan = retry(|| self.scan(&firsts, snapshot, valid_head))?;
        let reason = match newer {
            Some(version) => {
                Some(format!("the log was written by a newer version, in format {version}"))
            }
            None => unproven(head, snapshot, &scan, boot),
        };
        if let Some(cut) = &scan.cut {
            self.cut(&firsts, cut, &scan, reason.is_none())?;
        }
        let mut state = FileState {
            end: scan.last,
            last: scan.last.number,
            segments: scan.segments.into_iter().collect(),
            ..FileState::default()
        };
        let tail = match state.segments.last_key_value() {
            Some((&first, segment)) if reason.is_none() => {
                let path = segment::path(&folder, first);
                let file = Arc::new(OpenOptions::new().read(true).write(true).open(path)?);
                Some(Tail { file, first, bytes: segment.bytes, torn: false })
            }
            _ => None,
        };
        let clean = valid_head.is_some_and(|head| head.clean && head.end.number == state.last);
        if !clean {
            // The process that wrote them may not have forced them to the disk.
            let paths = state.segments.keys().map(|&first| segment::path(&folder, first));
            state.unsynced = open_all(paths.rev().take(SEGMENTS_SYNCED_MAX));
            state.names_changed = true;
        }
        let continuity = match reason {
            None => Continuity::Proven,
            Some(reason) => {
                let names = firsts.last().copied().max(snapshot).max(highest_moved);
                let head_end = valid_head.map(|head| head.end).unwrap_or_default();
                let highest = names.unwrap_or(0).max(head_end.number).max(scan.last.number);
                state.end.number = highest.saturating_add(NUMBERS_SKIPPED);
                state.end.at = scan.last.at.max(head_end.at);
                Continuity::Unproven(reason)
            }
        };
        Ok(OpenedState { state, tail, head_file, continuity })
    }

    /// Reads the segments from that of the newest snapshot, or of the head, on.
    fn scan(
        &self,
        firsts: &[RecordNumber],
        snapshot: Option<RecordNumber>,
        head: Option<Head>,
    ) -> io::Result<Scan> {
        let from = match (snapshot, head) {
            (Some(snapshot), Some(head)) => snapshot.min(head.end.number),
            _ => 0,
        };
        let begins_before = firsts.partition_point(|&first| first <= from.saturating_add(1));
        let mut start = begins_before.saturating_sub(1);
        loop {
            let mut scan = self.scan_from(start, firsts, head)?;
            if scan.segments.is_empty() {
                // The log is empty, or not even the header is valid.
                scan.note_head(head);
            }
            if !scan.segments.is_empty() || start == 0 {
                let before = firsts[..start].iter().map(|&first| (first, self.unread(first)));
                scan.segments.splice(0..0, before.collect::<Vec<_>>());
                return Ok(scan);
            }
            // Then the log ends in a segment before it.
            start -= 1;
        }
    }

    fn scan_from(
        &self,
        start: usize,
        firsts: &[RecordNumber],
        head: Option<Head>,
    ) -> io::Result<Scan> {
        let mut scan = Scan::default();
        for (index, &first) in firsts.iter().enumerate().skip(start) {
            let cut = |offset, problem| Some(Cut { segment: index, offset, problem });
            let path = segment::path(&self.settings.folder, first);
            let mut reader = match SegmentReader::open(&self.settings.folder, first) {
                Ok(reader) => reader,
                Err(error) => {
                    scan.cut = cut(0, problem(error, &path)?);
                    break;
                }
            };
            let before = reader.header.before;
            if index > start && (before.number, before.chain) != (scan.last.number, scan.last.chain)
            {
                scan.cut = cut(0, "it does not follow the segment before");
                break;
            }
            scan.last = before;
            scan.note_head(head);
            let limit = reader.file_bytes()?;
            let mut segment = Segment { before, bytes: reader.offset(), places: Vec::new() };
            let mut number = first;
            let end = loop {
                let frame = match reader.next(limit) {
                    Ok(frame) => frame,
                    Err(FrameError::End) => break None,
                    Err(error) => break Some(problem(error, &path)?),
                };
                let header = match RecordHeader::check(frame.prefix, frame.body) {
                    Ok(header) => header,
                    Err(problem) => break Some(problem),
                };
                if header.number != number || header.chain != scan.last.chain {
                    break Some("it does not follow the record before");
                }
                segment.note_place(number, segment.bytes);
                segment.bytes = frame.end;
                let chain = chain_after(frame.body);
                scan.last = LogPosition { number, chain, at: header.at };
                scan.note_head(head);
                number += 1;
            };
            let offset = segment.bytes;
            scan.segments.push((first, segment));
            if let Some(problem) = end {
                scan.cut = cut(offset, problem);
                break;
            }
        }
        Ok(scan)
    }

    /// A segment that is older than what a start needs. It is checked when it is read.
    fn unread(&self, first: RecordNumber) -> Segment {
        let folder = &self.settings.folder;
        let bytes = fs::metadata(segment::path(folder, first)).map_or(0, |file| file.len());
        let before = match SegmentReader::open(folder, first) {
            Ok(reader) => reader.header.before,
            Err(_) => LogPosition { number: first - 1, ..LogPosition::default() },
        };
        Segment { before, bytes, places: Vec::new() }
    }

    /// Removes everything after the last valid record. `unfinished`: it is an append that never returned, so no
    /// reader has seen it.
    fn cut(
        &mut self,
        firsts: &[RecordNumber],
        cut: &Cut,
        scan: &Scan,
        unfinished: bool,
    ) -> io::Result<()> {
        let folder = self.settings.folder.clone();
        // A segment without a record stays: it has a valid header, and the next record can follow.
        let keep = cut.offset > 0;
        let path = segment::path(&folder, firsts[cut.segment]);
        let later = &firsts[cut.segment + 1..];
        if !(unfinished && later.is_empty()) {
            let mut moved = 0;
            for &first in later {
                moved += self.move_damaged(&segment::path(&folder, first), 0)?;
            }
            moved += self.move_damaged(&path, cut.offset)?;
            self.findings.push(format!(
                "the log is damaged after record {} (in segment {} at byte {}: {}): moved {moved} bytes to {}",
                scan.last.number,
                firsts[cut.segment],
                cut.offset,
                cut.problem,
                moved::damaged_folder(&folder).display(),
            ));
            moved::limit_damaged(&folder, self.settings.damaged_bytes_max)?;
            sync_names(&moved::damaged_folder(&folder))?;
        }
        if keep {
            let file = OpenOptions::new().write(true).open(&path)?;
            file.set_len(cut.offset)?;
            file.sync_all()?;
        } else if path.exists() {
            fs::remove_file(&path)?;
        }
        // A power cut must not bring records back after their numbers were skipped.
        sync_names(&folder)
    }

    /// Keeps what is damaged if there is room for it. Returns the bytes that are kept.
    fn move_damaged(&mut self, path: &Path, offset: u64) -> io::Result<u64> {
        let LogSettings { folder, damaged_bytes_max, .. } = &self.settings;
        match moved::move_damaged(folder, path, offset, *damaged_bytes_max, self.now) {
            Err(error) if offset > 0 => {
                let name = path.file_name().unwrap_or_default().display();
                self.findings.push(format!("cannot keep the damaged part of {name}: {error}"));
                Ok(0)
            }
            moved => moved,
        }
    }
}

impl Scan {
    fn note_head(&mut self, head: Option<Head>) {
        if head.is_some_and(|head| head.end.number == self.last.number) {
            self.chain_at_head = Some(self.last.chain);
        }
    }
}

/// The problem of a file's content. An error if the file could not be read, which says nothing about its content.
fn problem(error: FrameError, path: &Path) -> io::Result<Problem> {
    match error {
        FrameError::End | FrameError::Incomplete => Ok("it ends too early"),
        FrameError::Damaged(problem) => Ok(problem),
        FrameError::NewerVersion(_) => Ok("it was written by a newer version"),
        FrameError::Storage(error) => {
            Err(io::Error::new(error.kind(), format!("cannot read {}: {error}", path.display())))
        }
    }
}

/// Repeats reads that fail: an error of the storage may be temporary.
#[expect(clippy::disallowed_methods, reason = "a start, which has nothing else to do")]
fn retry<T>(mut read: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for pause in READ_RETRY_PAUSES_MS {
        match read() {
            Err(error) if error.kind() != io::ErrorKind::PermissionDenied => {
                thread::sleep(Duration::from_millis(pause));
            }
            result => return result,
        }
    }
    read()
}

/// The line about a log that ends before the record that its head names.
pub(super) fn lost_records(last: RecordNumber, head: RecordNumber) -> String {
    format!("the log ends at record {last}, but its head names record {head}")
}

/// Why continuity is not proven.
fn unproven(
    head: Option<Result<Head, HeaderError>>,
    snapshot: Option<RecordNumber>,
    scan: &Scan,
    boot: Boot,
) -> Option<String> {
    let last = scan.last.number;
    let head = match head {
        None => return Some("the head of the log is missing".to_owned()),
        Some(Err(error)) => return Some(format!("the head of the log is damaged: {error}")),
        Some(Ok(head)) => head,
    };
    if head.reserved {
        return Some("continuity was not proven at the previous start either".to_owned());
    }
    if last < head.end.number {
        return Some(lost_records(last, head.end.number));
    }
    if scan.chain_at_head != Some(head.end.chain) {
        return Some(format!(
            "record {} differs from the one that the head names",
            head.end.number
        ));
    }
    if let Some(snapshot) = snapshot.filter(|&snapshot| snapshot > last) {
        return Some(format!(
            "the log ends at record {last}, but a snapshot is of record {snapshot}"
        ));
    }
    if head.boot != boot && !head.clean && !head.synced {
        return Some("the machine stopped before the log was closed".to_owned());
    }
    None
}

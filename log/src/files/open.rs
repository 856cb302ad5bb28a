//! Opens a log: finds its last valid record, and whether it is the last one that was ever appended.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::Arc,
};

use fanout::Micros;

use super::{
    FileLog, LogSettings,
    appender::Tail,
    head::{self, Boot, Head},
    segment::{self, FrameError, SegmentReader},
    shared::{FileShared, FileState, Segment},
    snapshot,
    sync::{open_all, sync_names},
};
use crate::{
    Chain, LogPosition, RecordNumber,
    codec::{Problem, RecordHeader, chain_after},
};

/// If continuity is not proven, the next record gets a number that is greater by this. More records than
/// this cannot have been appended and lost between two syncs.
const NUMBERS_SKIPPED: RecordNumber = 10_000_000;

/// How many segments of a process that was killed are forced to the disk. The older ones were: it did so all the
/// time.
const SEGMENTS_SYNCED_MAX: usize = 64;

const LOCK_FILE: &str = "lock";
const DAMAGED_FOLDER: &str = "damaged";

/// Why a log could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("another process has the log in {} open", .0.display())]
    Locked(PathBuf),
    #[error("cannot open the log in {}", folder.display())]
    Storage { folder: PathBuf, source: io::Error },
}

/// Whether a log has everything that was ever appended to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Continuity {
    Proven,
    /// Records that clients know can be missing. The reason is one line of text.
    Unproven(String),
}

/// What was found when a log was opened.
#[derive(Debug, Clone)]
pub struct OpenReport {
    /// What the next record is appended behind. If continuity is not proven, its number is greater than
    /// that of any record that ever was, so greater than `last`.
    pub end: LogPosition,
    /// The number of the last record that can be read, or 0.
    pub last: RecordNumber,
    /// The number of the oldest record that is kept; the next number of an empty log.
    pub oldest: RecordNumber,
    pub continuity: Continuity,
    /// What an operator should know, one line each.
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
    if opened.head_is_behind {
        log.write_head(false).map_err(failed)?;
    }
    Ok((log, report))
}

fn lock(folder: &Path) -> Result<File, OpenError> {
    let failed = |source| OpenError::Storage { folder: folder.to_owned(), source };
    let options = OpenOptions::new().create(true).truncate(false).write(true).clone();
    let file = options.open(folder.join(LOCK_FILE)).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(OpenError::Locked(folder.to_owned())),
        Err(TryLockError::Error(error)) => Err(failed(error)),
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
    /// There are records that the head does not know. Nobody has seen them so far, but everybody can from
    /// now on.
    head_is_behind: bool,
    continuity: Continuity,
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
        let firsts = segment::list(&folder)?;
        let snapshot = snapshot::numbers(&folder)?.first().copied();
        let head = Head::read(&folder)?;
        let head_file = head::open(&folder)?;
        let is_new = firsts.is_empty()
            && snapshot.is_none()
            && !matches!(head, Some(Ok(_)))
            && highest_damaged(&folder).is_none();
        if is_new {
            // Before the first record, so that from now on a log without a head has lost it.
            let end = LogPosition::default();
            let synced = self.settings.synced();
            Head { end, segment: 0, offset: 0, boot, clean: true, synced }.write(&head_file)?;
            head_file.sync_all()?;
            sync_names(&folder)?;
            let (state, continuity) = (FileState::default(), Continuity::Proven);
            return Ok(OpenedState {
                state,
                tail: None,
                head_file,
                head_is_behind: false,
                continuity,
            });
        }

        let known = head.as_ref().and_then(|head| head.as_ref().ok()).copied();
        let scan = self.scan(&firsts, snapshot, known)?;
        let reason = unproven(head, snapshot, &scan, boot);
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
        let clean = known.is_some_and(|head| head.clean && head.end.number == state.last);
        if !clean {
            // The process that has written them could not wait for the disk.
            let paths = state.segments.keys().map(|&first| segment::path(&folder, first));
            state.unsynced = open_all(paths.rev().take(SEGMENTS_SYNCED_MAX));
            state.names_changed = true;
        }
        let head_is_behind =
            reason.is_none() && known.is_some_and(|head| head.end.number < state.last);
        let continuity = match reason {
            None => Continuity::Proven,
            Some(reason) => {
                let names = firsts.last().copied().max(snapshot).max(highest_damaged(&folder));
                let head_end = known.map(|head| head.end).unwrap_or_default();
                let highest = names.unwrap_or(0).max(head_end.number).max(scan.last.number);
                state.end.number = highest.saturating_add(NUMBERS_SKIPPED);
                state.end.at = scan.last.at.max(head_end.at);
                Continuity::Unproven(reason)
            }
        };
        Ok(OpenedState { state, tail, head_file, head_is_behind, continuity })
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
            // So the log ends in a segment before it.
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
            let mut reader = match SegmentReader::open(&self.settings.folder, first) {
                Ok(reader) => reader,
                Err(error) => {
                    scan.cut = cut(0, problem(error)?);
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
                    Err(error) => break Some(problem(error)?),
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

    /// A segment that is older than what a start needs: it is checked when it is read.
    fn unread(&self, first: RecordNumber) -> Segment {
        let folder = &self.settings.folder;
        let bytes = fs::metadata(segment::path(folder, first)).map_or(0, |file| file.len());
        let before = match SegmentReader::open(folder, first) {
            Ok(reader) => reader.header.before,
            Err(_) => LogPosition { number: first - 1, ..LogPosition::default() },
        };
        Segment { before, bytes, places: Vec::new() }
    }

    /// Removes what is behind the last valid record. `unfinished`: it is an append that never returned, so
    /// nobody knows of it.
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
                moved += self.move_aside(&segment::path(&folder, first), 0)?;
            }
            moved += self.move_aside(&path, cut.offset)?;
            self.findings.push(format!(
                "the log is damaged behind record {} (in segment {} at byte {}: {}): moved {moved} bytes to {}",
                scan.last.number,
                firsts[cut.segment],
                cut.offset,
                cut.problem,
                folder.join(DAMAGED_FOLDER).display(),
            ));
            self.limit_damaged()?;
        }
        if keep {
            OpenOptions::new().write(true).open(&path)?.set_len(cut.offset)?;
        } else if path.exists() {
            fs::remove_file(&path)?;
        }
        Ok(())
    }

    /// Moves a file, or what it has from some place on, into the folder of what is damaged. Returns its bytes.
    fn move_aside(&mut self, path: &Path, from: u64) -> io::Result<u64> {
        let folder = self.settings.folder.join(DAMAGED_FOLDER);
        fs::create_dir_all(&folder)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let target = folder.join(format!("{:020}-{name}", self.now.max(0)));
        if from == 0 {
            let bytes = fs::metadata(path)?.len();
            fs::rename(path, target)?;
            return Ok(bytes);
        }
        let mut source = File::open(path)?;
        source.seek(SeekFrom::Start(from))?;
        let copied = File::create(&target).and_then(|mut target| {
            io::copy(&mut source.take(self.settings.damaged_bytes_max), &mut target)
        });
        copied.or_else(|error| {
            fs::remove_file(&target).ok();
            self.findings.push(format!("the rest of {name} cannot be kept: {error}"));
            Ok(0)
        })
    }

    /// Deletes the oldest of what is damaged until the rest is small enough.
    fn limit_damaged(&self) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(self.settings.folder.join(DAMAGED_FOLDER))? {
            let entry = entry?;
            files.push((entry.file_name(), entry.path(), entry.metadata()?.len()));
        }
        files.sort();
        let mut bytes: u64 = files.iter().map(|(_, _, bytes)| bytes).sum();
        for (_, path, file_bytes) in files {
            if bytes > self.settings.damaged_bytes_max {
                fs::remove_file(path)?;
                bytes -= file_bytes;
            }
        }
        Ok(())
    }
}

impl Scan {
    fn note_head(&mut self, head: Option<Head>) {
        if head.is_some_and(|head| head.end.number == self.last.number) {
            self.chain_at_head = Some(self.last.chain);
        }
    }
}

/// What is wrong with a file; an error if it is not the file's content.
fn problem(error: FrameError) -> io::Result<Problem> {
    match error {
        FrameError::End | FrameError::Incomplete => Ok("it ends too early"),
        FrameError::Damaged(problem) => Ok(problem),
        FrameError::Storage(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(error),
        FrameError::Storage(_) => Ok("it cannot be read"),
    }
}

/// Why continuity is not proven.
fn unproven(
    head: Option<Result<Head, Problem>>,
    snapshot: Option<RecordNumber>,
    scan: &Scan,
    boot: Boot,
) -> Option<String> {
    let last = scan.last.number;
    let head = match head {
        None => return Some("the head of the log is missing".to_owned()),
        Some(Err(problem)) => return Some(format!("the head of the log is damaged: {problem}")),
        Some(Ok(head)) => head,
    };
    if last < head.end.number {
        return Some(format!("the log ends at record {last}, and had {}", head.end.number));
    }
    if scan.chain_at_head != Some(head.end.chain) {
        return Some(format!("record {} is not the one that was appended", head.end.number));
    }
    if let Some(snapshot) = snapshot.filter(|&snapshot| snapshot > last) {
        return Some(format!("the log ends at record {last}, and a snapshot at {snapshot}"));
    }
    if head.boot != boot && !head.clean && !head.synced {
        return Some("the machine stopped before the log was closed".to_owned());
    }
    None
}

/// The highest number in the names of what is damaged.
fn highest_damaged(folder: &Path) -> Option<RecordNumber> {
    let entries = fs::read_dir(folder.join(DAMAGED_FOLDER)).ok()?;
    let number = |name: &str| segment::number_in(name.split_once('-')?.1, "segment-", ".log");
    entries.flatten().filter_map(|entry| entry.file_name().to_str().and_then(number)).max()
}

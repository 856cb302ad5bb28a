//! Reads a log without opening it: this works while another process appends, and changes nothing.

use std::{fs, io, path::Path};

use fanout::Micros;

use super::{
    head::Head,
    moved::{bytes_below, damaged_folder},
    open::lost_records,
    segment::{self, FrameError, SegmentReader},
    snapshot::{self, Snapshot, SnapshotError, SnapshotStore},
    version::HeaderError,
};
use crate::{
    LogPosition, RecordNumber,
    codec::{Decoder, Problem, RecordHeader, chain_after},
    record::Record,
};

/// The status of a log, without reading its records.
#[derive(Debug, Clone)]
pub struct LogStatus {
    /// The last record; `None` if the head is missing or damaged.
    pub end: Option<LogPosition>,
    /// The log was closed in order, so no process has it open.
    pub clean: bool,
    /// The number of the oldest record, and its time or, if it cannot be read, one before; `None` without records.
    pub oldest: Option<(RecordNumber, Micros)>,
    pub segments: usize,
    /// Bytes of the segments.
    pub bytes: u64,
    /// Newest first.
    pub snapshots: Vec<Snapshot>,
    /// Bytes of what is damaged, in `damaged/`.
    pub damaged_bytes: u64,
    /// Bytes of whole logs there, which were set aside because they belong to something else.
    pub aside_bytes: u64,
    /// Problems that an operator should know, one line each.
    pub findings: Vec<String>,
}

/// The status of the log in a folder.
///
/// # Errors
///
/// If the folder cannot be read.
pub fn status(folder: &Path) -> io::Result<LogStatus> {
    let firsts = segment::list(folder)?;
    let (snapshots, mut findings) = snapshot::list(folder)?;
    let head = Head::read(folder)?;
    if firsts.is_empty() && snapshots.is_empty() && head.is_none() {
        findings.push("there is no log in this folder".to_owned());
    } else {
        findings.extend(head_finding(head.as_ref()));
    }
    let head = head.and_then(Result::ok);
    let opened = firsts.first().map(|&first| (first, SegmentReader::open(folder, first)));
    let oldest = opened.and_then(|(first, reader)| Some((first, first_time(reader.ok()?))));
    let mut bytes = 0;
    for &first in &firsts {
        bytes += fs::metadata(segment::path(folder, first)).map_or(0, |file| file.len());
    }
    Ok(LogStatus {
        end: head.map(|head| head.end),
        clean: head.is_some_and(|head| head.clean),
        oldest,
        segments: firsts.len(),
        bytes,
        snapshots,
        damaged_bytes: damaged_bytes(folder, false),
        aside_bytes: damaged_bytes(folder, true),
        findings,
    })
}

fn head_finding(head: Option<&Result<Head, HeaderError>>) -> Option<String> {
    match head {
        None => Some("the head of the log is missing".to_owned()),
        Some(Err(HeaderError::Damaged(problem))) => {
            Some(format!("the head of the log is damaged: {problem}"))
        }
        Some(Err(HeaderError::NewerVersion(version))) => {
            Some(format!("the head of the log was written by a newer version, in format {version}"))
        }
        Some(Ok(_)) => None,
    }
}

/// The time of the first record.
fn first_time(mut reader: SegmentReader) -> Micros {
    let before = reader.header.before.at;
    let bytes = reader.file_bytes().unwrap_or_default();
    let header = reader.next(bytes).ok().and_then(|frame| RecordHeader::read(frame.body).ok());
    header.map_or(before, |header| header.at)
}

/// Of files, or of folders.
fn damaged_bytes(folder: &Path, in_folders: bool) -> u64 {
    let entries = fs::read_dir(damaged_folder(folder)).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path()).filter(|path| path.is_dir() == in_folders);
    paths.filter_map(|path| bytes_below(&path).ok()).sum()
}

/// The result of [`verify`].
#[derive(Debug, Clone, Default)]
pub struct VerifyReport {
    pub records: u64,
    pub outputs: u64,
    pub segments: usize,
    /// Bytes of valid records on the disk.
    pub bytes: u64,
    /// Bytes of their inputs and of the payloads of their outputs.
    pub raw_bytes: u64,
    /// The number and time of the oldest record that was read.
    pub first: Option<(RecordNumber, Micros)>,
    /// The last record that was read.
    pub last: LogPosition,
    /// Numbers that were skipped when continuity was not proven: last before, and first after.
    pub gaps: Vec<(RecordNumber, RecordNumber)>,
    /// The first damage. Nothing after it was read.
    pub damage: Option<Damage>,
    /// Bytes after the last record that are not a record: an append that is not finished.
    pub unfinished_bytes: u64,
    /// How many snapshots are whole.
    pub snapshots: usize,
    /// What an operator should know, one line each.
    pub findings: Vec<String>,
}

/// Where a log is damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The record there, or the next one.
    pub number: RecordNumber,
    /// The first number of its segment, and where it begins there.
    pub segment: RecordNumber,
    pub offset: u64,
    pub problem: Problem,
}

impl VerifyReport {
    /// Whether the log has the record that its head names, and nothing is damaged.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.damage.is_none() && self.findings.is_empty()
    }
}

/// Reads all of a log: checksums, chain, contents, and snapshots.
///
/// # Errors
///
/// If the folder cannot be read. Damage is no error.
pub fn verify(folder: &Path) -> io::Result<VerifyReport> {
    verify_each(folder, &mut |_| {})
}

/// The same, and `visit` gets each record, in order.
///
/// # Errors
///
/// If the folder cannot be read. Damage is no error.
pub fn verify_each(folder: &Path, visit: &mut dyn FnMut(Record)) -> io::Result<VerifyReport> {
    // Before the records, so that what is appended meanwhile is not damage.
    let head = Head::read(folder)?;
    let firsts = segment::list(folder)?;
    let mut report = VerifyReport::default();
    let (snapshots, findings) = snapshot::list(folder)?;
    let valid_head = head.as_ref().and_then(|head| head.as_ref().ok());
    let promised = valid_head.map(|head| head.end);
    if firsts.is_empty() && snapshots.is_empty() && head.is_none() {
        report.findings.push("there is no log in this folder".to_owned());
        return Ok(report);
    }
    report.findings.extend(head_finding(head.as_ref()));
    report.findings.extend(findings);

    let mut verifier = Verifier {
        folder,
        promised,
        at_promise: valid_head.is_some_and(|head| head.end.number == 0 || head.reserved),
        follows: false,
        decoder: Decoder::new()?,
        report,
    };
    for first in firsts {
        verifier.segment(first, visit)?;
        if verifier.report.damage.is_some() || verifier.report.unfinished_bytes > 0 {
            break;
        }
    }
    let Verifier { at_promise, mut report, promised, .. } = verifier;
    if let Some(promised) = promised.filter(|_| !at_promise && report.damage.is_none()) {
        report.findings.push(if report.last.number < promised.number {
            lost_records(report.last.number, promised.number)
        } else {
            format!("record {} differs from the one that the head names", promised.number)
        });
    }
    for snapshot in snapshots {
        match SnapshotStore::at(folder).read(snapshot.position.number) {
            Ok(_) => report.snapshots += 1,
            // It was deleted meanwhile.
            Err(SnapshotError::Storage { source, .. })
                if source.kind() == io::ErrorKind::NotFound => {}
            Err(error) => report.findings.push(error.to_string()),
        }
    }
    Ok(report)
}

struct Verifier<'a> {
    folder: &'a Path,
    promised: Option<LogPosition>,
    /// The record that the head names was found.
    at_promise: bool,
    /// The segment before the next one was read.
    follows: bool,
    decoder: Decoder,
    report: VerifyReport,
}

impl Verifier<'_> {
    fn segment(&mut self, first: RecordNumber, visit: &mut dyn FnMut(Record)) -> io::Result<()> {
        let mut reader = match SegmentReader::open(self.folder, first) {
            Ok(reader) => reader,
            // It was deleted meanwhile, and the ones after it are read.
            Err(FrameError::Storage(error)) if error.kind() == io::ErrorKind::NotFound => {
                self.follows = false;
                return Ok(());
            }
            Err(error) => return self.stop(first, first, 0, error),
        };
        let before = reader.header.before;
        let last = self.report.last;
        if !self.follows {
            self.follows = true;
            self.report.last = before;
            self.note_promise();
        } else if (before.number, before.chain) != (last.number, last.chain) {
            let damage = FrameError::Damaged("it does not follow the segment before");
            return self.stop(first, first, 0, damage);
        }
        if first != before.number + 1 {
            self.report.gaps.push((before.number, first));
        }
        self.report.segments += 1;
        let mut number = first;
        loop {
            let (offset, limit) = (reader.offset(), reader.file_bytes()?);
            let read = reader.next(limit).and_then(|frame| {
                let header =
                    RecordHeader::check(frame.prefix, frame.body).map_err(FrameError::Damaged)?;
                if header.number != number || header.chain != self.report.last.chain {
                    return Err(FrameError::Damaged("it does not follow the record before"));
                }
                let record = self.decoder.decode(frame.body).map_err(FrameError::Damaged)?;
                self.report.last =
                    LogPosition { number, chain: chain_after(frame.body), at: header.at };
                self.report.bytes += frame.end - offset;
                Ok(record)
            });
            match read {
                Ok(record) => {
                    self.report.first.get_or_insert((number, record.at));
                    self.report.records += 1;
                    self.report.outputs += record.outputs.len() as u64;
                    self.report.raw_bytes += record.raw_bytes();
                    self.note_promise();
                    number += 1;
                    visit(record);
                }
                Err(FrameError::End) => return Ok(()),
                Err(error) => {
                    self.report.unfinished_bytes = limit.saturating_sub(offset);
                    return self.stop(number, first, offset, error);
                }
            }
        }
    }

    fn note_promise(&mut self) {
        let last = self.report.last;
        let promised = |end: LogPosition| (end.number, end.chain) == (last.number, last.chain);
        self.at_promise |= self.promised.is_some_and(promised);
    }

    /// Ends here: with damage, unless the record that the head names was read.
    fn stop(
        &mut self,
        number: RecordNumber,
        segment: RecordNumber,
        offset: u64,
        error: FrameError,
    ) -> io::Result<()> {
        let problem = match error {
            FrameError::End | FrameError::Incomplete => "it ends too early",
            FrameError::Damaged(problem) => problem,
            FrameError::NewerVersion(version) => {
                let finding = format!(
                    "segment {segment} was written by a newer version, in format {version}"
                );
                self.report.findings.push(finding);
                "it was written by a newer version"
            }
            FrameError::Storage(error) => return Err(error),
        };
        if !self.at_promise {
            self.report.damage = Some(Damage { number, segment, offset, problem });
        }
        self.report.unfinished_bytes = self.report.unfinished_bytes.max(1);
        Ok(())
    }
}

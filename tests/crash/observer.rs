//! Reads the log of a hub that is down, on a thread of its own, from a copy.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread::{self, JoinHandle},
};

use base::clock::now;
use log::{Continuity, FileLog, Log as _, LogSettings, RecordNumber};
use tempfile::TempDir;

use crate::{
    checker::{
        published::LogContent,
        report::{Report, Rule},
    },
    client::Heads,
    faults::BOOT_ID,
};

/// Copies of the log that wait to be read.
const WAITING_MAX: usize = 4;

/// The reader of the log.
#[derive(Debug)]
pub(crate) struct Observer {
    copies: TempDir,
    made: u64,
    /// The last segment but one of the copy before: what is new is there or later.
    from: String,
    has_short_tails: bool,
    jobs: SyncSender<Job>,
    reading: JoinHandle<(LogContent, Report)>,
}

#[derive(Debug)]
struct Job {
    copy: PathBuf,
    kind: JobKind,
}

#[derive(Debug)]
enum JobKind {
    /// The log as the hub left it.
    Left,
    /// The same after something was done to it. If records are lost, all channels must have other epochs
    /// from now on.
    Damaged { what: String, may_lose: bool },
    /// The log of a hub that runs: the last position of each channel is sent back.
    Heads(SyncSender<Heads>),
    /// From now on another log is read. It goes on after this record with other epochs.
    Replaced { after: RecordNumber },
    /// The log at the end, all of which is read again.
    Whole,
}

impl Observer {
    pub(crate) fn start() -> Self {
        let copies = tempfile::tempdir().expect("a temporary folder");
        let (jobs, receiver) = sync_channel(WAITING_MAX);
        // Later, another boot may be simulated.
        let boot = fs::read_to_string(BOOT_ID).unwrap_or_default();
        let reading = thread::spawn(move || read_all(&receiver, boot.trim()));
        Self { copies, made: 0, from: String::new(), has_short_tails: false, jobs, reading }
    }

    /// The hub is down, and its log is as it left it.
    pub(crate) fn copy_left(&mut self, folder: &Path) {
        self.send(folder, JobKind::Left);
    }

    /// Something was done to the log of a hub that is down.
    /// `may_lose`: the hub cannot know that it has all records.
    pub(crate) fn copy_damaged(&mut self, folder: &Path, what: &str, may_lose: bool) {
        self.send(folder, JobKind::Damaged { what: what.to_owned(), may_lose });
    }

    /// Older records were damaged, which the copies do not have.
    pub(crate) fn note_short_tails(&mut self) {
        self.has_short_tails = true;
    }

    /// The last position of each channel in the log of a hub that runs.
    pub(crate) fn heads(&mut self, folder: &Path) -> Heads {
        let (reply, heads) = sync_channel(1);
        self.send(folder, JobKind::Heads(reply));
        heads.recv().expect("the reader runs")
    }

    /// From now on copies are of another log of the same records. Each has what the others have, or more.
    pub(crate) fn change_log(&mut self) {
        self.from.clear();
    }

    /// Another log takes the place of those so far. It goes on after this record, which they have, and all channels have
    /// other epochs in it.
    pub(crate) fn replace_log(&mut self, after: RecordNumber) {
        self.from.clear();
        let kind = JobKind::Replaced { after };
        self.jobs.send(Job { copy: PathBuf::new(), kind }).expect("the reader runs");
    }

    /// The hub is stopped. Of a log that was damaged, not all can be read again.
    pub(crate) fn finish(mut self, folder: &Path, is_damaged: bool) -> (LogContent, Report) {
        if is_damaged {
            self.send(folder, JobKind::Left);
        } else {
            self.from.clear();
            self.send(folder, JobKind::Whole);
        }
        drop(self.jobs);
        let (mut log, report) = self.reading.join().expect("the reader does not panic");
        log.has_short_tails = self.has_short_tails;
        (log, report)
    }

    /// Copies what may be new, and has it read.
    fn send(&mut self, folder: &Path, kind: JobKind) {
        self.made += 1;
        let copy = self.copies.path().join(self.made.to_string());
        fs::create_dir(&copy).expect("a new folder");
        // The head first: if the hub runs, there are at least the records that it knows.
        fs::copy(folder.join("head"), copy.join("head")).ok();
        let mut segments = files(folder);
        segments.retain(|(name, _)| name.starts_with("segment-") && *name >= self.from);
        for (name, path) in &segments {
            fs::copy(path, copy.join(name)).expect("a copy");
        }
        if let [.., (name, _), _] = &segments[..] {
            self.from.clone_from(name);
        }
        self.jobs.send(Job { copy, kind }).expect("the reader runs");
    }
}

/// The files of a folder by name, in order.
pub(crate) fn files(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let mut files: Vec<_> = files
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
        .collect();
    files.sort();
    files
}

fn read_all(jobs: &Receiver<Job>, boot: &str) -> (LogContent, Report) {
    let mut reader = LogReader::default();
    while let Ok(Job { copy, kind }) = jobs.recv() {
        if let JobKind::Replaced { after } = kind {
            reader.log.replace_after(after);
            continue;
        }
        let (found, continuity) = reader.read(&copy, boot, matches!(kind, JobKind::Whole));
        match kind {
            JobKind::Heads(reply) => drop(reply.send(reader.log.heads())),
            JobKind::Left | JobKind::Whole => reader.left(found, continuity),
            JobKind::Damaged { what, may_lose } => {
                reader.damaged(&what, may_lose, found, continuity);
            }
            JobKind::Replaced { .. } => {}
        }
        fs::remove_dir_all(copy).ok();
    }
    (reader.log, reader.report)
}

/// What was read so far.
#[derive(Debug, Default)]
pub(crate) struct LogReader {
    pub(crate) log: LogContent,
    pub(crate) report: Report,
    /// Since the log was damaged, it may say so until the hub has written to it again.
    was_damaged: bool,
}

impl LogReader {
    /// The hub has left the log with this last record.
    pub(crate) fn left(&mut self, found: RecordNumber, continuity: Continuity) {
        match continuity {
            Continuity::Proven => {
                self.was_damaged = false;
                self.expect_all(found, "nothing was done to it");
            }
            Continuity::Unproven(why) => {
                if !self.was_damaged {
                    let what = format_args!("nothing was done to it: {why}");
                    self.report.add(Rule::Log, "log", what);
                }
                self.log.lose_after(found);
            }
        }
    }

    /// Something was done to the log, and its last record is now this one.
    pub(crate) fn damaged(
        &mut self,
        what: &str,
        may_lose: bool,
        found: RecordNumber,
        continuity: Continuity,
    ) {
        match continuity {
            Continuity::Proven => self.expect_all(found, what),
            Continuity::Unproven(why) => {
                // A log that was damaged before, and not written since, stays so.
                if !may_lose && !self.was_damaged {
                    self.report.add(Rule::Log, "log", format_args!("{what}: {why}"));
                }
                self.log.lose_after(found);
                self.was_damaged = true;
            }
        }
    }

    /// A log that claims to be complete ends with the last record that was read, or a later one.
    fn expect_all(&mut self, found: RecordNumber, what: &str) {
        let last = self.log.last;
        if found < last {
            self.report.add(
                Rule::Log,
                "log",
                format_args!(
                    "{what}: the log ends at record {found} in place of {last}, and claims to be complete"
                ),
            );
        }
    }

    /// Reads what is new in a copy, or all of it. Returns the number of its last record.
    fn read(&mut self, copy: &Path, boot: &str, again: bool) -> (RecordNumber, Continuity) {
        let opened = FileLog::open(LogSettings::new(copy), boot, now());
        let (files, found) = opened.expect("a copy can be opened");
        let Self { log, report, .. } = self;
        let last_number = log.last;
        let oldest = found.oldest.saturating_sub(1);
        // After a damage, the next record that is kept can be much later than the last one that is known.
        let from = if again { oldest } else { last_number.max(oldest) };
        let mut reader = files.read_after(from);
        loop {
            match reader.next() {
                Ok(None) => break,
                Ok(Some(record)) if record.number <= last_number => {
                    log.check_again(&record, report)
                }
                Ok(Some(record)) => log.add(&record, report),
                Err(problem) => {
                    report.add(Rule::Log, "log", problem);
                    break;
                }
            }
        }
        (found.last, found.continuity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log of which 10 records were read, and then this was found.
    fn finds(words: &str, steps: &[&dyn Fn(&mut LogReader)]) {
        let mut reader = LogReader::default();
        reader.log.last = 10;
        steps.iter().for_each(|step| step(&mut reader));
        let report = reader.report.to_string();
        assert_eq!(report.is_empty(), words.is_empty(), "{report}");
        assert!(report.contains(words), "{report}");
    }

    fn unproven() -> Continuity {
        Continuity::Unproven("the head is missing".to_owned())
    }

    #[test]
    fn lost_records_are_found() {
        finds("", &[&|log| log.left(10, Continuity::Proven)]);
        finds("claims to be complete", &[&|log| log.left(9, Continuity::Proven)]);
        finds("claims to be complete", &[&|log| log.damaged("cut", true, 9, Continuity::Proven)]);
        finds("nothing was done to it", &[&|log| log.left(10, unproven())]);
        finds(
            "a part of a record: the head",
            &[&|log| {
                log.damaged("a part of a record", false, 10, unproven());
            }],
        );
    }

    #[test]
    fn damaged_log_stays_so_until_it_is_written() {
        let cut = |log: &mut LogReader| log.damaged("cut", true, 8, unproven());
        finds("", &[&cut, &|log| log.left(8, unproven())]);
        let written = |log: &mut LogReader| log.left(12, Continuity::Proven);
        finds("nothing was done", &[&cut, &written, &|log| log.left(12, unproven())]);
    }
}

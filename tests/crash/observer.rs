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

use crate::checker::{
    published::LogContent,
    report::{Report, Rule},
};

/// Copies of the log that wait to be read.
const WAITING_MAX: usize = 4;

/// The reader of the log.
#[derive(Debug)]
pub(crate) struct Observer {
    copies: TempDir,
    made: u64,
    jobs: SyncSender<Job>,
    reading: JoinHandle<(LogContent, Report)>,
}

#[derive(Debug)]
enum Job {
    /// The log as the hub left it.
    Left(PathBuf),
    /// The same after something was done to it. With `epochs`, all channels must have others from now on
    /// even if no record was lost.
    Damaged { copy: PathBuf, what: String },
    /// The log at the end: all of it is read again.
    Last(PathBuf),
}

impl Observer {
    pub(crate) fn start() -> Self {
        let copies = tempfile::tempdir().expect("a temporary folder");
        let (jobs, receiver) = sync_channel(WAITING_MAX);
        let reading = thread::spawn(move || read_all(&receiver));
        Self { copies, made: 0, jobs, reading }
    }

    /// The hub is down, and its log is as it left it.
    pub(crate) fn left(&mut self, folder: &Path) {
        let copy = self.copy(folder);
        self.jobs.send(Job::Left(copy)).expect("the reader runs");
    }

    /// Something was done to the log.
    pub(crate) fn damaged(&mut self, folder: &Path, what: &str) {
        let copy = self.copy(folder);
        self.jobs.send(Job::Damaged { copy, what: what.to_owned() }).expect("the reader runs");
    }

    /// The hub is stopped.
    pub(crate) fn finish(mut self, folder: &Path) -> (LogContent, Report) {
        let copy = self.copy(folder);
        self.jobs.send(Job::Last(copy)).expect("the reader runs");
        drop(self.jobs);
        self.reading.join().expect("the reader does not panic")
    }

    fn copy(&mut self, folder: &Path) -> PathBuf {
        self.made += 1;
        let copy = self.copies.path().join(self.made.to_string());
        fs::create_dir(&copy).expect("a new folder");
        for (name, path) in files(folder) {
            if name.starts_with("segment-") || name == "head" {
                fs::copy(path, copy.join(name)).expect("a copy");
            }
        }
        copy
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

fn read_all(jobs: &Receiver<Job>) -> (LogContent, Report) {
    let (mut log, mut report) = (LogContent::default(), Report::default());
    // Since the log was damaged, it may say so until the hub has written to it again.
    let mut was_damaged = false;
    while let Ok(job) = jobs.recv() {
        let (copy, again) = match &job {
            Job::Left(copy) | Job::Damaged { copy, .. } => (copy, false),
            Job::Last(copy) => (copy, true),
        };
        let (found, continuity) = read(copy, &mut log, again, &mut report);
        match (&job, continuity) {
            (Job::Damaged { what, .. }, Continuity::Proven) if found < log.last => {
                report.add(Rule::Log, "log", format_args!(
                    "{what}: the log ends at record {found} in place of {}, and claims to be complete",
                    log.last
                ));
            }
            (Job::Damaged { .. }, Continuity::Unproven(_)) => {
                log.lose_after(found);
                was_damaged = true;
            }
            (Job::Left(_) | Job::Last(_), Continuity::Unproven(_)) if was_damaged => {
                log.lose_after(found)
            }
            (Job::Left(_) | Job::Last(_), Continuity::Unproven(why)) => {
                report.add(Rule::Log, "log", format_args!("nothing was done to it: {why}"));
                log.lose_after(found);
            }
            (_, Continuity::Proven) => was_damaged = false,
        }
        fs::remove_dir_all(copy).ok();
    }
    (log, report)
}

/// Reads what is new in a copy, or all of it. Returns the number of its last record.
fn read(
    copy: &Path,
    log: &mut LogContent,
    again: bool,
    report: &mut Report,
) -> (RecordNumber, Continuity) {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let opened = FileLog::open(LogSettings::new(copy), boot.trim(), now());
    let (files, found) = opened.expect("a copy can be opened");
    let known = log.last;
    let mut reader = files.read_after(if again { found.oldest.saturating_sub(1) } else { known });
    loop {
        match reader.next() {
            Ok(None) => break,
            Ok(Some(record)) if record.number <= known => log.check_again(&record, report),
            Ok(Some(record)) => log.add(&record, report),
            Err(problem) => {
                report.add(Rule::Log, "log", problem);
                break;
            }
        }
    }
    (found.last, found.continuity)
}

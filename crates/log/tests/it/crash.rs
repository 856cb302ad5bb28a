//! Random appends, kills, power cuts, damage, snapshots and retention, against a model of what was
//! acknowledged.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use log::{
    Continuity, FileLog, Log, LogSettings, OpenReport, ReadError, RecordReader,
    files::{SnapshotStore, verify},
    record::Record,
};
use proptest::{collection::vec, prelude::*, sample::Index};
use tempfile::TempDir;

use crate::support::{Files, at, cases, files, folder, record, restore, segments};

#[derive(Debug, Clone)]
enum Step {
    /// Appends this many records of about this size, at once.
    Append {
        seed: u64,
        count: usize,
        bytes: usize,
    },
    /// The process is killed between two appends.
    Kill,
    /// The process is killed in an append, when some of its bytes are written.
    KillInAppend {
        seed: u64,
        count: usize,
        bytes: usize,
        written: Index,
    },
    Close,
    /// The machine stops. `written`: the kernel had written everything; otherwise the disk has what was forced to it.
    PowerCut {
        written: bool,
    },
    /// Everything is forced to the disk.
    Sync,
    Snapshot,
    Retain {
        keep_records: u64,
    },
    /// A byte changes while no process has the log open.
    Damage {
        file: Index,
        index: Index,
        mask: u8,
    },
    Truncate {
        file: Index,
        length: Index,
    },
    RemoveHead,
}

fn steps() -> impl Strategy<Value = Step> {
    let append = (any::<u64>(), 0..6_usize, 0..600_usize);
    prop_oneof![
        12 => append.clone().prop_map(|(seed, count, bytes)| Step::Append { seed, count, bytes }),
        2 => Just(Step::Kill),
        4 => (append, any::<Index>()).prop_map(|((seed, count, bytes), written)| {
            Step::KillInAppend { seed, count, bytes, written }
        }),
        2 => Just(Step::Close),
        2 => any::<bool>().prop_map(|written| Step::PowerCut { written }),
        1 => Just(Step::Sync),
        3 => Just(Step::Snapshot),
        2 => (0..20_u64).prop_map(|keep_records| Step::Retain { keep_records }),
        1 => (any::<Index>(), any::<Index>(), 1_u8..)
            .prop_map(|(file, index, mask)| Step::Damage { file, index, mask }),
        1 => any::<(Index, Index)>().prop_map(|(file, length)| Step::Truncate { file, length }),
        1 => Just(Step::RemoveHead),
    ]
}

struct Case {
    folder: TempDir,
    synced: bool,
    boots: u32,
    log: Option<FileLog>,
    /// What a power cut leaves at least.
    disk: Files,
    /// It is kept open while the log is, and has read up to the record `checked`.
    follower: Option<Box<dyn RecordReader>>,
    checked: u64,
    /// What was acknowledged and not lost since.
    records: BTreeMap<u64, Record>,
    /// The oldest that can be read: others are no longer kept, or damaged.
    readable_from: u64,
    /// The highest number that was ever given to a record.
    highest: u64,
    /// The newest one.
    snapshot: u64,
    /// The last start was not proven, and nothing was appended since.
    unproven: bool,
    /// A file was damaged.
    touched: bool,
    /// A power cut took records since the last append, and only the head knows their numbers.
    cut: bool,
    /// A segment that a start did not read is damaged.
    damaged: bool,
}

impl Case {
    fn new(synced: bool) -> Self {
        let mut case = Self {
            folder: folder(),
            synced,
            boots: 0,
            log: None,
            disk: Files::new(),
            follower: None,
            checked: 0,
            records: BTreeMap::new(),
            readable_from: 1,
            highest: 0,
            snapshot: 0,
            unproven: false,
            touched: false,
            cut: false,
            damaged: false,
        };
        let report = case.open();
        assert_eq!(report.continuity, Continuity::Proven);
        case.follow();
        case
    }

    fn settings(&self) -> LogSettings {
        let mut settings = LogSettings::new(self.folder.path());
        settings.segment_bytes = 1_500;
        settings.records_keep_us = 0;
        settings.tail_us = 3_000;
        if self.synced {
            settings.fsync_interval = Duration::ZERO;
        }
        settings
    }

    fn open(&mut self) -> OpenReport {
        let boot = format!("boot {}", self.boots);
        let (log, report) = FileLog::open(self.settings(), &boot, at(self.highest)).unwrap();
        assert_eq!(report.end, log.end());
        self.log = Some(log);
        if self.synced || report.continuity != Continuity::Proven {
            self.sync_disk();
        } else {
            self.sync_file(&self.folder.path().join("head"));
        }
        report
    }

    fn kill(&mut self) {
        (self.log, self.follower) = (None, None);
    }

    /// Notes that a file is damaged or removed. After a power cut, this can be all that knew the highest number.
    fn touch(&mut self) {
        self.touched = true;
        if self.cut {
            let last = self.records.last_key_value().map_or(0, |(&number, _)| number);
            self.highest = last.max(self.snapshot);
        }
    }

    /// The disk has everything.
    fn sync_disk(&mut self) {
        self.disk = files(self.folder.path());
    }

    fn sync_file(&mut self, path: &Path) {
        self.disk.insert(path.to_owned(), fs::read(path).unwrap());
    }

    /// Opens the reader for all that can be read.
    fn follow(&mut self) {
        self.follower = Some(self.reader());
        self.checked = self.readable_from - 1;
    }

    fn log(&mut self) -> &mut FileLog {
        self.log.as_mut().unwrap()
    }

    fn reader(&mut self) -> Box<dyn RecordReader> {
        let after = self.readable_from - 1;
        self.log().read_after(after)
    }

    fn next_records(&mut self, seed: u64, count: usize, bytes: usize) -> (u64, Vec<Record>) {
        let end = self.log().end().number;
        let records = (1..).take(count).map(|i| record(end + i, seed.wrapping_add(i), bytes));
        (end, records.collect())
    }

    fn append(&mut self, seed: u64, count: usize, bytes: usize) -> Vec<Record> {
        let (end, records) = self.next_records(seed, count, bytes);
        self.log().append(end, &records).unwrap();
        records
    }

    fn acknowledge(&mut self, records: Vec<Record>) {
        if !records.is_empty() {
            (self.unproven, self.cut) = (false, false);
        }
        if self.synced {
            self.sync_disk();
        }
        for record in records {
            self.highest = self.highest.max(record.number);
            self.records.insert(record.number, record);
        }
    }

    /// Opens after damage: continuity is proven only if nothing is lost that a restart reads.
    fn reopen(&mut self) {
        let report = self.open();
        let before = self.records.last_key_value().map_or(0, |(&number, _)| number);
        self.unproven = report.continuity != Continuity::Proven;
        if report.continuity == Continuity::Proven {
            assert_eq!((report.end.number, report.last), (before, before), "{report:?}");
        } else {
            assert!(report.last <= before, "{report:?}");
            assert!(report.end.number > self.highest, "numbers are not used again: {report:?}");
            // The next record must be one that nobody knows.
            self.records.split_off(&(report.last + 1));
        }
        // The next number may be lower than an earlier start, after which nothing was appended, had it.
        self.readable_from = self.readable_from.min(report.end.number + 1);
        // What a start did not read can be damaged.
        self.readable_from = self.readable_from.max(report.oldest);
        let mut reader = self.reader();
        loop {
            match reader.next() {
                Ok(Some(record)) => assert_eq!(Some(&record), self.records.get(&record.number)),
                Ok(None) => break,
                Err(ReadError::Damaged { number, .. } | ReadError::Gone(number)) => {
                    let proven = report.continuity == Continuity::Proven;
                    assert!(!proven || number <= self.snapshot, "{number} {report:?}");
                    self.damaged = true;
                    let number = number.max(self.readable_from);
                    let next = self.records.range(number + 1..).next();
                    self.readable_from = next.map_or(report.end.number + 1, |(&n, _)| n);
                    reader = self.reader();
                }
                Err(ReadError::Storage(error)) => panic!("{error}"),
            }
        }
        self.follow();
    }

    /// The follower reads what is new: all after the log was opened, otherwise what was appended.
    fn check(&mut self) {
        let source = self.log().source();
        let follower = self.follower.as_mut().unwrap();
        for (_, record) in self.records.range(self.checked + 1..) {
            let found = match follower.next() {
                // An empty segment between records can be damaged, and a start does not read it.
                Err(ReadError::Gone(_) | ReadError::Damaged { .. }) if self.touched => {
                    self.damaged = true;
                    *follower = source.read_after(record.number - 1);
                    follower.next()
                }
                found => found,
            };
            assert_eq!(found.unwrap().as_ref(), Some(record));
            self.checked = record.number;
        }
        assert_eq!(follower.next().unwrap(), None);
    }

    /// Files other than snapshots, whose damage has its own test.
    fn log_files(&self) -> (Files, Vec<PathBuf>) {
        let files = files(self.folder.path());
        let is_log = |path: &&PathBuf| !is_snapshot(path);
        let paths = files.keys().filter(is_log).cloned().collect();
        (files, paths)
    }

    fn apply(&mut self, step: &Step) {
        match *step {
            Step::Append { seed, count, bytes } => {
                let records = self.append(seed, count, bytes);
                self.acknowledge(records);
            }
            Step::Kill => {
                self.kill();
                self.reopen_after_kill(0);
            }
            Step::KillInAppend { seed, count, bytes, written } => {
                let before = files(self.folder.path());
                let unproven = self.unproven;
                let records = self.append(seed, count, bytes);
                self.kill();
                let mut image = files(self.folder.path());
                let acknowledged = cut_last_append(&before, &mut image, written);
                restore(self.folder.path(), &image);
                self.acknowledge(records);
                if acknowledged {
                    self.reopen_after_kill(0);
                } else {
                    self.unproven = unproven;
                    self.reopen_after_kill(count);
                }
            }
            Step::Close => {
                self.log.take().unwrap().close().unwrap();
                self.sync_disk();
                self.boots += 1;
                self.reopen_after_kill(0);
            }
            Step::PowerCut { written } => {
                self.kill();
                self.boots += 1;
                if written {
                    self.sync_disk();
                } else {
                    restore(self.folder.path(), &self.disk);
                    // Segments that were deleted since can be back.
                    self.readable_from = 1;
                    self.cut = true;
                }
                let proven = !self.unproven && self.synced;
                self.reopen();
                assert_eq!(self.unproven, !proven);
            }
            Step::Sync => {
                let position = self.log().handle().sync().unwrap();
                assert_eq!(position, self.log().end());
                self.sync_disk();
            }
            Step::Snapshot => {
                let end = self.log().end();
                let store = SnapshotStore::open(&self.settings()).unwrap();
                store.write(end, 1, &end.number.to_le_bytes()).unwrap();
                let snapshots = files(self.folder.path());
                for path in snapshots.keys().filter(|path| is_snapshot(path)) {
                    self.sync_file(path);
                }
                self.snapshot = end.number;
                self.highest = self.highest.max(end.number);
            }
            Step::Retain { keep_records } => {
                let now = at(self.log().end().number.saturating_sub(keep_records));
                self.log().handle().retain(now).unwrap();
                let oldest = self.log().source().oldest();
                self.readable_from = self.readable_from.max(oldest);
            }
            Step::Damage { file, index, mask } => {
                self.kill();
                self.touch();
                let (files, paths) = self.log_files();
                let path = file.get(&paths);
                let mut bytes = files[path].clone();
                if !bytes.is_empty() {
                    let index = index.index(bytes.len());
                    bytes[index] ^= mask;
                    fs::write(path, bytes).unwrap();
                }
                self.sync_disk();
                self.reopen();
            }
            Step::Truncate { file, length } => {
                self.kill();
                self.touch();
                let (files, paths) = self.log_files();
                let path = file.get(&paths);
                fs::write(path, &files[path][..length.index(files[path].len() + 1)]).unwrap();
                self.sync_disk();
                self.reopen();
            }
            Step::RemoveHead => {
                self.kill();
                self.touch();
                fs::remove_file(self.folder.path().join("head")).unwrap();
                self.sync_disk();
                self.reopen();
            }
        }
        self.check();
    }

    /// Opens after a kill. As many of the last records may be gone as were not acknowledged.
    fn reopen_after_kill(&mut self, unacknowledged: usize) {
        if self.unproven {
            self.reopen();
            assert!(self.unproven, "nothing was appended since the loss");
            return;
        }
        let report = self.open();
        assert_eq!(report.continuity, Continuity::Proven, "{report:?}");
        assert_eq!(report.end.number, report.last);
        assert!(report.findings.is_empty(), "{report:?}");
        let lost = self.records.split_off(&(report.last + 1));
        assert!(lost.len() <= unacknowledged, "{report:?} {lost:?}");
        self.readable_from = self.readable_from.max(report.oldest);
        self.follow();
    }
}

fn is_snapshot(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "state")
}

/// Leaves as much of the last append as a killed process can. Whether it is all, with the head.
fn cut_last_append(before: &Files, image: &mut Files, written: Index) -> bool {
    let Some(path) = segments(image).pop() else { return true };
    let old = before.get(&path).map_or(0, Vec::len);
    let bytes = image.get_mut(&path).unwrap();
    let new = bytes.len() - old;
    // One more: all is written, but not the head.
    let written = written.index(new + 2);
    if new == 0 || written > new {
        return true;
    }
    bytes.truncate(old + written);
    let (head, old_head) = before.iter().find(|(path, _)| path.ends_with("head")).unwrap();
    image.insert(head.clone(), old_head.clone());
    false
}

fn run(steps: &[Step], synced: bool) {
    let mut case = Case::new(synced);
    for step in steps {
        case.apply(step);
    }
    // Beside the running log, and with nothing but its files.
    let report = verify(case.folder.path()).unwrap();
    if !case.unproven && !case.damaged {
        assert!(report.is_whole(), "{report:?}");
        assert_eq!(report.records, case.records.range(case.readable_from..).count() as u64);
    }
}

proptest! {
    #![proptest_config(cases(1))]

    #[test]
    fn what_was_acknowledged_is_readable_or_known_to_be_lost(steps in vec(steps(), 1..40)) {
        run(&steps, false);
    }
}

proptest! {
    #![proptest_config(cases(4))]

    #[test]
    fn power_cuts_lose_nothing_if_appends_wait_for_the_disk(steps in vec(steps(), 1..25)) {
        run(&steps, true);
    }
}

/// Leaves what was forced to the disk before a power cut: the files of the close before, and the head that opening
/// the log has written.
fn cut_power_after_an_orderly_start(first: LogSettings, second: LogSettings) -> OpenReport {
    let path = first.folder.clone();
    let (mut log, _) = FileLog::open(first, "boot 1", 0).unwrap();
    log.append(0, &[record(1, 1, 60), record(2, 2, 60)]).unwrap();
    log.close().unwrap();
    let mut disk = files(&path);

    let (mut log, report) = FileLog::open(second.clone(), "boot 1", 0).unwrap();
    assert_eq!((report.continuity, report.last), (Continuity::Proven, 2));
    let head = path.join("head");
    disk.insert(head.clone(), fs::read(&head).unwrap());
    log.append(2, &[record(3, 3, 60)]).unwrap();
    drop(log);
    restore(&path, &disk);
    FileLog::open(second, "boot 2", 0).unwrap().1
}

#[test]
fn continuity_is_not_proven_after_a_power_cut_soon_after_an_orderly_start() {
    let folder = folder();
    let settings = LogSettings::new(folder.path());
    let report = cut_power_after_an_orderly_start(settings.clone(), settings);
    let reason = "the machine stopped before the log was closed".to_owned();
    assert_eq!((report.continuity, report.last), (Continuity::Unproven(reason), 2));
    assert!(report.end.number > 3, "record 3 was shown to clients: {:?}", report.end);
}

#[test]
fn continuity_is_not_proven_after_appends_no_longer_wait_for_the_disk() {
    let folder = folder();
    let settings = LogSettings::new(folder.path());
    let synced = LogSettings { fsync_interval: Duration::ZERO, ..settings.clone() };
    let report = cut_power_after_an_orderly_start(synced, settings);
    assert_ne!(report.continuity, Continuity::Proven);
}

#[test]
fn skipped_numbers_are_not_used_again_after_a_power_cut() {
    let folder = folder();
    let settings = LogSettings::new(folder.path());
    let (mut log, _) = FileLog::open(settings.clone(), "boot 1", 0).unwrap();
    log.append(0, &[record(1, 1, 60)]).unwrap();
    log.handle().sync().unwrap();
    let mut disk = files(folder.path());
    drop(log);
    let mut ends = vec![1];
    for boot in ["boot 2", "boot 3", "boot 4"] {
        restore(folder.path(), &disk);
        let (mut log, report) = FileLog::open(settings.clone(), boot, 0).unwrap();
        assert_ne!(report.continuity, Continuity::Proven);
        assert!(report.end.number > *ends.last().unwrap());
        let head = folder.path().join("head");
        disk.insert(head.clone(), fs::read(&head).unwrap());
        assert!(verify(folder.path()).unwrap().is_whole());
        let end = log.end().number;
        log.append(end, &[record(end + 1, 2, 60)]).unwrap();
        ends.push(log.end().number);
    }
}

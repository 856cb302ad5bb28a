//! Every byte counts: whichever one changes, it is found.

use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions},
    os::unix::fs::FileExt,
    path::Path,
};

use bytes::Bytes;
use log::{
    Continuity, FileLog, Log, LogSettings, OpenError, ReadError,
    files::{SnapshotStore, status, verify},
    record::Record,
};

use crate::support::{at, files, folder, record, restore, segments};

fn settings(folder: &Path) -> LogSettings {
    LogSettings { segment_bytes: 1_000, ..LogSettings::new(folder) }
}

/// A closed log with some segments.
fn small_log(folder: &Path) -> u64 {
    let (mut log, _) = FileLog::open(settings(folder), "boot", 0).unwrap();
    for number in 1..=12 {
        log.append(number - 1, &[record(number, number, 700)]).unwrap();
    }
    log.close().unwrap();
    12
}

/// A closed log of few bytes, and its records: sections of both kinds, and several segments.
fn tiny_log(folder: &Path) -> Vec<Record> {
    let settings = LogSettings { segment_bytes: 200, ..LogSettings::new(folder) };
    let (mut log, _) = FileLog::open(settings, "boot", 0).unwrap();
    let mut records: Vec<_> = (1..=4).map(|number| record(number, number, 60)).collect();
    records[1].inputs = Bytes::from(b"compressible".repeat(50));
    for record in &records {
        log.append(record.number - 1, std::slice::from_ref(record)).unwrap();
    }
    log.close().unwrap();
    records
}

/// Changes one byte of a file, and changes it back.
struct Flip {
    file: File,
    offset: u64,
    byte: u8,
}

impl Flip {
    fn new(path: &Path, offset: usize) -> Self {
        let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
        let mut bytes = [0];
        file.read_exact_at(&mut bytes, offset as u64).unwrap();
        file.write_all_at(&[bytes[0] ^ 1 << (offset % 8)], offset as u64).unwrap();
        Self { file, offset: offset as u64, byte: bytes[0] }
    }
}

impl Drop for Flip {
    fn drop(&mut self) {
        self.file.write_all_at(&[self.byte], self.offset).unwrap();
    }
}

const SEGMENT_HEADER_BYTES: usize = 52;

/// The header, and the first and the last byte of each field of the records.
fn field_edges(segment: &[u8]) -> BTreeSet<usize> {
    let mut edges: BTreeSet<_> = (0..SEGMENT_HEADER_BYTES).collect();
    let mut start = SEGMENT_HEADER_BYTES;
    while start < segment.len() {
        // Length, CRC, kind, flags, number, time, chain.
        let mut lengths = vec![4, 4, 1, 1, 8, 8, 16];
        for _section in 0..2 {
            let stored = start + lengths.iter().sum::<usize>() + 4;
            let stored = u32::from_le_bytes(segment[stored..stored + 4].try_into().unwrap());
            lengths.extend([4, 4, stored as usize]);
        }
        for length in lengths.into_iter().filter(|&length| length > 0) {
            edges.extend([start, start + length - 1]);
            start += length;
        }
    }
    assert_eq!(start, segment.len());
    edges
}

#[test]
fn each_changed_byte_of_a_segment_or_the_head_is_found() {
    let folder = folder();
    let records = tiny_log(folder.path());
    let whole = files(folder.path());
    assert!(segments(&whole).len() > 1);
    assert!(verify(folder.path()).unwrap().is_whole());
    for (path, bytes) in &whole {
        let is_segment = path.extension().is_some();
        let opened = if is_segment { field_edges(bytes) } else { (0..bytes.len()).collect() };
        for offset in 0..bytes.len() {
            let flip = Flip::new(path, offset);
            assert!(!verify(folder.path()).unwrap().is_whole(), "{path:?} {offset}");
            if !opened.contains(&offset) {
                continue;
            }
            let (log, report) = FileLog::open(settings(folder.path()), "boot", 5).unwrap();
            assert_ne!(report.continuity, Continuity::Proven, "{path:?} {offset}");
            let mut reader = log.read_after(0);
            for record in records.iter().take(usize::try_from(report.last).unwrap()) {
                assert_eq!(reader.next().unwrap().as_ref(), Some(record));
            }
            assert!(reader.next().unwrap().is_none());
            assert_eq!(report.findings.len(), usize::from(report.last < 4), "{path:?} {offset}");
            drop((reader, log, flip));
            restore(folder.path(), &whole);
            fs::remove_dir_all(folder.path().join("damaged")).ok();
        }
    }
}

#[test]
fn each_changed_byte_of_a_segment_that_a_start_does_not_read_is_found_by_its_reader() {
    let folder = folder();
    let last = small_log(folder.path());
    let (log, _) = FileLog::open(settings(folder.path()), "boot", 0).unwrap();
    let store = SnapshotStore::open(&settings(folder.path())).unwrap();
    store.write(log.end(), 1, b"state").unwrap();
    drop(log);
    let (log, report) = FileLog::open(settings(folder.path()), "boot", 5).unwrap();
    assert_eq!((report.continuity, report.last), (Continuity::Proven, last));
    let whole = files(folder.path());
    let path = &segments(&whole)[0];
    for offset in 0..whole[path].len() {
        let _flip = Flip::new(path, offset);
        let mut reader = log.read_after(0);
        let error = loop {
            match reader.next() {
                Ok(record) => assert!(record.is_some(), "{offset}"),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, ReadError::Damaged { .. }), "{offset}: {error}");
        assert!(reader.next().is_err(), "a reader does not get past damage");
        assert_eq!(log.read_after(last - 1).next().unwrap(), Some(record(last, last, 700)));
    }
}

/// A folder in place of a file gives an error of the storage at each read.
#[test]
fn a_file_that_cannot_be_read_is_not_damage() {
    let folder = folder();
    let last = small_log(folder.path());
    let whole = files(folder.path());
    for path in [&segments(&whole)[1], &folder.path().join("head")] {
        fs::remove_file(path).unwrap();
        fs::create_dir(path).unwrap();
        let error = FileLog::open(settings(folder.path()), "boot", 0).unwrap_err();
        assert!(matches!(error, OpenError::Storage { .. }), "{error}");
        fs::remove_dir(path).unwrap();
        fs::write(path, &whole[path]).unwrap();
        assert_eq!(files(folder.path()), whole, "nothing is changed");
    }
    let (_, report) = FileLog::open(settings(folder.path()), "boot", 0).unwrap();
    assert_eq!((report.continuity, report.last), (Continuity::Proven, last));
}

#[test]
fn a_lost_segment_is_found_and_what_is_behind_it_is_moved_aside() {
    let folder = folder();
    small_log(folder.path());
    let whole = files(folder.path());
    let paths = segments(&whole);
    fs::remove_file(&paths[1]).unwrap();
    let (mut log, report) = FileLog::open(settings(folder.path()), "boot", 77).unwrap();
    let Continuity::Unproven(reason) = &report.continuity else { panic!("{report:?}") };
    assert_eq!(
        *reason,
        format!("the log ends at record {}, but its head names record 12", report.last)
    );
    assert_eq!(report.findings.len(), 1);
    assert!(!report.findings[0].contains('\n'));
    let moved = fs::read_dir(folder.path().join("damaged")).unwrap().map(|entry| entry.unwrap());
    let mut moved: Vec<_> = moved.map(|entry| entry.file_name().into_string().unwrap()).collect();
    moved.sort();
    assert_eq!(moved.len(), paths.len() - 2);
    assert!(moved.iter().all(|name| name.starts_with("00000000000000000077-segment-")));

    // The log goes on with numbers that were never used.
    let end = log.end().number;
    assert!(end > 12);
    log.append(end, &[record(end + 1, 1, 700)]).unwrap();
    let last = report.last;
    let mut reader = log.read_after(last - 1);
    assert_eq!(reader.next().unwrap(), Some(record(last, last, 700)));
    assert_eq!(reader.next().unwrap(), Some(record(end + 1, 1, 700)));
    let found = verify(folder.path()).unwrap();
    assert!(found.is_whole(), "{found:?}");
    assert_eq!(found.gaps, [(last, end + 1)]);
    assert_eq!(status(folder.path()).unwrap().end, Some(log.end()));
}

/// All records are lost: the next one has a greater number, and follows record 0.
#[test]
fn a_log_that_has_lost_its_beginning_is_read_from_the_start() {
    let folder = folder();
    small_log(folder.path());
    fs::write(&segments(&files(folder.path()))[0], b"").unwrap();
    let (mut log, report) = FileLog::open(settings(folder.path()), "boot", 0).unwrap();
    assert_eq!(report.last, 0);
    let end = log.end().number;
    log.append(end, &[record(end + 1, 1, 700)]).unwrap();
    assert_eq!(log.read_after(0).next().unwrap(), Some(record(end + 1, 1, 700)));
    drop(log);
    let (log, report) = FileLog::open(settings(folder.path()), "boot", 0).unwrap();
    assert_eq!((report.continuity, report.last), (Continuity::Proven, end + 1));
    assert_eq!(log.read_after(0).next().unwrap(), Some(record(end + 1, 1, 700)));
}

#[test]
fn what_is_moved_aside_is_limited() {
    let folder = folder();
    let mut settings = settings(folder.path());
    settings.damaged_bytes_max = 2_500;
    for round in 0..6 {
        let (mut log, _) = FileLog::open(settings.clone(), "boot", round).unwrap();
        for _ in 0..8 {
            let end = log.end();
            log.append(end.number, &[record(end.number + 1, 5, 700)]).unwrap();
        }
        drop(log);
        let paths = segments(&files(folder.path()));
        let mut bytes = fs::read(&paths[paths.len() - 4]).unwrap();
        bytes[100] ^= 1;
        fs::write(&paths[paths.len() - 4], bytes).unwrap();
    }
    let (_, report) = FileLog::open(settings, "boot", 9).unwrap();
    assert_eq!(report.findings.len(), 1);
    let status = status(folder.path()).unwrap();
    assert!((1..=2_500).contains(&status.damaged_bytes), "{status:?}");
}

#[test]
fn two_processes_cannot_have_a_log_open() {
    let folder = folder();
    let (log, _) = FileLog::open(settings(folder.path()), "boot", 0).unwrap();
    let error = FileLog::open(settings(folder.path()), "boot", 0).unwrap_err();
    assert!(matches!(&error, OpenError::Locked(path) if path == folder.path()));
    drop(log);
    FileLog::open(settings(folder.path()), "boot", at(1)).unwrap();
}

//! Every byte counts: whichever one changes, it is found.

use std::{fs, path::Path};

use log::{
    Continuity, FileLog, Log, LogSettings, OpenError, ReadError,
    files::{SnapshotStore, status, verify},
};

use crate::support::{at, files, record, restore, segments};

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

#[test]
fn each_changed_byte_of_a_segment_or_the_head_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let last = small_log(folder.path());
    let whole = files(folder.path());
    assert!(segments(&whole).len() > 2);
    assert!(verify(folder.path()).unwrap().is_whole());
    for (path, bytes) in &whole {
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1 << (place % 8);
            fs::write(path, damaged).unwrap();
            assert!(!verify(folder.path()).unwrap().is_whole(), "{path:?} {place}");

            let (log, report) = FileLog::open(settings(folder.path()), "boot", 5).unwrap();
            assert_ne!(report.continuity, Continuity::Proven, "{path:?} {place}");
            let mut reader = log.read_after(0);
            for number in 1..=report.last {
                assert_eq!(reader.next().unwrap(), Some(record(number, number, 700)));
            }
            assert!(reader.next().unwrap().is_none());
            assert_eq!(report.findings.len(), usize::from(report.last < last));
            drop((reader, log));
            restore(folder.path(), &whole);
        }
    }
}

#[test]
fn each_changed_byte_of_a_segment_that_a_start_does_not_read_is_found_by_its_reader() {
    let folder = tempfile::tempdir().unwrap();
    let last = small_log(folder.path());
    let (log, _) = FileLog::open(settings(folder.path()), "boot", 0).unwrap();
    let store = SnapshotStore::open(&settings(folder.path())).unwrap();
    store.write(log.end(), 1, b"state").unwrap();
    drop(log);
    let whole = files(folder.path());
    let path = &segments(&whole)[0];
    for place in 0..whole[path].len() {
        let mut damaged = whole[path].clone();
        damaged[place] ^= 0x80;
        fs::write(path, damaged).unwrap();
        let (log, report) = FileLog::open(settings(folder.path()), "boot", 5).unwrap();
        assert_eq!((report.continuity, report.last), (Continuity::Proven, last));
        let mut reader = log.read_after(0);
        let error = loop {
            match reader.next() {
                Ok(record) => assert!(record.is_some(), "{place}"),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, ReadError::Damaged { .. }), "{place}: {error}");
        assert!(reader.next().is_err(), "a reader does not get past damage");
        assert_eq!(log.read_after(last - 1).next().unwrap(), Some(record(last, last, 700)));
    }
}

#[test]
fn a_lost_segment_is_found_and_what_is_behind_it_is_moved_aside() {
    let folder = tempfile::tempdir().unwrap();
    small_log(folder.path());
    let whole = files(folder.path());
    let paths = segments(&whole);
    fs::remove_file(&paths[1]).unwrap();
    let (mut log, report) = FileLog::open(settings(folder.path()), "boot", 77).unwrap();
    let Continuity::Unproven(reason) = &report.continuity else { panic!("{report:?}") };
    assert_eq!(*reason, format!("the log ends at record {}, and had 12", report.last));
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

#[test]
fn what_is_moved_aside_is_limited() {
    let folder = tempfile::tempdir().unwrap();
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
    let folder = tempfile::tempdir().unwrap();
    let (log, _) = FileLog::open(settings(folder.path()), "boot", 0).unwrap();
    let error = FileLog::open(settings(folder.path()), "boot", 0).unwrap_err();
    assert!(matches!(&error, OpenError::Locked(path) if path == folder.path()));
    drop(log);
    FileLog::open(settings(folder.path()), "boot", at(1)).unwrap();
}

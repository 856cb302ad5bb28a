//! Logs that a newer version of the program has written.

use std::{fs, path::Path};

use log::{
    Continuity, FileLog, Log, LogSettings,
    files::{SnapshotError, SnapshotStore, status, verify},
};

use crate::support::{files, folder, record, segments};

const VERSION_AT: usize = 6;

/// A newer version: a header of another shape, for which our checksum does not match.
fn write_newer(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    bytes[VERSION_AT] = 2;
    bytes[VERSION_AT + 8] ^= 0xff;
    fs::write(path, bytes).unwrap();
}

fn log_with_snapshot(settings: &LogSettings) {
    let (mut log, _) = FileLog::open(settings.clone(), "boot", 0).unwrap();
    for number in 1..=12 {
        log.append(number - 1, &[record(number, number, 700)]).unwrap();
    }
    SnapshotStore::open(settings).unwrap().write(log.end(), 1, b"state").unwrap();
    log.close().unwrap();
}

/// After an upgrade and a rollback: only the newest segment, or only the head, has the newer version.
#[test]
fn a_log_of_a_newer_version_is_moved_as_a_whole_and_kept() {
    for newer in ["segment", "head"] {
        let folder = folder();
        let settings = LogSettings {
            segment_bytes: 1_000,
            damaged_bytes_max: 100,
            ..LogSettings::new(folder.path())
        };
        log_with_snapshot(&settings);
        let path = match newer {
            "segment" => segments(&files(folder.path())).pop().unwrap(),
            _ => folder.path().join("head"),
        };
        write_newer(&path);
        let before = files(folder.path());
        assert!(!verify(folder.path()).unwrap().is_whole());

        let (mut log, report) = FileLog::open(settings.clone(), "boot", 77).unwrap();
        let reason = "the log was written by a newer version, in format 2";
        assert_eq!(report.continuity, Continuity::Unproven(reason.to_owned()));
        assert_eq!(report.last, 0);
        assert!(report.end.number > 12, "numbers are not used again");
        let target = folder.path().join("newer-version-00000000000000000077");
        assert_eq!(report.findings, [format!("{reason}: moved it to {}", target.display())]);
        let moved = files(&target);
        let names = |files: &crate::support::Files| -> Vec<_> {
            files
                .iter()
                .map(|(path, bytes)| (path.file_name().unwrap().to_owned(), bytes.clone()))
                .collect()
        };
        assert_eq!(names(&moved), names(&before));
        assert_eq!(status(folder.path()).unwrap().damaged_bytes, 0);

        let end = log.end().number;
        log.append(end, &[record(end + 1, 1, 700)]).unwrap();
        log.close().unwrap();
        let (_, report) = FileLog::open(settings, "boot", 78).unwrap();
        assert_eq!((report.continuity, report.last), (Continuity::Proven, end + 1));
        assert_eq!(files(&target), moved);
    }
}

#[test]
fn a_snapshot_of_a_newer_version_is_left_where_it_is() {
    let folder = folder();
    let settings = LogSettings::new(folder.path());
    log_with_snapshot(&settings);
    let store = SnapshotStore::open(&settings).unwrap();
    store.write(log::LogPosition { number: 11, ..Default::default() }, 1, b"older").unwrap();
    let files = files(folder.path());
    let path = files.keys().find(|path| path.to_string_lossy().ends_with("12.state")).unwrap();
    write_newer(path);
    let error = store.read(12).unwrap_err();
    assert!(matches!(error, SnapshotError::NewerVersion { number: 12, version: 2 }), "{error}");
    assert_eq!(store.read(11).unwrap().2, b"older");
    let (_, findings) = store.list().unwrap();
    assert_eq!(findings, ["snapshot 12 was written by a newer version, in format 2"]);
    assert!(path.exists());
    let (_, report) = FileLog::open(settings, "boot", 0).unwrap();
    assert_eq!((report.continuity, report.last), (Continuity::Proven, 12));
}

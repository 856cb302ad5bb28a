//! Snapshots of the state.

use std::{fs, path::Path};

use log::{
    Continuity, FileLog, Log, LogPosition, LogSettings,
    files::{SnapshotError, SnapshotStore},
};
use proptest::{collection::vec, prelude::*};

use crate::support::{cases, files, folder, record};

fn store(folder: &Path) -> SnapshotStore {
    SnapshotStore::open(&LogSettings::new(folder)).unwrap()
}

fn position(number: u64) -> LogPosition {
    LogPosition { number, chain: [number as u8; 16], at: -5 }
}

proptest! {
    #![proptest_config(cases(1))]

    #[test]
    fn a_snapshot_is_read_as_it_was_written(
        state in vec(any::<u8>(), 0..3_000), number in 0..1_u64 << 62, format in any::<u16>(),
    ) {
        let folder = folder();
        let store = store(folder.path());
        let snapshot = store.write(position(number), format, &state).unwrap();
        prop_assert_eq!(store.read(number).unwrap(), (format, position(number), state));
        prop_assert_eq!(store.list().unwrap(), (vec![snapshot], vec![]));
    }
}

#[test]
fn the_newest_are_kept_and_listed_first() {
    let folder = folder();
    let store = store(folder.path());
    for number in [3, 7, 11, 12, 40] {
        store.write(position(number), 1, &number.to_le_bytes()).unwrap();
    }
    let (snapshots, findings) = store.list().unwrap();
    let numbers: Vec<_> = snapshots.iter().map(|snapshot| snapshot.position.number).collect();
    assert_eq!((numbers, findings), (vec![40, 12, 11], vec![]));
    assert!(matches!(store.read(7), Err(SnapshotError::Storage { number: 7, .. })));
    let (_, position, state) = store.read(40).unwrap();
    assert_eq!((position.number, state), (40, 40_u64.to_le_bytes().to_vec()));
}

#[test]
fn each_changed_byte_is_found_and_the_snapshot_before_is_readable() {
    let folder = folder();
    let store = store(folder.path());
    store.write(position(1), 1, b"older").unwrap();
    store.write(position(2), 1, b"some state of some length, some state of some length").unwrap();
    let whole = files(folder.path());
    let (path, bytes) = whole.last_key_value().unwrap();
    let lengths = (0..bytes.len()).map(|length| bytes[..length].to_vec());
    let changes = (0..bytes.len()).map(|offset| {
        let mut bytes = bytes.clone();
        bytes[offset] ^= 4;
        bytes
    });
    for damaged in lengths.chain(changes) {
        fs::write(path, damaged).unwrap();
        let error = store.read(2).unwrap_err().to_string();
        assert!(error.starts_with("snapshot 2 is damaged: "), "{error}");
        assert_eq!(store.read(1).unwrap().2, b"older");
    }
}

#[test]
fn a_snapshot_that_was_not_finished_is_none() {
    let folder = folder();
    fs::write(folder.path().join("snapshot.unfinished"), b"half of it").unwrap();
    let store = store(folder.path());
    assert_eq!(store.list().unwrap(), (vec![], vec![]));
    store.write(position(1), 1, b"state").unwrap();
    assert!(!folder.path().join("snapshot.unfinished").exists());
}

#[test]
fn a_log_that_ends_before_a_snapshot_is_not_proven() {
    let folder = folder();
    let open = || FileLog::open(LogSettings::new(folder.path()), "boot", 0).unwrap();
    let (mut log, _) = open();
    log.append(0, &[record(1, 1, 10)]).unwrap();
    store(folder.path()).write(position(5), 1, b"state").unwrap();
    log.close().unwrap();
    let (log, report) = open();
    let reason = "the log ends at record 1, but a snapshot is of record 5".to_owned();
    assert_eq!(report.continuity, Continuity::Unproven(reason));
    assert!(log.end().number > 5);
}

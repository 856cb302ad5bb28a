//! What is kept, and for how long.

use std::{fs, path::Path};

use log::{FileLog, Log, LogSettings, files::SnapshotStore};

use crate::support::{at, folder, record};

fn settings(folder: &Path) -> LogSettings {
    LogSettings {
        segment_bytes: 2_000,
        records_keep_us: 100_000,
        tail_us: 20_000,
        ..LogSettings::new(folder)
    }
}

fn append(log: &mut FileLog, until: u64) {
    for number in log.end().number + 1..=until {
        log.append(number - 1, &[record(number, number, 600)]).unwrap();
    }
}

#[test]
fn old_records_go_unless_a_restart_needs_them() {
    let folder = folder();
    let (mut log, _) = FileLog::open(settings(folder.path()), "boot", 0).unwrap();
    let store = SnapshotStore::open(&settings(folder.path())).unwrap();
    append(&mut log, 400);
    assert_eq!(log.handle().retain(at(400)).unwrap(), 0, "there is no snapshot");
    store.write(log.end(), 1, b"first").unwrap();
    assert_eq!(log.handle().retain(at(400)).unwrap(), 0, "there is only one");
    append(&mut log, 450);
    store.write(log.end(), 1, b"second").unwrap();

    // Of what the second newest needs, nothing goes however old it is.
    log.handle().retain(at(2_000)).unwrap();
    let oldest = log.source().oldest();
    assert!((360..=381).contains(&oldest), "{oldest}");

    append(&mut log, 898);
    for number in [899, 900] {
        append(&mut log, number);
        store.write(log.end(), 1, b"state").unwrap();
    }
    // Records of the last 100 ms are kept.
    log.handle().retain(at(900)).unwrap();
    let oldest = log.source().oldest();
    assert!((780..=801).contains(&oldest), "{oldest}");
    let mut reader = log.read_after(oldest - 1);
    for number in oldest..=900 {
        assert_eq!(reader.next().unwrap(), Some(record(number, number, 600)));
    }

    drop(log);
    let (log, report) = FileLog::open(settings(folder.path()), "boot", 0).unwrap();
    assert_eq!((report.oldest, report.last), (oldest, 900));
    assert_eq!(log.source().oldest(), oldest);
}

#[test]
fn status_tells_the_first_record_and_a_log_that_was_set_aside_from_damage() {
    let folder = folder();
    let (mut log, _) = FileLog::open(settings(folder.path()), "boot", 0).unwrap();
    append(&mut log, 3);
    drop(log);
    let aside = folder.path().join("damaged/1-of-another-database");
    fs::create_dir_all(&aside).unwrap();
    fs::write(aside.join("segment"), [0; 500]).unwrap();
    let status = log::files::status(folder.path()).unwrap();
    assert_eq!(status.oldest, Some((1, at(1))));
    assert_eq!((status.damaged_bytes, status.aside_bytes), (0, 500));
}

#[test]
fn too_many_bytes_go_unless_a_restart_needs_them() {
    let folder = folder();
    let settings = LogSettings { bytes_max: 20_000, ..settings(folder.path()) };
    let (mut log, _) = FileLog::open(settings.clone(), "boot", 0).unwrap();
    append(&mut log, 400);
    assert_eq!(log.handle().retain(at(400)).unwrap(), 0, "there is no snapshot");
    let store = SnapshotStore::open(&settings).unwrap();
    store.write(log.end(), 1, b"state").unwrap();
    log.handle().retain(at(400)).unwrap();
    let status = log::files::status(folder.path()).unwrap();
    assert!((10_000..=20_000).contains(&status.bytes), "{status:?}");
    assert_eq!(status.oldest.unwrap().0, log.source().oldest());

    append(&mut log, 800);
    log.handle().retain(at(800)).unwrap();
    assert!(log.source().oldest() <= 401, "a restart reads record 401 first");
    drop(log);
    let (log, _) = FileLog::open(settings, "boot", 0).unwrap();
    let mut reader = log.read_after(400);
    for number in 401..=800 {
        assert_eq!(reader.next().unwrap(), Some(record(number, number, 600)));
    }
}

/// Each segment that waits to be forced to the disk is an open file.
#[test]
fn tiny_segments_do_not_pile_up_as_open_files() {
    let folder = folder();
    let settings = LogSettings { segment_bytes: 1, ..settings(folder.path()) };
    let (mut log, _) = FileLog::open(settings, "boot", 0).unwrap();
    let open_files = || {
        let files = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
        let paths = files.filter_map(|file| fs::read_link(file.path()).ok());
        paths.filter(|path| path.starts_with(folder.path())).count()
    };
    append(&mut log, 100);
    assert!(open_files() <= 20, "{}", open_files());
    assert_eq!(log.read_after(99).next().unwrap(), Some(record(100, 100, 600)));
}

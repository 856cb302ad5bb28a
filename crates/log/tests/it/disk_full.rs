//! A disk that is full: nothing is appended, and nothing is left behind.

use std::{fs, path::Path, process::Command};

use log::{
    AppendError, Continuity, FileLog, Log, LogSettings,
    files::{SnapshotStore, verify},
};

use crate::support::record;

/// Mounts a file system of 512 KiB on the folder `disk`, and runs the test below in it.
const SCRIPT: &str = "mount -t tmpfs -o size=512k none disk && exec \"$0\" --exact \
                      disk_full::on_a_small_disk --ignored --nocapture";

#[test]
#[expect(clippy::print_stderr, reason = "reports a skipped test")]
fn a_full_disk_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("disk")).unwrap();
    let namespaces = Command::new("unshare").args(["-Urm", "true"]).status();
    if !namespaces.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no file system can be mounted here");
        return;
    }
    let program = std::env::current_exe().unwrap();
    let output = Command::new("unshare")
        .args(["-Urm", "sh", "-c", SCRIPT])
        .arg(program)
        .current_dir(folder.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("the disk was full"), "{output:?}");
}

#[test]
#[expect(clippy::print_stdout, clippy::print_stderr, reason = "the test above reads it")]
#[ignore = "runs in a small file system, started by the test above"]
fn on_a_small_disk() {
    let disk = Path::new("disk");
    if !disk.exists() {
        eprintln!(
            "skipped: `a_full_disk_loses_nothing` mounts the small file system that this test fills"
        );
        return;
    }
    let ballast = disk.join("ballast");
    fs::write(&ballast, vec![1; 200 << 10]).unwrap();
    let settings = LogSettings { segment_bytes: 50_000, ..LogSettings::new(disk.join("log")) };
    let (mut log, _) = FileLog::open(settings.clone(), "boot", 0).unwrap();
    makes_room(&disk.join("other"));
    let group = |end: u64| [1, 2, 3].map(|i| record(end + i, end + i, 9_000));
    let mut reader = log.read_after(0);
    let full = loop {
        let end = log.end().number;
        if let Err(error) = log.append(end, &group(end)) {
            break error;
        }
    };
    assert!(
        matches!(&full, AppendError::Storage(error) if error.kind() == std::io::ErrorKind::StorageFull)
    );
    println!("the disk was full at record {}", log.end().number);
    let end = log.end();
    for _ in 0..5 {
        log.append(end.number, &group(end.number)).unwrap_err();
        assert_eq!(log.end(), end);
    }
    // Smaller records may still fit, and follow the last one without a gap.
    while log.append(log.end().number, &[record(log.end().number + 1, 7, 90)]).is_ok() {}
    let end = log.end();
    let count = end.number;
    for number in 1..=count {
        assert_eq!(reader.next().unwrap().unwrap().number, number);
    }
    assert!(reader.next().unwrap().is_none());

    // As a killed process leaves it, and then with room again.
    drop(log);
    let (mut log, report) = FileLog::open(settings.clone(), "boot", 0).unwrap();
    assert_eq!((report.continuity, report.end), (Continuity::Proven, end));
    assert!(log.append(count, &group(count)).is_err());
    fs::remove_file(ballast).unwrap();
    for _ in 0..4 {
        let end = log.end().number;
        log.append(end, &group(end)).unwrap();
        assert!(verify(&settings.folder).unwrap().is_whole());
    }
    for number in count + 1..=log.end().number {
        assert_eq!(reader_of(&log, number), record(number, number, 9_000));
    }
    log.close().unwrap();
    let (_, report) = FileLog::open(settings, "another boot", 0).unwrap();
    assert_eq!((report.continuity, report.last), (Continuity::Proven, count + 12));
}

#[test]
fn removed_folder_takes_no_records_until_it_is_back() {
    let parent = tempfile::tempdir().unwrap();
    let (folder, aside) = (parent.path().join("log"), parent.path().join("aside"));
    let (mut log, _) = FileLog::open(LogSettings::new(&folder), "boot", 0).unwrap();
    let handle = log.handle();
    log.append(0, &[record(1, 1, 10)]).unwrap();
    handle.sync().unwrap();
    fs::rename(&folder, &aside).unwrap();
    for replaced in [false, true] {
        if replaced {
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("head"), b"").unwrap();
        }
        assert_eq!(handle.sync().unwrap_err().kind(), std::io::ErrorKind::NotFound);
        let refused = log.append(1, &[record(2, 2, 10)]).unwrap_err();
        assert!(
            matches!(&refused, AppendError::Storage(why) if why.to_string().contains("removed"))
        );
    }
    fs::remove_dir_all(&folder).unwrap();
    fs::rename(&aside, &folder).unwrap();
    handle.sync().unwrap();
    log.append(1, &[record(2, 2, 10)]).unwrap();
    log.close().unwrap();
    assert!(verify(&folder).unwrap().is_whole());
}

/// What neither a restart nor a client needs is deleted when the disk is full, so that the next attempt succeeds.
fn makes_room(folder: &Path) {
    let settings =
        LogSettings { segment_bytes: 20_000, tail_us: 1_000, ..LogSettings::new(folder) };
    let (mut log, _) = FileLog::open(settings.clone(), "boot", 0).unwrap();
    fs::create_dir(folder.join("damaged")).unwrap();
    fs::write(folder.join("damaged/file"), vec![1; 50 << 10]).unwrap();
    let store = SnapshotStore::open(&settings).unwrap();
    let mut attempts = 0;
    while log.end().number < 300 {
        let end = log.end();
        if end.number % 10 == 0 {
            store.write(end, 1, b"state").ok();
        }
        match log.append(end.number, &[record(end.number + 1, 1, 9_000)]) {
            Ok(()) => attempts = 0,
            Err(error) => {
                attempts += 1;
                assert!(attempts < 1_000, "{error}");
                log.read_after(end.number).wait(std::time::Duration::from_millis(5));
            }
        }
    }
    assert!(log.source().oldest() > 1, "segments were deleted");
    assert!(!folder.join("damaged/file").exists());
    drop(log);
    fs::remove_dir_all(folder).unwrap();
}

fn reader_of(log: &FileLog, number: u64) -> log::record::Record {
    log.read_after(number - 1).next().unwrap().unwrap()
}

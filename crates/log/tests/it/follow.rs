//! Readers follow the log from other threads.

use std::{thread, time::Duration};

use log::{
    AppendError, FileLog, Log, LogSettings, MemoryLog, ReadError, RecordReader, RecordSource, Wait,
    files::SnapshotStore, record::Record,
};

use crate::support::{at, folder, record};

/// Long enough to end only a test that fails.
const LONG: Duration = Duration::from_secs(60);

const RECORDS: u64 = 3_000;

/// Reads to the end of a log that is closed meanwhile.
fn follow(mut reader: Box<dyn RecordReader>, after: u64) -> u64 {
    let mut number = after;
    loop {
        while let Some(found) = reader.next().unwrap() {
            number += 1;
            assert_eq!(found, record(number, number, 300));
        }
        match reader.wait(LONG) {
            Wait::Ready => {}
            Wait::Closed => return number,
            Wait::TimedOut => panic!("nothing after record {number}"),
        }
    }
}

fn append_and_follow(mut log: impl Log) {
    thread::scope(|scope| {
        let readers: Vec<_> = (0..3)
            .map(|after| {
                let reader = log.read_after(after);
                scope.spawn(move || follow(reader, after))
            })
            .collect();
        let mut number = 0;
        while number < RECORDS {
            let count = (1 + number % 5).min(RECORDS - number);
            let records: Vec<_> =
                (1..=count).map(|i| number + i).map(|n| record(n, n, 300)).collect();
            log.append(number, &records).unwrap();
            number += count;
        }
        drop(log);
        for reader in readers {
            assert_eq!(reader.join().unwrap(), RECORDS);
        }
    });
}

#[test]
fn readers_follow_while_records_are_appended() {
    let folder = folder();
    let settings = LogSettings { segment_bytes: 30_000, ..LogSettings::new(folder.path()) };
    append_and_follow(FileLog::open(settings, "boot", 0).unwrap().0);
    append_and_follow(MemoryLog::new(usize::MAX).unwrap());
}

#[test]
fn a_reader_whose_segment_is_deleted_finishes_it_or_is_refused() {
    let folder = folder();
    let settings =
        LogSettings { segment_bytes: 5_000, bytes_max: 10_000, ..LogSettings::new(folder.path()) };
    let (mut log, _) = FileLog::open(settings, "boot", 0).unwrap();
    log.append(0, &[record(1, 1, 300), record(2, 2, 300)]).unwrap();
    let mut reader = log.read_after(0);
    assert_eq!(reader.next().unwrap(), Some(record(1, 1, 300)));
    for number in 3..=200 {
        log.append(number - 1, &[record(number, number, 300)]).unwrap();
    }
    let store = SnapshotStore::open(&LogSettings::new(folder.path())).unwrap();
    store.write(log.end(), 1, b"state").unwrap();
    log.handle().retain(0).unwrap();
    let mut number = 1;
    let gone = loop {
        match reader.next() {
            Ok(found) => {
                number += 1;
                assert_eq!(found, Some(record(number, number, 300)));
            }
            Err(error) => break error,
        }
    };
    assert!(matches!(gone, ReadError::Gone(gone) if gone == number + 1), "{gone}");
    assert!(number < log.source().oldest() - 1);
    assert!(matches!(log.read_after(3).next(), Err(ReadError::Gone(4))));
    let oldest = log.source().oldest();
    assert_eq!(
        log.source().read_since(0).next().unwrap(),
        Some(record(oldest, oldest, 300)),
        "from the oldest that is kept"
    );
}

fn reads_from_a_time(log: &mut impl Log) {
    for number in 1..=300 {
        log.append(number - 1, &[record(number, number, 300)]).unwrap();
    }
    for number in [1, 2, 77, 150, 300] {
        let mut reader = log.source().read_since(at(number) - 500);
        assert_eq!(reader.next().unwrap(), Some(record(number, number, 300)));
    }
    let mut reader = log.source().read_since(at(300) + 1);
    assert_eq!(reader.next().unwrap(), None);
    log.append(300, &[record(301, 301, 300)]).unwrap();
    assert_eq!(reader.wait(LONG), Wait::Ready);
    assert_eq!(reader.next().unwrap(), Some(record(301, 301, 300)));
    assert_eq!(reader.wait(Duration::ZERO), Wait::TimedOut);
}

#[test]
fn records_are_read_from_a_time() {
    let folder = folder();
    let settings = LogSettings { segment_bytes: 8_000, ..LogSettings::new(folder.path()) };
    reads_from_a_time(&mut FileLog::open(settings, "boot", 0).unwrap().0);
    reads_from_a_time(&mut MemoryLog::new(usize::MAX).unwrap());
}

/// Records behind the places that the log remembers within a segment.
#[test]
fn a_reader_begins_in_the_middle_of_a_large_segment() {
    let folder = folder();
    let settings = LogSettings::new(folder.path());
    let (mut log, _) = FileLog::open(settings.clone(), "boot", 0).unwrap();
    let first = record(1, 3, 150_000);
    let numbered = |number| Record { number, at: at(number), ..first.clone() };
    for number in 1..=80 {
        log.append(number - 1, &[numbered(number)]).unwrap();
    }
    for reopened in [false, true] {
        if reopened {
            drop(log);
            (log, _) = FileLog::open(settings.clone(), "boot", 0).unwrap();
        }
        for after in [0, 1, 13, 40, 77] {
            let mut reader = log.read_after(after);
            for number in after + 1..=80 {
                assert_eq!(reader.next().unwrap(), Some(numbered(number)));
            }
            assert_eq!(reader.next().unwrap(), None);
        }
    }
}

/// A reader that is kept open continues at its offset, also when the segment is no longer written.
#[test]
fn a_reader_continues_after_a_pause() {
    let folder = folder();
    let settings = LogSettings { segment_bytes: 4_000, ..LogSettings::new(folder.path()) };
    let (mut log, _) = FileLog::open(settings.clone(), "boot", 0).unwrap();
    let mut reader = log.read_after(0);
    let mut number = 0;
    for count in [1, 2, 50, 1, 300] {
        for _ in 0..count {
            number += 1;
            log.append(number - 1, &[record(number, number, 300)]).unwrap();
        }
        for read in number - count + 1..=number {
            assert_eq!(reader.next().unwrap(), Some(record(read, read, 300)));
        }
        assert_eq!(reader.next().unwrap(), None);
    }

    // Its segment is deleted, and the next one is there.
    let store = SnapshotStore::open(&settings).unwrap();
    store.write(log.end(), 1, b"state").unwrap();
    log.append(number, &[record(number + 1, number + 1, 300)]).unwrap();
    log.handle().retain(0).unwrap();
    assert_eq!(reader.next().unwrap(), Some(record(number + 1, number + 1, 300)));
}

fn refuses(mut log: impl Log) {
    log.append(0, &[record(1, 1, 10), record(2, 2, 10)]).unwrap();
    let end = log.end();
    let error = log.append(1, &[record(2, 2, 10)]).unwrap_err();
    assert!(matches!(error, AppendError::OtherEnd { expected: 1, end: 2 }), "{error}");
    let error = log.append(2, &[record(3, 3, 10), record(5, 5, 10)]).unwrap_err();
    assert!(matches!(error, AppendError::OutOfOrder(5)), "{error}");
    let error = log.append(2, &[record(3, 3, 10), Record { at: 0, ..record(4, 4, 10) }]);
    assert!(matches!(error, Err(AppendError::OutOfOrder(4))));
    assert_eq!(log.end(), end);
    log.append(2, &[]).unwrap();
    assert_eq!(log.end(), end);
    log.append(2, &[record(3, 3, 10)]).unwrap();
    let mut reader = log.read_after(2);
    assert_eq!(reader.next().unwrap(), Some(record(3, 3, 10)));
    assert_eq!(reader.next().unwrap(), None);
}

#[test]
fn records_that_do_not_follow_the_end_are_refused() {
    let folder = folder();
    refuses(FileLog::open(LogSettings::new(folder.path()), "boot", 0).unwrap().0);
    refuses(MemoryLog::new(usize::MAX).unwrap());
}

/// Sources outlive the log, such as for a client that reads the last records while the hub stops.
#[test]
fn a_closed_log_stays_readable() {
    let folder = folder();
    let (mut log, _) = FileLog::open(LogSettings::new(folder.path()), "boot", 0).unwrap();
    log.append(0, &[record(1, 1, 10)]).unwrap();
    let source: std::sync::Arc<dyn RecordSource> = log.source();
    log.close().unwrap();
    let mut reader = source.read_after(0);
    assert_eq!(reader.wait(LONG), Wait::Ready);
    assert_eq!(reader.next().unwrap(), Some(record(1, 1, 10)));
    assert_eq!(reader.wait(LONG), Wait::Closed);
}

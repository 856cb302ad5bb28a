//! The log in memory.

use std::io;

use log::{AppendError, FileLog, Log, LogSettings, MemoryLog, ReadError, memory::Fault};

use crate::support::{folder, record};

#[test]
fn it_has_the_chain_of_a_log_in_files() {
    let folder = folder();
    let mut file = FileLog::open(LogSettings::new(folder.path()), "boot", 0).unwrap().0;
    let mut memory = MemoryLog::new(usize::MAX).unwrap();
    for number in 1..=50 {
        file.append(number - 1, &[record(number, number, 2_000)]).unwrap();
        memory.append(number - 1, &[record(number, number, 2_000)]).unwrap();
        assert_eq!(file.end(), memory.end());
    }
}

#[test]
fn the_oldest_records_go_when_it_is_full() {
    let mut log = MemoryLog::new(5_000).unwrap();
    let mut reader = log.read_after(0);
    for number in 1..=100 {
        log.append(number - 1, &[record(number, number, 600)]).unwrap();
    }
    let oldest = log.source().oldest();
    assert!((80..=100).contains(&oldest), "{oldest}");
    assert!(matches!(reader.next(), Err(ReadError::Gone(1))));
    assert_eq!(log.read_after(oldest - 1).next().unwrap(), Some(record(oldest, oldest, 600)));
    assert!(matches!(log.read_after(oldest - 2).next(), Err(ReadError::Gone(_))));
}

#[test]
fn faults_happen_as_scripted() {
    let mut log = MemoryLog::new(usize::MAX).unwrap();
    let full = io::ErrorKind::StorageFull;
    log.faults().script([Some(Fault::Storage(full)), None, Some(Fault::Refused)]);
    let refused = log.append(0, &[record(1, 1, 10)]).unwrap_err();
    assert!(matches!(refused, AppendError::Storage(error) if error.kind() == full));
    log.append(0, &[record(1, 1, 10)]).unwrap();
    let refused = log.append(1, &[record(2, 2, 10)]).unwrap_err();
    assert!(matches!(refused, AppendError::OtherEnd { expected: 1, end: 2 }));
    log.append(1, &[record(2, 2, 10), record(3, 3, 10)]).unwrap();

    log.faults().damage(2);
    let mut reader = log.read_after(0);
    assert_eq!(reader.next().unwrap(), Some(record(1, 1, 10)));
    assert!(matches!(reader.next(), Err(ReadError::Damaged { number: 2, .. })));
    assert_eq!(log.read_after(2).next().unwrap(), Some(record(3, 3, 10)));
}

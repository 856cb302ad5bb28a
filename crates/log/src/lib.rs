//! The log: what the writer applied and what it published, in numbered records.
//!
//! **In:** the writer's turns. **Out:** the same records, in order, for its readers: the fan-out, the
//! history, a restart, a replay. **Must not know** what inputs mean, matches, clients, HTTP.
//!
//! A record is visible to clients only after [`Log::append`] has returned. From then on it survives a crash
//! of the process.

pub mod config;
#[cfg(feature = "films")]
pub mod film;
pub mod record;

pub mod codec;
mod encoded;

pub mod files;
pub mod memory;

use std::{io, sync::Arc, time::Duration};

use fanout::Micros;

use self::record::Record;

pub use self::{
    encoded::EncodedRecords,
    files::{Continuity, FileLog, LogSettings, OpenError, OpenReport},
    memory::MemoryLog,
};

/// The first 16 bytes of the SHA-256 of a record's bytes, which contain the chain of the record before.
/// Two logs with the same chain at a number have the same records up to it.
pub type Chain = [u8; 16];

/// The number of a record. The first is 1; 0 is the empty log.
pub type RecordNumber = u64;

/// A position in a log: after the record of this number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogPosition {
    pub number: RecordNumber,
    pub chain: Chain,
    /// When the record was made. The next one is never earlier.
    pub at: Micros,
}

impl LogPosition {
    /// Whether these records follow it.
    fn check_follows(&self, records: &EncodedRecords) -> Result<(), AppendError> {
        let before = records.before();
        if before.number != self.number {
            let (expected, end) = (before.number, self.number);
            return Err(AppendError::OtherEnd { expected, end });
        }
        if before.chain == self.chain {
            Ok(())
        } else {
            Err(AppendError::OtherHistory(records.first()))
        }
    }
}

/// An append-only log with one appender and any number of readers.
pub trait Log: Send {
    /// The position of its last record.
    fn end(&self) -> LogPosition;

    /// Appends records. The first one follows `expected`, the number of the last record that the
    /// caller knows. Either all of them are readable afterwards, or none.
    ///
    /// # Errors
    ///
    /// If the log has another end, or if its storage refuses them.
    fn append(&mut self, expected: RecordNumber, records: &[Record]) -> Result<(), AppendError>;

    /// Appends records that another machine has encoded, so that both logs have the same chain.
    ///
    /// # Errors
    ///
    /// If they do not follow the last record, or if the storage refuses them.
    fn append_encoded(&mut self, records: &EncodedRecords) -> Result<(), AppendError>;

    /// A reader of the records after this number.
    fn read_after(&self, number: RecordNumber) -> Box<dyn RecordReader> {
        self.source().read_after(number)
    }

    /// The records of the log, for threads other than the appender's.
    fn source(&self) -> Arc<dyn RecordSource>;

    /// Closes the log in order, so that the next start finds continuity proven.
    ///
    /// # Errors
    ///
    /// If its storage fails. It is closed all the same.
    fn close(self: Box<Self>) -> io::Result<()>;
}

/// The records of a log, for any thread. It stays readable after the log is closed.
pub trait RecordSource: Send + Sync {
    /// The position of the last record.
    fn end(&self) -> LogPosition;

    /// The number of the oldest record that is kept; the next number of an empty log.
    fn oldest(&self) -> RecordNumber;

    /// A reader of the records after this number. If the log ends before it, the reader waits for the
    /// first record with a greater number.
    fn read_after(&self, number: RecordNumber) -> Box<dyn RecordReader>;

    /// A reader of the records that were made at this time or later, from the oldest that is kept.
    fn read_since(&self, at: Micros) -> Box<dyn RecordReader>;
}

/// Reads the records of a log in order, also those that are appended meanwhile.
pub trait RecordReader: Send {
    /// The next record; `None` at the end of the log as it is now.
    ///
    /// # Errors
    ///
    /// If the record is no longer kept, or damaged. The reader stays there; a reader after that record
    /// may get further.
    fn next(&mut self) -> Result<Option<Record>, ReadError>;

    /// Blocks until [`Self::next`] has something to return, the log is closed, or the time is over.
    fn wait(&mut self, timeout: Duration) -> Wait;
}

/// Why [`RecordReader::wait`] returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// There is a record, or an error, to read.
    Ready,
    /// Everything is read, and nothing will be appended.
    Closed,
    TimedOut,
}

/// Why records could not be appended.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    #[error("the log ends at record {end}, not at record {expected}")]
    OtherEnd { expected: RecordNumber, end: RecordNumber },
    /// Numbers must increase by one, and times must not decrease.
    #[error("record {0} is out of order")]
    OutOfOrder(RecordNumber),
    /// The record before them is another one than this log has.
    #[error("record {0} follows another history than this log has")]
    OtherHistory(RecordNumber),
    /// Another node leads and has appended since. Nothing was appended, and nothing ever can be. The log has let all parts
    /// start again.
    #[error("another node leads: {0}")]
    Deposed(String),
    /// The inputs or the outputs exceed [`codec::SECTION_BYTES_MAX`], 256 MiB. A retry does not help, and the record
    /// cannot be split, since it is one turn of the writer. The committer of the hub treats this as a
    /// defect and ends the process.
    #[error("record {number} has {bytes} bytes, more than {}", codec::SECTION_BYTES_MAX)]
    TooLarge { number: RecordNumber, bytes: usize },
    #[error("cannot write to the log")]
    Storage(#[from] io::Error),
}

/// Why a record could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("record {0} is no longer kept")]
    Gone(RecordNumber),
    #[error("record {number} is damaged: {problem}")]
    Damaged { number: RecordNumber, problem: &'static str },
    #[error("cannot read the log")]
    Storage(#[from] io::Error),
}

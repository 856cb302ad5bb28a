//! A log in memory: for a hub without a folder, and for tests, with scripted faults.
//!
//! It has the same bytes as a log in files, so what is read went through the same codec, and the chain is the
//! same.

use std::{
    collections::{BTreeSet, VecDeque},
    fmt, io,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use fanout::Micros;

use crate::{
    AppendError, Chain, EncodedRecords, Log, LogPosition, ReadError, RecordNumber, RecordReader,
    RecordSource, Wait,
    codec::{Decoder, Encoder, PREFIX_BYTES, RecordHeader, chain_after},
    record::Record,
};

/// A log in memory. If it has too many bytes, the oldest records are deleted.
pub struct MemoryLog {
    shared: Arc<MemoryShared>,
    end: LogPosition,
    encoder: Encoder,
}

struct MemoryShared {
    bytes_max: usize,
    state: Mutex<MemoryState>,
    changed: Condvar,
}

#[derive(Default)]
struct MemoryState {
    end: LogPosition,
    closed: bool,
    /// The encoded records, up to the end.
    records: VecDeque<(Micros, Bytes)>,
    bytes: usize,
    faults: VecDeque<Option<Fault>>,
    damaged: BTreeSet<RecordNumber>,
}

/// What happens to an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The log says that it has another end.
    Refused,
    /// The storage fails, and nothing is appended.
    Storage(io::ErrorKind),
}

/// Asks a [`MemoryLog`] for faults, from any thread.
#[derive(Clone)]
pub struct Faults(Arc<MemoryShared>);

impl MemoryLog {
    /// An empty log that keeps this many bytes of encoded records, and at least the newest one.
    ///
    /// # Errors
    ///
    /// If zstd gets no memory.
    pub fn new(bytes_max: usize) -> io::Result<Self> {
        let (state, changed) = (Mutex::default(), Condvar::new());
        Ok(Self {
            shared: Arc::new(MemoryShared { bytes_max, state, changed }),
            end: LogPosition::default(),
            encoder: Encoder::new()?,
        })
    }

    /// The faults of this log.
    #[must_use]
    pub fn faults(&self) -> Faults {
        Faults(Arc::clone(&self.shared))
    }
}

impl Faults {
    /// What happens to the next appends, in this order; `None`: one succeeds.
    pub fn script(&self, faults: impl IntoIterator<Item = Option<Fault>>) {
        self.0.state().faults.extend(faults);
    }

    /// Readers find this record damaged.
    pub fn damage(&self, number: RecordNumber) {
        self.0.state().damaged.insert(number);
    }
}

impl MemoryShared {
    fn state(&self) -> MutexGuard<'_, MemoryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemoryState {
    fn oldest(&self) -> RecordNumber {
        self.end.number + 1 - self.records.len() as u64
    }

    fn push(&mut self, at: Micros, bytes: Bytes) {
        self.bytes += bytes.len();
        self.records.push_back((at, bytes));
    }

    fn limit(&mut self, bytes_max: usize) {
        while self.bytes > bytes_max && self.records.len() > 1 {
            if let Some((_, bytes)) = self.records.pop_front() {
                self.bytes -= bytes.len();
            }
        }
    }
}

impl Log for MemoryLog {
    fn close(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }

    fn end(&self) -> LogPosition {
        self.end
    }

    fn append(&mut self, expected: RecordNumber, records: &[Record]) -> Result<(), AppendError> {
        let end = self.end.number;
        match self.shared.state().faults.pop_front().flatten() {
            Some(Fault::Refused) => return Err(AppendError::OtherEnd { expected, end: end + 1 }),
            Some(Fault::Storage(kind)) => return Err(io::Error::from(kind).into()),
            None => {}
        }
        if expected != end {
            return Err(AppendError::OtherEnd { expected, end });
        }
        if records.is_empty() {
            return Ok(());
        }
        let records = EncodedRecords::encode(&mut self.encoder, self.end, records)?;
        self.append_encoded(&records)
    }

    fn append_encoded(&mut self, records: &EncodedRecords) -> Result<(), AppendError> {
        self.end.check_follows(records)?;
        self.end = records.end();
        let mut state = self.shared.state();
        state.end = self.end;
        for (at, bytes) in records.each() {
            state.push(at, bytes);
        }
        state.limit(self.shared.bytes_max);
        drop(state);
        self.shared.changed.notify_all();
        Ok(())
    }

    fn source(&self) -> Arc<dyn RecordSource> {
        Arc::new(MemorySource(Arc::clone(&self.shared)))
    }
}

impl Drop for MemoryLog {
    fn drop(&mut self) {
        self.shared.state().closed = true;
        self.shared.changed.notify_all();
    }
}

struct MemorySource(Arc<MemoryShared>);

impl RecordSource for MemorySource {
    fn end(&self) -> LogPosition {
        self.0.state().end
    }

    fn oldest(&self) -> RecordNumber {
        self.0.state().oldest()
    }

    fn read_after(&self, number: RecordNumber) -> Box<dyn RecordReader> {
        let shared = Arc::clone(&self.0);
        Box::new(MemoryReader { shared, after: number, chain: None, decoder: None })
    }

    fn read_since(&self, at: Micros) -> Box<dyn RecordReader> {
        let state = self.0.state();
        let older = state.records.partition_point(|&(record_at, _)| record_at < at);
        let after = state.oldest() - 1 + older as u64;
        drop(state);
        self.read_after(after)
    }
}

struct MemoryReader {
    shared: Arc<MemoryShared>,
    after: RecordNumber,
    chain: Option<Chain>,
    decoder: Option<Decoder>,
}

impl RecordReader for MemoryReader {
    fn next(&mut self) -> Result<Option<Record>, ReadError> {
        let number = self.after + 1;
        let bytes = {
            let state = self.shared.state();
            if state.end.number < number {
                return Ok(None);
            }
            let Some(index) = number.checked_sub(state.oldest()) else {
                return Err(ReadError::Gone(number));
            };
            if state.damaged.contains(&number) {
                return Err(ReadError::Damaged { number, problem: "its checksum does not match" });
            }
            state.records[index as usize].1.clone()
        };
        let decoder = match &mut self.decoder {
            Some(decoder) => decoder,
            None => self.decoder.insert(Decoder::new()?),
        };
        let damaged = |problem| ReadError::Damaged { number, problem };
        let body = &bytes[PREFIX_BYTES..];
        let header = RecordHeader::read(body).map_err(damaged)?;
        if self.chain.is_some_and(|chain| chain != header.chain) {
            return Err(damaged("it does not follow the record before"));
        }
        let record = decoder.decode(body).map_err(damaged)?;
        self.chain = Some(chain_after(body));
        self.after = number;
        Ok(Some(record))
    }

    fn wait(&mut self, timeout: Duration) -> Wait {
        let after = self.after;
        let (state, _) = self
            .shared
            .changed
            .wait_timeout_while(self.shared.state(), timeout, |state| {
                !state.closed && state.end.number <= after
            })
            .unwrap_or_else(PoisonError::into_inner);
        if state.end.number > after {
            Wait::Ready
        } else if state.closed {
            Wait::Closed
        } else {
            Wait::TimedOut
        }
    }
}

impl fmt::Debug for MemoryLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryLog").field("end", &self.end).finish_non_exhaustive()
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faults").finish_non_exhaustive()
    }
}

//! Reads the records of a log, also while it is appended to.

use std::{io, sync::Arc, time::Duration};

use fanout::Micros;

use super::{
    segment::{FrameError, SegmentReader},
    shared::FileShared,
};
use crate::{
    Chain, ReadError, RecordNumber, RecordReader, Wait,
    codec::{Decoder, Problem, RecordHeader, chain_after},
    record::Record,
};

/// Reads forward, and keeps its segment open: after a pause it continues at the same offset, even if the segment is
/// deleted meanwhile. A new reader begins at most 64 KiB before its first record, unless the segment is older than
/// what the start has read.
pub(super) struct FileReader {
    shared: Arc<FileShared>,
    /// The last record that was read, or is not wanted.
    after: RecordNumber,
    /// Older records are not wanted.
    since: Micros,
    /// After the last record that was read from the open segment.
    chain: Option<Chain>,
    open: Option<Open>,
    decoder: Option<Decoder>,
    /// A reader does not get past damage.
    damage: Option<(RecordNumber, Problem)>,
}

struct Open {
    segment: SegmentReader,
    /// The number of the next record in it.
    next: RecordNumber,
    /// Bytes of it that could be read when it was last checked.
    limit: u64,
}

impl FileReader {
    pub(super) fn after(shared: Arc<FileShared>, after: RecordNumber) -> Self {
        let since = Micros::MIN;
        Self { shared, after, since, chain: None, open: None, decoder: None, damage: None }
    }

    pub(super) fn since(shared: Arc<FileShared>, since: Micros) -> Self {
        let after = {
            let state = shared.state();
            // Records of a segment are not older than the last one before it.
            let newest = state.segments.values().rev().find(|segment| segment.before.at < since);
            let segment = newest.or_else(|| state.segments.values().next());
            segment.map_or(state.end.number, |segment| segment.before.number)
        };
        Self { since, ..Self::after(shared, after) }
    }

    fn damaged(&mut self, number: RecordNumber, problem: Problem) -> ReadError {
        self.damage = Some((number, problem));
        ReadError::Damaged { number, problem }
    }

    fn failed(&mut self, number: RecordNumber, error: FrameError) -> ReadError {
        match error {
            FrameError::End | FrameError::Incomplete => {
                self.damaged(number, "its file ends too early")
            }
            FrameError::Damaged(problem) => self.damaged(number, problem),
            FrameError::NewerVersion(_) => {
                self.damaged(number, "it was written by a newer version")
            }
            FrameError::Storage(error) => error.into(),
        }
    }

    /// Looks for more to read: in the open segment, or in the one after it. `false`: there is nothing yet.
    fn advance(&mut self) -> Result<bool, ReadError> {
        let wanted = self.after + 1;
        let (first, limit, start) = {
            let state = self.shared.state();
            if let Some(open) = &mut self.open {
                let bytes = match state.segments.get(&open.segment.header.first) {
                    Some(segment) => segment.bytes,
                    // It was deleted, so it was complete. The open file still has its bytes.
                    None => open.segment.file_bytes()?,
                };
                if bytes > open.limit {
                    open.limit = bytes;
                    return Ok(true);
                }
            }
            let Some((&first, segment)) = (match &self.open {
                // A log that has lost its beginning continues with a greater number, after the same record.
                None => state
                    .segments
                    .range(..=wanted)
                    .next_back()
                    .or_else(|| state.segments.iter().next()),
                Some(open) => state.segments.range(open.segment.header.first + 1..).next(),
            }) else {
                return Ok(false);
            };
            if segment.before.number > self.after {
                return Err(ReadError::Gone(wanted));
            }
            let start = segment.place_before(wanted);
            (first, segment.bytes, start)
        };
        let segment = match SegmentReader::open(&self.shared.settings.folder, first) {
            Ok(segment) => segment,
            Err(FrameError::Storage(error)) if error.kind() == io::ErrorKind::NotFound => {
                return Err(ReadError::Gone(wanted));
            }
            Err(error) => return Err(self.failed(wanted.max(first), error)),
        };
        match self.chain {
            Some(chain) if chain != segment.header.before.chain => {
                return Err(self.damaged(first, "its segment does not follow the one before"));
            }
            _ => self.chain = Some(segment.header.before.chain),
        }
        let mut open = Open { segment, next: first, limit };
        if let Some((number, offset)) = start {
            open.segment.seek(offset);
            open.next = number;
            self.chain = None;
        }
        self.open = Some(open);
        Ok(true)
    }

    /// The next record of the open segment; `None` if it was not wanted.
    fn read(&mut self) -> Result<Option<Record>, ReadError> {
        let Some(open) = &mut self.open else { return Ok(None) };
        let number = open.next;
        let (after, since, chain) = (self.after, self.since, self.chain);
        if self.decoder.is_none() {
            self.decoder = Some(Decoder::new()?);
        }
        let decoder = self.decoder.as_mut();
        let read = open.segment.next(open.limit).and_then(|frame| {
            // What is not wanted may be damaged.
            if number <= after {
                return Ok((None, None));
            }
            let header =
                RecordHeader::check(frame.prefix, frame.body).map_err(FrameError::Damaged)?;
            if header.number != number {
                return Err(FrameError::Damaged("it has another number"));
            }
            if chain.is_some_and(|chain| chain != header.chain) {
                return Err(FrameError::Damaged("it does not follow the record before"));
            }
            if header.at < since {
                return Ok((None, None));
            }
            let record = decoder.map(|decoder| decoder.decode(frame.body)).transpose();
            Ok((Some(chain_after(frame.body)), record.map_err(FrameError::Damaged)?))
        });
        match read {
            Ok((chain, record)) => {
                open.next += 1;
                self.chain = chain;
                self.after = self.after.max(number);
                Ok(record)
            }
            Err(error) => Err(self.failed(number, error)),
        }
    }
}

impl RecordReader for FileReader {
    fn next(&mut self) -> Result<Option<Record>, ReadError> {
        if let Some((number, problem)) = self.damage {
            return Err(ReadError::Damaged { number, problem });
        }
        while self.after < self.shared.last_number() {
            let at_end = match &self.open {
                Some(open) => open.segment.offset() >= open.limit,
                None => true,
            };
            if at_end {
                if !self.advance()? {
                    return Ok(None);
                }
            } else if let Some(record) = self.read()? {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    fn wait(&mut self, timeout: Duration) -> Wait {
        let after = self.after;
        if self.damage.is_some() || after < self.shared.last_number() {
            return Wait::Ready;
        }
        let state = self.shared.wait_while(timeout, |state| !state.closed && state.last <= after);
        if state.last > after {
            Wait::Ready
        } else if state.closed {
            Wait::Closed
        } else {
            Wait::TimedOut
        }
    }
}

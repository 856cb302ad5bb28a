//! The log of a node: the stream commits records, and each node has a copy of them in its own log.
//!
//! The node that leads appends to the stream first, behind the last message that it knows. If the stream takes it,
//! the records are in the cluster's log, and the copy follows. A node that follows only copies.

use std::{
    fmt, io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use base::supervisor;
use log::{
    AppendError, EncodedRecords, Log, LogPosition, RecordNumber, RecordSource, codec::Encoder,
    record::Record,
};
use metrics::{counter, histogram};
use tokio::runtime::Handle;

use crate::{
    message::{Body, Message, Part, Records},
    stream::{self, Stream},
};

/// The term in which this node leads, if it does. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Lead(Arc<Mutex<Option<HeldTerm>>>);

/// A term, and the last message of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldTerm {
    pub term: u64,
    pub seq: u64,
}

impl Lead {
    /// From now on the node may append behind this message. Called before the hub is told to lead.
    pub fn take(&self, held: HeldTerm) {
        *self.lock() = Some(held);
    }

    /// Gives the lead up. Returns what was held. Called after all that the hub has applied is in the log.
    pub fn give_up(&self) -> Option<HeldTerm> {
        self.lock().take()
    }

    #[must_use]
    pub fn get(&self) -> Option<HeldTerm> {
        *self.lock()
    }

    fn note(&self, seq: u64) {
        if let Some(held) = &mut *self.lock() {
            held.seq = seq;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<HeldTerm>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The log of a node of a cluster. Appending blocks the thread until the stream has answered; it must not be a
/// thread of the runtime.
pub struct NodeLog {
    local: Box<dyn Log>,
    stream: Stream,
    node: Arc<str>,
    lead: Lead,
    runtime: Handle,
    encoder: Encoder,
    /// Records whose append did not end, and whether the stream has them.
    waiting: Option<(EncodedRecords, bool)>,
}

impl NodeLog {
    /// `local`: the copy of this node, at the position that `stream` had when it was read.
    ///
    /// # Errors
    ///
    /// If zstd gets no memory.
    pub fn new(
        local: Box<dyn Log>,
        stream: Stream,
        node: Arc<str>,
        lead: Lead,
        runtime: Handle,
    ) -> io::Result<Self> {
        Ok(Self { local, stream, node, lead, runtime, encoder: Encoder::new()?, waiting: None })
    }

    /// Appends records to the stream. They stay the same from try to try, and so does their id.
    fn commit(&mut self, records: &EncodedRecords) -> Result<(), AppendError> {
        let Self { stream, node, lead, runtime, .. } = self;
        // Nobody else changes it while the hub leads.
        let Some(held) = lead.get() else {
            return Err(AppendError::Deposed("this node has given up the lead".to_owned()));
        };
        let (before, end) = (records.before(), records.end());
        let body = Body::Records(Records {
            first: records.first(),
            count: u32::try_from(end.number - before.number).unwrap_or(u32::MAX),
            before: before.chain,
            end,
            part: Part::WHOLE,
            bytes: records.bytes().clone(),
        });
        let message = Message { term: held.term, node: node.to_string(), body };
        let id = format!("{}-{}-{}", node, held.term, records.first());
        let began = base::clock::monotonic();
        match runtime.block_on(stream.append(held.seq, &message, &id)) {
            Ok(seq) => {
                lead.note(seq);
                histogram!("matchwire_cluster_append_seconds")
                    .record((base::clock::monotonic() - began) as f64 / 1e6);
                Ok(())
            }
            Err(stream::AppendError::Refused { by, last, .. }) => {
                Err(AppendError::Deposed(match by {
                    Some(stored) => {
                        format!("{} in term {}", stored.message.node, stored.message.term)
                    }
                    None => format!("the stream ends at message {last}, and has lost records"),
                }))
            }
            Err(problem) => {
                counter!("matchwire_cluster_append_retries_total").increment(1);
                Err(AppendError::Storage(io::Error::new(io::ErrorKind::TimedOut, problem)))
            }
        }
    }
}

impl Log for NodeLog {
    fn end(&self) -> LogPosition {
        self.local.end()
    }

    fn append(&mut self, expected: RecordNumber, records: &[Record]) -> Result<(), AppendError> {
        let end = self.local.end();
        if expected != end.number {
            return Err(AppendError::OtherEnd { expected, end: end.number });
        }
        if records.is_empty() {
            return Ok(());
        }
        let waiting =
            self.waiting.take().filter(|(waiting, _)| waiting.before().chain == end.chain);
        let (records, is_committed) = match waiting {
            Some(waiting) => waiting,
            None => (EncodedRecords::encode(&mut self.encoder, end, records)?, false),
        };
        let done = if is_committed { Ok(()) } else { self.commit(&records) };
        let (done, is_committed) = match done {
            Ok(()) => (self.local.append_encoded(&records), true),
            Err(problem) => (Err(problem), false),
        };
        match &done {
            Err(AppendError::Storage(_)) => self.waiting = Some((records, is_committed)),
            // Also at the start of the hub, before its parts run.
            Err(AppendError::Deposed(_)) => supervisor::restart(),
            _ => {}
        }
        done
    }

    fn append_encoded(&mut self, records: &EncodedRecords) -> Result<(), AppendError> {
        self.local.append_encoded(records)
    }

    fn source(&self) -> Arc<dyn RecordSource> {
        self.local.source()
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        self.local.close()
    }
}

impl fmt::Debug for NodeLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeLog").field("end", &self.local.end()).finish_non_exhaustive()
    }
}

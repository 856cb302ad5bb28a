//! Traces: the way of single messages of sources, from their receipt to the last socket.
//!
//! A message that is traced is accompanied by a `TracedMessage` from thread to thread: the writer, the committer, and as
//! a [`Probe`] all shards. Each adds its step. When the last of them drops it, the [`Trace`] is complete and goes to its
//! receiver. Nothing of it is in the log, and a hub without a [`Tracer`] pays nothing.

use std::{
    mem,
    num::NonZeroU32,
    sync::{Arc, Mutex, PoisonError},
};

use facts::event::Batch;
use fanout::{Micros, probe::Probe};
use log::RecordNumber;
use metrics::counter;
use tokio::sync::mpsc::{self, OwnedPermit};

use crate::clock::now;

/// Traces that are under way or wait for their receiver. While there are so many, no more messages are traced.
pub const TRACES_MAX: usize = 256;

/// The way of one message. Times are by the hub's clock, in microseconds since the Unix epoch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trace {
    /// The name of the source.
    pub source: String,
    /// When the message was received.
    pub received: Micros,
    /// When it happened by the source's clock, if the source says so.
    pub happened: Option<Micros>,
    /// The number of its facts.
    pub facts: usize,
    /// The record of the log that it is in, once it is.
    pub record: Option<RecordNumber>,
    /// The changes of channels in the same turn of the writer, its own among them.
    pub changes: usize,
    /// In the order in which they ended.
    pub steps: Vec<Step>,
}

/// A part of the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    pub kind: StepKind,
    pub began: Micros,
    pub ended: Micros,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    /// It was decoded, and waited for the writer.
    Queue,
    /// The writer applied its facts and numbered the changes.
    Apply,
    /// It waited for the committer, which appended it to the log.
    Log,
    /// A shard wrote its changes to the sockets of all subscribers that keep up.
    Deliver { shard: usize },
}

/// Chooses the messages that are traced.
#[derive(Debug)]
pub struct Tracer {
    every: NonZeroU32,
    /// Messages until the next one that is traced.
    left: u32,
    finished: mpsc::Sender<Trace>,
}

/// A message on its way.
#[derive(Debug)]
pub(crate) struct TracedMessage {
    trace: Mutex<Trace>,
    /// Taken when it is dropped.
    finished: Option<OwnedPermit<Trace>>,
}

impl Tracer {
    /// Traces one of `every` messages. The receiver gets the traces.
    #[must_use]
    pub fn new(every: NonZeroU32) -> (Self, mpsc::Receiver<Trace>) {
        let (finished, traces) = mpsc::channel(TRACES_MAX);
        (Self { every, left: every.get(), finished }, traces)
    }

    /// A message has been received; `None` if it is not traced.
    pub(crate) fn begin(
        &mut self,
        source: &str,
        batch: &Batch,
        received: Micros,
    ) -> Option<TracedMessage> {
        self.left -= 1;
        if self.left > 0 {
            return None;
        }
        self.left = self.every.get();
        let Ok(permit) = self.finished.clone().try_reserve_owned() else {
            counter!("matchwire_traces_dropped_total").increment(1);
            return None;
        };
        let trace = Trace {
            source: source.to_owned(),
            received,
            happened: batch.at,
            facts: batch.events.len(),
            ..Trace::default()
        };
        let mut message = TracedMessage { trace: Mutex::new(trace), finished: Some(permit) };
        message.ended(StepKind::Queue, received);
        Some(message)
    }
}

impl TracedMessage {
    /// A step that began at this time has ended.
    pub(crate) fn ended(&mut self, kind: StepKind, began: Micros) {
        self.trace().steps.push(Step { kind, began, ended: now().max(began) });
    }

    /// It is in this record of the log, together with this number of changes.
    pub(crate) fn logged(&mut self, record: RecordNumber, changes: usize) {
        let applied = self.trace().steps.last().map(|step| step.ended);
        self.ended(StepKind::Log, applied.unwrap_or_else(now));
        let trace = self.trace();
        (trace.record, trace.changes) = (Some(record), changes);
    }

    fn trace(&mut self) -> &mut Trace {
        self.trace.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Probe for TracedMessage {
    fn written(&self, shard: usize, taken: Micros, written: Micros) {
        let mut trace = self.trace.lock().unwrap_or_else(PoisonError::into_inner);
        let kind = StepKind::Deliver { shard };
        trace.steps.push(Step { kind, began: taken, ended: written.max(taken) });
    }
}

impl Drop for TracedMessage {
    fn drop(&mut self) {
        let trace = mem::take(self.trace());
        if let Some(permit) = self.finished.take() {
            permit.send(trace);
        }
    }
}

/// The messages as what travels to the shards.
pub(crate) fn probes(messages: Vec<TracedMessage>) -> Vec<Arc<dyn Probe>> {
    messages.into_iter().map(|message| Arc::new(message) as Arc<dyn Probe>).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tracer(every: u32) -> (Tracer, mpsc::Receiver<Trace>) {
        Tracer::new(NonZeroU32::new(every).expect("not 0"))
    }

    #[test]
    fn trace_is_complete_once_every_shard_has_written() {
        let (mut tracer, mut traces) = tracer(2);
        let batch = Batch { at: Some(5), ..Batch::default() };
        assert!(tracer.begin("a", &batch, 7).is_none(), "one of two");
        let mut message = tracer.begin("a", &batch, 7).expect("one of two");
        message.logged(3, 4);
        let one = probes(vec![message]);
        let other = one.clone();
        one[0].written(0, 10, 11);
        drop(one);
        assert!(traces.try_recv().is_err(), "a shard is not ready");
        other[0].written(1, 10, 12);
        drop(other);
        let trace = traces.try_recv().expect("it is complete");
        assert_eq!((&*trace.source, trace.received, trace.happened), ("a", 7, Some(5)));
        assert_eq!((trace.record, trace.changes), (Some(3), 4));
        let kinds: Vec<_> = trace.steps.iter().map(|step| step.kind).collect();
        let delivered = [0, 1].map(|shard| StepKind::Deliver { shard });
        assert_eq!(kinds, [StepKind::Queue, StepKind::Log, delivered[0], delivered[1]]);
    }

    #[test]
    fn no_more_are_traced_than_may_be_under_way() {
        let (mut tracer, mut traces) = tracer(1);
        let mut begin = || tracer.begin("a", &Batch::default(), 1);
        let mut under_way: Vec<_> = (0..TRACES_MAX).map_while(|_| begin()).collect();
        assert_eq!(under_way.len(), TRACES_MAX);
        assert!(begin().is_none(), "all are under way");
        under_way.pop();
        assert!(begin().is_none(), "one waits for the receiver");
        traces.try_recv().expect("it is complete");
        assert!(begin().is_some(), "there is room again");
    }
}

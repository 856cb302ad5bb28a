//! Readers that wait for what the log has and this node does not have yet: when they need to wait no longer.
//!
//! A client may have seen a change on another node before it came here. That change is in the stream by then, so the
//! node asks the stream for its end after the reader came, and informs the hub when it has applied all up to there.

use std::{pin::Pin, time::Duration};

use hub::pipeline::ReaderNumber;
use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until},
};

use crate::EndReader;

/// The least time between two questions for the end of the stream, however many readers come.
const ASK_EVERY: Duration = Duration::from_millis(10);

/// Before the stream is asked again after it did not answer.
const RETRY_DELAY: Duration = Duration::from_millis(50);

/// What the stream had when readers waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReadPoint {
    /// The last of the readers.
    readers: ReaderNumber,
    /// The end of the stream after it had come.
    pub(super) seq: u64,
}

/// Finds out when the readers that wait on a node that follows can be answered: the read index of Raft, with the stream in
/// the place of the leader.
pub(super) struct ReadIndex {
    end: EndReader,
    /// The last reader that came.
    last: watch::Receiver<ReaderNumber>,
    asking: Option<Pin<Box<dyn Future<Output = ReadPoint> + Send>>>,
    /// The answer, until the node has all up to there.
    awaited: Option<ReadPoint>,
    /// Readers up to this one wait no longer.
    answered: ReaderNumber,
    asked_at: Option<Instant>,
}

impl ReadIndex {
    pub(super) fn new(end: EndReader, last: watch::Receiver<ReaderNumber>) -> Self {
        Self { end, last, asking: None, awaited: None, answered: 0, asked_at: None }
    }

    /// Waits for the next answer of the stream about readers that wait. Can be dropped at any time without a loss.
    pub(super) async fn next(&mut self) -> ReadPoint {
        // The next question covers readers that came later.
        if self.awaited.is_some() {
            return std::future::pending().await;
        }
        if self.asking.is_none() {
            let answered = self.answered;
            let comes = self.last.wait_for(|last| *last > answered).await.is_ok();
            if !comes {
                // The hub has stopped.
                return std::future::pending().await;
            }
            let not_before = self.asked_at.map_or_else(Instant::now, |at| at + ASK_EVERY);
            self.asking = Some(Box::pin(ask(self.end.clone(), self.last.clone(), not_before)));
        }
        let asking = self.asking.as_mut().expect("it was set above");
        let awaited = asking.await;
        self.asking = None;
        self.asked_at = Some(Instant::now());
        self.awaited = Some(awaited);
        awaited
    }

    /// The last of the readers that need to wait no longer, now that the node has all up to this message.
    pub(super) fn take_answered(&mut self, seq: u64) -> Option<ReaderNumber> {
        let ReadPoint { readers, .. } = self.awaited.take_if(|awaited| awaited.seq <= seq)?;
        self.answered = readers;
        Some(readers)
    }
}

/// The end of the stream, by an answer to a question that was asked after the readers had come. A server that no longer leads
/// the stream could answer with an older end, and so could one that has lost messages: this node then joins again, and its
/// readers come again.
async fn ask(
    end: EndReader,
    last: watch::Receiver<ReaderNumber>,
    not_before: Instant,
) -> ReadPoint {
    sleep_until(not_before).await;
    loop {
        let readers = *last.borrow();
        match end.current().await {
            Ok(end) => return ReadPoint { readers, seq: end.last },
            Err(_) => sleep(RETRY_DELAY).await,
        }
    }
}

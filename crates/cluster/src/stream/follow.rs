//! Following the stream: what the server publishes after it is stored, and from the stream what was missed.

use std::{collections::VecDeque, pin::pin, time::Duration};

use async_nats::{
    HeaderMap, Subscriber,
    header::{NATS_SEQUENCE, NATS_STREAM},
};
use futures_util::StreamExt;
use metrics::counter;
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep, sleep_until},
};

use super::{
    Failure, SHORTER_TIMEOUT, Stream, StreamEnd, StreamEntry, StreamError, Unavailable,
    join::Joiner, read::StoredBytes,
};
use crate::message::Message;

/// Messages that wait for the reader. Beyond it the follower waits, then the client drops what the server publishes,
/// and the follower reads it from the stream later.
const QUEUE_MESSAGES_MAX: usize = 256;
/// After a note that the stream is longer, the server's publication has so long to arrive.
const NOTE_GRACE: Duration = Duration::from_millis(20);
/// Before the stream is asked again after it did not answer.
const RETRY_DELAY: Duration = Duration::from_millis(50);
/// Without a message for so long, the follower asks for the end of the stream.
const QUIET: Duration = Duration::from_secs(1);
/// A new leader may not know all messages yet. A message that the stream does not have after so long is lost.
const MISSING_TIMEOUT: Duration = Duration::from_secs(10);
/// Ids of delivered messages that are remembered, to recognise that the stream has another message in their place.
const IDS_MAX: usize = 1_024;

/// A message of the stream. Records are whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeMessage {
    /// Its sequence; of records in parts, that of the last.
    pub seq: u64,
    pub message: Message,
}

/// The messages of the stream in order, without a gap. Dropping it ends the subscription.
///
/// If the stream lost messages and has others in their place, this is noticed by their ids: after each reconnection,
/// and when one of the last 1,024 is published again. It is not noticed if other servers lose them while this
/// node's connection lasts, so the reader compares the chains of records.
///
/// At most 256 messages wait for the reader. A slow reader misses nothing while the stream still has the messages.
#[derive(Debug)]
pub struct Following {
    stream: Stream,
    messages: mpsc::Receiver<Result<WholeMessage, StreamError>>,
    /// The greatest sequence that somebody reported.
    end: watch::Sender<u64>,
    read: watch::Receiver<ReadProgress>,
}

/// How far the stream was read.
#[derive(Debug, Clone, Copy)]
struct ReadProgress {
    /// The last message that the reader gets: records in parts have the sequence of the last part.
    whole: u64,
    /// The last message, maybe a part of records whose other parts follow, or never do.
    last: u64,
    /// How often the connection had been made when the stream was last known to have what was read.
    verified: u64,
}

/// Asks for the end of a stream that is followed.
#[derive(Debug, Clone)]
pub struct EndReader {
    stream: Stream,
    read: watch::Receiver<ReadProgress>,
}

impl EndReader {
    /// As [`Stream::current_end`], of a stream that has all that was read of it. One that lost messages ends before what
    /// others have read, so its end tells nothing about them.
    ///
    /// # Errors
    ///
    /// As [`Stream::current_end`], and [`Unavailable::Behind`] if the stream ends before what was read, or if the
    /// connection was made again and it is not known yet whether the stream is the same.
    pub async fn current(&self) -> Result<StreamEnd, StreamError> {
        let connects = || self.stream.connection().connects();
        let ReadProgress { last: read, verified, .. } = *self.read.borrow();
        let end = self.stream.current_end().await?;
        if end.last < read || connects() != verified {
            return Err(Unavailable::Behind.into());
        }
        Ok(end)
    }
}

impl Following {
    /// The next message, as soon as there is one. Can be dropped at any time without a loss.
    ///
    /// # Errors
    ///
    /// [`StreamError::Gone`] if the stream no longer has it, [`StreamError::Lost`] or [`StreamError::Replaced`] if the
    /// stream lost messages that were delivered, [`StreamError::Damaged`] for what is not a message, and then
    /// [`StreamError::Ended`]. While servers are unavailable, it waits.
    pub async fn recv(&mut self) -> Result<WholeMessage, StreamError> {
        self.messages.recv().await.unwrap_or(Err(StreamError::Ended))
    }

    /// The last message that was read, if behind `seq` there are only parts of records whose rest is missing so far; else
    /// `seq`. The rest may never come: the node that was to append it may have ended. Nobody has seen such records.
    #[must_use]
    pub fn end_behind(&self, seq: u64) -> u64 {
        let ReadProgress { whole, last, .. } = *self.read.borrow();
        if whole <= seq { last.max(seq) } else { seq }
    }

    /// What asks for the end of the stream.
    #[must_use]
    pub fn end_reader(&self) -> EndReader {
        EndReader { stream: self.stream.clone(), read: self.read.clone() }
    }

    /// As [`Self::recv`], but returns `None` as soon as more was read, which may be parts of records.
    ///
    /// # Errors
    ///
    /// As [`Self::recv`].
    pub async fn recv_or_read(&mut self) -> Result<Option<WholeMessage>, StreamError> {
        tokio::select! {
            message = self.messages.recv() => message.unwrap_or(Err(StreamError::Ended)).map(Some),
            Ok(()) = self.read.changed() => Ok(None),
        }
    }

    /// Reports that the stream has a message with this sequence, as beats of the leader say. If it does not arrive
    /// within 20 ms, it is read from the stream. An earlier sequence than before is that of another leader: what the former
    /// one had may be lost.
    pub fn note_end(&self, seq: u64) {
        self.end.send_if_modified(|end| {
            let is_later = seq > *end;
            *end = seq;
            is_later
        });
    }
}

impl Stream {
    /// Follows the stream: all messages after this sequence, and then each as soon as it is stored.
    ///
    /// `after` must be 0, or the sequence of a message that is not a part followed by others. Otherwise the parts
    /// that follow it are skipped.
    ///
    /// # Errors
    ///
    /// If the client has ended.
    pub async fn follow(&self, after: u64) -> Result<Following, StreamError> {
        let subject = self.shared.out_subject.clone();
        let subscribed = self.connection().client.subscribe(subject).await;
        let published = subscribed.map_err(|_| StreamError::Ended)?;
        let (tx, messages) = mpsc::channel(QUEUE_MESSAGES_MAX);
        let (end_tx, end) = watch::channel(0);
        let connects = self.connection().connects();
        let progress = ReadProgress { whole: after, last: after, verified: connects };
        let (read_tx, read) = watch::channel(progress);
        let follower = Follower {
            stream: self.clone(),
            tx,
            read: read_tx,
            joiner: Joiner::default(),
            next: after + 1,
            ids: VecDeque::with_capacity(IDS_MAX),
            shorter_since: None,
            missing_since: None,
        };
        tokio::spawn(follower.run(published, end));
        Ok(Following { stream: self.clone(), messages, end: end_tx, read })
    }
}

struct Follower {
    stream: Stream,
    tx: mpsc::Sender<Result<WholeMessage, StreamError>>,
    read: watch::Sender<ReadProgress>,
    joiner: Joiner,
    /// The sequence of the next message.
    next: u64,
    /// Those of the messages before `next`, the last at the back.
    ids: VecDeque<String>,
    /// Since when the stream ends before `next - 1`.
    shorter_since: Option<Instant>,
    /// Since when the stream does not have the next message, although others follow it.
    missing_since: Option<Instant>,
}

/// Why a follower ends.
enum End {
    /// The reader was dropped.
    Dropped,
    Error(StreamError),
}

impl From<StreamError> for End {
    fn from(error: StreamError) -> Self {
        Self::Error(error)
    }
}

impl Follower {
    async fn run(mut self, mut published: Subscriber, mut end: watch::Receiver<u64>) {
        if let Err(End::Error(error)) = self.follow(&mut published, &mut end).await {
            // The reader may have been dropped meanwhile.
            drop(self.tx.send(Err(error)).await);
        }
    }

    async fn follow(
        &mut self,
        published: &mut Subscriber,
        end: &mut watch::Receiver<u64>,
    ) -> Result<(), End> {
        let tx = self.tx.clone();
        let mut dropped = pin!(tx.closed());
        let mut reconnects = self.stream.connection().watch();
        // What is in the stream already.
        let mut check_at = Instant::now();
        loop {
            tokio::select! {
                biased;
                () = &mut dropped => return Err(End::Dropped),
                message = published.next() => {
                    let Some(message) = message else { return Err(StreamError::Ended.into()) };
                    self.take_published(message).await?;
                    if check_at > Instant::now() {
                        check_at = self.next_check(end);
                    }
                }
                changed = end.changed() => match changed {
                    Err(_) => return Err(End::Dropped),
                    Ok(()) => check_at = check_at.min(self.next_check(end)),
                },
                () = reconnects.next() => check_at = Instant::now(),
                () = sleep_until(check_at) => check_at = self.check(end).await?,
            }
        }
    }

    /// When the stream is to be asked: soon, if it is known to have more than was received.
    fn next_check(&self, end: &watch::Receiver<u64>) -> Instant {
        let is_behind = *end.borrow() >= self.next;
        Instant::now() + if is_behind { NOTE_GRACE } else { QUIET }
    }

    /// Asks for the end of the stream, and reads what is missing. Returns when to ask again.
    async fn check(&mut self, end: &watch::Receiver<u64>) -> Result<Instant, End> {
        let StreamEnd { last, .. } = match self.stream.end().await {
            Ok(end) => end,
            Err(StreamError::Unavailable(_)) => return Ok(Instant::now() + RETRY_DELAY),
            Err(error) => return Err(error.into()),
        };
        let seen = self.next - 1;
        if last < seen {
            self.note_shorter(seen, last)?;
            return Ok(Instant::now() + RETRY_DELAY);
        }
        self.shorter_since = None;
        if !self.verify().await? {
            return Ok(Instant::now() + RETRY_DELAY);
        }
        let is_missing = self.read_to(last).await?;
        if is_missing || *end.borrow() > last {
            return Ok(Instant::now() + RETRY_DELAY);
        }
        Ok(Instant::now() + QUIET)
    }

    /// Checks after each reconnection that the stream still has the last message that was delivered. Servers may have lost
    /// it and stored others meanwhile. Returns whether this is known.
    async fn verify(&mut self) -> Result<bool, End> {
        let connects = self.stream.connection().connects();
        if connects == self.read.borrow().verified {
            return Ok(true);
        }
        let seq = self.next - 1;
        if let Some(id) = self.ids.back() {
            match self.stream.read_bytes_at_leader(seq).await {
                Ok(Some(found)) if found.id == *id => {}
                Ok(Some(_)) => return Err(StreamError::Replaced { seq }.into()),
                Ok(None) => match self.stream.end().await {
                    Ok(end) if end.last < seq => {
                        self.note_shorter(seq, end.last)?;
                        return Ok(false);
                    }
                    // It was deleted, because it was old.
                    Ok(end) if end.first > seq => {}
                    Ok(_) | Err(StreamError::Unavailable(_)) => return Ok(false),
                    Err(error) => return Err(error.into()),
                },
                Err(Failure::Unavailable(_)) => return Ok(false),
                Err(failure) => return Err(StreamError::from(failure).into()),
            }
        }
        self.read.send_modify(|read| read.verified = connects);
        Ok(true)
    }

    fn note_shorter(&mut self, seen: u64, last: u64) -> Result<(), End> {
        let since = *self.shorter_since.get_or_insert_with(Instant::now);
        if since.elapsed() >= SHORTER_TIMEOUT {
            return Err(StreamError::Lost { seen, last }.into());
        }
        Ok(())
    }

    /// Waits before the stream is asked again.
    async fn pause(&self) -> Result<(), End> {
        sleep(RETRY_DELAY).await;
        if self.tx.is_closed() { Err(End::Dropped) } else { Ok(()) }
    }

    /// Takes a message that the server published. If others are missing before it, they are read.
    async fn take_published(&mut self, message: async_nats::Message) -> Result<(), End> {
        let Some(headers) = &message.headers else { return Ok(()) };
        let Some(seq) = self.published_seq(headers) else { return Ok(()) };
        let message = StoredBytes::new(seq, headers, message.payload);
        while !self.verify().await? {
            self.pause().await?;
        }
        if seq > self.next {
            counter!("matchwire_cluster_gaps_total").increment(1);
        }
        while seq > self.next {
            if self.read_to(seq - 1).await? {
                self.pause().await?;
            }
        }
        if seq < self.next {
            return self.compare(seq, &message.id);
        }
        self.deliver(message.decode()?).await
    }

    fn published_seq(&self, headers: &HeaderMap) -> Option<u64> {
        if headers.get(NATS_STREAM)?.as_str() != self.stream.shared.name {
            return None;
        }
        headers.get(NATS_SEQUENCE)?.as_str().parse().ok()
    }

    /// Compares a message with the one of the same sequence that was delivered.
    fn compare(&self, seq: u64, id: &str) -> Result<(), End> {
        let back = usize::try_from(self.next - seq).unwrap_or(usize::MAX);
        let delivered = self.ids.len().checked_sub(back).and_then(|index| self.ids.get(index));
        if delivered.is_some_and(|delivered| delivered != id) {
            return Err(StreamError::Replaced { seq }.into());
        }
        Ok(())
    }

    /// Reads and delivers the messages up to this sequence. Returns whether some are still missing, because the
    /// stream is unavailable.
    async fn read_to(&mut self, last: u64) -> Result<bool, End> {
        if self.next > last {
            return Ok(false);
        }
        let mut messages = pin!(self.stream.read_range(self.next, last));
        while let Some(message) = messages.next().await {
            match message {
                Ok(stored) => self.deliver(stored).await?,
                Err(StreamError::Unavailable(why)) => {
                    tracing::debug!(%why, next = self.next, "cannot read the stream");
                    return Ok(true);
                }
                Err(StreamError::Gone { seq, first, .. }) if seq >= first => {
                    let since = *self.missing_since.get_or_insert_with(Instant::now);
                    if since.elapsed() < MISSING_TIMEOUT {
                        return Ok(true);
                    }
                    return Err(StreamError::Lost { seen: last, last: seq - 1 }.into());
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(false)
    }

    async fn deliver(&mut self, entry: StreamEntry) -> Result<(), End> {
        let StreamEntry { seq, id, message } = entry;
        debug_assert_eq!(seq, self.next, "messages are delivered in order");
        self.next = seq + 1;
        self.missing_since = None;
        if self.ids.len() == IDS_MAX {
            self.ids.pop_front();
        }
        self.ids.push_back(id);
        let followed = self.joiner.push(seq, message);
        let is_whole = followed.is_some();
        if let Some(followed) = followed {
            self.tx.send(Ok(followed)).await.map_err(|_| End::Dropped)?;
        }
        self.read.send_modify(|read| {
            read.last = seq;
            if is_whole {
                read.whole = seq;
            }
        });
        Ok(())
    }
}

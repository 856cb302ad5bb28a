//! What the host's operator sees of connections: the slowest ones, and one of them explained. And closes one.
//!
//! Every shard answers through its mailbox. It looks through its connections a part in each turn, so that no turn gets long,
//! and answers with a bounded number of them. A shard that does not answer in time is named in the result.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashSet},
    fmt,
    net::IpAddr,
    str::FromStr,
    sync::Arc,
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, oneshot},
    time::{Instant, timeout_at},
};

pub use crate::journal::{Behind, JournalEntry, JournalEvent, WatchState};
use crate::{
    Micros,
    channel::{ChannelId, Rate, Seq},
    fanout::Fanout,
    protocol::OnSlow,
    shard::ShardMessage,
};

/// Inspections that may be open at a time. Beyond it they are refused.
pub(crate) const INSPECTIONS_MAX: usize = 8;

/// Connections in a list, at most.
pub const LISTED_MAX: usize = 100;

/// Subscriptions of one connection that are listed: those that are behind first.
pub const SUBSCRIPTIONS_LISTED_MAX: usize = 100;

/// Identifies a connection, as `conn` of its `hello` does: `0-17`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SocketId {
    pub shard: usize,
    /// The number among all connections of its shard so far.
    pub serial: u64,
}

/// Which connections to list.
#[derive(Debug, Clone, Default)]
pub struct SocketQuery {
    /// Only those of these keys; `None`: all.
    pub keys: Option<HashSet<u64>>,
    /// Only those that follow this channel.
    pub channel: Option<ChannelId>,
}

/// The slowest connections.
#[derive(Debug, Default)]
pub struct SocketList {
    /// At most [`LISTED_MAX`], the slowest first.
    pub sockets: Vec<SocketSummary>,
    /// How many connections the query selects, in the shards that have answered.
    pub matching: usize,
    /// Shards that have not answered in time.
    pub silent_shards: Vec<usize>,
}

/// One connection, in short. Times are durations in microseconds.
#[derive(Debug, Clone)]
pub struct SocketSummary {
    pub id: SocketId,
    /// The owner's key; `None` if it is closing or has no owner.
    pub key: Option<u64>,
    /// Where it comes from, if the host has said so.
    pub peer: Option<IpAddr>,
    /// `stream`, or the name of a dialect of the host.
    pub dialect: &'static str,
    /// `tcp`, `tls` or `unix`.
    pub transport: &'static str,
    pub deflates: bool,
    pub is_closing: bool,
    /// Its commands wait because its key has used up its allowance of answers.
    pub is_indebted: bool,
    pub open_us: Micros,
    pub channels: usize,
    pub patterns: usize,
    /// Subscriptions that wait to be caught up.
    pub behind: usize,
    /// What is queued for its socket, and for how long the oldest of it.
    pub waiting_bytes: usize,
    pub waiting_us: Micros,
    /// How long its socket has accepted nothing of that.
    pub stalled_us: Micros,
    /// How long it has been slow since its socket was full.
    pub slow_us: Option<Micros>,
    /// Messages with data that its socket has accepted completely.
    pub sent: u64,
    /// Changes that reached it merged into others because it was slow.
    pub merged: u64,
    pub images: u32,
    pub catch_ups: u32,
    pub fell_behind: u32,
    pub stalls: u32,
    pub refused: u32,
}

/// A connection and its journal.
#[derive(Debug)]
pub struct SocketReport {
    pub summary: SocketSummary,
    /// At most [`SUBSCRIPTIONS_LISTED_MAX`], those that are behind or have the most queued first.
    pub subscriptions: Vec<SubscriptionReport>,
    /// At most [`SUBSCRIPTIONS_LISTED_MAX`].
    pub patterns: Vec<Box<str>>,
}

/// One channel that a connection follows.
#[derive(Debug, Clone)]
pub struct SubscriptionReport {
    pub channel: ChannelId,
    pub rate: Rate,
    pub on_slow: OnSlow,
    /// The pointers and kinds of events that it picks, as JSON; empty: everything.
    pub pick: String,
    /// The last change that has been written or queued.
    pub position: Option<Seq>,
    /// The last change that has been written completely.
    pub written: Option<Seq>,
    /// The last change that this shard knows of, from its other readers at the same rate.
    pub head: Option<Seq>,
    pub waiting_frames: usize,
    pub waiting_bytes: usize,
    /// Why it waits to be caught up, if it does: `slow`, `rate` or `resume`.
    pub behind: Option<&'static str>,
}

/// The answer about one connection.
#[derive(Debug)]
pub enum Explanation {
    /// Entries have times of day.
    Open { report: Box<SocketReport>, journal: Vec<JournalEntry>, watch: WatchState },
    /// It has ended; what is remembered of it.
    Ended { journal: Vec<JournalEntry> },
    /// There was no such connection since the start.
    Unknown,
    /// The shard has not answered in time.
    Silent,
}

/// Too many inspections are open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many inspections of sockets are open")]
pub struct TooManyInspections;

/// An inspection on its way to a shard. The permit counts it until the shard has answered.
#[derive(Debug)]
pub(crate) enum Inspection {
    List {
        query: Arc<SocketQuery>,
        reply: oneshot::Sender<ShardList>,
        permit: Arc<OwnedSemaphorePermit>,
    },
    Explain {
        serial: u64,
        reply: oneshot::Sender<Explanation>,
        permit: Arc<OwnedSemaphorePermit>,
    },
    Close {
        serial: u64,
        reply: oneshot::Sender<bool>,
        permit: Arc<OwnedSemaphorePermit>,
    },
}

/// The slowest connections of a shard.
#[derive(Debug, Default)]
pub(crate) struct ShardList {
    pub(crate) sockets: Vec<SocketSummary>,
    pub(crate) matching: usize,
}

/// How slow a connection is: the greatest comes first. Of equals, the oldest does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slowness {
    pub(crate) waiting_us: Micros,
    pub(crate) waiting_bytes: usize,
    pub(crate) behind: usize,
    pub(crate) open_us: Micros,
}

/// The greatest values of those that were offered.
#[derive(Debug)]
pub(crate) struct TopEntries<T: Ord> {
    heap: BinaryHeap<Reverse<T>>,
    max: usize,
}

impl<T: Ord> TopEntries<T> {
    pub(crate) fn new(max: usize) -> Self {
        Self { heap: BinaryHeap::with_capacity(max + 1), max }
    }

    pub(crate) fn offer(&mut self, value: T) {
        self.heap.push(Reverse(value));
        if self.heap.len() > self.max {
            self.heap.pop();
        }
    }

    /// The greatest first.
    pub(crate) fn into_sorted(self) -> impl Iterator<Item = T> {
        self.heap.into_sorted_vec().into_iter().map(|Reverse(value)| value)
    }
}

impl SocketSummary {
    fn slowness(&self) -> Slowness {
        let Self { waiting_us, waiting_bytes, behind, open_us, .. } = *self;
        Slowness { waiting_us, waiting_bytes, behind, open_us }
    }
}

impl fmt::Display for SocketId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.shard, self.serial)
    }
}

/// A text is not the id of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the id of a socket, such as 0-17")]
pub struct ParseSocketIdError;

impl FromStr for SocketId {
    type Err = ParseSocketIdError;

    /// Parses the output of [`fmt::Display`] and nothing else.
    fn from_str(text: &str) -> Result<Self, ParseSocketIdError> {
        let (shard, serial) = text.split_once('-').ok_or(ParseSocketIdError)?;
        let id = Self {
            shard: shard.parse().map_err(|_| ParseSocketIdError)?,
            serial: serial.parse().map_err(|_| ParseSocketIdError)?,
        };
        if id.to_string() == text { Ok(id) } else { Err(ParseSocketIdError) }
    }
}

impl Fanout {
    /// Lists the slowest connections that a query selects. Shards that do not answer within this time are named.
    ///
    /// # Errors
    ///
    /// [`TooManyInspections`] if as many as may be are open, perhaps because a shard answers none.
    pub async fn list_sockets(
        &self,
        query: SocketQuery,
        within: Duration,
    ) -> Result<SocketList, TooManyInspections> {
        let (deadline, query) = (Instant::now() + within, Arc::new(query));
        let permit = Arc::new(self.inspection_permit()?);
        let mut answers = Vec::new();
        for shard in 0..self.shards() {
            let (reply, answer) = oneshot::channel();
            let inspection =
                Inspection::List { query: Arc::clone(&query), reply, permit: Arc::clone(&permit) };
            self.send(shard, ShardMessage::Inspect(Box::new(inspection)));
            answers.push(answer);
        }
        let mut list = SocketList::default();
        for (shard, answer) in answers.into_iter().enumerate() {
            match timeout_at(deadline, answer).await {
                Ok(Ok(answer)) => {
                    list.matching += answer.matching;
                    list.sockets.extend(answer.sockets);
                }
                Ok(Err(_)) | Err(_) => list.silent_shards.push(shard),
            }
        }
        list.sockets.sort_by_key(|socket| Reverse(socket.slowness()));
        list.sockets.truncate(LISTED_MAX);
        Ok(list)
    }

    /// Explains one connection, and watches it for [`journal::WATCH_US`](crate::journal::WATCH_US) from now on.
    ///
    /// # Errors
    ///
    /// [`TooManyInspections`], as [`Fanout::list_sockets`].
    pub async fn explain_socket(
        &self,
        id: SocketId,
        within: Duration,
    ) -> Result<Explanation, TooManyInspections> {
        if id.shard >= self.shards() {
            return Ok(Explanation::Unknown);
        }
        let permit = Arc::new(self.inspection_permit()?);
        let (reply, answer) = oneshot::channel();
        let inspection = Inspection::Explain { serial: id.serial, reply, permit };
        self.send(id.shard, ShardMessage::Inspect(Box::new(inspection)));
        let answer = timeout_at(Instant::now() + within, answer).await;
        Ok(answer.ok().and_then(Result::ok).unwrap_or(Explanation::Silent))
    }

    /// Closes one connection as a drain does, so that its client connects again at once. Whether there was one; `None` if its
    /// shard does not answer in time.
    ///
    /// # Errors
    ///
    /// [`TooManyInspections`], as [`Fanout::list_sockets`].
    pub async fn close_socket(
        &self,
        id: SocketId,
        within: Duration,
    ) -> Result<Option<bool>, TooManyInspections> {
        if id.shard >= self.shards() {
            return Ok(Some(false));
        }
        let permit = Arc::new(self.inspection_permit()?);
        let (reply, answer) = oneshot::channel();
        let inspection = Inspection::Close { serial: id.serial, reply, permit };
        self.send(id.shard, ShardMessage::Inspect(Box::new(inspection)));
        let answer = timeout_at(Instant::now() + within, answer).await;
        Ok(answer.ok().and_then(Result::ok))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_parsed_as_they_are_displayed() {
        let id = SocketId { shard: 3, serial: 17 };
        assert_eq!((id.to_string().parse(), &*id.to_string()), (Ok(id), "3-17"));
        for text in ["", "3", "3-", "-17", "03-17", "3-+17", "3-17-1", "3-18446744073709551616"] {
            assert_eq!(text.parse::<SocketId>(), Err(ParseSocketIdError), "{text:?}");
        }
    }

    #[test]
    fn greatest_values_are_kept_in_order() {
        let mut greatest = TopEntries::new(3);
        [5, 1, 9, 2, 7, 9].into_iter().for_each(|value| greatest.offer(value));
        assert_eq!(greatest.into_sorted().collect::<Vec<_>>(), [9, 9, 7]);
        assert_eq!(TopEntries::<u32>::new(3).into_sorted().count(), 0);
    }
}

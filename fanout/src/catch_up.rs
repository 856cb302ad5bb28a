//! The one thing that the crate needs from its host: to catch a reader up from its position to the head
//! of the channel.
//!
//! The host responds through the queue that its publications take. Every change that the response
//! includes is before it in the queue and every later one after it, so a reader that joins with the
//! response misses nothing and gets nothing twice, without a lock.

use std::sync::{Arc, LazyLock};

use bytes::Bytes;

use crate::channel::{Channel, ChannelId, Epoch, Pattern, Position, Rate, Seq};
use crate::{Micros, clock, replay::ReplayRequest};

/// The connection that a request came from. If it has ended by then, the response is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requester {
    pub shard: usize,
    pub slot: usize,
    pub generation: u64,
}

/// A request to the host and where it came from.
#[derive(Debug)]
pub struct ShardRequest {
    pub requester: Requester,
    pub request: HostRequest,
}

/// A request to the host.
#[derive(Debug)]
pub enum HostRequest {
    /// Catch the reader up on this channel, from `from` if that is possible.
    CatchUp {
        channel: Pattern,
        /// The rate at which it will be followed.
        rate: Rate,
        from: Option<Position>,
        /// The `why` of updates that merge values: `resume`, `slow` or `rate`.
        why: &'static str,
        /// Frames are made up to about this many bytes; the rest is requested again.
        bytes_max: usize,
        /// The hash of the document is wanted too.
        with_hash: bool,
    },
    /// The channels that match now. `has`: those of which the reader has a position.
    MatchChannels { pattern: Pattern, has: Vec<ChannelId> },
    /// Where channels stand, and whether a reader can resume at its positions. They are caught up later.
    Locate { channels: Vec<(ChannelId, Option<Position>)> },
    /// Start a group in a dialect of the host, from `from` if that is possible.
    StartGroup {
        channel: ChannelId,
        /// The companion that the client also wants.
        companion: Option<Arc<str>>,
        from: Option<Position>,
        bytes_max: usize,
    },
}

/// The host's response to a [`HostRequest`].
#[derive(Debug)]
pub enum HostResponse {
    CatchUp(CatchUp),
    /// The channel does not exist (yet, or any more).
    NotTracked,
    Channels(Vec<Channel>),
    /// Of each channel of a [`HostRequest::Locate`], in its order. `None`: it does not exist.
    Located(Vec<Option<Located>>),
    /// A group; the first frame says how it starts. If a companion was requested, with its channel and
    /// the position of that in the first frame.
    GroupStarted(CatchUp, Option<(Channel, Seq)>),
    /// The group has no such companion.
    UnknownCompanion,
}

/// Where a channel stands.
#[derive(Debug, Clone)]
pub struct Located {
    pub channel: Channel,
    /// The channel's own position now.
    pub head: Seq,
    /// Whether the reader can resume from its position.
    pub verdict: Verdict,
}

/// What catches a reader up.
#[derive(Debug)]
pub struct CatchUp {
    pub channel: Channel,
    /// The channel's own position now.
    pub head: Seq,
    pub verdict: Verdict,
    /// The frames, in order: the image, or the updates since `from`.
    pub frames: Vec<CatchUpFrame>,
    /// The reader's position after `frames`: less than `head` if `bytes_max` cut them short.
    pub to: Seq,
    /// Held while the channel is followed, if the host renders it only for its followers: at a rate other
    /// than [`Rate::Each`], and in a dialect of the host.
    pub lease: Option<Lease>,
    /// The hash of the document at `head`, if it was requested.
    pub hash: Option<DocumentHash>,
}

/// The SHA-256 of a document in canonical form (RFC 8785), in hexadecimal digits. The first shard that needs it
/// computes it; all others share it.
pub type DocumentHash = Arc<LazyLock<Box<str>, ComputeHash>>;

/// Computes a [`DocumentHash`].
pub type ComputeHash = Box<dyn FnOnce() -> Box<str> + Send>;

/// A frame of a catch-up.
#[derive(Debug, Clone)]
pub struct CatchUpFrame {
    pub frame: Bytes,
    /// The reader's position after it.
    pub to: Seq,
}

/// Keeps the host merging changes at a rate, or rendering a group in its own dialect, while a clone is
/// held by a response on its way or by a subscription.
#[derive(Debug, Clone, Default)]
pub struct Lease(Arc<()>);

impl Lease {
    /// Whether a clone of this lease is held anywhere.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}

/// Whether the reader could resume from `from`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// No `from` was given; `frames` is the image.
    Fresh,
    /// `frames` are the updates since `from`, including every event.
    Resumed,
    /// `frames` is the image, for this reason.
    Refused(Gap),
}

/// Why a reader could not resume from a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gap {
    /// It is older than the stored tail.
    Window,
    /// It belongs to another epoch.
    Epoch,
    /// It is ahead of the channel.
    Ahead,
}

impl Gap {
    pub const ALL: [Self; 3] = [Self::Window, Self::Epoch, Self::Ahead];

    /// The `why` of a `subscribed` frame.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Window => "window",
            Self::Epoch => "epoch",
            Self::Ahead => "ahead",
        }
    }
}

/// What this crate needs from its host.
pub trait Host: Send + Sync + 'static {
    /// Takes a request, which the host completes with [`crate::Fanout::respond`]. Each connection has at
    /// most one pending request, so the host's queue is bounded by the number of sockets.
    fn submit(&self, request: ShardRequest);

    /// Whether clients can replay recorded channels here. `hello` says so.
    fn offers_replays(&self) -> bool {
        false
    }

    /// Takes a request about a replay, which the host completes with [`crate::Fanout::respond_replay`], if it
    /// is to be answered. Must not block. Each connection has at most one request to start or change a
    /// replay open, and each of its replays one for frames.
    fn replay(&self, _request: ReplayRequest) {}

    /// The time for timestamps that clients see. It must never go back. Timers use the monotonic clock
    /// instead.
    fn stamp(&self) -> Micros {
        clock::system()
    }

    /// The time of day, for the expiry and the usage of connections.
    fn time_of_day(&self) -> Micros {
        clock::system()
    }
}

/// Checks whether a reader can resume from a position in a channel whose tail starts at `oldest`.
///
/// # Errors
///
/// Why the reader cannot resume from this position.
pub fn check(from: Position, epoch: Epoch, oldest: Seq, head: Seq) -> Result<Seq, Gap> {
    if from.epoch != Some(epoch) {
        Err(Gap::Epoch)
    } else if from.seq > head {
        Err(Gap::Ahead)
    } else if from.seq < oldest {
        Err(Gap::Window)
    } else {
        Ok(from.seq)
    }
}

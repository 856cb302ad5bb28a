//! The one thing asked of the host: bring a reader from where it stands to where the channel is.
//!
//! The host answers through the queue that its publications take. So every change up to the answer
//! stands before it in the queue and every later one behind it: whoever joins at the answer misses
//! nothing and gets nothing twice, without a lock and without a gate.

use std::sync::Arc;

use bytes::Bytes;

use crate::channel::{Channel, ChannelId, Epoch, Pattern, Position, Rate, Seq};
use crate::{Micros, clock};

/// Who asks: a connection of a shard. A connection that is gone when the answer comes is passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asker {
    pub shard: usize,
    pub slot: usize,
    pub generation: u64,
}

#[derive(Debug)]
pub struct Ask {
    pub asker: Asker,
    pub question: Question,
}

#[derive(Debug)]
pub enum Question {
    /// Bring me up to date on this channel, from `from` where that can be honoured.
    CatchUp {
        channel: Pattern,
        /// At which rate it will be followed from then on.
        rate: Rate,
        from: Option<Position>,
        /// The `why` of updates that merge values: `resume`, `slow` or `rate`.
        why: &'static str,
        /// Frames are made up to about this many bytes; what is left is asked for again.
        bytes_max: usize,
    },
    /// Which channels match now?
    Match { pattern: Pattern },
    /// Begin a match for me as the older sockets tell it, from `from` where that can be honoured.
    Begin {
        /// See [`crate::live::Name`].
        channel: ChannelId,
        /// The bookmaker whose prices are wanted beside.
        book: Option<Arc<str>>,
        from: Option<Position>,
        bytes_max: usize,
    },
}

#[derive(Debug)]
pub enum Answer {
    CaughtUp(CaughtUp),
    /// The channel does not exist (yet, or any more).
    NotTracked,
    Matched(Vec<Channel>),
    /// A match of the older sockets: its first frame says how it begins. Where prices of a bookmaker
    /// were asked for, with their channel, and where that stands in the first frame.
    Began(CaughtUp, Option<(Channel, Seq)>),
    /// Nobody tells prices of that bookmaker.
    NoBook,
}

#[derive(Debug)]
pub struct CaughtUp {
    pub channel: Channel,
    /// The channel's own position now.
    pub head: Seq,
    pub verdict: Verdict,
    /// Whole frames, in order: the image, or the updates since `from`.
    pub frames: Vec<Forward>,
    /// Where a reader of `frames` stands; before `head` when `bytes_max` cut them short.
    pub to: Seq,
    /// Held for as long as the channel is followed, where the host makes it for its followers alone:
    /// at a rate other than [`Rate::Each`], and in the dialect of the older sockets.
    pub lease: Option<Lease>,
}

/// A frame that brings a reader forward.
#[derive(Debug, Clone)]
pub struct Forward {
    pub frame: Bytes,
    /// Where a reader stands after it.
    pub to: Seq,
}

/// Somebody follows a channel at some rate, or a match as the older sockets tell it: the host merges
/// changes for it, or tells it, while a clone of its lease is held, whether on its way in an answer or by a subscription.
#[derive(Debug, Clone, Default)]
pub struct Lease(Arc<()>);

impl Lease {
    /// Whether a clone of this one is held anywhere.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}

/// Whether the asker's `from` could be honoured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// No `from` was given; `frames` is the image.
    Fresh,
    /// `frames` are the updates since `from`, every event among them.
    Resumed,
    /// `frames` is the image, because of this.
    Refused(Gap),
}

/// Why a position could not be honoured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gap {
    /// It is older than the tail that is kept.
    Window,
    /// It is of another epoch.
    Epoch,
    /// It lies ahead of the channel.
    Ahead,
}

impl Gap {
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

/// What the fan-out needs of its host.
pub trait Host: Send + Sync + 'static {
    /// Takes a question; its answer comes to the shard by [`crate::Fanout::answer`]. At most one
    /// question of each connection is open at a time, so the host's queue is bounded by the number
    /// of sockets.
    fn ask(&self, ask: Ask);

    /// The time for stamps that clients see. It must never go back. Nothing is scheduled by it: that is
    /// done by the monotonic clock.
    fn stamp(&self) -> Micros {
        clock::system()
    }

    /// The time of day, by which a connection's right ends and its use is counted.
    fn time_of_day(&self) -> Micros {
        clock::system()
    }
}

/// Checks a reader's position against a channel that keeps its tail from `oldest` on.
///
/// # Errors
///
/// Why the tail cannot bring this reader forward.
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

//! The one thing that the crate needs from its host: to catch a reader up from its position to the head
//! of the channel.
//!
//! The host responds through the queue that its publications take. Every change that the response
//! includes is before it in the queue and every later one after it, so a reader that joins with the
//! response misses nothing and gets nothing twice, without a lock.

use std::{
    collections::VecDeque,
    ops::Add,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use base::work::Payer;
use bytes::Bytes;

use crate::channel::{Channel, ChannelId, Pattern, Position, Rate, Seq};
pub use crate::resume::{Gap, Verdict, check};
use crate::{Micros, clock, encode::payload, pick::Pick, replay::ReplayRequest};

/// The connection that a request came from. If it has ended by then, the response is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requester {
    pub shard: usize,
    pub slot: usize,
    pub generation: u64,
    /// Who pays for the request.
    pub payer: Payer,
}

/// What a response cost the host. It is charged to the payer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// Bytes that were merged, rendered or compared.
    pub bytes: usize,
    /// Processor time.
    pub used: Duration,
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { bytes: self.bytes + other.bytes, used: self.used + other.used }
    }
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
    MatchChannels { pattern: Pattern, has: Vec<(ChannelId, Position)> },
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

impl HostRequest {
    /// Whether it concerns many channels, or a whole document: it costs the host or the shard much.
    pub(crate) fn is_dear(&self) -> bool {
        match self {
            Self::MatchChannels { .. } | Self::Locate { .. } => true,
            Self::CatchUp { with_hash, .. } => *with_hash,
            Self::StartGroup { .. } => false,
        }
    }
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
#[derive(Debug, Clone)]
pub struct DocumentHash(Arc<HashState>);

/// Computes the hash of a document from its image, which is JSON.
pub type ComputeHash = fn(&[u8]) -> Box<str>;

#[derive(Debug)]
struct HashState {
    image: Bytes,
    compute: ComputeHash,
    whole: OnceLock<Box<str>>,
    /// Those of the last picks.
    picked: Mutex<VecDeque<(Arc<Pick>, Arc<str>)>>,
}

/// Picks whose hash of one document is kept.
const PICKED_HASHES_MAX: usize = 16;

impl DocumentHash {
    /// `image`: the frame of an image of the document.
    #[must_use]
    pub fn new(image: Bytes, compute: ComputeHash) -> Self {
        let (whole, picked) = (OnceLock::new(), Mutex::default());
        Self(Arc::new(HashState { image, compute, whole, picked }))
    }

    /// The hash of the whole document.
    #[must_use]
    pub fn whole(&self) -> &str {
        let HashState { image, compute, whole, .. } = &*self.0;
        whole.get_or_init(|| compute(&payload(image)))
    }

    /// The hash of the part of the document that a subscription picks.
    pub(crate) fn for_pick(&self, pick: Option<&Arc<Pick>>) -> Arc<str> {
        let Some(pick) = pick.filter(|it| it.paths.is_some()) else {
            return self.whole().into();
        };
        let picked = || self.0.picked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, hash)) = picked().iter().find(|(cached, _)| cached == pick) {
            return Arc::clone(hash);
        }
        // Without the lock: other shards do not wait for this one.
        let image = pick.image_to_hash(&payload(&self.0.image));
        let hash: Arc<str> = (self.0.compute)(&image).into();
        let mut picked = picked();
        picked.truncate(PICKED_HASHES_MAX - 1);
        picked.push_front((Arc::clone(pick), Arc::clone(&hash)));
        hash
    }
}

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
